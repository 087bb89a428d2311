"""Edits of the rest pose: where they come from, how they are carried to other meshes, and what they do in the frames."""
