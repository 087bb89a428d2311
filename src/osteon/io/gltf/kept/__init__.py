"""A character's own glTF document, changed only where something is added to it."""
