"""Changing an existing glTF document only where something is added to it."""

__all__ = []
