"""Edits of the rest pose: their sources, how other meshes get them, and their length in the frames."""
