"""Fields of drivers: displacements of the rest pose caused by a single joint, and what pairs of joints add.

A driver is a joint, or a pair of joints that move together in some pose without others. Its field is a displacement of
all vertices at each of its settings; at rest it is zero.

    joint j:        u^p                                   for poses p in which only j moves
    pair j, k:      u^p - f_j(s_j^p) - f_k(s_k^p)         for poses p in which only j and k move

f_j is the whole field of j, interpolated between its settings, so that a pair holds only the interaction of its joints.
Poses that move more joints are split first, see `additive_poses.py`.

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

# Rotations of the joints of a rig in known poses: which joints move, and about which axes.
#
# A joint is identified by the bone that it moves and rotates relative to its parent; roots are no joints. A joint whose
# rotations all share an axis is a hinge.

#: A joint that rotates less than this, in radians, is at rest.
STILL = 1e-4
#: Rotations share an axis if their components across it are at most this fraction of them.
ONE_AXIS = 1e-3
#: Settings closer than this, in radians, are equal.
SAME = 1e-6


@dataclass(frozen=True, slots=True)
class JointSettings:
    """Joint rotations in poses."""

    parents: Int32  # (b,) -1 at a root
    joints: Int64  # (n,) bones that have a parent
    rotations: Float64  # (p,n,4) unit quaternions
    moved: Bool  # (p,n)
    axes: Float64  # (n,3) of hinges, zero for free joints
    names: tuple[str, ...]  # (p,) of the poses

    def take(self, poses: Int64) -> JointSettings:
        """A subset of the poses."""
        names = tuple(self.names[p] for p in poses)
        return replace(self, rotations=self.rotations[poses], moved=self.moved[poses], names=names)

    def moving(self, pose: int) -> tuple[int, ...]:
        """Indices of the joints that rotate in a pose."""
        return tuple(int(j) for j in np.flatnonzero(self.moved[pose]))

    def never_moved(self) -> list[int]:
        """Indices of the joints that rotate in no pose."""
        return [int(j) for j in np.flatnonzero(~self.moved.any(axis=0))]

    def check_distinct(self) -> None:
        """Refuse two poses with equal settings: no function of the settings can fit both."""
        for p in range(1, len(self.rotations)):
            earlier = np.flatnonzero((self.moved[:p] == self.moved[p]).all(axis=1))
            if not len(earlier):
                continue
            angles, _ = compare_rotations(self.rotations[earlier], self.rotations[p], np.zeros((len(self.joints), 3)))
            apart = angles.max(axis=1)
            if apart.min() < SAME:
                other = self.names[int(earlier[apart.argmin()])]
                raise GeometryError(
                    f"pose '{self.names[p]}': its joints are rotated as in pose '{other}'; omit one of them"
                )


def find_settings(transforms: Float64, parents: Int32, names: Sequence[str], hinges: Float64) -> JointSettings:
    """The settings in posed_from_rest transforms (p,b,3,4); `hinges` (b,3) are axes that are known, zero elsewhere."""
    joints = np.flatnonzero(parents != NO_JOINT)
    rotations = joint_rotations(transforms, parents, joints)
    vectors = rotation_vectors(rotations)
    moved = np.linalg.norm(vectors, axis=-1) > STILL
    axes = np.stack([_axis(vectors[moved[:, n], n], hinges[j]) for n, j in enumerate(joints)] or [np.zeros(3)])
    return JointSettings(parents, joints, rotations, moved, axes[: len(joints)], tuple(names))


def _axis(vectors: Float64, known: Float64) -> Float64:
    """(3,) the axis that rotation vectors (n,3) share, or zero; the known one for a joint that never moves."""
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

    joints: tuple[int, ...]  # one or two, by their indices in the settings
    rotations: Float64  # (q,j,4) at each setting
    axes: Float64  # (j,3)
    values: Float64  # (q,v,3)
    reach: float  # the longest observed displacement of its joints, which thresholds refer to


@dataclass(frozen=True, slots=True)
class PoseGroups:
    """Poses grouped by the joints that move in them."""

    single: dict[int, Int64]  # by joint
    pair: dict[tuple[int, int], Int64]
    many: Int64  # more than two
    still: Int64  # none


def group_poses(settings: JointSettings) -> PoseGroups:
    """Group poses by the joints that move."""
    moving = [settings.moving(p) for p in range(len(settings.rotations))]
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
    """A field for each joint that moves alone in some pose."""
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
    """A field for each pair of joints, both of which also move alone in some pose."""
    known = {field.joints[0]: field for field in alone}
    found = []
    for pair, poses in groups.pair.items():
        if not set(pair) <= set(known):
            continue
        residue = displacements[poses].copy()
        for joint in pair:
            field = known[joint]
            fit = fit_settings(field.rotations, field.values.reshape(len(field.values), -1), field.axes, options)
            residue -= fit.at(settings.rotations[poses][:, [joint]]).reshape(residue.shape)
        reach = max(known[joint].reach for joint in pair)
        found.append(_field(settings, pair, poses, residue, reach))
    return found


def _field(
    settings: JointSettings, joints: tuple[int, ...], poses: Int64, values: Float64, reach: float
) -> DriverField:
    chosen = list(joints)
    return DriverField(joints, settings.rotations[poses][:, chosen], settings.axes[chosen], values, reach)


def _reach(values: Float64) -> float:
    return float(np.sqrt(np.einsum("pvi,pvi->pv", values, values).max(initial=0.0)))
