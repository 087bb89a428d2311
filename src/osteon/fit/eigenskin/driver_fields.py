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

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.fit.eigenskin.fit_rbf import RbfOptions, fit_settings
from osteon.fit.eigenskin.joint_settings import JointSettings

__all__ = ["DriverField", "PoseGroups", "group_poses", "joint_fields", "pair_fields"]


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
