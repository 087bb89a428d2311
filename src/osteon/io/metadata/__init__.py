"""Data that a format has no place for, stored as JSON: materials, clips and assets."""
