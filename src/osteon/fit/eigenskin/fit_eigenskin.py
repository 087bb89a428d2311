"""EigenSkin: from a rig and meshes of known poses to displacements that follow its joints.

    minimise over U, a:   sum_p || u^p - sum_j sum_k a_jk(s_j^p) U_jk ||^2,     k few, U_jk zero off the support of j

u^p is the error of the skin in pose p, transformed to the rest pose; s_j^p is the rotation of joint j there. Steps:
joint settings - displacements - fields of joints and pairs - supports and components - selection, with a limit per
vertex - radial basis functions of the settings - the same for normals.

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
from osteon.core.errors import GeometryError
from osteon.core.progress import Progress, report_progress
from osteon.deform.eigenskin import EigenSkin
from osteon.fit.eigenskin.driver_columns import DriverColumns, PosesOfJoints, assemble_columns, fit_columns
from osteon.fit.eigenskin.driver_fields import JointSettings, PoseGroups, find_settings, group_poses
from osteon.fit.eigenskin.eigenbasis import Eigenbasis, choose_counts, choose_normal_counts
from osteon.fit.eigenskin.fit_rbf import SettingsFit
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.fit.eigenskin.rest_displacements import RestDisplacements, normal_differences, rest_displacements

#: Largest distance of a vertex where no joint rotates, relative to the diagonal.
AT_REST = 1e-2


@dataclass(frozen=True, slots=True)
class KnownPoses:
    """Meshes of one character in poses of its bones."""

    frames: Float32  # (p,v,3)
    transforms: Float64  # (p,b,3,4) posed_from_rest
    names: tuple[str, ...]  # (p,)
    hinges: Float64  # (b,3) axes of known hinges, else zero

    def __post_init__(self) -> None:
        n, n_bones = len(self.names), len(self.hinges)
        object.__setattr__(self, "frames", checked("frames", self.frames, (n, None, 3)))
        shape = (n, n_bones, 3, 4)
        object.__setattr__(self, "transforms", checked("transforms", self.transforms, shape, np.float64))
        object.__setattr__(self, "hinges", checked("hinges", self.hinges, (n_bones, 3), np.float64))

    def take(self, poses: Sequence[int] | Int64) -> KnownPoses:
        """A subset of the poses."""
        chosen = np.asarray(poses, np.int64)
        return KnownPoses(
            self.frames[chosen], self.transforms[chosen], tuple(self.names[p] for p in chosen), self.hinges
        )


@dataclass(frozen=True, slots=True)
class EigenSkinFit:
    """A fitted EigenSkin and its training data."""

    displacement: EigenSkin
    settings: JointSettings  # of the training poses
    groups: PoseGroups
    observed: RestDisplacements
    bases: list[Eigenbasis]  # of all drivers, not truncated
    counts: list[int]  # columns of each driver
    functions: list[SettingsFit]  # coordinates of each driver as functions of its settings
    normals: DriverColumns | None  # the same for normals, if there are any
    omitted: tuple[str, ...]  # poses that the preset does not use


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
    assert character.skeleton is not None  # checked above
    report_progress(progress, "settings", 0.0)
    whole = find_settings(poses.transforms, character.skeleton.parents, poses.names, poses.hinges)
    chosen, omitted = _usable(whole, options)
    _check_still(character, poses, whole)
    poses, settings = poses.take(chosen), whole.take(chosen)
    settings.check_distinct()
    report_progress(progress, "displacements", 0.1)
    rest = character.mesh.rest.astype(np.float64)
    observed = rest_displacements(character.deformer, rest, poses.frames, poses.transforms)
    report_progress(progress, "components", 0.3)
    joints = PosesOfJoints(character, settings, group_poses(settings), options)
    places = np.arange(len(rest))
    found = fit_columns(joints, observed.values, places, options.threshold, lambda bases: choose_counts(bases, options))
    report_progress(progress, "normals", 0.6)
    normals = _normals(joints, poses, found)
    report_progress(progress, "coordinates", 0.8)
    displacement = _assembled(joints, found, normals)
    displacement = displacement.in_8_bits() if options.basis_bits == 8 else displacement
    report_progress(progress, "coordinates", 1.0)
    columns = (found.bases, found.counts, found.functions)
    return EigenSkinFit(displacement, settings, joints.groups, observed, *columns, normals, omitted)


def _normals(joints: PosesOfJoints, poses: KnownPoses, found: DriverColumns) -> DriverColumns | None:
    """Eigennormals; None if none are requested or the mesh has no normals."""
    mesh, options = joints.character.mesh, joints.options
    if options.eigennormals == 0 or mesh.asset.faceted or not len(mesh.faces):
        return None
    missing = normal_differences(joints.character.deformer, mesh, poses.frames, poses.transforms)
    places = mesh.vertex_of_normal.astype(np.int64)
    wanted = sum(found.counts)
    return fit_columns(
        joints, missing, places, options.normal_threshold, lambda bases: choose_normal_counts(bases, wanted, options)
    )


def _assembled(joints: PosesOfJoints, found: DriverColumns, normals: DriverColumns | None) -> EigenSkin:
    """Columns that move positions, then those that move normals."""
    mesh = joints.character.mesh
    moved, tables = assemble_columns(joints, found, mesh.n_vertices)
    if normals is None or not sum(normals.counts):
        return EigenSkin(moved.astype(np.float32), tables)
    turned, more = assemble_columns(joints, normals, mesh.n_normals)
    basis = np.zeros((len(moved) + len(turned), mesh.n_vertices, 3), np.float32)
    normal_basis = np.zeros((len(basis), mesh.n_normals, 3), np.float32)
    basis[: len(moved)], normal_basis[len(moved) :] = moved, turned
    return EigenSkin(basis, tables.joined(more), normal_basis)


def _check(character: Character, poses: KnownPoses) -> None:
    """Refuse a rig without joints and poses of another mesh or rig."""
    skeleton, n_vertices = character.skeleton, character.mesh.n_vertices
    if skeleton is None or not (skeleton.parents >= 0).any():
        raise GeometryError(f"'{character.mesh.name}': no bone is a child of another, so there are no joints to follow")
    if len(skeleton.names) != len(poses.hinges):
        raise GeometryError(f"transforms: {len(poses.hinges)} bones, but the skeleton has {len(skeleton.names)} joints")
    if poses.frames.shape[1] != n_vertices:
        raise GeometryError(f"frames: {poses.frames.shape[1]} vertices, but '{character.mesh.name}' has {n_vertices}")


def _check_still(character: Character, poses: KnownPoses, settings: JointSettings) -> None:
    """Refuse a pose without joint rotations whose mesh is not at rest: its rotations are missing."""
    still = np.flatnonzero(~settings.moved.any(axis=1))
    rest = character.mesh.rest.astype(np.float64)
    for p in still.tolist():
        one = poses.take([p])
        off = rest_displacements(character.deformer, rest, one.frames, one.transforms).values
        if np.abs(off).max(initial=0.0) > AT_REST * character.mesh.diagonal:
            raise GeometryError(
                f"pose '{poses.names[p]}': no joint is rotated, but its mesh is not at rest; add its joint rotations"
            )


def _usable(settings: JointSettings, options: EigenSkinOptions) -> tuple[Int64, tuple[str, ...]]:
    """Indices of the training poses, and names of those that the preset does not use."""
    moving = settings.moved.sum(axis=1)
    used = (moving == 1) if options.preset == "paper" else (moving > 0)
    if not used.any():
        alone = " alone" if options.preset == "paper" and moving.any() else ""
        raise GeometryError(f"poses: no joint rotates{alone} in any of them, so there is nothing to learn")
    names = tuple(
        name for name, joints, wanted in zip(settings.names, moving, used, strict=True) if joints and not wanted
    )
    return np.flatnonzero(used), names
