"""FBX for the registries."""

from osteon.io.doors.format_types import SequenceFormat
from osteon.io.fbx.read import outline_fbx, read_fbx

__all__ = ["FBX"]

FBX = SequenceFormat(".fbx", "FBX", read_fbx, outline=outline_fbx)
