"""EigenSkin: from a rig and meshes of known poses to displacements that follow its joints.

    minimise over U, a:   sum_p || u^p - sum_j sum_k a_jk(s_j^p) U_jk ||^2,     k few, U_jk zero off the support of j

u^p is what the skin misses in pose p, taken back to the rest pose; s_j^p is how joint j is turned there. In steps:
settings of the joints - displacements - fields of joints and of pairs - supports and components - as many as wanted,
at most so many a vertex - radial basis functions of the settings - normals.

Based on: Kry, James and Pai, EigenSkin: Real Time Large Deformation Character Skinning in Hardware, 2002, section 2.
Differs from the paper, beyond what `--preset paper` does: pairs of joints (`driver_fields.py`), poses that move many
joints (`additive_poses.py`), radius and ridge by leave-one-out (`fit_rbf.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int64, checked
from osteon.core.character import Character
from osteon.core.eigenskin_options import EigenSkinOptions
from osteon.core.errors import GeometryError
from osteon.core.progress import Progress, report_progress
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.joint_rbf import NO_JOINT, JointRbf
from osteon.fit.eigenskin.additive_poses import split_poses
from osteon.fit.eigenskin.driver_fields import DriverField, PoseGroups, group_poses, joint_fields, pair_fields
from osteon.fit.eigenskin.eigen_normals import eigen_normals
from osteon.fit.eigenskin.eigenbasis import Eigenbasis, choose_counts, eigendisplacements
from osteon.fit.eigenskin.fit_rbf import RADIUS, RbfOptions, SettingsFit, fit_settings
from osteon.fit.eigenskin.joint_regions import neighbouring_joints, regions_of_joints
from osteon.fit.eigenskin.joint_settings import JointSettings, find_settings
from osteon.fit.eigenskin.rest_displacements import RestDisplacements, rest_displacements
from osteon.fit.eigenskin.vertex_limit import limit_columns

__all__ = ["EigenSkinFit", "KnownPoses", "fit_eigenskin"]

#: As printed: one radius, and poses are met.
PAPER_RBF = RbfOptions((RADIUS,), (0.0,), smooth=False)
#: How far a vertex may be off where no joint turns, of the diagonal.
AT_REST = 1e-2
#: Poses that turn all joints, by which columns are limited.
IMAGINED = 256


@dataclass(frozen=True, slots=True)
class KnownPoses:
    """Meshes of one character in poses of its bones."""

    frames: Float32  # (p,v,3)
    transforms: Float64  # (p,b,3,4) posed_from_rest
    names: tuple[str, ...]  # (p,)
    hinges: Float64  # (b,3) axes of joints that are known to be hinges, else zero

    def __post_init__(self) -> None:
        n, n_bones = len(self.names), len(self.hinges)
        object.__setattr__(self, "frames", checked("frames", self.frames, (n, None, 3)))
        shape = (n, n_bones, 3, 4)
        object.__setattr__(self, "transforms", checked("transforms", self.transforms, shape, np.float64))
        object.__setattr__(self, "hinges", checked("hinges", self.hinges, (n_bones, 3), np.float64))

    def take(self, poses: Sequence[int] | Int64) -> KnownPoses:
        """Some of them."""
        chosen = np.asarray(poses, np.int64)
        return KnownPoses(
            self.frames[chosen], self.transforms[chosen], tuple(self.names[p] for p in chosen), self.hinges
        )


@dataclass(frozen=True, slots=True)
class EigenSkinFit:
    """What was learned, and from what."""

    displacement: EigenSkin
    settings: JointSettings  # of the poses that were learned from
    groups: PoseGroups
    observed: RestDisplacements
    bases: list[Eigenbasis]  # of all drivers, whole
    counts: list[int]  # columns that each driver keeps
    functions: list[SettingsFit]  # coordinates of each driver between its settings
    left_out: tuple[str, ...]  # poses that the preset has no use for


def fit_eigenskin(
    character: Character,
    poses: KnownPoses,
    *,
    options: EigenSkinOptions | None = None,
    progress: Progress | None = None,
) -> EigenSkinFit:
    """Learn displacements of the character's rest pose that follow its joints."""
    options = options or EigenSkinOptions()
    _check(character, poses)
    assert character.skeleton is not None  # or else it was refused
    report_progress(progress, "settings", 0.0)
    whole = find_settings(poses.transforms, character.skeleton.parents, poses.names, poses.hinges)
    chosen, left_out = _usable(whole, options)
    _check_still(character, poses, whole)
    poses, settings = poses.take(chosen), whole.take(chosen)
    settings.check_distinct()
    report_progress(progress, "displacements", 0.1)
    rest = character.mesh.rest.astype(np.float64)
    observed = rest_displacements(character.deformer, rest, poses.frames, poses.transforms)
    report_progress(progress, "components", 0.3)
    rbf = PAPER_RBF if options.preset == "paper" else RbfOptions()
    groups = group_poses(settings)
    fields = _fields(character, settings, groups, observed.values, options, rbf)
    bases = [eigendisplacements(field, options.threshold) for field in fields if field.reach > 0]
    counts = choose_counts(bases, options)
    report_progress(progress, "coordinates", 0.6)
    functions = [fit_settings(b.field.turns, b.coordinates, b.field.axes, rbf, b.sizes) for b in bases]
    columns, tables, reach = _assemble(settings, bases, counts, functions)
    if options.limit and len(columns):
        columns = limit_columns(columns, reach, options.limit, _typical(settings, tables))
    report_progress(progress, "normals", 0.7)
    a, surface = tables.values(poses.transforms), (rest, character.mesh.faces)
    normals = None
    if len(character.mesh.faces):
        found = eigen_normals(character.deformer, surface, poses.frames, poses.transforms, columns, a)
        normals = found.astype(np.float32)
    displacement = EigenSkin(columns.astype(np.float32), tables, normals)
    displacement = displacement.in_8_bits() if options.basis_bits == 8 else displacement
    report_progress(progress, "normals", 1.0)
    return EigenSkinFit(displacement, settings, groups, observed, bases, counts, functions, left_out)


