"""Measures of a result: its distance from the source, and its size."""
