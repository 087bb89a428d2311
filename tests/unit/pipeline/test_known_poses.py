"""Poses of a rig from a clip, a list and morph targets: pairing, units and axes, choice of frames, wrong poses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.animation import Animation, BoneTrack, Clip
from osteon.core.character import StoredDisplacement
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Mesh
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_points
from osteon.deform.pose_skeleton import joint_rotations_of_transforms, transforms_of_joint_rotations
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.io.poses.pose_list import ClipMoment
from osteon.io.poses.target_list import TargetPose
from osteon.pipeline.eigenskin import learn_eigenskin, rig_poses_of
from osteon.pipeline.known_poses.clip_sequence import choose_frames, poses_of_sequence
from osteon.pipeline.known_poses.mesh_matching import (
    match_moving,
    placed_pose_set,
    placement_at_rest,
    quarter_turns,
)
from osteon.pipeline.known_poses.options import ClipPoseOptions
from osteon.pipeline.known_poses.pose_checks import check_poses, frame_shift
from osteon.pipeline.known_poses.rig_poses import RigPoses, transforms_at
from osteon.pipeline.known_poses.target_poses import poses_of_targets, targets_of_joints, without_targets

from ...eigenskin_arm import flesh, make_rig, pose_set, turns_of

#: Frames of the clip, which bends elbow and wrist at different speeds.
FRAMES = 24


def angles_of(frame: float) -> tuple[float, tuple[float, float, float]]:
    part = frame / (FRAMES - 1)
    return 70.0 * part, (40.0 * np.sin(3 * part), 0.0, 15.0 * np.sin(5 * part))


@pytest.fixture(scope="module")
def rig() -> SkinnedModel:
    """The arm with a clip ROM."""
    character = make_rig()
    turns = np.stack([turns_of(*angles_of(f)) for f in range(FRAMES)])
    transforms = transforms_of_joint_rotations(character.skeleton, turns).astype(np.float32)
    track = BoneTrack(transforms, "rigid", character.skeleton.names)
    return SkinnedModel(character, Animation(track, (Clip("ROM", 0, FRAMES, 24.0),)))


def flesh_at(rig: SkinnedModel, frame: int) -> np.ndarray:
    elbow, wrist = angles_of(frame)
    rest = rig.rest.astype(np.float64)
    moved = rest + flesh(rest, np.deg2rad(elbow), np.deg2rad(wrist))
    return pose_points(rig.deformer, moved[None], rig.track.transforms[frame : frame + 1])[0]


@pytest.fixture(scope="module")
def truth(rig) -> MeshSequence:
    frames = np.stack([flesh_at(rig, f) for f in range(FRAMES)])
    return MeshSequence(frames, rig.faces, frames[0], clips=(Clip("simulation", 0, FRAMES, 24.0),))


def changed(sequence: MeshSequence, points) -> MeshSequence:
    """The sequence with a function of its points."""
    return MeshSequence(points(sequence.frames), sequence.faces, points(sequence.rest), clips=sequence.clips)


def test_frames_are_paired_chosen_and_learned(rig, truth):
    poses = poses_of_sequence(rig, truth, "ROM", ClipPoseOptions(frames=12, validate=4))
    assert poses.kinds.count("train") == 12
    assert poses.kinds.count("validate") == 4
    assert len(set(poses.frames.tolist())) == 16
    assert poses.notes == ()
    for p, f in enumerate(poses.frames.tolist()):
        np.testing.assert_array_equal(poses.known.frames[p], truth.frames[f])
        assert poses.known.names[p] == f"ROM_{f}"
    learned = learn_eigenskin(rig, poses, options=EigenSkinOptions(eigennormals=0))
    assert learned.doubts == ()
    assert learned.validation is not None
    assert learned.validation.removed.mean() > 0.85
    assert learned.model.clips == rig.clips


def test_the_farthest_frames_are_chosen_first():
    places = np.array([0.0, 5.0, 5.2, 30.0, 60.0, 59.9, 0.1])  # the first is rest
    apart = np.abs(places[:, None] - places[None])
    learned, judged = choose_frames(apart, 3, 0)
    assert learned.tolist() == [1, 2, 3]  # 5.2, 30, 60: not their neighbours, not rest
    assert len(judged) == 0
    everything, judged = choose_frames(apart, 1000, 1000)
    assert 5 not in [*everything, *judged]  # rests


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (lambda p: 100 * p, "100 times as large (centimetres for metres)"),
        (lambda p: p @ np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]), "have Z up where 'arm' has Y up"),
        (lambda p: p * 0.0254 + 0.0, "39.37 times as small (metres for inches)"),
        (lambda p: p * [-1, 1, -1], "face another way"),
        (lambda p: p + np.array([0, 7, 0]), "are 7 away"),
    ],
)
def test_units_and_axes_are_found_and_named(rig, truth, points, said):
    moved = changed(truth, lambda p: np.asarray(points(p), np.float32))
    poses = poses_of_sequence(rig, moved, None, ClipPoseOptions(frames=8, validate=0))
    assert said in poses.notes[0]
    # A difference of place includes the mean of the flesh, which is small.
    off = np.abs(poses.known.frames - truth.frames[poses.frames]).max()
    assert off < (0.02 if "away" in said else 1e-4) * rig.diagonal


def test_vertices_match_by_order_without_seams_or_by_place(rig, truth):
    mesh = rig.mesh
    doubled = Mesh(np.concatenate([mesh.rest, mesh.rest[:5]]), mesh.faces, name="seams")
    corner = mesh.faces.copy()
    corner[corner == 2] = len(mesh.rest) + 2
    doubled = Mesh(doubled.rest, corner, name="seams")
    skin = np.concatenate([truth.frames, truth.frames[:, :5]], axis=1)[:3]
    found = match_moving(doubled, skin, Mesh(truth.rest, mesh.faces), truth.frames[:3])
    np.testing.assert_array_equal(found.frames(truth.frames[:3]), skin)
    order = np.random.default_rng(1).permutation(len(mesh.rest))
    place = np.argsort(order)
    mixed = Mesh(mesh.rest[order], place[mesh.faces])  # with the rest pose
    found = match_moving(mesh, truth.frames[:3], mixed, truth.frames[:3, order])
    np.testing.assert_array_equal(found.frames(truth.frames[:3, order]), truth.frames[:3])
    with pytest.raises(GeometryError, match=r"they have 10 vertices, 'arm' has \d+ .*export both from one mesh"):
        match_moving(mesh, truth.frames[:3], Mesh(mesh.rest[:10] * 1.3, [[0, 1, 2]]), truth.frames[:3, :10])


def test_what_does_not_fit_is_named(rig, truth):
    options = ClipPoseOptions(frames=8)
    with pytest.raises(OptionError, match=r"no clip 'walk'.*ROM"):
        poses_of_sequence(rig, truth, "walk", options)
    with pytest.raises(OptionError, match="--offset 90: no frame"):
        poses_of_sequence(rig, truth, "ROM", ClipPoseOptions(offset=90))
    elsewhere = changed(truth, lambda p: p[..., ::-1] * [5, 1, 1] + p)
    with pytest.raises(GeometryError, match=r"% of the diagonal away.*--clip"):
        poses_of_sequence(rig, elsewhere, "ROM", options)
    still = rig.with_animation(
        track=BoneTrack(np.repeat(rig.track.transforms[:1], FRAMES, axis=0), "rigid", rig.track.names)
    )
    with pytest.raises(GeometryError, match="no joint rotates"):
        poses_of_sequence(still, truth, "ROM", options)
    many = rig.with_animation(clips=(Clip("a", 0, 4, 24.0), Clip("b", 4, FRAMES, 24.0)))
    with pytest.raises(OptionError, match=r"has 2 clips \(a, b\); name one"):
        poses_of_sequence(many, truth, None, options)


def test_other_frame_rates_are_paired_by_time(rig, truth):
    half = MeshSequence(truth.frames[::2], truth.faces, truth.rest, clips=(Clip("sim", 0, 12, 12.0),))
    poses = poses_of_sequence(rig, half, "ROM", ClipPoseOptions(validate=0))
    assert set(poses.frames.tolist()) <= set(range(0, FRAMES, 2))
    assert "12 are at the same time" in poses.notes[0]
    for p, f in enumerate(poses.frames.tolist()):
        np.testing.assert_array_equal(poses.known.frames[p], truth.frames[f])
    late = MeshSequence(truth.frames[4:], truth.faces, truth.rest, clips=(Clip("sim", 0, 20, 24.0),))
    offset = poses_of_sequence(rig, late, "ROM", ClipPoseOptions(offset=4, validate=0))
    for p, f in enumerate(offset.frames.tolist()):
        np.testing.assert_array_equal(offset.known.frames[p], truth.frames[f])


def test_all_frames_one_late_are_named(rig, truth):
    poses = poses_of_sequence(rig, truth, "ROM", ClipPoseOptions(validate=0))
    character = rig.character
    assert frame_shift(character, poses) == 0
    late = replace(poses, frames=np.clip(poses.frames - 2, 0, None))
    late = replace(late, known=replace(late.known, transforms=poses.clip[late.frames]))
    assert frame_shift(character, late) == 2
    some = np.flatnonzero(poses.frames > 6)[:8]
    known, kinds = late.known.take(some), tuple(late.kinds[p] for p in some)
    learned = learn_eigenskin(rig, replace(late, known=known, kinds=kinds, frames=late.frames[some]))
    assert any("2 frames later" in note and "--offset" in note for note in learned.notes)


def given_wrong(rig: SkinnedModel, poses: RigPoses, p: int, change) -> RigPoses:
    skeleton = rig.character.skeleton
    rotations, shifts = joint_rotations_of_transforms(skeleton, poses.known.transforms)
    rotations[p] = change(rotations[p].copy())
    transforms = transforms_of_joint_rotations(skeleton, rotations, shifts)
    return replace(poses, known=replace(poses.known, transforms=transforms))


@pytest.mark.parametrize(
    ("change", "cause", "joint"),
    [
        (lambda R: np.stack([R[0], R[1].T, R[2]]), "wrong sign", "elbow"),
        (lambda R: np.stack([R[0], R[1].T, R[2].T]), "wrong sign", ""),
        (lambda R: np.stack([R[0], R[2], R[1]]), "other joint", None),
        (lambda R: np.stack([R[0], Rotation.from_rotvec([0, 0, 1.2]).as_matrix(), R[2]]), "other axis", "elbow"),
    ],
)
def test_a_wrong_pose_is_named_with_its_cause(rig, truth, change, cause, joint):
    poses = poses_of_sequence(rig, truth, "ROM", ClipPoseOptions(validate=0))
    poses = replace(poses, frames=np.full(len(poses.kinds), -1))
    assert check_poses(rig.character, poses) == ()
    p = int(poses.known.names.index("ROM_20"))
    doubts = check_poses(rig.character, given_wrong(rig, poses, p, change))
    assert [doubt.pose for doubt in doubts] == ["ROM_20"]
    assert doubts[0].cause == cause
    if joint is not None:
        assert doubts[0].joint == joint
    assert doubts[0].explained < 0.6 * doubts[0].error
    assert "ROM_20" in doubts[0].note
    assert cause in doubts[0].note


def test_another_frame_is_named(rig, truth):
    poses = poses_of_sequence(rig, truth, "ROM", ClipPoseOptions(validate=0))
    p = int(poses.known.names.index("ROM_12"))
    transforms = poses.known.transforms.copy()
    transforms[p] = poses.clip[15]
    frames = poses.frames.copy()
    frames[p] = 15
    doubts = check_poses(
        rig.character, replace(poses, known=replace(poses.known, transforms=transforms), frames=frames)
    )
    assert [(doubt.pose, doubt.cause) for doubt in doubts] == [("ROM_12", "other frame")]
    assert "in frame 12 of the clip" in doubts[0].text


def test_a_mesh_that_nothing_explains_stands_out(rig, truth):
    poses = poses_of_sequence(rig, truth, "ROM", ClipPoseOptions(validate=0))
    frames = poses.known.frames.copy()
    frames[3] *= [1.0, 1.6, 1.0]
    doubts = check_poses(rig.character, replace(poses, known=replace(poses.known, frames=frames)))
    assert [(doubt.pose, doubt.cause) for doubt in doubts] == [(poses.known.names[3], "unknown")]
    assert "no wrong sign" in doubts[0].note


def test_moments_of_clips(rig):
    exact, frame = transforms_at(rig, ClipMoment("ROM", 7))
    assert frame == 7
    np.testing.assert_array_equal(exact, rig.track.transforms[7].astype(float))
    timed, frame = transforms_at(rig, ClipMoment("ROM", time=7 / 24))
    assert frame == 7
    np.testing.assert_array_equal(timed, exact)
    between, frame = transforms_at(rig, ClipMoment("ROM", time=7.5 / 24))
    assert frame == -1
    expected = transforms_of_joint_rotations(rig.character.skeleton, turns_of(*angles_of(7.5))[None])[0]
    assert np.abs(between - expected).max() < 2e-3
    for moment in (ClipMoment("ROM", FRAMES), ClipMoment("ROM", time=2.0)):
        with pytest.raises(OptionError, match="clip 'ROM' of 'arm' ends with"):
            transforms_at(rig, moment)


def test_sets_in_other_units_and_axes_are_converted():
    character = make_rig()
    poses = pose_set(character)
    turn = quarter_turns()[7]
    assert (turn != np.eye(3)).any()
    sticks = poses.skeleton
    other = replace(
        poses,
        mesh=Mesh(0.01 * poses.mesh.rest @ turn, poses.mesh.faces, name="poses"),
        skeleton=replace(sticks, joints=0.01 * sticks.joints @ turn),
        frames=(0.01 * poses.frames @ turn).astype(np.float32),
        turns=turn.T @ poses.turns @ turn,
    )
    found, notes = placed_pose_set(character.mesh, other)
    assert len(notes) == 1
    assert "100 times as small" in notes[0]
    np.testing.assert_allclose(found.frames, poses.frames, atol=1e-5)
    np.testing.assert_allclose(found.turns, poses.turns, atol=1e-12)
    np.testing.assert_allclose(
        rig_poses_of(character, other).known.transforms, rig_poses_of(character, poses).known.transforms, atol=1e-6
    )
    assert placement_at_rest(character.mesh, Mesh(1.4 * poses.mesh.rest, poses.mesh.faces)) is None
    assert len(quarter_turns()) == 24


@pytest.fixture(scope="module")
def with_targets(rig) -> SkinnedModel:
    """Two targets for bends of the elbow, worn in no frame, and one of the wrist that stays."""
    rest = rig.rest.astype(np.float64)
    basis = np.stack([flesh(rest, np.deg2rad(a), (0.0, 0.0, 0.0)) for a in (40.0, 80.0)] + [0.1 * rest])
    animation = replace(rig.animation, coefficients=np.zeros((FRAMES, 3), np.float32))
    stored = StoredDisplacement(basis.astype(np.float32))
    return SkinnedModel(replace(rig.character, displacements=(stored,)), animation)


TARGETS = ("elbow_40", "Elbow 80", "fat")


def bent(degrees: float) -> dict[str, np.ndarray]:
    return {"elbow": Rotation.from_rotvec([np.deg2rad(degrees), 0, 0]).as_matrix()}


def test_targets_become_poses_and_are_replaced(with_targets):
    wanted = [TargetPose("elbow_40", 1.0, bent(40)), TargetPose("Elbow 80", 1.0, bent(80))]
    poses = poses_of_targets(with_targets, TARGETS, wanted)
    assert poses.known.names == ("elbow_40", "Elbow 80")
    assert poses.used_targets == (0, 1)
    assert "1 morph targets stay" in poses.notes[1]
    rest = with_targets.rest.astype(np.float64)
    expected = pose_points(
        with_targets.deformer,
        (rest + flesh(rest, np.deg2rad(80), (0.0, 0.0, 0.0)))[None],
        transforms_of_joint_rotations(with_targets.character.skeleton, turns_of(80, (0, 0, 0))[None]),
    )
    np.testing.assert_allclose(poses.known.frames[1], expected[0], atol=1e-5)
    learned = learn_eigenskin(with_targets, poses, options=EigenSkinOptions(eigennormals=0))
    kept = learned.model.character.displacement(StoredDisplacement.kind)
    assert len(kept.basis) == 1
    np.testing.assert_array_equal(kept.basis[0], with_targets.character.displacement("corrections").basis[2])
    assert learned.training.removed.min() > 0.95
    assert without_targets(with_targets, (0, 1, 2)).character.displacements == ()
    assert without_targets(with_targets, ()) is with_targets


def test_targets_of_one_pose_are_worn_together(with_targets):
    wanted = [TargetPose("elbow_40", 0.5, bent(40)), TargetPose("fat", 1.0, bent(40))]
    poses = poses_of_targets(with_targets, TARGETS, wanted)
    assert poses.known.names == ("elbow_40+fat",)
    timed = poses_of_targets(with_targets, TARGETS, [TargetPose("fat", 1.0, {}, ClipMoment("ROM", 5))])
    assert timed.frames.tolist() == [5]
    np.testing.assert_array_equal(timed.known.transforms[0], with_targets.track.transforms[5].astype(float))
    assert targets_of_joints(with_targets, TARGETS) == {"elbow_40": "elbow", "Elbow 80": "elbow"}
