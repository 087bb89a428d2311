"""Which bones a vertex may follow, where a character's file lists only some of them for a mesh."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.arrays import Int32

__all__ = ["BoneLimits"]


@dataclass(frozen=True, slots=True)
class BoneLimits:
    """Vertices in groups, one for each mesh of the character."""

    group: Int32  # (v,) of each vertex
    bones: tuple[tuple[int, ...], ...]  # of each group: the bones that its vertices may follow
    fixed: tuple[bool, ...]  # of each group: its vertices follow a node and take no other bone, added ones included
