"""Interpenetration in the frames of an animation: of two characters, or of one surface with itself.

In every frame the pairs of triangles that intersect are found, and how deep one surface is in the other:

    depth = max over corners v of one surface of  -d(v),    d the signed distance from the other, if that is closed

for the corners in the bounding box of the other surface, of both in turn. Where the other surface is open (a cloth), or
for a surface and itself, the depth is the largest of its pairs: how far one triangle of a pair must move along the
normal of the other until they part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.apply.collide.collider import Collider, ColliderPose
from osteon.apply.collide.contact_types import SurfaceContacts
from osteon.core.arrays import Int32
from osteon.core.errors import OptionError
from osteon.core.progress import Progress, report_progress


@dataclass(frozen=True, slots=True)
class FrameOverlap:
    """The interpenetration in one frame."""

    frame: int
    contacts: SurfaceContacts
    depth: float  # in units of the model

    @property
    def triangles(self) -> Int32:
        """Triangles of the first surface, ascending."""
        return np.unique(self.contacts.triangles)

    @property
    def others(self) -> Int32:
        """Triangles of the second surface, ascending."""
        return np.unique(self.contacts.others)


@dataclass(frozen=True, slots=True)
class Overlaps:
    """The interpenetration of two surfaces, or of one with itself."""

    frames: tuple[int, ...]  # that were searched
    found: tuple[FrameOverlap, ...]  # those with pairs of triangles that intersect
    diagonal: float  # of the first model

    @property
    def deepest(self) -> FrameOverlap | None:
        """The frame of the largest depth."""
        return max(self.found, key=lambda overlap: overlap.depth, default=None)


def find_overlaps(
    first: Collider, second: Collider | None, frames: Sequence[int], *, progress: Progress | None = None
) -> Overlaps:
    """Search frames of a surface and another; None: itself. A second surface of one frame stands still."""
    for collider in [first] if second is None else [first, second]:
        if frames and max(frames) >= collider.n_frames > 1:
            raise OptionError(
                f"frames: '{collider.model.name}' has frames 0 … {collider.n_frames - 1}, got {max(frames)}; "
                "choose frames that both have with --frames"
            )
    found = []
    closed = is_closed(first), second is not None and is_closed(second)
    for done, frame in enumerate(frames):
        report_progress(progress, "frames", done / len(frames))
        here = first.at(frame)
        if second is None:
            contacts = here.self_contacts()
            depth = float(contacts.depths.max(initial=0.0))
        else:
            there = second.at(frame if second.n_frames > 1 else 0)
            contacts = here.contacts(there)
            depth = _depth(here, there, closed, contacts) if len(contacts) else 0.0
        if len(contacts):
            found.append(FrameOverlap(frame, contacts, depth))
    return Overlaps(tuple(frames), tuple(found), first.model.diagonal)


def _depth(here: ColliderPose, there: ColliderPose, closed: tuple[bool, bool], contacts: SurfaceContacts) -> float:
    """How deep one surface is in the other."""
    depths = [0.0]
    if closed[1]:
        depths.append(_deepest_corner(here, there))
    if closed[0]:
        depths.append(_deepest_corner(there, here))
    return max(depths) if any(closed) else float(contacts.depths.max())


def _deepest_corner(of: ColliderPose, within: ColliderPose) -> float:
    """How far the vertices of a surface are inside another, closed one."""
    points = of.vertices()
    around = within.vertices()
    near = np.all((points >= around.min(axis=0)) & (points <= around.max(axis=0)), axis=1)
    if not near.any():
        return 0.0
    return max(0.0, -float(within.closest_points(points[near]).values.min()))


def is_closed(collider: Collider) -> bool:
    """Whether every edge of the welded surface has two triangles, so that it has an inside."""
    arrays = collider.tree.arrays
    corners = arrays["welds"][arrays["triangles"]].astype(np.int64)
    edges = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]), axis=1)
    edges = edges[edges[:, 0] != edges[:, 1]]
    counts = np.unique(edges[:, 0] * len(arrays["welds"]) + edges[:, 1], return_counts=True)[1]
    return bool((counts == 2).all())


def runs_of(frames: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of consecutive frames: first and last of each."""
    runs: list[tuple[int, int]] = []
    for frame in frames:
        if runs and frame == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], frame)
        else:
            runs.append((frame, frame))
    return runs
