"""Eigennormals: a basis and coefficients of their own, on an arm whose normals are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.animation import Animation, BoneTrack
from osteon.core.character import Character
from osteon.core.mesh import Asset, CornerNormals
from osteon.core.model import SkinnedModel
from osteon.core.normals import angles_between
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.normals import pose_normals, rest_normals
from osteon.deform.pose import blends_of
from osteon.fit.eigenskin.driver_columns import PosesOfJoints, assemble_columns, fit_columns
from osteon.fit.eigenskin.driver_fields import find_settings, group_poses
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses, fit_eigenskin
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.fit.eigenskin.rest_displacements import PoseNormals, normal_differences
from osteon.pipeline.eigenskin import measure_poses
from osteon_bench.eigenskin import share_coefficients

from ....eigenskin_arm import ELBOW, all_poses, known_poses, make_rig

WHOLE = EigenSkinOptions(per_joint=9, per_pair=9, support=0.0, limit=0)
UNSEEN = [(30.0, (15.0, 0.0, 0.0)), (70.0, (45.0, 0.0, 0.0)), (25.0, (40.0, 10.0, 0.0))]


@pytest.fixture(scope="module")
def rig() -> Character:
    return make_rig()


def degrees(rig: Character, found: EigenSkin | None, poses: KnownPoses) -> np.ndarray:
    """(p,n) angles between the normals that players show and those of the poses."""
    skin = replace(rig, displacements=() if found is None else (found,))
    model = SkinnedModel(skin, Animation(BoneTrack(poses.transforms, "rigid")))
    wanted = PoseNormals.of(rig.mesh)
    shown = [pose_normals(model, p).astype(np.float64) for p in range(len(poses.frames))]
    return np.stack([angles_between(one, wanted.at(frame)) for one, frame in zip(shown, poses.frames, strict=True)])


def test_differences_lead_to_the_normals_of_the_pose(rig: Character) -> None:
    poses = known_poses(rig)
    missing = normal_differences(rig.deformer, rig.mesh, poses.frames, poses.transforms)
    for p in (2, 7):
        linear = blends_of(rig.deformer, poses.transforms[p])[..., :3]
        shown = np.einsum("vij,vj->vi", linear, rest_normals(rig.mesh) + missing[p])
        shown /= np.linalg.norm(shown, axis=1, keepdims=True)
        assert angles_between(shown, PoseNormals.of(rig.mesh).at(poses.frames[p])).max() < 1e-5


def test_all_eigennormals_meet_the_poses(rig: Character) -> None:
    poses = known_poses(rig)
    found = fit_eigenskin(rig, poses, options=WHOLE).displacement
    assert degrees(rig, found, poses).max() < 1e-3
    assert degrees(rig, None, poses).mean() > 1


def test_known_columns_are_recovered(rig: Character) -> None:
    """Two columns whose coefficients are known functions of the elbow's angle: the same space, and the same values."""
    poses = known_poses(rig, all_poses()[: len(ELBOW)])
    assert rig.skeleton is not None
    settings = find_settings(poses.transforms, rig.skeleton.parents, poses.names, poses.hinges)
    options = EigenSkinOptions(support=0.0, limit=0)
    joints = PosesOfJoints(rig, settings, group_poses(settings), options)
    columns = np.random.default_rng(3).normal(size=(2, rig.mesh.n_normals, 3))
    angles = np.deg2rad(ELBOW)
    amounts = np.stack([np.sin(angles), 1 - np.cos(angles)], axis=1)
    values = np.tensordot(amounts, columns, axes=1)
    places = rig.mesh.vertex_of_normal.astype(np.int64)
    found = fit_columns(joints, values, places, 0.0, lambda bases: [2 for _ in bases])
    basis, tables = assemble_columns(joints, found, rig.mesh.n_normals)
    assert found.bases[0].singular[2:].max(initial=0.0) < 1e-9 * found.bases[0].singular[0]
    flat, known = basis.reshape(2, -1), columns.reshape(2, -1)
    solved = np.linalg.lstsq(flat.T, known.T, rcond=None)[0]
    assert flat.T @ solved == pytest.approx(known.T, abs=1e-8)
    assert np.tensordot(tables.values(poses.transforms), basis, axes=1) == pytest.approx(values, abs=1e-4)


def test_columns_move_positions_or_normals(rig: Character) -> None:
    fit = fit_eigenskin(rig, known_poses(rig))
    found = fit.displacement
    assert fit.normals is not None
    assert found.normal_basis is not None
    assert found.rank == sum(fit.counts)
    assert found.n_normals == sum(fit.normals.counts) > 0
    assert not found.basis[found.rank :].any()
    assert not found.normal_basis[: found.rank].any()
    assert found.normal_basis[found.rank :].any(axis=(1, 2)).all()


