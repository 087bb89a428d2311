"""Stick skeletons: straight bones between joints (Simplex Transformations, section 3.2).

Unlike a `Skeleton` a stick skeleton has no joint frames, and its bones may form cycles or several pieces. A joint with
one bone is a free end. The joints of a 2D skeleton share their z. `measure_place` compares a skeleton with the bounding
box of a mesh, to detect other units or another position.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32, checked, checked_indices
from osteon.core.errors import GeometryError
from osteon.core.topology import bounding_diagonal

#: A bone this short (over the extent of the joints) has no direction.
SHORTEST = 1e-9
#: Coordinates beyond this have squares and products that overflow.
FARTHEST = 1e100


@dataclass(frozen=True)
class StickSkeleton:
    """Joints and the straight bones between them; `root` is where poses start."""

    joints: Float64  # (j,3) rest positions
    bones: Int32  # (b,2) the joints A and B at its ends; in a rooted file A is the parent
    names: tuple[str, ...] = ()  # of joints; () numbers them
    root: int = 0  # the joint where poses start
    name: str = field(default="skeleton", compare=False)

    def __post_init__(self) -> None:
        joints = checked("joints", self.joints, (None, 3), np.float64)
        if not len(joints):
            raise GeometryError("joints: a skeleton needs at least one bone, got no joints")
        if np.abs(joints).max() > FARTHEST:
            raise GeometryError(f"joints: expected coordinates up to {FARTHEST:.0e}, got {np.abs(joints).max():.1e}")
        if not np.size(self.bones):
            raise GeometryError("bones: a skeleton needs at least one bone, got none")
        bones = checked_indices("bones", self.bones, (None, 2), len(joints))
        if not 0 <= self.root < len(joints):
            raise GeometryError(f"root: expected a joint, 0 … {len(joints) - 1}, got {self.root}")
        object.__setattr__(self, "joints", joints)
        object.__setattr__(self, "bones", bones)
        object.__setattr__(self, "names", tuple(self.names) or tuple(f"joint{j}" for j in range(len(joints))))
        if len(self.names) != len(joints):
            raise GeometryError(f"names: expected one for each of {len(joints)} joints, got {len(self.names)}")
        self._check_bones()

    def _check_bones(self) -> None:
        """Refuse bones without a direction and bones that are there twice."""
        length = np.linalg.norm(self.vectors, axis=1)
        short = length <= SHORTEST * max(bounding_diagonal(self.joints), 1e-300)
        if short.any():
            b = int(short.argmax())
            raise GeometryError(f"bone {self.bone_name(b)} has no length; move one of its joints or remove the bone")
        ends = np.sort(self.bones, axis=1)
        _, first, count = np.unique(ends, axis=0, return_index=True, return_counts=True)
        if (count > 1).any():
            raise GeometryError(f"bone {self.bone_name(int(first[count.argmax()]))} is there twice; remove one")

    @property
    def n_joints(self) -> int:
        return len(self.joints)

    @property
    def n_bones(self) -> int:
        return len(self.bones)

    @property
    def vectors(self) -> Float64:
        """(b,3) from A to B."""
        out: Float64 = self.joints[self.bones[:, 1]] - self.joints[self.bones[:, 0]]
        return out

    def bone_name(self, b: int) -> str:
        """`A-B` by the names of its joints."""
        return "-".join(self.names[j] for j in self.bones[b])

    def bones_at(self, joint: int) -> Int32:
        """The bones at a joint, ascending."""
        return np.flatnonzero((self.bones == joint).any(axis=1)).astype(np.int32)

    def free_ends(self) -> Int32:
        """Joints with exactly one bone."""
        return np.flatnonzero(np.bincount(self.bones.ravel(), minlength=self.n_joints) == 1).astype(np.int32)

    @cached_property
    def tree(self) -> StickTree:
        """The order in which poses propagate from the root."""
        return StickTree.of(self)


@dataclass(frozen=True, slots=True)
class StickTree:
    """A spanning forest of the bones: breadth first from the root, then from the lowest joint of every other piece."""

    order: Int32  # (b,) bones of the forest first (each after its parent), then those that close a cycle
    parent: Int32  # (b,) the parent bone, -1 at a root
    head: Int32  # (b,) the joint of each bone that is nearer to the root
    above: Int32  # (j,) the parent of each joint, -1 at a root

    @staticmethod
    def of(skeleton: StickSkeleton) -> StickTree:
        at: list[list[int]] = [[] for _ in range(skeleton.n_joints)]
        for b, (i, j) in enumerate(skeleton.bones.tolist()):
            at[i].append(b)
            at[j].append(b)
        order: list[int] = []
        parent = np.full(skeleton.n_bones, -1, np.int32)
        head = skeleton.bones[:, 0].copy()
        above = np.full(skeleton.n_joints, -1, np.int32)
        seen = np.zeros(skeleton.n_joints, bool)
        closing: list[int] = []
        for start in (skeleton.root, *range(skeleton.n_joints)):
            if seen[start]:
                continue
            seen[start] = True
            waiting: deque[tuple[int, int]] = deque([(start, -1)])
            while waiting:
                joint, via = waiting.popleft()
                for b in at[joint]:
                    if b == via or b in closing:
                        continue
                    other = int(skeleton.bones[b].sum()) - joint
                    head[b], parent[b] = joint, via
                    if seen[other]:
                        closing.append(b)
                        continue
                    seen[other] = True
                    above[other] = joint
                    order.append(b)
                    waiting.append((other, b))
        return StickTree(np.array(order + closing, np.int32), parent, head, above)


def project_on_segments(points: Float64, starts: Float64, vectors: Float64) -> tuple[Float64, Float64]:
    """(…) parameters 0 … 1 of the nearest positions on segments to points (…,3), and the distances."""
    away = points - starts
    squared = np.einsum("...i,...i->...", vectors, vectors)
    along = np.clip(np.einsum("...i,...i->...", away, vectors) / squared, 0, 1)
    return along, np.linalg.norm(away - along[..., None] * vectors, axis=-1)


#: Joints that are farther outside the mesh's box than this part of its diagonal are probably misplaced.
FAR = 0.25
#: A skeleton that is larger or smaller than the mesh by this factor probably has other units.
UNITS = 4.0
#: A skeleton smaller than this part of the mesh's diagonal cannot pose it.
SMALLEST = 0.05


@dataclass(frozen=True, slots=True)
class SkeletonPlace:
    """Position and size of a skeleton compared with a mesh."""

    n_joints: int
    far: NDArray[np.intp]  # joints far outside the box of the mesh
    extent: float  # diagonal of the joints
    diagonal: float  # of the mesh

    @property
    def is_elsewhere(self) -> bool:
        """Whether most of its joints are far from the mesh."""
        return 2 * len(self.far) > self.n_joints

    @property
    def is_tiny(self) -> bool:
        """Whether it is too small to be a skeleton of this mesh."""
        return self.extent < SMALLEST * self.diagonal

    @property
    def has_other_units(self) -> bool:
        """Whether it is several times larger or smaller than the mesh."""
        return not self.diagonal / UNITS <= self.extent <= self.diagonal * UNITS


def measure_place(skeleton: StickSkeleton, vertices: Float64) -> SkeletonPlace:
    """Compare the joints with the bounding box of the vertices (v,3)."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    axes = slice(0, 2) if low[2] == high[2] else slice(0, 3)  # the skeleton of a 2D mesh is projected into its plane
    diagonal = float(np.linalg.norm(high - low))
    beyond = np.maximum(low - skeleton.joints, skeleton.joints - high)[:, axes].max(axis=1)
    extent = float(np.linalg.norm(np.ptp(skeleton.joints[:, axes], axis=0)))
    return SkeletonPlace(skeleton.n_joints, np.flatnonzero(beyond > FAR * diagonal), extent, diagonal)
