"""Resolving inputs, selecting clips and frames, memory limits, and loading."""
