"""A skinned model: the rest mesh, who moves each vertex (Skin), how the bones move (BoneTrack), and what is added."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32, checked, checked_indices
from osteon.core.errors import GeometryError
from osteon.core.sequence import Asset, Clip, check_clips

__all__ = ["BoneTrack", "BoneType", "Corrections", "Skeleton", "Skin", "SkinnedModel"]

BoneType = Literal["rigid", "flexible"]

#: Weights may miss a sum of one by what float32 rounding of a few terms leaves.
WEIGHT_SUM_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Skin:
    """Which bones move a vertex, and how much. Unused slots hold weight 0."""

    bones: Int32  # (v,k) bone indices
    weights: Float32  # (v,k) sum to one over k

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked("weights", self.weights, (None, None)))
        object.__setattr__(
            self, "bones", checked_indices("bones", self.bones, self.weights.shape, np.iinfo(np.int32).max)
        )
        sums = self.weights.sum(axis=1, dtype=np.float64)
        if sums.size and np.abs(sums - 1).max() > WEIGHT_SUM_TOLERANCE:
            v = int(np.abs(sums - 1).argmax())
            raise GeometryError(f"weights: vertex {v} sums to {sums[v]:.6f}, expected 1; normalise the weights")

    @property
    def n_influences(self) -> int:
        return int(self.weights.shape[1])

    def dense(self, n_bones: int) -> Float64:
        """(v,b) weights with a column for every bone."""
        out = np.zeros((len(self.weights), n_bones))
        np.add.at(out, (np.arange(len(out))[:, None], self.bones), self.weights)
        return out


@dataclass(frozen=True, slots=True)
class BoneTrack:
    """Where each bone takes the rest pose in each frame."""

    transforms: Float32  # (f,b,3,4) posed_from_rest, column vectors
    bone_type: BoneType = "flexible"
    names: tuple[str, ...] = ()  # one a bone; () numbers them

    def __post_init__(self) -> None:
        object.__setattr__(self, "transforms", checked("transforms", self.transforms, (None, None, 3, 4)))
        if self.bone_type not in ("rigid", "flexible"):
            raise GeometryError(f"bone_type: expected 'rigid' or 'flexible', got {self.bone_type!r}")
        names = tuple(self.names) or tuple(f"bone_{b}" for b in range(self.n_bones))
        object.__setattr__(self, "names", names)
        if len(names) != self.n_bones:
            raise GeometryError(f"names: expected {self.n_bones}, one for each bone, got {len(names)}")

    @property
    def n_frames(self) -> int:
        return int(self.transforms.shape[0])

    @property
    def n_bones(self) -> int:
        return int(self.transforms.shape[1])


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Joints in a tree."""

    names: tuple[str, ...]
    parents: Int32  # (j,) index of the parent joint, -1 at a root
    world_from_joint: Float32  # (j,3,4) rest pose

    def __post_init__(self) -> None:
        parents = checked("parents", self.parents, (len(self.names),), np.int32)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(
            self, "world_from_joint", checked("world_from_joint", self.world_from_joint, (len(self.names), 3, 4))
        )
        if parents.size and (parents.min() < -1 or parents.max() >= len(parents)):
            raise GeometryError(f"parents: expected -1 … {len(parents) - 1}")
        _check_tree(parents)


def _check_tree(parents: Int32) -> None:
    """Refuse joints that are their own ancestors; every joint is visited once."""
    walk_of = np.full(len(parents), -1, np.int64)
    up = parents.tolist()
    for start in range(len(up)):
        j = start
        while j >= 0 and walk_of[j] < 0:
            walk_of[j] = start
            j = up[j]
        if j >= 0 and walk_of[j] == start:
            raise GeometryError(f"parents: joint {j} is its own ancestor")


@dataclass(frozen=True, slots=True)
class Corrections:
    """Rest-frame displacements added before the skin moves the vertex (eq. 12 of Skinning Mesh Animations)."""

    basis: Float32  # (r,v,3) the most useful first
    coefficients: Float32  # (f,r)
    normal_basis: Float32 | None = None  # (r,v,3) added to the rest normals by the same coefficients: n = F (n + N q)

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked("basis", self.basis, (None, None, 3)))
        if self.normal_basis is not None:
            object.__setattr__(self, "normal_basis", checked("normal_basis", self.normal_basis, self.basis.shape))
        object.__setattr__(
            self, "coefficients", checked("coefficients", self.coefficients, (None, self.basis.shape[0]))
        )

    @property
    def rank(self) -> int:
        return int(self.basis.shape[0])

    def cut(self, rank: int) -> Corrections:
        """Only the first `rank` columns."""
        normals = None if self.normal_basis is None else self.normal_basis[:rank]
        return Corrections(self.basis[:rank], self.coefficients[:, :rank], normals)


@dataclass(frozen=True, slots=True)
class SkinnedModel:
    """All that is needed to play a character: pose_vertices(model, frame) gives vertices."""

    rest: Float32  # (v,3)
    faces: Int32  # (t,3)
    skin: Skin
    track: BoneTrack
    clips: tuple[Clip, ...] = ()  # cover all frames in order; () means one clip
    corrections: Corrections | None = None
    skeleton: Skeleton | None = None
    asset: Asset = field(default_factory=Asset)
    name: str = "mesh"

    def __post_init__(self) -> None:
        def put(key: str, value: object) -> None:
            object.__setattr__(self, key, value)

        put("rest", checked("rest", self.rest, (None, 3)))
        put("faces", checked_indices("faces", self.faces, (None, 3), self.n_vertices))
        put("clips", tuple(self.clips) or (Clip("clip", 0, self.n_frames),))
        put("asset", self.asset.checked(self.n_vertices, len(self.faces)))
        if len(self.skin.weights) != self.n_vertices:
            raise GeometryError(f"skin: {len(self.skin.weights)} rows for {self.n_vertices} vertices")
        if self.skin.bones.size and self.skin.bones.max() >= self.track.n_bones:
            raise GeometryError(f"skin: names bone {self.skin.bones.max()} of {self.track.n_bones}")
        check_clips(self.clips, self.n_frames)
        if self.corrections is not None:
            rank, frames = self.corrections.rank, self.n_frames
            checked("basis", self.corrections.basis, (rank, self.n_vertices, 3))
            checked("coefficients", self.corrections.coefficients, (frames, rank))

    @property
    def n_frames(self) -> int:
        return self.track.n_frames

    @property
    def n_vertices(self) -> int:
        return int(self.rest.shape[0])

    @property
    def n_bones(self) -> int:
        return self.track.n_bones

    @property
    def rank(self) -> int:
        """Columns of the corrections; 0 without any."""
        return 0 if self.corrections is None else self.corrections.rank

    def cut(self, rank: int) -> SkinnedModel:
        """The same model with only the first `rank` corrections."""
        if self.corrections is None or rank >= self.rank:
            return self
        return replace(self, corrections=self.corrections.cut(rank) if rank > 0 else None)