def test_positions_are_those_without_eigennormals(rig: Character) -> None:
    poses = known_poses(rig)
    both, alone = (fit_eigenskin(rig, poses, options=EigenSkinOptions(eigennormals=n)).displacement for n in (None, 0))
    assert alone.normal_basis is None
    assert np.array_equal(both.basis[: both.rank], alone.basis)
    animation = Animation(BoneTrack(poses.transforms, "rigid"))
    assert np.array_equal(both.position_coefficients(animation), alone.coefficients(animation))


def test_own_coefficients_shade_better_than_shared_ones(rig: Character) -> None:
    poses, unseen = known_poses(rig), known_poses(rig, UNSEEN)
    found = fit_eigenskin(rig, poses).displacement
    shared = share_coefficients(rig, found, poses)
    own, once, none = (degrees(rig, one, unseen).mean() for one in (found, shared, None))
    assert own < 0.8 * once
    assert own < 0.2 * none


def test_a_normal_has_at_most_so_many(rig: Character) -> None:
    found = fit_eigenskin(rig, known_poses(rig), options=EigenSkinOptions(per_joint=5, limit=3)).displacement
    assert found.columns_per_vertex.max() <= 3
    assert found.columns_per_normal.max() <= 3


@pytest.mark.parametrize(("options", "count"), [({"eigennormals": 1}, 3), ({"total": 5}, 5), ({"eigennormals": 0}, 0)])
def test_numbers_of_eigennormals(rig: Character, options: dict[str, int], count: int) -> None:
    """One for each axis of a joint: the elbow has one, the wrist two; pairs share in them."""
    fit = fit_eigenskin(rig, known_poses(rig), options=EigenSkinOptions(per_pair=0, **options))
    ways = sum(basis.n_axes for basis in fit.bases)
    assert fit.displacement.n_normals == (ways if options.get("eigennormals") == 1 else count)


def test_the_paper_has_as_many_for_each_joint(rig: Character) -> None:
    fit = fit_eigenskin(rig, known_poses(rig), options=EigenSkinOptions(preset="paper", per_joint=1))
    assert fit.normals is not None
    assert (fit.counts, fit.normals.counts) == ([1, 1], [1, 1])
    assert {function.radius for function in fit.normals.functions} == {1.0}


def test_poses_of_many_joints_teach_normals_too(rig: Character) -> None:
    rng = np.random.default_rng(4)
    many = [(float(e), (float(w), 0.0, 0.0)) for e, w in rng.uniform([0, 5], [80, 60], (14, 2))]
    poses, unseen = known_poses(rig, many, coupling=0.0), known_poses(rig, UNSEEN[:2], coupling=0.0)
    found = fit_eigenskin(rig, poses).displacement
    assert degrees(rig, found, unseen).mean() < 0.4 * degrees(rig, None, unseen).mean()


def test_a_mesh_with_several_normals_a_vertex(rig: Character) -> None:
    """Hard edges: every corner of a triangle has the triangle's normal."""
    mesh = rig.mesh
    corners = mesh.rest.astype(np.float64)[mesh.faces]
    facets = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facets /= np.linalg.norm(facets, axis=1, keepdims=True)
    of_corner = np.arange(mesh.faces.size, dtype=np.int32).reshape(-1, 3)
    own = CornerNormals(np.repeat(facets, 3, axis=0).astype(np.float32), of_corner)
    hard = replace(rig, mesh=replace(mesh, asset=Asset(normals=own)))
    poses, unseen = known_poses(hard), known_poses(hard, UNSEEN)
    found = fit_eigenskin(hard, poses).displacement
    assert found.normal_basis is not None
    assert found.normal_basis.shape[1] == hard.mesh.n_normals > hard.mesh.n_vertices
    assert degrees(hard, found, unseen).mean() < 0.3 * degrees(hard, None, unseen).mean()


def test_measures_are_the_angles_that_players_show(rig: Character) -> None:
    poses, unseen = known_poses(rig), known_poses(rig, UNSEEN)
    found = fit_eigenskin(rig, poses).displacement
    measured = measure_poses((rig, rig), unseen, found)
    for told, skin in ((measured.shading, found), (measured.shading_skin, None)):
        angles = degrees(rig, skin, unseen)
        assert told[:, 0] == pytest.approx(angles.mean(axis=1), abs=1e-3)
        assert told[:, 1] == pytest.approx(np.percentile(angles, 95, axis=1), abs=1e-2)
    shading = measured.to_json()["shading_degrees"]
    assert isinstance(shading, dict)
    assert shading["mean"] == pytest.approx(measured.shading[:, 0].mean())


def test_a_mesh_without_faces_has_none(rig: Character) -> None:
    bare = replace(rig, mesh=replace(rig.mesh, faces=np.zeros((0, 3), np.int32)))
    assert fit_eigenskin(bare, known_poses(bare)).normals is None