def _check(character: Character, poses: KnownPoses) -> None:
    """Refuse a rig without joints and poses of another mesh or rig."""
    skeleton, n_vertices = character.skeleton, character.mesh.n_vertices
    if skeleton is None or not (skeleton.parents >= 0).any():
        raise GeometryError(f"'{character.mesh.name}': no bone hangs on another, so there are no joints to follow")
    if len(skeleton.names) != len(poses.hinges):
        raise GeometryError(f"transforms: {len(poses.hinges)} bones, but the skeleton has {len(skeleton.names)} joints")
    if poses.frames.shape[1] != n_vertices:
        raise GeometryError(f"frames: {poses.frames.shape[1]} vertices, but '{character.mesh.name}' has {n_vertices}")


def _check_still(character: Character, poses: KnownPoses, settings: JointSettings) -> None:
    """Refuse a mesh that is not at rest in a pose that turns no joint: nobody said how it is turned."""
    still = np.flatnonzero(~settings.moved.any(axis=1))
    rest = character.mesh.rest.astype(np.float64)
    for p in still.tolist():
        one = poses.take([p])
        off = rest_displacements(character.deformer, rest, one.frames, one.transforms).values
        if np.abs(off).max(initial=0.0) > AT_REST * character.mesh.diagonal:
            raise GeometryError(
                f"pose '{poses.names[p]}': no joint is turned, but its mesh is not at rest; say how joints are turned"
            )


def _usable(settings: JointSettings, options: EigenSkinOptions) -> tuple[Int64, tuple[str, ...]]:
    """Numbers of poses to learn from, and names of those that the preset has no use for."""
    moving = settings.moved.sum(axis=1)
    used = (moving == 1) if options.preset == "paper" else (moving > 0)
    if not used.any():
        alone = " alone" if options.preset == "paper" and moving.any() else ""
        raise GeometryError(f"poses: no joint turns{alone} in any of them, so there is nothing to learn")
    names = tuple(
        name for name, joints, wanted in zip(settings.names, moving, used, strict=True) if joints and not wanted
    )
    return np.flatnonzero(used), names


def _fields(
    character: Character,
    settings: JointSettings,
    groups: PoseGroups,
    displacements: Float64,
    options: EigenSkinOptions,
    rbf: RbfOptions,
) -> list[DriverField]:
    """What joints and pairs do: as seen, or, where poses move many joints or pairs are all that is seen, split."""
    lone = {joint for pair in groups.pair for joint in pair} - set(groups.single)
    if len(groups.many) or lone:
        assert character.skeleton is not None
        rest, parents = character.mesh.rest.astype(np.float64), settings.parents.astype(np.int64)
        near = regions_of_joints(rest, character.deformer.bone_weights(), character.skeleton, settings.joints)
        pairs = neighbouring_joints(parents, settings.joints) if options.per_pair else []
        return split_poses(settings, displacements, near, sorted({*pairs, *groups.pair} if pairs else set())).fields
    alone = joint_fields(settings, groups, displacements)
    return alone + (pair_fields(settings, groups, displacements, alone, rbf) if options.per_pair else [])


def _assemble(
    settings: JointSettings,
    bases: list[Eigenbasis],
    counts: list[int],
    functions: list[SettingsFit],
) -> tuple[Float64, JointRbf, Float64]:
    """Columns (r,v,3), the first of all drivers first, the tables of their coefficients, and how far drivers reach."""
    order = sorted((k, d) for d, count in enumerate(counts) for k in range(count))
    n_vertices = len(bases[0].support) if bases else 0
    columns = np.stack([np.zeros((n_vertices, 3)), *(bases[d].columns[k] for k, d in order)])[1:]
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
    return columns, tables, np.array([bases[d].field.reach for _, d in order])


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
