"""Columns of drivers, of positions or of normals: fields, their components, how many of each, and functions of joints.

Everything that follows from values (p,n,3) of the rest pose that are known in poses is the same for displacements of
vertices and for differences of normals; each has its own fields, supports, components and coefficients.

Based on: Kry, James and Pai, EigenSkin, 2002, section 2: "Although the process is shown for displacements, it applies
similarly to the construction of linear normal corrections".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.character import Character
from osteon.core.eigenskin_options import EigenSkinOptions
from osteon.deform.joint_rbf import NO_JOINT, JointRbf
from osteon.fit.eigenskin.additive_poses import split_poses
from osteon.fit.eigenskin.driver_fields import DriverField, PoseGroups, joint_fields, pair_fields
from osteon.fit.eigenskin.eigenbasis import Eigenbasis, eigendisplacements
from osteon.fit.eigenskin.fit_rbf import RADIUS, RbfOptions, SettingsFit, fit_settings
from osteon.fit.eigenskin.joint_regions import neighbouring_joints, regions_of_joints
from osteon.fit.eigenskin.joint_settings import JointSettings
from osteon.fit.eigenskin.vertex_limit import limit_columns

__all__ = ["DriverColumns", "PosesOfJoints", "assemble_columns", "fit_columns"]

#: As printed: one radius, and poses are met.
PAPER_RBF = RbfOptions((RADIUS,), (0.0,), smooth=False)
#: Poses that turn all joints, by which columns are limited.
IMAGINED = 256


@dataclass(frozen=True, slots=True)
class PosesOfJoints:
    """How joints are turned in the poses that are learned from."""

    character: Character
    settings: JointSettings
    groups: PoseGroups
    options: EigenSkinOptions

    @property
    def rbf(self) -> RbfOptions:
        return PAPER_RBF if self.options.preset == "paper" else RbfOptions()


@dataclass(frozen=True, slots=True)
class DriverColumns:
    """The components of all drivers, how many each keeps, and their coordinates between settings."""

    bases: list[Eigenbasis]  # whole
    counts: list[int]
    functions: list[SettingsFit]


def fit_columns(
    poses: PosesOfJoints,
    values: Float64,
    places: Int64,
    threshold: float,
    choose: Callable[[list[Eigenbasis]], list[int]],
) -> DriverColumns:
    """Components of values (p,n,3), each at one of the character's vertices: those numbered `places` (n,).

    Supports are where values exceed the threshold, a part of the longest of a driver.
    """
    fields = _fields(poses, values, places)
    bases = [eigendisplacements(field, threshold) for field in fields if field.reach > 0]
    functions = [fit_settings(b.field.turns, b.coordinates, b.field.axes, poses.rbf, b.sizes) for b in bases]
    return DriverColumns(bases, choose(bases), functions)


def assemble_columns(poses: PosesOfJoints, found: DriverColumns, n_places: int) -> tuple[Float64, JointRbf]:
    """Columns (r,n,3), the first of all drivers first, within the limit a vertex; and tables of their coefficients."""
    settings, bases, functions = poses.settings, found.bases, found.functions
    order = sorted((k, d) for d, count in enumerate(found.counts) for k in range(count))
    columns = np.stack([np.zeros((n_places, 3)), *(bases[d].columns[k] for k, d in order)])[1:]
    axes = np.zeros((len(settings.parents), 3))
    axes[settings.joints] = settings.axes
    used = sorted({d for _, d in order})
    number = {d: i for i, d in enumerate(used)}
    centres = [np.zeros((0, 2, 4)), *(_two_slots(functions[d].centres) for d in used)]
    joints = np.array([_bones(settings, bases[d]) for d in used], np.int32).reshape(-1, 2)
    tables = JointRbf(
        settings.parents,
        axes.astype(np.float32),
        joints,
        np.array([functions[d].radius for d in used], np.float32),
        np.array([len(functions[d].centres) for d in used], np.int32),
        np.concatenate(centres).astype(np.float32),
        np.array([number[d] for _, d in order], np.int32),
        np.concatenate([np.zeros(0), *(functions[d].weights[:, k] for k, d in order)]).astype(np.float32),
    )
    if poses.options.limit and len(columns):
        reach = np.array([bases[d].field.reach for _, d in order])
        columns = limit_columns(columns, reach, poses.options.limit, _typical(settings, tables))
    kept = np.flatnonzero(columns.any(axis=(1, 2)))  # stronger ones may have taken all the room of a column
    return columns[kept], tables if len(kept) == len(columns) else tables.take(kept)


def _fields(poses: PosesOfJoints, values: Float64, places: Int64) -> list[DriverField]:
    """What joints and pairs do: as seen, or, where poses move many joints or pairs are all that is seen, split."""
    character, settings, groups, options = poses.character, poses.settings, poses.groups, poses.options
    lone = {joint for pair in groups.pair for joint in pair} - set(groups.single)
    if len(groups.many) or lone:
        assert character.skeleton is not None
        rest, parents = character.mesh.rest.astype(np.float64), settings.parents.astype(np.int64)
        near = regions_of_joints(rest, character.deformer.bone_weights(), character.skeleton, settings.joints)
        pairs = neighbouring_joints(parents, settings.joints) if options.per_pair else []
        wanted = sorted({*pairs, *groups.pair} if pairs else set())
        return split_poses(settings, values, near[:, places], wanted).fields
    alone = joint_fields(settings, groups, values)
    return alone + (pair_fields(settings, groups, values, alone, poses.rbf) if options.per_pair else [])


def _typical(settings: JointSettings, tables: JointRbf) -> Float64:
    """(p,r) coefficients in poses that were seen, and in others that turn every joint as it was seen somewhere."""
    rng = np.random.default_rng(0)
    turns = np.zeros((IMAGINED, len(settings.joints), 4))
    turns[..., 3] = 1.0
    for n in range(len(settings.joints)):
        seen = np.flatnonzero(settings.moved[:, n])
        if len(seen):
            turns[:, n] = settings.turns[rng.choice(seen, IMAGINED), n]
    both = [tables.values_at(poses, settings.joints) for poses in (settings.turns, turns)]
    return np.concatenate([a / np.sqrt(len(a)) for a in both])


def _bones(settings: JointSettings, basis: Eigenbasis) -> list[int]:
    bones = [int(settings.joints[n]) for n in basis.field.joints]
    return [*bones, NO_JOINT][:2]


def _two_slots(centres: Float64) -> Float64:
    """(q,2,4) with a rest in place of a second joint."""
    out = np.zeros((len(centres), 2, 4))
    out[..., 3] = 1.0
    out[:, : centres.shape[1]] = centres
    return out
