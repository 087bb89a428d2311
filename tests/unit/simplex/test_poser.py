"""The whole way from a mesh, a skeleton and a pose to a posed mesh."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.pose_track import ControlLine, Domain, LineTrack, PinTrack, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import apply, rotation_from_axis_angle
from osteon.measure.strain import flipped
from osteon.simplex.poser import Poser, PoserOptions
from osteon.simplex.simplices import EnergyOptions
from osteon.synth.shapes import Shape, join_shapes, make_grid, make_sphere, make_tube

TUBE = make_tube(12, 40, 0.15, 2.0)  # along x, 0 … 2
ARM = StickSkeleton(np.array([[0.1, 0, 0], [1.0, 0, 0], [1.9, 0, 0]]), np.array([[0, 1], [1, 2]]))
SHEET = Shape(make_grid(24, 6, 2.0, 0.4).vertices * [1, 1, 0], make_grid(24, 6, 2.0, 0.4).faces)


def bend(degrees: float, axis: tuple[float, float, float] = (0.0, 0.0, 1.0)) -> PoseTrack:
    """The second bone of the arm turns at the elbow."""
    turn = rotation_from_axis_angle(np.array(axis), np.radians(degrees))
    joints = ARM.joints.copy()
    joints[2] = joints[1] + turn @ (joints[2] - joints[1])
    return PoseTrack(joints[None])


@pytest.fixture(scope="module")
def poser() -> Poser:
    return Poser.of(TUBE.vertices, TUBE.faces, ARM)


@pytest.mark.parametrize("method", ["simplex", "ssd"])
def test_rest_and_rigid_motion(method: str) -> None:
    posing = Poser.of(TUBE.vertices, TUBE.faces, ARM, options=PoserOptions(method=method))  # type: ignore[arg-type]
    assert np.abs(posing.pose(PoseTrack(ARM.joints[None]))[0] - TUBE.vertices).max() < 1e-12
    motion = np.concatenate([rotation_from_axis_angle(np.array([0.0, 1, 0.3]), 1.0), [[1.0], [2], [3]]], axis=1)
    rotations = np.broadcast_to(motion[:, :3], (1, 2, 3, 3))
    track = PoseTrack(apply(motion, ARM.joints)[None], rotations=rotations)
    assert np.abs(posing.pose(track)[0] - apply(motion, TUBE.vertices)).max() < 1e-12


def test_an_elbow_bends_without_flips_and_ends_follow(poser: Poser) -> None:
    track = bend(60)
    posed = poser.pose(track)[0]
    assert not flipped(TUBE.vertices, posed, TUBE.faces, poser.ideal(track)[0]).any()
    hand = TUBE.vertices[:, 0] > 1.8
    expected = apply(poser.motion(track).transforms[0, 1], TUBE.vertices[hand])
    assert np.linalg.norm(posed[hand] - expected, axis=1).max() < 0.1
    still = TUBE.vertices[:, 0] < 0.3
    assert np.linalg.norm(posed[still] - TUBE.vertices[still], axis=1).max() < 0.1


def test_many_poses_are_the_poses_one_by_one(poser: Poser) -> None:
    track = PoseTrack(np.concatenate([bend(d).joints for d in (10, 30, 50)]))
    together = poser.pose(track)
    for f in range(3):
        assert np.array_equal(together[f], poser.pose(track.frame(f))[0])
    assert np.array_equal(poser.ideal(track)[1], poser.ideal(track.frame(1))[0])


def test_a_twist_turns_one_end_against_the_other(poser: Poser) -> None:
    twist = np.array([[[0.0, 0.0], [0.0, np.pi / 2]]])
    posed = poser.pose(PoseTrack(ARM.joints[None], twist=twist))[0]
    for x, angle in ((0.5, 0.0), (1.45, np.pi / 4), (1.9, np.pi / 2)):
        ring = np.abs(TUBE.vertices[:, 0] - x) < 0.03
        turn = rotation_from_axis_angle(np.array([1.0, 0, 0]), angle)
        assert np.linalg.norm(posed[ring] - TUBE.vertices[ring] @ turn.T, axis=1).max() < 0.04


def test_lines_alone_move_only_their_domain() -> None:
    line = ControlLine((1.2, 0, 0), (1.9, 0, 0), Domain(tube=0.3))
    posing = Poser.of(TUBE.vertices, TUBE.faces, None, lines=(line,))
    lifted = LineTrack((line,), np.array([[[[1.2, 0.3, 0], [1.9, 0.3, 0]]]]), np.ones((1, 1)), np.zeros((1, 1, 2)))
    posed = posing.pose(PoseTrack(np.zeros((1, 0, 3)), lines=lifted))[0]
    rose = posed[:, 1] - TUBE.vertices[:, 1]
    assert rose[TUBE.vertices[:, 0] > 1.5].min() > 0.2
    assert np.abs(rose[TUBE.vertices[:, 0] < 0.4]).max() < 0.08


def test_lines_take_over_from_bones(poser: Poser) -> None:
    line = ControlLine((1.4, 0, 0), (1.8, 0, 0))
    posing = Poser.of(TUBE.vertices, TUBE.faces, ARM, lines=(line,))
    x = TUBE.vertices[TUBE.faces].mean(axis=1)[:, 0]
    assert (posing.groups.group[(x > 1.41) & (x < 1.79)] == ARM.n_bones).all()
    rest = (x < 1.39) | (x > 1.81)
    assert np.array_equal(posing.groups.group[rest], poser.groups.group[rest])
    with pytest.raises(GeometryError, match="control lines"):
        posing.pose(PoseTrack(ARM.joints[None]))


def test_other_lines_keep_the_segments(poser: Poser) -> None:
    line = ControlLine((1.4, 0, 0), (1.8, 0, 0))
    again = poser.with_lines((line,))
    fresh = Poser.of(TUBE.vertices, TUBE.faces, ARM, lines=(line,))
    assert again.segmentation is poser.segmentation
    assert np.array_equal(again.groups.group, fresh.groups.group)
    assert np.array_equal(again.with_lines(()).pose(bend(40)), poser.pose(bend(40)))
    assert poser.with_lines(()) is poser


def test_pins_are_met(poser: Poser) -> None:
    target = TUBE.vertices[[3]] + [0.1, 0.2, 0]
    track = replace(bend(30), pins=PinTrack(np.array([3]), target[None]))
    assert np.abs(poser.pose(track)[0, 3] - target[0]).max() < 1e-12


def test_pins_alone_deform() -> None:
    ball = make_sphere(2)
    posing = Poser.of(ball.vertices, ball.faces, None)
    top, bottom = int(ball.vertices[:, 1].argmax()), int(ball.vertices[:, 1].argmin())
    targets = ball.vertices[[top, bottom]] + [[0, 0.3, 0], [0, 0, 0]]
    posed = posing.pose(PoseTrack(np.zeros((1, 0, 3)), pins=PinTrack(np.array([top, bottom]), targets[None])))[0]
    assert np.abs(posed[[top, bottom]] - targets).max() < 1e-12
    assert np.isfinite(posed).all()


def test_flat_meshes_stay_flat() -> None:
    posing = Poser.of(SHEET.vertices + np.array([0, 0, 2]), SHEET.faces, replace(ARM, joints=ARM.joints - [1, 0, 0]))
    assert posing.dimension == 2
    joints = ARM.joints - [1, 0, 0]
    joints[2] = [0.0, 0.9, 0]
    posed = posing.pose(PoseTrack(joints[None]))[0]
    assert np.array_equal(posed[:, 2], np.full(len(posed), 2.0))
    assert not flipped(SHEET.vertices, posed * [1, 1, 0], SHEET.faces).any()


def test_a_sheet_bends_in_space_if_its_skeleton_or_the_options_say_so() -> None:
    joints = ARM.joints - [1, 0, 0]
    lifted = joints.copy()
    lifted[2, 2] = 0.5
    flat = replace(ARM, joints=joints)
    with pytest.raises(GeometryError, match="leaves the plane"):
        Poser.of(SHEET.vertices, SHEET.faces, flat).pose(PoseTrack(lifted[None]))
    with pytest.raises(GeometryError, match="twists a flat mesh"):
        Poser.of(SHEET.vertices, SHEET.faces, flat).pose(PoseTrack(joints[None], twist=np.ones((1, 2, 2))))
    line = ControlLine((-0.5, 0, 0), (0.5, 0, 0))
    wound = LineTrack((line,), np.array([[[line.start, line.stop]]]), np.ones((1, 1)), np.ones((1, 1, 2)))
    with pytest.raises(GeometryError, match="twists a flat mesh"):
        Poser.of(SHEET.vertices, SHEET.faces, None, lines=(line,)).pose(PoseTrack(np.zeros((1, 0, 3)), lines=wound))
    posed = Poser.of(SHEET.vertices, SHEET.faces, flat, options=PoserOptions(dimension=3)).pose(PoseTrack(lifted[None]))
    assert np.ptp(posed[0, :, 2]) > 0.1
    assert Poser.of(SHEET.vertices, SHEET.faces, replace(ARM, joints=lifted)).dimension == 3


def test_seams_do_not_open() -> None:
    """Every triangle with corners of its own, as some files store them."""
    soup = Shape(
        TUBE.vertices[TUBE.faces].reshape(-1, 3), np.arange(3 * len(TUBE.faces), dtype=np.int32).reshape(-1, 3)
    )
    posed = Poser.of(soup.vertices, soup.faces, ARM).pose(bend(45))[0]
    whole = Poser.of(TUBE.vertices, TUBE.faces, ARM).pose(bend(45))[0]
    assert np.abs(posed - whole[TUBE.faces].reshape(-1, 3)).max() < 1e-9


def broken_meshes() -> dict[str, Shape]:
    hole = TUBE.faces[
        (TUBE.vertices[TUBE.faces].mean(axis=1)[:, 0] < 0.7) | (TUBE.vertices[TUBE.faces].mean(axis=1)[:, 1] < 0)
    ]
    fin = np.concatenate([TUBE.faces, [[0, 1, len(TUBE.vertices) - 1], [0, 1, len(TUBE.vertices) // 2]]]).astype(
        np.int32
    )
    flat = np.concatenate([TUBE.faces, [[5, 5, 6], [7, 8, 7]]]).astype(np.int32)
    thin = Shape(
        np.concatenate([TUBE.vertices, TUBE.vertices[[0]] + 1e-9]),
        np.concatenate([TUBE.faces, [[0, 1, len(TUBE.vertices)]]]).astype(np.int32),
    )
    return {
        "hole": Shape(TUBE.vertices, hole),
        "several pieces": join_shapes([TUBE, make_sphere(1).moved((1, 1, 0)), make_sphere(1).moved((5, 0, 0))]),
        "non-manifold": Shape(TUBE.vertices, fin),
        "degenerate": Shape(TUBE.vertices, flat),
        "sliver": thin,
        "unused vertices": Shape(np.concatenate([TUBE.vertices, [[9.0, 9, 9]]]), TUBE.faces),
        "one triangle": Shape(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0.1]]), np.array([[0, 1, 2]], np.int32)),
        "inside out": Shape(TUBE.vertices, TUBE.faces[:, ::-1].copy()),
        "twice": Shape(TUBE.vertices, np.concatenate([TUBE.faces, TUBE.faces])),
    }


@pytest.mark.parametrize("name", list(broken_meshes()))
@pytest.mark.parametrize("translation", [True, False])
def test_bad_meshes_give_finite_poses(name: str, translation: bool) -> None:
    shape = broken_meshes()[name]
    options = PoserOptions(energy=EnergyOptions(translation=translation))
    posing = Poser.of(shape.vertices, shape.faces, ARM, options=options)
    assert (posing.groups.group < ARM.n_bones).all()
    assert np.abs(posing.pose(PoseTrack(ARM.joints[None]))[0] - shape.vertices).max() < 1e-9
    assert np.isfinite(posing.pose(bend(70))).all()


@pytest.mark.parametrize(
    "skeleton",
    [
        StickSkeleton(np.array([[0.1, 0, 0], [1.0, 5, 0], [1.9, 0, 0]]), np.array([[0, 1], [1, 2]])),
        StickSkeleton(np.array([[0.1, 0, 0], [1.0, 0.1, 0], [1.9, 0, 0]]), np.array([[0, 1], [1, 2], [2, 0]])),
        StickSkeleton(np.array([[0.1, 0, 0], [0.9, 0, 0], [1.1, 0, 0], [1.9, 0, 0]]), np.array([[0, 1], [2, 3]])),
        StickSkeleton(np.array([[10.0, 0, 0], [11.0, 0, 0]]), np.array([[0, 1]])),
    ],
    ids=["joint outside", "cycle", "two pieces", "far away"],
)
def test_odd_skeletons_give_finite_poses(skeleton: StickSkeleton) -> None:
    posing = Poser.of(TUBE.vertices, TUBE.faces, skeleton)
    joints = skeleton.joints + np.random.default_rng(0).normal(scale=0.1, size=skeleton.joints.shape)
    assert np.isfinite(posing.pose(PoseTrack(joints[None]))).all()
    assert np.abs(posing.pose(PoseTrack(skeleton.joints[None]))[0] - TUBE.vertices).max() < 1e-12


def test_refusals(poser: Poser) -> None:
    with pytest.raises(GeometryError, match="joints"):
        poser.pose(PoseTrack(np.zeros((1, 7, 3))))
    with pytest.raises(GeometryError, match="no vertex 99999"):
        poser.pose(PoseTrack(ARM.joints[None], pins=PinTrack(np.array([99999]), np.zeros((1, 1, 3)))))
    with pytest.raises(GeometryError, match="area"):
        Poser.of(np.zeros((3, 3)), np.array([[0, 1, 2]]), ARM)
    with pytest.raises(OptionError, match="needs a skeleton"):
        Poser.of(TUBE.vertices, TUBE.faces, None, options=PoserOptions(method="ssd"))
    with pytest.raises(OptionError, match="lines"):
        Poser.of(
            TUBE.vertices, TUBE.faces, ARM, lines=(ControlLine((0, 0, 0), (1, 0, 0)),), options=PoserOptions("ssd")
        )
    with pytest.raises(OptionError, match="differ in z"):
        Poser.of(TUBE.vertices, TUBE.faces, ARM, options=PoserOptions(dimension=2))
    with pytest.raises(GeometryError, match="no skeleton"):
        Poser.of(TUBE.vertices, TUBE.faces, None).pose(PoseTrack(ARM.joints[None]))
    with pytest.raises(OptionError, match="follow"):
        EnergyOptions(follow=-1)
