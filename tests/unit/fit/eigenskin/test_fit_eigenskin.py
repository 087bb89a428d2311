"""EigenSkin learned from an arm whose flesh is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.animation import Animation, BoneTrack
from osteon.core.character import Character, Skeleton, Skin
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Mesh
from osteon.core.model import SkinnedModel
from osteon.core.normals import angles_between, vertex_normals
from osteon.core.transforms import apply, compose, invert
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_character
from osteon.fit.eigenskin.eigenbasis import left_by_counts
from osteon.fit.eigenskin.fit_eigenskin import EigenSkinFit, KnownPoses, fit_eigenskin
from osteon.fit.eigenskin.options import EigenSkinOptions

from ....eigenskin_arm import all_poses, known_poses, make_rig

WHOLE = EigenSkinOptions(per_joint=9, per_pair=9, support=0.0, limit=0)
UNSEEN = [(30.0, (15.0, 0.0, 0.0)), (70.0, (45.0, 0.0, 0.0)), (25.0, (40.0, 10.0, 0.0))]


@pytest.fixture(scope="module")
def rig() -> Character:
    return make_rig()


def off(rig: Character, fit: EigenSkinFit, poses: KnownPoses) -> np.ndarray:
    """(p,) RMS of the corrected skin, in diagonals."""
    shown = pose_character(replace(rig, displacements=(fit.displacement,)), poses.transforms)
    return np.sqrt(((shown.astype(np.float64) - poses.frames) ** 2).sum(axis=2).mean(axis=1)) / rig.mesh.diagonal


def skin_off(rig: Character, poses: KnownPoses) -> np.ndarray:
    shown = pose_character(rig, poses.transforms)
    return np.sqrt(((shown.astype(np.float64) - poses.frames) ** 2).sum(axis=2).mean(axis=1)) / rig.mesh.diagonal


def test_all_eigendisplacements_meet_the_poses(rig: Character) -> None:
    poses = known_poses(rig)
    fit = fit_eigenskin(rig, poses, options=WHOLE)
    assert off(rig, fit, poses).max() <= 1e-6
    assert skin_off(rig, poses).min() > 1e-4
    assert fit.observed.bounded == 0


def test_rest_stays_at_rest(rig: Character) -> None:
    fit = fit_eigenskin(rig, known_poses(rig), options=WHOLE)
    still = np.zeros((1, 3, 3, 4))
    still[..., :3] = np.eye(3)
    assert np.abs(fit.displacement.rbf.values(still)).max() <= 1e-6


def test_more_columns_leave_less(rig: Character) -> None:
    bases = fit_eigenskin(rig, known_poses(rig), options=WHOLE).bases
    left = [left_by_counts(bases, [min(n, len(b.singular)) for b in bases]) for n in range(5)]
    assert left[0] == 1
    assert all(after < before for before, after in pairwise(left))


def test_unseen_poses_are_followed(rig: Character) -> None:
    """Poses of both joints at other angles; the pair needs its columns."""
    unseen = known_poses(rig, UNSEEN)
    fit = fit_eigenskin(rig, known_poses(rig))
    alone = fit_eigenskin(rig, known_poses(rig), options=EigenSkinOptions(per_pair=0))
    without = skin_off(rig, unseen)
    assert (1 - off(rig, fit, unseen) / without).min() > 0.85
    assert off(rig, fit, unseen).mean() < 0.7 * off(rig, alone, unseen).mean()


def test_hinges_are_found(rig: Character) -> None:
    settings = fit_eigenskin(rig, known_poses(rig)).settings
    elbow, wrist = settings.axes
    assert np.abs(elbow) == pytest.approx([1, 0, 0], abs=1e-3)
    assert not wrist.any()


def test_poses_of_many_joints_are_split(rig: Character) -> None:
    """Poses that move both joints at once teach what single ones do."""
    rng = np.random.default_rng(4)
    many = [(float(e), (float(w), 0.0, 0.0)) for e, w in rng.uniform([0, 5], [80, 60], (14, 2))]
    poses, unseen = known_poses(rig, many, coupling=0.0), known_poses(rig, UNSEEN[:2], coupling=0.0)
    fit = fit_eigenskin(rig, poses)
    assert not fit.groups.single
    assert (1 - off(rig, fit, unseen) / skin_off(rig, unseen)).min() > 0.7
    single = known_poses(rig, [(40.0, (0.0, 0.0, 0.0))])
    assert off(rig, fit, single)[0] < 0.4 * skin_off(rig, single)[0]


def test_single_and_many_together(rig: Character) -> None:
    poses = known_poses(rig, [*all_poses(), (0.0, (10.0, 0.0, 0.0)), (35.0, (25.0, 10.0, 0.0))])
    fit = fit_eigenskin(rig, poses, options=EigenSkinOptions(per_joint=4))
    assert (off(rig, fit, poses) < 0.2 * skin_off(rig, poses)).all()


def placed(rig: Character, poses: KnownPoses, place: np.ndarray) -> tuple[Character, KnownPoses]:
    """The same in a scene that is turned, moved and scaled at rest and in every pose."""
    assert rig.skeleton is not None
    mesh = Mesh(apply(place, rig.mesh.rest), rig.mesh.faces, name=rig.mesh.name)
    skeleton = Skeleton(rig.skeleton.names, rig.skeleton.parents, compose(place, rig.skeleton.world_from_joint))
    transforms = compose(compose(place, poses.transforms), invert(place))
    frames = apply(place[None], poses.frames)
    return Character(mesh, rig.deformer, (), skeleton), KnownPoses(frames, transforms, poses.names, poses.hinges)


@pytest.mark.parametrize("many", [False, True])
def test_a_scene_that_lies_elsewhere_in_other_units_learns_the_same(rig: Character, many: bool) -> None:
    place = np.concatenate([50 * Rotation.from_euler("xyz", [0.4, 1.9, -0.7]).as_matrix(), [[3.0], [80], [1]]], axis=1)
    poses = known_poses(rig, [*all_poses(), (35.0, (25.0, 10.0, 0.0)), (15.0, (5.0, 0.0, 9.0))] if many else None)
    if many:
        poses = replace(poses, names=(*poses.names[:-1], "last"))
    other_rig, other_poses = placed(rig, poses, place)
    unseen, other_unseen = known_poses(rig, UNSEEN), placed(rig, known_poses(rig, UNSEEN), place)[1]
    one, other = fit_eigenskin(rig, poses), fit_eigenskin(other_rig, other_poses)
    shown = pose_character(replace(rig, displacements=(one.displacement,)), unseen.transforms)
    elsewhere = pose_character(replace(other_rig, displacements=(other.displacement,)), other_unseen.transforms)
    assert np.abs(elsewhere - apply(place[None], shown)).max() <= 2e-5 * other_rig.mesh.diagonal


def test_moving_poses_as_a_whole_changes_nothing(rig: Character) -> None:
    poses = known_poses(rig)
    walk = np.concatenate([Rotation.from_euler("y", 2.0).as_matrix(), [[5.0], [-1], [2]]], axis=1)
    moved = KnownPoses(apply(walk[None], poses.frames), compose(walk, poses.transforms), poses.names, poses.hinges)
    one, other = fit_eigenskin(rig, poses).displacement, fit_eigenskin(rig, moved).displacement
    assert other.basis == pytest.approx(one.basis, abs=2e-6)


def test_same_input_same_output(rig: Character) -> None:
    one, other = (fit_eigenskin(rig, known_poses(rig)).displacement for _ in range(2))
    assert np.array_equal(one.basis, other.basis)
    assert np.array_equal(one.rbf.weights, other.rbf.weights)


def test_columns_in_all_and_a_bound(rig: Character) -> None:
    poses = known_poses(rig)
    total = fit_eigenskin(rig, poses, options=EigenSkinOptions(total=4))
    assert sum(total.counts) == total.displacement.rank == total.displacement.n_normals == 4
    equal = left_by_counts(total.bases, [2, 2, 0])
    assert left_by_counts(total.bases, total.counts) <= equal + 1e-12
    bound = fit_eigenskin(rig, poses, options=EigenSkinOptions(max_error=0.2))
    assert left_by_counts(bound.bases, bound.counts) <= 0.2
    fewer = [count - (i == int(np.argmax(bound.counts))) for i, count in enumerate(bound.counts)]
    assert left_by_counts(bound.bases, fewer) > 0.2


def test_a_vertex_has_at_most_so_many(rig: Character) -> None:
    fit = fit_eigenskin(rig, known_poses(rig), options=EigenSkinOptions(per_joint=5, limit=3))
    assert fit.displacement.columns_per_vertex.max() == 3


def test_the_paper_has_joints_alone(rig: Character) -> None:
    fit = fit_eigenskin(rig, known_poses(rig), options=EigenSkinOptions(preset="paper"))
    assert all(not basis.is_pair for basis in fit.bases)
    assert fit.omitted == ("pose10",)
    assert {function.radius for function in fit.functions} == {1.0}
    assert EigenSkinOptions(preset="paper").threshold == 0.04


def test_normals_go_along(rig: Character) -> None:
    poses = known_poses(rig)
    fit = fit_eigenskin(rig, poses, options=WHOLE)
    found = fit.displacement
    model = SkinnedModel(replace(rig, displacements=(found,)), Animation(BoneTrack(poses.transforms, "rigid")))
    assert found.normal_basis is not None
    plain = SkinnedModel(rig, model.animation)
    for f in (4, 6):
        true = vertex_normals(poses.frames[f], rig.mesh.faces)
        better, worse = (angles_between(pose_normals(m, f), true).mean() for m in (model, plain))
        assert better < 0.3 * worse


def test_dual_quaternions_are_corrected_too(rig: Character) -> None:
    other = replace(rig, deformer=DualQuaternion(rig.deformer.bone_weights()))
    poses = known_poses(other)
    fit = fit_eigenskin(other, poses, options=WHOLE)
    assert off(other, fit, poses).max() <= 1e-6


def test_a_collapsed_blend_is_bounded_and_counted(rig: Character) -> None:
    """Half a turn, and weights of a half: the blend is flat."""
    weights = np.where(rig.mesh.rest[:, 2:] < 0.2, [0.5, 0.5, 0.0], [0.0, 0.0, 1.0])
    halves = replace(rig, deformer=LinearBlend(Skin(np.tile(np.arange(3, dtype=np.int32), (len(weights), 1)), weights)))
    poses = known_poses(halves, [*all_poses(), (179.9, (0.0, 0.0, 0.0))])
    away = replace(poses, frames=poses.frames + np.float32(0.1))
    fit = fit_eigenskin(halves, away)
    assert fit.observed.bounded == (weights[:, 0] > 0).sum()
    assert fit.observed.flattest < 0.01
    assert np.abs(fit.observed.values).max() < 11 * np.abs(away.frames - rig.mesh.rest).max()
    assert np.isfinite(fit.displacement.basis).all()


def test_joints_that_never_move_are_told(rig: Character) -> None:
    fit = fit_eigenskin(rig, known_poses(rig, all_poses()[:5]))
    assert [fit.settings.joints[n] for n in fit.settings.never_moved()] == [2]
    assert len(fit.bases) == 1


def test_poses_of_equal_settings_are_refused(rig: Character) -> None:
    with pytest.raises(GeometryError, match="pose 'pose2': its joints are rotated as in pose 'pose0'"):
        fit_eigenskin(rig, known_poses(rig, [*all_poses()[:2], all_poses()[0]]))


def test_poses_that_move_nothing_teach_nothing(rig: Character) -> None:
    with pytest.raises(GeometryError, match="no joint rotates in any of them"):
        fit_eigenskin(rig, known_poses(rig, [(0.0, (0.0, 0.0, 0.0))]))
    both = [(10.0, (5.0, 0.0, 0.0))]
    with pytest.raises(GeometryError, match="no joint rotates alone"):
        fit_eigenskin(rig, known_poses(rig, both), options=EigenSkinOptions(preset="paper"))


def test_meshes_of_other_vertices_and_nan_are_refused(rig: Character) -> None:
    poses = known_poses(rig)
    fewer = replace(poses, frames=poses.frames[:, 1:])
    with pytest.raises(GeometryError, match="vertices, but 'arm' has"):
        fit_eigenskin(rig, fewer)
    spoiled = poses.frames.copy()
    spoiled[3, 5, 1] = np.nan
    with pytest.raises(GeometryError, match=r"frames: value at index \(3, 5, 1\) is not finite"):
        replace(poses, frames=spoiled)


def test_a_rig_without_joints_is_refused(rig: Character) -> None:
    with pytest.raises(GeometryError, match="no bone is a child of another"):
        fit_eigenskin(replace(rig, skeleton=None), known_poses(rig))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"preset": "paper", "per_pair": 1}, "the paper has no pairs"),
        ({"total": 3, "per_joint": 3}, "--total sets the number"),
        ({"max_error": 0.1, "total": 3}, "--max-error finds the number"),
        ({"support": 2.0}, "support"),
        ({"basis_bits": 16}, "basis_bits"),
    ],
)
def test_options_without_effect_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        EigenSkinOptions(**options)


def test_columns_are_shared_out_by_axes_and_as_printed_by_joints(rig: Character) -> None:
    """The elbow has one axis, the wrist several: as many columns in all, and the same number for each in the paper."""
    poses = known_poses(rig)
    shared = fit_eigenskin(rig, poses, options=EigenSkinOptions(per_joint=1, per_pair=0))
    printed = fit_eigenskin(rig, poses, options=EigenSkinOptions(preset="paper", per_joint=1))
    alone = [basis for basis in shared.bases if not basis.is_pair]
    assert sum(shared.counts) == sum(basis.n_axes for basis in alone) > len(alone)
    assert list(printed.counts) == [1, 1]
