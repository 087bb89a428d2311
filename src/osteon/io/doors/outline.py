"""What an animation holds, without its frames: for those who only want to know."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from osteon.core.clips import Clip
from osteon.core.mesh import Mesh
from osteon.io.doors.options import DEFAULT_LOAD_OPTIONS, LoadOptions

__all__ = ["Outline", "load_outline"]


@dataclass(frozen=True, slots=True)
class Outline:
    """The mesh in its rest pose, and the clips that its frames would make."""

    mesh: Mesh
    clips: tuple[Clip, ...]


def load_outline(path: Path, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> Outline | None:
    """The outline of a file whose format can tell it without posing; None if all of it must be read."""
    return None
