"""Fuzzing of the readers: valid seeds of every kind, spoiled inside their own structure, read or refused."""
