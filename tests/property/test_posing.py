"""What holds for any mesh posed by any skeleton."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from osteon.core.errors import GeometryError, OsteonError
from osteon.core.options import change_options
from osteon.core.pose_track import ControlLine, Domain, LineTrack, PinTrack, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import identity, least_rotation, rotation_from_axis_angle
from osteon.simplex.bone_transforms import BoneOptions, bone_transforms
from osteon.simplex.poser import Poser, PoserOptions
from osteon.simplex.simplices import EnergyOptions
from osteon.simplex.solve import SingleTransforms
from osteon.synth.shapes import Shape, join_shapes, make_ball, make_grid, make_torus, make_tube

from ..tolerance import assert_same_points, diagonal

FEW = settings(max_examples=20, deadline=None)
MANY = settings(max_examples=60, deadline=None)
SEEDS = st.integers(0, 2**16)
TURNS = st.tuples(*[st.floats(-3, 3)] * 3)
SHAPES = {
    "tube": make_tube(7, 12, 0.5, 3.0).moved((-1.5, 0, 0)),
    "ball": make_ball(90, 1.2),
    "torus": make_torus(14, 6, 1.0, 0.4),
    "two": join_shapes([make_ball(40, 0.8), make_ball(30, 0.6).moved((1.8, 0.3, 0))]),
    "hole": Shape(make_ball(60, 1.0).vertices, make_ball(60, 1.0).faces[9:]),
}
ENERGIES = (EnergyOptions(), EnergyOptions(follow=0), EnergyOptions(translation=False))


def random_tree(seed: int, n_bones: int, flat: bool = False) -> StickSkeleton:
    """Bones that grow from joints at random, mostly outward; every third tree has a second piece."""
    rng = np.random.default_rng(seed)
    joints, bones = [np.zeros(3)], []
    for b in range(n_bones):
        start = int(rng.integers(len(joints)))
        if b > 1 and b == n_bones - 1 and seed % 3 == 0:
            joints.append(rng.uniform(-1, 1, 3))
            start = len(joints) - 1
        step = rng.normal(size=3) + 1.5 * joints[start]
        joints.append(joints[start] + (0.4 + 0.5 * rng.random()) * step / np.linalg.norm(step))
        bones.append([start, len(joints) - 1])
    return StickSkeleton(np.array(joints) * [1, 1, 0 if flat else 1], np.array(bones, np.int32))


SKELETONS = st.builds(random_tree, SEEDS, st.integers(1, 6))


def shaken(skeleton: StickSkeleton, seed: int, size: float = 0.3) -> np.ndarray:
    """(1,j,3) joints of a pose."""
    return (skeleton.joints + np.random.default_rng(seed).normal(scale=size, size=skeleton.joints.shape))[None]


def busy_scene(shape: Shape, skeleton: StickSkeleton, seed: int) -> tuple[tuple[ControlLine, ...], PoseTrack]:
    """A pose with everything in it: scales, twists, two lines that share an end, pins."""
    rng = np.random.default_rng(seed)
    a, b, c = (tuple(p) for p in (rng.normal(size=(3, 3)) * 0.4).tolist())
    listed = tuple(rng.choice(len(shape.faces), 9, replace=False).tolist())
    lines = (
        ControlLine(a, b, Domain(tube=0.7, distance=1.5), "one"),
        ControlLine(b, c, Domain(triangles=listed), "two"),
    )
    ends = np.array([[a, b], [b, c]])[None] + rng.normal(scale=0.1, size=(1, 2, 2, 3))
    told = LineTrack(lines, ends, rng.uniform(0.5, 2, (1, 2)), rng.uniform(-1, 1, (1, 2, 2)))
    pinned = rng.choice(len(shape.vertices), 3, replace=False)
    pins = PinTrack(pinned, shape.vertices[pinned][None] + rng.normal(scale=0.1, size=(1, 3, 3)))
    n = skeleton.n_bones
    scale, twist = rng.uniform(0.5, 2, (1, n)), rng.uniform(-1, 1, (1, n, 2))
    return lines, PoseTrack(shaken(skeleton, seed), scale, twist, lines=told, pins=pins)


def assume_same_groups(one: Poser, other: Poser) -> None:
    """Both posers split the mesh alike; where a triangle is as near to two bones, rounding may decide."""
    assume(np.array_equal(one.groups.group, other.groups.group))
    assume(np.allclose(one.groups.along, other.groups.along, atol=1e-6))


@MANY
@given(skeleton=SKELETONS, name=st.sampled_from(list(SHAPES)), turn=TURNS, energy=st.sampled_from(ENERGIES))
def test_a_rigid_motion_of_the_joints_moves_the_mesh_by_it(skeleton, name, turn, energy):
    shape = SHAPES[name]
    spread = np.linalg.svd(skeleton.joints - skeleton.joints.mean(axis=0), compute_uv=False)
    assume(spread[1] > 1e-3 * spread[0])  # else the turn about the line is anyone's
    motion = Rotation.from_rotvec(turn).as_matrix()
    poser = Poser.of(shape.vertices, shape.faces, skeleton, options=PoserOptions(energy=energy))
    track = PoseTrack(np.stack([skeleton.joints, skeleton.joints @ motion.T + [3.0, -2, 1]]))
    rest, moved = poser.pose(track)
    assert_same_points(rest, shape.vertices, 1e-12)
    assert_same_points(moved, shape.vertices @ motion.T + [3.0, -2, 1], 1e-9)


@FEW
@given(skeleton=SKELETONS, name=st.sampled_from(list(SHAPES)), seed=SEEDS, method=st.sampled_from(["simplex", "ssd"]))
def test_known_rotations_and_joints_of_one_motion_agree(skeleton, name, seed, method):
    """With the rotations told, even one straight line moves as it should; poses may be told either way."""
    shape = SHAPES[name]
    motion = Rotation.random(random_state=seed).as_matrix()
    rotations = np.broadcast_to(motion, (2, skeleton.n_bones, 3, 3))
    joints = np.stack([skeleton.joints @ motion.T, skeleton.joints])
    poser = Poser.of(shape.vertices, shape.faces, skeleton, options=PoserOptions(method=method))
    posed = poser.pose(PoseTrack(joints, rotations=rotations, turned=np.array([True, False])))
    assert_same_points(posed[0], shape.vertices @ motion.T, 1e-9)
    assert_same_points(posed[1], shape.vertices, 1e-9)


@pytest.mark.parametrize("energy", ENERGIES, ids=["usual", "paper", "held"])
@FEW
@given(
    skeleton=SKELETONS,
    name=st.sampled_from(list(SHAPES)),
    turn=TURNS,
    scale=st.sampled_from([1e-6, 1e-3, 1.0, 50.0, 1e6]),
    seed=SEEDS,
)
def test_a_similarity_of_everything_commutes_with_posing(energy, skeleton, name, turn, scale, seed):
    shape = SHAPES[name]
    lines, track = busy_scene(shape, skeleton, seed)
    motion = Rotation.from_rotvec(turn).as_matrix()

    def moved(points):
        return scale * (np.asarray(points) @ motion.T + [3.0, -2, 1])

    there_lines = tuple(
        ControlLine(
            tuple(moved(line.start)),
            tuple(moved(line.stop)),
            Domain(
                None if line.domain.distance is None else scale * line.domain.distance,
                None if line.domain.tube is None else scale * line.domain.tube,
                None,
                line.domain.triangles,
            ),
            line.name,
        )
        for line in lines
    )
    there_track = replace(
        track,
        joints=moved(track.joints),
        lines=replace(track.lines, lines=there_lines, ends=moved(track.lines.ends)),
        pins=replace(track.pins, targets=moved(track.pins.targets)),
    )
    options = PoserOptions(energy=energy)
    here = Poser.of(shape.vertices, shape.faces, skeleton, lines=lines, options=options)
    there = Poser.of(
        moved(shape.vertices),
        shape.faces,
        replace(skeleton, joints=moved(skeleton.joints)),
        lines=there_lines,
        options=options,
    )
    assume_same_groups(here, there)
    assert_same_points(there.pose(there_track), moved(here.pose(track)), 1e-6)


@FEW
@given(skeleton=SKELETONS, name=st.sampled_from(list(SHAPES)), seed=SEEDS)
def test_far_from_the_origin(skeleton, name, seed):
    shape = SHAPES[name]
    away = np.array([1e4, -1e4, 1e4])
    here = Poser.of(shape.vertices, shape.faces, skeleton)
    there = Poser.of(shape.vertices + away, shape.faces, replace(skeleton, joints=skeleton.joints + away))
    joints = shaken(skeleton, seed)
    assume_same_groups(here, there)
    posed = there.pose(PoseTrack(joints + away)) - away
    assert np.abs(posed - here.pose(PoseTrack(joints))).max() < 1e-6 * diagonal(shape.vertices)


@FEW
@given(skeleton=SKELETONS, name=st.sampled_from(list(SHAPES)), seed=SEEDS)
def test_the_order_of_vertices_triangles_and_bones_does_not_matter(skeleton, name, seed):
    shape = SHAPES[name]
    rng = np.random.default_rng(seed)
    vertices, triangles, bones = (rng.permutation(n) for n in (len(shape.vertices), len(shape.faces), skeleton.n_bones))
    _, track = busy_scene(shape, skeleton, seed)
    number = np.argsort(vertices)
    track = replace(track, lines=LineTrack())
    mixed_track = replace(
        track,
        cross_scale=track.cross_scale[:, bones],
        twist=track.twist[:, bones],
        pins=PinTrack(number[track.pins.vertices], track.pins.targets),
    )
    mixed_skeleton = replace(skeleton, bones=skeleton.bones[bones])
    here = Poser.of(shape.vertices, shape.faces, skeleton)
    there = Poser.of(shape.vertices[vertices], number[shape.faces][triangles].astype(np.int32), mixed_skeleton)
    assume(np.array_equal(here.groups.group[triangles], bones[there.groups.group]))
    assert_same_points(there.pose(mixed_track)[0], here.pose(track)[0][vertices], 1e-7)


@FEW
@given(skeleton=SKELETONS, name=st.sampled_from(list(SHAPES)), energy=st.sampled_from(ENERGIES), seed=SEEDS)
def test_posed_places_are_linear_in_the_transforms(skeleton, name, energy, seed):
    shape = SHAPES[name]
    rng = np.random.default_rng(seed)
    solver = Poser.of(shape.vertices, shape.faces, skeleton, options=PoserOptions(energy=energy)).solver
    groups, chosen = skeleton.n_bones + 1, np.sort(rng.choice(len(shape.faces), 5, replace=False)).astype(np.int32)
    a, b = (identity(groups) + rng.normal(size=(groups, 3, 4)) for _ in range(2))
    c, d = rng.normal(size=(2, 5, 3, 4))
    part = rng.uniform(-2, 2)
    blend = solver.pose(part * a + (1 - part) * b, SingleTransforms(chosen, part * c + (1 - part) * d))
    alone = solver.pose(a, SingleTransforms(chosen, c)), solver.pose(b, SingleTransforms(chosen, d))
    expected = part * alone[0] + (1 - part) * alone[1]
    assert_same_points(blend, expected, 1e-9)


@FEW
@given(
    skeleton=SKELETONS,
    name=st.sampled_from(list(SHAPES)),
    energy=st.sampled_from(ENERGIES),
    n_pins=st.integers(1, 30),
    seed=SEEDS,
)
def test_pins_are_met_and_pins_where_things_are_change_nothing(skeleton, name, energy, n_pins, seed):
    shape = SHAPES[name]
    rng = np.random.default_rng(seed)
    poser = Poser.of(shape.vertices, shape.faces, skeleton, options=PoserOptions(energy=energy))
    pinned = rng.choice(len(shape.vertices), n_pins, replace=False)
    free = poser.pose(PoseTrack(shaken(skeleton, seed)))
    targets = free[:, pinned] + rng.normal(scale=0.3, size=(1, n_pins, 3))
    posed = poser.pose(PoseTrack(shaken(skeleton, seed), pins=PinTrack(pinned, targets)))
    assert np.array_equal(posed[:, pinned], targets)
    again = poser.pose(PoseTrack(shaken(skeleton, seed), pins=PinTrack(pinned, free[:, pinned])))
    assert_same_points(again, free, 1e-8)


@FEW
@given(seed=SEEDS, n_bones=st.integers(1, 5), turn=st.floats(-3, 3), scale=st.sampled_from([1e-4, 1.0, 1e4]))
def test_a_drawing_stays_in_its_plane_and_turns_with_the_scene(seed, n_bones, turn, scale):
    sheet = make_grid(9, 7, 3.0, 2.0).moved((-1.5, -1.0, 0.25))
    skeleton = random_tree(seed, n_bones, flat=True)
    motion = Rotation.from_rotvec([0, 0, turn]).as_matrix()
    here = Poser.of(sheet.vertices, sheet.faces, skeleton)
    there = Poser.of(
        scale * sheet.vertices @ motion.T, sheet.faces, replace(skeleton, joints=scale * skeleton.joints @ motion.T)
    )
    joints = np.array(shaken(skeleton, seed))
    joints[..., 2] = skeleton.joints[0, 2]  # a pose that leaves the plane is refused
    posed = here.pose(PoseTrack(joints))
    assert here.dimension == there.dimension == 2
    assert (posed[..., 2] == 0.25).all()
    assume_same_groups(here, there)
    assert_same_points(there.pose(PoseTrack(scale * joints @ motion.T)), scale * posed @ motion.T, 1e-6)


def nasty_mesh(seed: int) -> Shape:
    """Holes, duplicates, fins, slivers, points of no triangle, several pieces, triangles at random; any unit."""
    rng = np.random.default_rng(seed)
    shape = list(SHAPES.values())[int(rng.integers(len(SHAPES)))]
    vertices, faces = shape.vertices.copy(), shape.faces
    n = len(vertices)
    if rng.random() < 0.3:
        n = int(rng.integers(3, 30))
        vertices = rng.normal(size=(n, 3)) * rng.choice([0.0, 1e-5, 1.0], size=3, p=[0.1, 0.1, 0.8])
        faces = rng.integers(0, n, size=(int(rng.integers(1, 40)), 3)).astype(np.int32)
    faces = faces[rng.random(len(faces)) < rng.choice([0.5, 1.0])]
    extra = rng.integers(0, n, size=(int(rng.integers(0, 6)), 3))
    faces = np.concatenate([faces, faces[: int(rng.integers(0, 9))], extra]).astype(np.int32)
    squeezed = rng.integers(0, n, size=int(rng.integers(0, 9)))  # next to another one
    vertices[squeezed] = vertices[rng.integers(0, n, size=len(squeezed))] + rng.choice([0, 1e-12, 1e-7, 1e-4])
    if rng.random() < 0.3:
        vertices = np.concatenate([vertices, rng.normal(size=(4, 3)) * rng.choice([1.0, 1e6])])
    return Shape(vertices * 10.0 ** rng.integers(-6, 7), faces)


def nasty_pose(skeleton: StickSkeleton, seed: int) -> PoseTrack:
    rng = np.random.default_rng(seed)
    joints = np.stack(
        [
            skeleton.joints,
            -skeleton.joints,  # every bone the other way
            skeleton.joints * [1, 1, -1],
            skeleton.joints * rng.choice([1e-6, 1e-3, 1e3, 1e6]),
            shaken(skeleton, seed, rng.choice([1e-12, 1.0, 1e3]))[0],
        ]
    )
    n = skeleton.n_bones
    more = {"cross_scale": np.exp(rng.normal(size=(5, n)) * 3), "twist": rng.normal(size=(5, n, 2)) * 10}
    return PoseTrack(joints, **{key: value for key, value in more.items() if rng.random() < 0.5})


@settings(max_examples=200, deadline=None)
@given(
    seed=SEEDS,
    n_bones=st.integers(1, 6),
    fits=st.booleans(),
    energy=st.sampled_from(ENERGIES),
    method=st.sampled_from(["simplex", "simplex", "ssd"]),
    bones=st.builds(
        BoneOptions, st.sampled_from(["along", "uniform", "none"]), st.sampled_from(["passed-on", "least"])
    ),
)
def test_a_finite_mesh_or_a_clear_error(seed, n_bones, fits, energy, method, bones):
    shape, skeleton = nasty_mesh(seed), random_tree(seed, n_bones)
    if fits:
        skeleton = replace(skeleton, joints=skeleton.joints * float(np.ptp(shape.vertices, axis=0).max() / 2 or 1))
    options = change_options(PoserOptions(energy=energy, bones=bones), method=method)  # drops what ssd does not use
    try:
        poser = Poser.of(shape.vertices, shape.faces, skeleton, options=options)
        posed = poser.pose(nasty_pose(skeleton, seed))
    except OsteonError:
        return
    assert np.isfinite(posed).all()
    rest = poser.pose(PoseTrack(skeleton.joints[None]))[0]
    assert np.abs(rest - shape.vertices).max() < 1e-9 * (diagonal(shape.vertices) + np.abs(skeleton.joints).max())


@FEW
@given(turn=TURNS, n=st.integers(2, 9))
def test_a_bend_tells_how_a_long_straight_root_turned(turn, n):
    chain = np.array([[0.2 * i, 0, 0] for i in range(n + 1)] + [[0.2 * n, 0.3, 0]])
    skeleton = StickSkeleton(chain, np.array([[i, i + 1] for i in range(n + 1)]))
    motion = Rotation.from_rotvec(turn).as_matrix()
    moved = bone_transforms(skeleton, PoseTrack((chain @ motion.T)[None]))[0]
    assert np.abs(moved[:, :, :3] - motion).max() < 1e-9


@FEW
@given(seed=SEEDS, digits=st.integers(4, 7))
def test_rounded_joints_do_not_turn_a_straight_chain_about_itself(seed, digits):
    """Files have a few digits; what they leave of a straight line must not look like a bend."""
    rng = np.random.default_rng(seed)
    chain = np.arange(6)[:, None] * 0.1 * Rotation.random(random_state=seed).as_matrix()[0]
    turn = Rotation.from_rotvec(rng.uniform(-1, 1, 3)).as_matrix()
    skeleton = StickSkeleton(chain.round(digits), np.array([[i, i + 1] for i in range(5)]))
    found = bone_transforms(skeleton, PoseTrack((chain @ turn.T).round(digits)[None]))[0, 0, :, :3]
    least = least_rotation(chain[1], chain[1] @ turn.T)
    assert np.abs(found - least).max() < 60 * 10.0**-digits / 0.1


@FEW
@given(seed=SEEDS, energy=st.sampled_from(ENERGIES), angle=st.floats(-3, 3))
def test_a_twist_that_is_the_same_all_along_is_a_turn(seed, energy, angle):
    """Also of vertices that no triangle holds."""
    rng = np.random.default_rng(seed)
    ball = SHAPES["ball"]
    points = np.concatenate([ball.vertices, rng.uniform(-1, 1, (5, 3))])
    bone = StickSkeleton(rng.normal(size=(2, 3)), np.array([[0, 1]]))
    track = PoseTrack(bone.joints[None], twist=np.full((1, 1, 2), angle))
    posed = Poser.of(points, ball.faces, bone, options=PoserOptions(energy=energy)).pose(track)[0]
    turn = rotation_from_axis_angle(bone.vectors[0], angle)
    assert_same_points(posed, (points - bone.joints[0]) @ turn.T + bone.joints[0], 1e-9)


@pytest.mark.parametrize("energy", ENERGIES, ids=["usual", "paper", "held"])
@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-8, 1e-11])
def test_triangles_without_a_shape_hold_a_mesh_together(energy, gap):
    """Rings of a tube in pairs, the strips between them as thin as can be: both sides stay together."""
    tube = make_tube(8, 21, 0.2, 2.0)
    arm = StickSkeleton(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0.1, 0]]), np.array([[0, 1], [1, 2]]))
    vertices = tube.vertices.copy()
    rings = vertices[:-2].reshape(22, 8, 3)
    rings[1::2, :, 0] = rings[0::2, :, 0] + gap
    pose = PoseTrack(np.array([[[0.0, 0, 0], [1, 0, 0], [1.2, 1, 0.3]]]))
    posed = Poser.of(vertices, tube.faces, arm, options=PoserOptions(energy=energy)).pose(pose)[0]
    rings = posed[:-2].reshape(22, 8, 3)
    assert np.linalg.norm(rings[1::2] - rings[0::2], axis=2).max() < 1e-5 + 5 * gap


def test_a_stray_point_does_not_matter():
    tube, skeleton = SHAPES["tube"], random_tree(1, 3)
    stray = np.concatenate([tube.vertices, [[1e9, 0, 0]]])
    track = PoseTrack(shaken(skeleton, 0))
    here, there = (Poser.of(points, tube.faces, skeleton).pose(track)[0] for points in (tube.vertices, stray))
    assert_same_points(there[:-1], here, 1e-9)


def test_lines_of_a_drawing_may_lie_off_its_plane():
    sheet = make_grid(10, 4, 2.0, 0.4)
    flat = ControlLine((1.2, 0.2, 0), (1.9, 0.2, 0), Domain(tube=0.3))
    above = ControlLine((1.2, 0.2, 0.5), (1.9, 0.2, 0.7), Domain(tube=0.3))
    posed = []
    for line, height in ((flat, (0.0, 0.0)), (above, (3.0, -1.0))):
        ends = np.array([[[[1.2, 0.3, height[0]], [1.6, 0.9, height[1]]]]])
        told = LineTrack((line,), ends, np.ones((1, 1)), np.zeros((1, 1, 2)))
        poser = Poser.of(sheet.vertices, sheet.faces, None, lines=(line,))
        posed.append(poser.pose(PoseTrack(np.zeros((1, 0, 3)), lines=told))[0])
    assert np.array_equal(posed[0], posed[1])


def test_what_does_not_fit_is_refused(refused):
    tube, line = SHAPES["tube"], ControlLine((0, 0, 0), (1, 0, 0), name="neck")
    skeleton = random_tree(1, 3)
    poser = Poser.of(tube.vertices, tube.faces, skeleton, lines=(line,))
    rest = skeleton.joints[None]

    def told(ends):
        return LineTrack((line,), np.array([[ends]], float), np.ones((1, 1)), np.ones((1, 1, 2)))

    lying = told([[0, 0, 0], [1, 0, 0]])
    with refused(GeometryError, "twist", 3, 2):
        poser.pose(PoseTrack(rest, twist=np.ones((1, 2, 2)), lines=lying))
    with refused(GeometryError, "cross_scale", 3, 1):
        poser.pose(PoseTrack(rest, cross_scale=np.ones((1, 1)), lines=lying))
    with refused(GeometryError, "neck", "no length"):
        poser.pose(PoseTrack(rest, lines=told([[1, 0, 0], [1, 0, 0]])))
    with refused(GeometryError, "coordinates"):
        PoseTrack(rest * 1e200)
    with refused(GeometryError, "faces"):
        Poser.of(np.zeros((0, 3)), np.zeros((0, 3), np.int32), skeleton)
    with refused(GeometryError, "bones"):
        StickSkeleton(skeleton.joints, np.array([0, 1, 2]))
