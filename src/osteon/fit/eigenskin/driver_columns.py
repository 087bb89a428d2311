"""Columns of drivers, for positions or normals: fields, components, their number, and functions of joint settings.

Displacements of vertices and differences of normals are both values (p,n,3) of the rest pose that are known in some
poses and are processed alike; each has its own fields, supports, components and coefficients.

Based on: Kry, James and Pai, EigenSkin, 2002, section 2: "Although the process is shown for displacements, it applies
similarly to the construction of linear normal corrections".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.character import Character
from osteon.deform.joint_rbf import NO_JOINT, JointRbf
from osteon.fit.eigenskin.additive_poses import neighbouring_joints, regions_of_joints, split_poses
from osteon.fit.eigenskin.driver_fields import DriverField, JointSettings, PoseGroups, joint_fields, pair_fields
from osteon.fit.eigenskin.eigenbasis import Eigenbasis, eigendisplacements
from osteon.fit.eigenskin.fit_rbf import RADIUS, RbfOptions, SettingsFit, fit_settings
from osteon.fit.eigenskin.options import EigenSkinOptions

# A limit of columns per vertex, by smooth masks; the remaining columns are refitted to the product of all columns.
#
# A vertex program has room for a few displacements per vertex. With m_cv the length that column c moves vertex v by in
# poses that rotate all joints (root mean square), and t_v that of the first column beyond the limit,
#
#     mask_cv = max(0, 1 - (max(t_v, LEAST reach_c) / m_cv)^2)
#
#     minimise over U':   E_a || sum_c a_c (U_cv - U'_cv) ||^2 + FADE sum_c E[a_c^2] (1 / mask_cv^2 - 1) |U'_cv|^2
#
# Where a mask is one, a column is not regularised; where it is zero, the column is zero. Lengths vary smoothly over the
# mesh, also the one of a given rank, so a column fades out where stronger ones use up the limit. A column with hardly
# any effect at a vertex (a thousandth of that of its joint) is masked likewise. Coefficients a are those of the
# training poses, and of random poses in which every joint is rotated as in one of its training poses.
#
# Based on: Kry, James and Pai, EigenSkin, 2002, section 2.5: "smoothly mask the support groups to smaller regions".
# Differs from the paper: columns are refitted to the product of all of them.
#
# Notes, limit 10, share of the skin's error removed in unseen poses, mean and worst. Built-in hand, 82 columns of which
# up to 16 affect one vertex: no limit 93.4, 89.1; masks alone, by longest displacements 90.7, 87.4, by root mean
# squares 91.0, 87.6, with the eighth power instead of the square 92.0, 88.6; refitted with FADE of 1 90.4, 86.8, of 0.1
# 92.2, 88.3, of 0.01 92.5, 88.5, but columns then end three times as steeply; with 0.1 to the training poses alone
# 91.9, 88.3. Elastic hand, 30 columns, 4.5 per vertex: 97.3 without a limit and with any of these. The roughness of the
# columns differs by less than a percent. LEAST, with five columns per joint, entries per vertex: nothing 7.5, 1/2000
# 5.3, 1/1000 4.9, 1/500 4.5; the last leaves 0.07 points more of the error in training poses.

#: Least displacement by a column at a vertex, relative to the longest displacement of its joints.
LEAST = 1e-3
#: Regularisation of a masked column.
FADE = 0.13
#: Damping, relative to the mean square of a column.
DAMPING = 1e-6
#: Vertices per block of systems.
BLOCK = 1024


def limit_columns(columns: Float64, reach: Float64, limit: int, a: Float64) -> Float64:
    """Columns (r,v,3) masked to `limit` per vertex; `reach` (r,) of their drivers, coefficients a (p,r)."""
    gram = a.T @ a / max(len(a), 1)
    masks = _masks(columns, reach, limit, np.sqrt(np.diag(gram)))
    changed = np.any((masks < 1) & np.any(columns, axis=2), axis=0)
    out = np.where(masks[..., None] > 0, columns, 0.0)
    vertices = np.flatnonzero(changed)
    width = int((masks > 0).sum(axis=0).max(initial=0))
    for start in range(0, len(vertices), BLOCK):
        now = vertices[start : start + BLOCK]
        out[:, now] = _fitted(columns[:, now], masks[:, now], gram, width)
    return np.asarray(out)


def _masks(columns: Float64, reach: Float64, limit: int, sizes: Float64) -> Float64:
    """(r,v)"""
    lengths = np.sqrt(np.einsum("rvi,rvi->rv", columns, columns)) * sizes[:, None]
    level = np.broadcast_to((LEAST * reach * sizes)[:, None], lengths.shape)
    if len(columns) > limit:
        first_without_room = -np.partition(-lengths, limit, axis=0)[limit]
        level = np.maximum(level, first_without_room)
    ratio = level / np.where(lengths > 0, lengths, np.inf)
    return np.where(lengths > 0, np.maximum(0.0, 1.0 - ratio**2), 0.0)


def _fitted(columns: Float64, masks: Float64, gram: Float64, width: int) -> Float64:
    """(r,v,3) U' of some vertices, each with at most `width` columns."""
    out = np.zeros_like(columns)
    if not width:
        return out
    order = np.argsort(-masks, axis=0, kind="stable")[:width].T  # (v,width) kept columns come first
    mask = np.take_along_axis(masks.T, order, axis=1)
    size = np.diag(gram)[order]
    held = FADE * (1 / np.where(mask > 0, mask, 1.0) ** 2 - 1) + DAMPING
    system = gram[order[:, :, None], order[:, None, :]]
    diagonal = np.arange(width)
    system[:, diagonal, diagonal] += held * size
    both = (mask > 0)[:, :, None] & (mask > 0)[:, None, :]
    system = np.where(both, system, np.eye(width))
    wanted = np.einsum("vkr,rvi->vki", gram[order], columns, optimize=True)
    solved = np.linalg.solve(system, np.where((mask > 0)[..., None], wanted, 0.0))
    out[order.T, np.arange(len(order))[None]] = solved.transpose(1, 0, 2)
    return out


