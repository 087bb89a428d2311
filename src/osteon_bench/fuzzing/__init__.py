"""Fuzzing of the readers: valid files of every format are mutated and must be read or rejected."""
