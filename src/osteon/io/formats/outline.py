"""What an animation holds, without its frames: for those who only want to know."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.animation import Clip
from osteon.core.mesh import Mesh

__all__ = ["Outline"]


@dataclass(frozen=True, slots=True)
class Outline:
    """The mesh in its rest pose, and the clips that its frames would make."""

    mesh: Mesh
    clips: tuple[Clip, ...]

    @property
    def n_frames(self) -> int:
        return self.clips[-1].stop
