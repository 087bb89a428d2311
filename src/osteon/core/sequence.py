"""A deforming mesh: one connectivity, one rest pose, frames in named clips, and what the asset carried."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from osteon.core.arrays import Float32, Int32, checked, checked_indices
from osteon.core.asset import AlphaMode, Asset, Image, Material, TextureRole
from osteon.core.clips import DEFAULT_FPS, Clip, check_clips, clips_or_one, distinct_names
from osteon.core.errors import GeometryError
from osteon.core.topology import bounding_diagonal

__all__ = [
    "DEFAULT_FPS",
    "AlphaMode",
    "Asset",
    "Clip",
    "Image",
    "Material",
    "MeshSequence",
    "TextureRole",
    "check_clips",
    "distinct_names",
    "join_clips",
]


@dataclass(frozen=True, slots=True)
class MeshSequence:
    """A mesh whose vertices move while its connectivity stays."""

    frames: Float32  # (f,v,3) positions
    faces: Int32  # (t,3) vertex indices, counter-clockwise seen from outside
    rest: Float32  # (v,3) the undeformed pose
    clips: tuple[Clip, ...] = ()  # cover all frames in order; () means one clip
    asset: Asset = field(default_factory=Asset)
    name: str = "mesh"

    def __post_init__(self) -> None:
        def put(key: str, value: object) -> None:
            object.__setattr__(self, key, value)

        put("frames", checked("frames", self.frames, (None, None, 3)))
        put("rest", checked("rest", self.rest, (self.n_vertices, 3)))
        put("faces", checked_indices("faces", self.faces, (None, 3), self.n_vertices))
        if self.n_frames < 1:
            raise GeometryError("frames: the sequence is empty")
        put("clips", clips_or_one(self.clips, self.n_frames))
        put("asset", self.asset.checked(self.n_vertices, self.n_triangles))

    @property
    def n_frames(self) -> int:
        return int(self.frames.shape[0])

    @property
    def n_vertices(self) -> int:
        return int(self.frames.shape[1])

    @property
    def n_triangles(self) -> int:
        return int(self.faces.shape[0])

    @property
    def diagonal(self) -> float:
        """Length of the rest pose's bounding-box diagonal, the unit of all tolerances."""
        return bounding_diagonal(self.rest)

    def clip_of_frame(self, frame: int) -> Clip:
        """The clip that holds `frame`."""
        return next(c for c in self.clips if c.start <= frame < c.stop)

    def take_frames(self, frames: Int32) -> MeshSequence:
        """The same mesh with only the given frames, as one clip."""
        return replace(self, frames=self.frames[frames], clips=(Clip("taken", 0, len(frames), self.clips[0].fps),))


def join_clips(sequences: list[MeshSequence]) -> MeshSequence:
    """Several sequences of one mesh become one sequence with a clip each; the first gives rest pose and asset."""
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
    frames = np.concatenate([s.frames for s in sequences]) if len(sequences) > 1 else first.frames
    names = distinct_names(clip.name for clip in clips)
    named = tuple(replace(clip, name=name) for clip, name in zip(clips, names, strict=True))
    return replace(first, frames=frames, clips=named)
