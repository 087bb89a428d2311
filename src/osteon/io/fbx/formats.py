"""FBX for the registries."""

from osteon.io.formats.format_types import SequenceFormat, WhenCalled

__all__ = ["FBX"]

_READ = WhenCalled("osteon.io.fbx.read", "read_fbx")
_OUTLINE = WhenCalled("osteon.io.fbx.read", "outline_fbx")

FBX = SequenceFormat(".fbx", "FBX", _READ, outline=_OUTLINE)
