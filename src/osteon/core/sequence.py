"""Deforming meshes: one connectivity, one rest pose, frames in named clips, and the attributes of the asset.

The frames come from an array, a memory map or another source (frames.py) and are read in blocks. `replace`,
`take_frames` and `join_clips` share them: nothing is read or checked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from osteon.core.animation import DEFAULT_FPS, Clip, clips_or_one, distinct_names
from osteon.core.arrays import Float32, Int32, checked
from osteon.core.errors import GeometryError
from osteon.core.frames import FrameBlock, FrameSource, frame_blocks, frame_source, join_frames
from osteon.core.mesh import Asset, Mesh, scale_of_frames


class SequenceParts(TypedDict, total=False):
    """Keyword arguments of `MeshSequence` and `with_parts`."""

    frames: ArrayLike | FrameSource  # (f,v,3)
    faces: ArrayLike  # (t,3)
    rest: ArrayLike  # (v,3)
    clips: Iterable[Clip]
    asset: Asset
    name: str


@dataclass(
    frozen=True, init=False, repr=False
)  # with slots, Python 3.11 refuses to set what is no field with the wrong error
class MeshSequence:
    """A mesh with moving vertices and constant connectivity."""

    source: FrameSource  # (f,v,3) positions, read in blocks
    mesh: Mesh  # rest pose, triangles, asset, name
    clips: tuple[Clip, ...]  # cover all frames in order

    def __init__(
        self,
        frames: ArrayLike | FrameSource | None = None,
        faces: ArrayLike | None = None,
        rest: ArrayLike | None = None,
        clips: Iterable[Clip] = (),
        asset: Asset | None = None,
        name: str | None = None,
        *,
        source: FrameSource | None = None,
        mesh: Mesh | None = None,
    ) -> None:
        """From frames, triangles and rest pose, or from a source and a mesh; other arguments replace their fields."""
        held = source if frames is None else frame_source(frames)
        if held is None:
            raise TypeError("MeshSequence: missing frames")
        if held.n_frames < 1:
            raise GeometryError("frames: the sequence is empty")
        object.__setattr__(self, "source", held)
        object.__setattr__(self, "mesh", _mesh_of(held.n_vertices, mesh, rest, faces, asset, name))
        object.__setattr__(self, "clips", clips_or_one(clips, held.n_frames))

    @staticmethod
    def from_arrays(
        frames: ArrayLike, faces: ArrayLike, *, rest: ArrayLike | None = None, fps: float = DEFAULT_FPS
    ) -> MeshSequence:
        """A sequence of frames (f,v,3) and triangles (t,3), one clip; the rest pose (v,3) is the first frame.

        `MeshSequence.from_arrays(frames, faces)`
        """
        held = frame_source(frames)
        if held.n_frames < 1:
            raise GeometryError("frames: the sequence is empty")
        at_rest = held.read(0, 1)[0] if rest is None else rest
        return MeshSequence(held, faces, at_rest, (Clip("clip", 0, held.n_frames, fps),))

    def __repr__(self) -> str:
        clips = ", ".join(f"{clip.name} ({clip.n_frames} at {clip.fps:g} fps)" for clip in self.clips)
        size = f"{self.n_vertices:,} vertices, {self.n_triangles:,} triangles"
        return f"MeshSequence('{self.name}': {size}; frames: {clips})"

    @property
    def frames(self) -> Float32:
        """(f,v,3) all positions at once: the array, or a view of a memory map; a reader reads all frames."""
        return self.source.read(0, self.n_frames)

    @property
    def faces(self) -> Int32:
        """(t,3) vertex indices, counter-clockwise seen from outside."""
        return self.mesh.faces

    @property
    def rest(self) -> Float32:
        """(v,3) the undeformed pose."""
        return self.mesh.rest

    @property
    def asset(self) -> Asset:
        return self.mesh.asset

    @property
    def name(self) -> str:
        return self.mesh.name

    @property
    def n_frames(self) -> int:
        return self.source.n_frames

    @property
    def n_vertices(self) -> int:
        return self.source.n_vertices

    @property
    def n_triangles(self) -> int:
        return self.mesh.n_triangles

    @cached_property
    def play_scale(self) -> float:
        """The posed size of the body over that of its rest pose; 1 unless its rig had a scale."""
        return scale_of_frames(self.rest, self.faces, self.source)

    @property
    def diagonal(self) -> float:
        """Bounding-box diagonal of the rest pose times `play_scale`: the unit of all tolerances."""
        return self.play_scale * self.mesh.diagonal

    def frame(self, number: int) -> Float32:
        """(v,3) one frame."""
        start = range(self.n_frames)[number]
        one: Float32 = self.source.read(start, start + 1)[0]
        return one

    def blocks(self, values: int = 0) -> Iterator[FrameBlock]:
        """All frames in order, about `values` numbers at a time; 0: a few million."""
        return frame_blocks(self.source, values)

    def clip_of_frame(self, frame: int) -> Clip:
        """The clip that holds `frame`."""
        return next(c for c in self.clips if c.start <= frame < c.stop)

    def with_parts(self, **parts: Unpack[SequenceParts]) -> MeshSequence:
        """The same sequence with some fields replaced, without reading frames."""
        held: dict[str, Any] = {"source": self.source, "mesh": self.mesh, "clips": self.clips}
        held.update(dict(parts))
        return MeshSequence(**held)

    def take_frames(self, frames: Int32) -> MeshSequence:
        """The same mesh with only the given frames, as one clip."""
        clips = (Clip("taken", 0, len(frames), self.clips[0].fps),)
        return self.with_parts(frames=self.source.take(frames), clips=clips)


def frames_of(frames: MeshSequence | FrameSource | ArrayLike) -> FrameSource:
    """The source of a sequence or of an array (f,v,3); a source is returned as it is."""
    return frames.source if isinstance(frames, MeshSequence) else frame_source(frames)


def _mesh_of(
    n_vertices: int,
    mesh: Mesh | None,
    rest: ArrayLike | None,
    faces: ArrayLike | None,
    asset: Asset | None,
    name: str | None,
) -> Mesh:
    """The mesh with the given fields replaced, checked against the number of vertices."""
    parts = {"rest": rest, "faces": faces, "asset": asset, "name": name}
    changed: dict[str, Any] = {key: value for key, value in parts.items() if value is not None}
    missing = [] if mesh else [key for key in ("faces", "rest") if key not in changed]
    if missing:
        raise TypeError(f"MeshSequence: missing {' and '.join(missing)}")
    changed["rest"] = checked(
        "rest", changed["rest"] if mesh is None or "rest" in changed else mesh.rest, (n_vertices, 3)
    )
    return Mesh(**changed) if mesh is None else replace(mesh, **changed)


def join_clips(sequences: list[MeshSequence]) -> MeshSequence:
    """Joins sequences of one mesh into one with a clip per sequence, and the rest pose and asset of the first.

    Frames in memory are copied into one array; those of memory maps and readers stay where they are.
    """
    if not sequences:
        raise GeometryError("no sequences to join")
    first = sequences[0]
    clips: list[Clip] = []
    start = 0
    for sequence in sequences:
        if sequence.n_vertices != first.n_vertices:
            raise GeometryError(
                f"'{sequence.name}' has {sequence.n_vertices} vertices but '{first.name}' has {first.n_vertices}; "
                "clips on one rig must share their mesh"
            )
        if not np.array_equal(sequence.faces, first.faces):
            raise GeometryError(
                f"'{sequence.name}' connects its vertices differently from '{first.name}'; "
                "clips on one rig must share their mesh"
            )
        for clip in sequence.clips:
            name = sequence.name if len(sequence.clips) == 1 else clip.name
            clips.append(Clip(name, start + clip.start, start + clip.stop, clip.fps))
        start += sequence.n_frames
    names = distinct_names(clip.name for clip in clips)
    named = tuple(replace(clip, name=name) for clip, name in zip(clips, names, strict=True))
    return first.with_parts(frames=join_frames([s.source for s in sequences]), clips=named)
