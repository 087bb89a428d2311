"""FBX for the registries."""

from osteon.io.doors.format_types import SequenceFormat, WhenCalled

__all__ = ["FBX"]

FBX = SequenceFormat(".fbx", "FBX", WhenCalled("osteon.io.fbx.read", "read_fbx"))
