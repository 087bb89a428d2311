"""Levels of detail: one character for every machine."""
