"""How the joints of a rig are turned in known poses: which of them move, and about which axes.

A joint is named by the bone that it moves, and turns against the bone above it; roots are no joints. A joint whose
turns all share an axis is a hinge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Bool, Float64, Int32, Int64
from osteon.core.errors import GeometryError
from osteon.deform.joint_rbf import NO_JOINT, compare_turns, joint_turns, rotation_vectors

__all__ = ["STILL", "JointSettings", "find_settings"]

#: A joint that turns less than this, in radians, rests.
STILL = 1e-4
#: Turns are about one axis if what is across it is at most this part of them.
ONE_AXIS = 1e-3
#: Settings nearer than this, in radians, are one.
SAME = 1e-6


@dataclass(frozen=True, slots=True)
class JointSettings:
    """Turns of joints in poses."""

    parents: Int32  # (b,) the bone above each bone, -1 at a root
    joints: Int64  # (n,) bones that hang on another
    turns: Float64  # (p,n,4) unit quaternions
    moved: Bool  # (p,n)
    axes: Float64  # (n,3) of hinges, zero where a joint turns freely
    names: tuple[str, ...]  # (p,) of the poses

    def take(self, poses: Int64) -> JointSettings:
        """The same joints in some of the poses."""
        names = tuple(self.names[p] for p in poses)
        return replace(self, turns=self.turns[poses], moved=self.moved[poses], names=names)

    def moving(self, pose: int) -> tuple[int, ...]:
        """Numbers of the joints that turn in a pose."""
        return tuple(int(j) for j in np.flatnonzero(self.moved[pose]))

    def never_moved(self) -> list[int]:
        """Numbers of the joints that turn in no pose."""
        return [int(j) for j in np.flatnonzero(~self.moved.any(axis=0))]

    def check_distinct(self) -> None:
        """Refuse two poses with equal settings: no number could follow both."""
        for p in range(1, len(self.turns)):
            earlier = np.flatnonzero((self.moved[:p] == self.moved[p]).all(axis=1))
            if not len(earlier):
                continue
            apart = compare_turns(self.turns[earlier], self.turns[p], np.zeros((len(self.joints), 3)))[0].max(axis=1)
            if apart.min() < SAME:
                other = self.names[int(earlier[apart.argmin()])]
                raise GeometryError(
                    f"pose '{self.names[p]}': its joints are turned as in pose '{other}'; leave one of them out"
                )


def find_settings(transforms: Float64, parents: Int32, names: Sequence[str], hinges: Float64) -> JointSettings:
    """The settings in posed_from_rest transforms (p,b,3,4); `hinges` (b,3) are axes that are known, zero elsewhere."""
    joints = np.flatnonzero(parents != NO_JOINT)
    turns = joint_turns(transforms, parents, joints)
    vectors = rotation_vectors(turns)
    moved = np.linalg.norm(vectors, axis=-1) > STILL
    axes = np.stack([_axis(vectors[moved[:, n], n], hinges[j]) for n, j in enumerate(joints)] or [np.zeros(3)])
    return JointSettings(parents, joints, turns, moved, axes[: len(joints)], tuple(names))


def _axis(vectors: Float64, known: Float64) -> Float64:
    """(3,) the axis that rotation vectors (n,3) share, or zero; of a joint that never turned the one that is known."""
    if not len(vectors):
        return known
    axis = known if known.any() else np.linalg.svd(vectors)[2][0]
    across = vectors - np.outer(vectors @ axis, axis)
    if np.linalg.norm(across) > ONE_AXIS * np.linalg.norm(vectors):
        return np.zeros(3)
    return np.asarray(axis if known.any() else axis * np.sign(vectors.sum(axis=0) @ axis or 1.0))
