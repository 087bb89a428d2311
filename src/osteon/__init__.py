"""Osteon turns any deforming mesh into a skinned character that every engine can play."""

__version__ = "0.1.0"