#: As printed: one radius, no ridge.
PAPER_RBF = RbfOptions((RADIUS,), (0.0,), smooth=False)
#: Random poses of all joints, used to limit columns.
IMAGINED = 256


@dataclass(frozen=True, slots=True)
class PosesOfJoints:
    """Joint settings of the training poses."""

    character: Character
    settings: JointSettings
    groups: PoseGroups
    options: EigenSkinOptions

    @property
    def rbf(self) -> RbfOptions:
        return PAPER_RBF if self.options.preset == "paper" else RbfOptions()


@dataclass(frozen=True, slots=True)
class DriverColumns:
    """The components of all drivers, the number that each keeps, and their coordinates as functions of settings."""

    bases: list[Eigenbasis]  # not truncated
    counts: list[int]
    functions: list[SettingsFit]


def fit_columns(
    poses: PosesOfJoints,
    values: Float64,
    places: Int64,
    threshold: float,
    choose: Callable[[list[Eigenbasis]], list[int]],
) -> DriverColumns:
    """Components of values (p,n,3) at the character's vertices `places` (n,).

    The support of a driver is where its values exceed the threshold, relative to its longest.
    """
    fields = _fields(poses, values, places)
    bases = [eigendisplacements(field, threshold) for field in fields if field.reach > 0]
    functions = [fit_settings(b.field.rotations, b.coordinates, b.field.axes, poses.rbf, b.sizes) for b in bases]
    return DriverColumns(bases, choose(bases), functions)


def assemble_columns(poses: PosesOfJoints, found: DriverColumns, n_places: int) -> tuple[Float64, JointRbf]:
    """Columns (r,n,3) within the limit per vertex, the first of each driver first, and tables of their coefficients."""
    settings, bases, functions = poses.settings, found.bases, found.functions
    order = sorted((k, d) for d, count in enumerate(found.counts) for k in range(count))
    columns = np.stack([np.zeros((n_places, 3)), *(bases[d].columns[k] for k, d in order)])[1:]
    axes = np.zeros((len(settings.parents), 3))
    axes[settings.joints] = settings.axes
    used = sorted({d for _, d in order})
    number = {d: i for i, d in enumerate(used)}
    centres = [np.zeros((0, 2, 4)), *(_two_slots(functions[d].centres) for d in used)]
    joints = np.array([[*settings.joints[list(bases[d].field.joints)], NO_JOINT][:2] for d in used], np.int32).reshape(
        -1, 2
    )
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
    kept = np.flatnonzero(columns.any(axis=(1, 2)))  # masks of stronger columns may have removed a column everywhere
    return columns[kept], tables if len(kept) == len(columns) else tables.take(kept)


def _fields(poses: PosesOfJoints, values: Float64, places: Int64) -> list[DriverField]:
    """Fields of joints and pairs: as observed, or split where poses move many joints or a joint never moves alone."""
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
    """(p,r) coefficients in the training poses, and in random combinations of their joint rotations."""
    rng = np.random.default_rng(0)
    rotations = np.zeros((IMAGINED, len(settings.joints), 4))
    rotations[..., 3] = 1.0
    for n in range(len(settings.joints)):
        seen = np.flatnonzero(settings.moved[:, n])
        if len(seen):
            rotations[:, n] = settings.rotations[rng.choice(seen, IMAGINED), n]
    both = [tables.values_at(poses, settings.joints) for poses in (settings.rotations, rotations)]
    return np.concatenate([a / np.sqrt(len(a)) for a in both])


def _two_slots(centres: Float64) -> Float64:
    """(q,2,4) with the identity in place of a missing second joint."""
    out = np.zeros((len(centres), 2, 4))
    out[..., 3] = 1.0
    out[:, : centres.shape[1]] = centres
    return out
