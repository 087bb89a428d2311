"""What every driver does to the rest pose: displacements of poses in which one joint moves, what pairs add to that.

A driver is a joint, or a pair of joints that were seen moving together without others. Its field is a displacement of
all vertices at each of some settings; at rest it is zero.

    joint j:        u^p                                   for poses p in which only j moves
    pair j, k:      u^p - f_j(s_j^p) - f_k(s_k^p)         for poses p in which only j and k move

f_j is the field of j between its settings, all of it, so that a pair holds what the joints do to each other and nothing
that one of them does alone. Poses that move more joints are split first, see `additive_poses.py`.

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.2. Pairs are "a subject of future work" there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Bool, Float64, Int32, Int64
from osteon.core.errors import GeometryError
from osteon.deform.joint_rbf import NO_JOINT, compare_rotations, joint_rotations, rotation_vectors
from osteon.fit.eigenskin.fit_rbf import RbfOptions, fit_settings

__all__ = [
    "STILL",
    "DriverField",
    "JointSettings",
    "PoseGroups",
    "find_settings",
    "group_poses",
    "joint_fields",
    "pair_fields",
]


# How the joints of a rig are turned in known poses: which of them move, and about which axes.
#
# A joint is named by the bone that it moves, and turns against the bone above it; roots are no joints. A joint whose
# turns all share an axis is a hinge.

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
            angles, _ = compare_rotations(self.turns[earlier], self.turns[p], np.zeros((len(self.joints), 3)))
            apart = angles.max(axis=1)
            if apart.min() < SAME:
                other = self.names[int(earlier[apart.argmin()])]
                raise GeometryError(
                    f"pose '{self.names[p]}': its joints are turned as in pose '{other}'; leave one of them out"
                )


def find_settings(transforms: Float64, parents: Int32, names: Sequence[str], hinges: Float64) -> JointSettings:
    """The settings in posed_from_rest transforms (p,b,3,4); `hinges` (b,3) are axes that are known, zero elsewhere."""
    joints = np.flatnonzero(parents != NO_JOINT)
    turns = joint_rotations(transforms, parents, joints)
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


@dataclass(frozen=True, slots=True)
class DriverField:
    """Displacements at the settings of a driver."""

    joints: tuple[int, ...]  # one or two, by their numbers in the settings
    turns: Float64  # (q,j,4) at each setting
    axes: Float64  # (j,3)
    values: Float64  # (q,v,3)
    reach: float  # the longest displacement that its joints were seen to make: what thresholds are parts of


@dataclass(frozen=True, slots=True)
class PoseGroups:
    """Poses by the joints that move in them."""

    single: dict[int, Int64]  # by joint
    pair: dict[tuple[int, int], Int64]
    many: Int64  # more than two
    still: Int64  # none


def group_poses(settings: JointSettings) -> PoseGroups:
    """Poses by the joints that move."""
    moving = [settings.moving(p) for p in range(len(settings.turns))]
    by: dict[tuple[int, ...], list[int]] = {}
    for p, joints in enumerate(moving):
        by.setdefault(joints, []).append(p)
    return PoseGroups(
        {joints[0]: np.array(poses) for joints, poses in sorted(by.items()) if len(joints) == 1},
        {(joints[0], joints[1]): np.array(poses) for joints, poses in sorted(by.items()) if len(joints) == 2},
        np.array([p for p, joints in enumerate(moving) if len(joints) > 2], np.int64),
        np.array(by.get((), []), np.int64),
    )


def joint_fields(settings: JointSettings, groups: PoseGroups, displacements: Float64) -> list[DriverField]:
    """A field for each joint that was seen moving alone."""
    return [
        _field(settings, (joint,), poses, displacements[poses], _reach(displacements[poses]))
        for joint, poses in groups.single.items()
    ]


def pair_fields(
    settings: JointSettings,
    groups: PoseGroups,
    displacements: Float64,
    alone: list[DriverField],
    options: RbfOptions,
) -> list[DriverField]:
    """A field for each pair that was seen moving, of joints that were also seen alone."""
    known = {field.joints[0]: field for field in alone}
    found = []
    for pair, poses in groups.pair.items():
        if not set(pair) <= set(known):
            continue
        residue = displacements[poses].copy()
        for joint in pair:
            field = known[joint]
            fit = fit_settings(field.turns, field.values.reshape(len(field.values), -1), field.axes, options)
            residue -= fit.at(settings.turns[poses][:, [joint]]).reshape(residue.shape)
        reach = max(known[joint].reach for joint in pair)
        found.append(_field(settings, pair, poses, residue, reach))
    return found


def _field(
    settings: JointSettings, joints: tuple[int, ...], poses: Int64, values: Float64, reach: float
) -> DriverField:
    chosen = list(joints)
    return DriverField(joints, settings.turns[poses][:, chosen], settings.axes[chosen], values, reach)


def _reach(values: Float64) -> float:
    return float(np.sqrt(np.einsum("pvi,pvi->pv", values, values).max(initial=0.0)))
