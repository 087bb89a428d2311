"""Posing against the equations of the paper written out plainly, simplex by simplex, and solved by SciPy.

Nothing here shares code with the solver: M and T come from edges (eq. 2 to 5), fourth vertices are unknowns of their
own (6.2), rotations are Rodrigues' formula (eq. 14), and constraints are rows of a KKT system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.linalg import lstsq, solve

from osteon.core.pose_track import ControlLine, Domain, LineTrack, PinTrack, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.simplex.bone_transforms import BoneOptions
from osteon.simplex.poser import Poser, PoserOptions
from osteon.simplex.simplices import EnergyOptions
from osteon.synth.shapes import Shape, join_shapes, make_grid, make_sphere, make_tube

from ..tolerance import assert_same_points

TUBE = make_tube(6, 9, 0.3, 2.0).moved((3.0, -1.0, 0.5))
SHEET = make_grid(8, 3, 2.0, 0.6).moved((3.0, -1.3, 0.5))
TWO = join_shapes([TUBE, make_sphere(1, 0.2).moved((4.0, -0.3, 0.5))])
ARM = StickSkeleton(np.array([[3.1, -1.0, 0.5], [4.0, -0.9, 0.5], [4.9, -1.0, 0.5]]), np.array([[0, 1], [1, 2]]))
BENT = np.array([[3.1, -1.0, 0.5], [3.9, -0.6, 0.5], [4.3, 0.3, 0.5]])
RAISED = BENT + np.array([[0.0, 0, 0], [0, 0, 0.2], [0, 0, -0.3]])
PAPER, FOLLOW, HELD = EnergyOptions(follow=0), EnergyOptions(), EnergyOptions(translation=False)
PINNED = np.array([2, 31, 17])
EXACT = 1e-8


@dataclass
class Rows:
    """B x = d, whose squared residual is the energy; x are places about the centre, one column a coordinate."""

    matrix: np.ndarray  # (r,m)
    right: np.ndarray  # (r,dimension)
    centre: np.ndarray  # (dimension,)


def stacked_rows(shape: Shape, ideal: np.ndarray, energy: EnergyOptions, dimension: int = 3) -> Rows:
    """Equation 15 or 19 with every number that is squared in a row; `ideal` (t,3,4) is M~ and T~ of each triangle."""
    places = shape.vertices[shape.faces]
    areas = np.linalg.norm(np.cross(places[:, 1] - places[:, 0], places[:, 2] - places[:, 0]), axis=1) / 2
    centre = (areas[:, None] * places.mean(axis=1)).sum(axis=0) / areas.sum()
    alpha = (2 * np.linalg.norm(shape.vertices - centre, axis=1).max()) ** -2
    n, many = dimension, len(shape.vertices) + (len(shape.faces) if dimension == 3 else 0)
    matrix, right = [], []

    def put(numbers: np.ndarray, values: np.ndarray, goal: np.ndarray, weight: float) -> None:
        row = np.zeros(many)
        row[numbers] = np.sqrt(weight) * values
        matrix.append(row)
        right.append(np.sqrt(weight) * goal)

    for t, face in enumerate(shape.faces):
        numbers, u = with_fourth(face, places[t], len(shape.vertices) + t) if n == 3 else (face, places[t, :, :2])
        u = u - centre[:n]
        inner = np.linalg.inv((u[:-1] - u[-1]).T)  # U^-1 of eq. 4 and 5
        linear = np.concatenate([inner, -inner.sum(axis=0, keepdims=True)])  # eq. 3: M' = linear' x
        shift = np.eye(n + 1)[0] - linear @ u[0]  # eq. 2: T = v_1 - M u_1
        m = ideal[t, :n, :n]
        goal = ideal[t, :n, 3] + m @ centre[:n] - centre[:n]  # T~ about the centre
        for k in range(n):
            put(numbers, linear[:, k], m[:, k], areas[t])
        if energy.translation:
            put(numbers, shift, goal, areas[t] * alpha)
            middle = u[:3].mean(axis=0)
            put(numbers, linear @ middle + shift, m @ middle + goal, areas[t] * alpha * energy.follow)
    return Rows(np.array(matrix), np.array(right), centre[:n])


def with_fourth(face: np.ndarray, places: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """A tetrahedron over a triangle (6.2)."""
    v1, v2, v3 = places
    normal = np.cross(v2 - v1, v3 - v2)
    v4 = (v1 + v2 + v3) / 3 + normal / np.sqrt(np.linalg.norm(normal))
    return np.array([*face, number]), np.array([v1, v2, v3, v4])


def minimised(rows: Rows, pins: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """(m,dimension) the least energy with unknowns `pins` at `targets` (c,3), by a KKT system."""
    n = len(rows.centre)
    if not len(pins):
        return lstsq(rows.matrix, rows.right)[0] + rows.centre
    m, c = rows.matrix.shape[1], len(pins)
    kkt, right = np.zeros((m + c, m + c)), np.zeros((m + c, n))
    kkt[:m, :m], right[:m] = rows.matrix.T @ rows.matrix, rows.matrix.T @ rows.right
    kkt[m + np.arange(c), pins] = kkt[pins, m + np.arange(c)] = 1
    right[m:] = targets[:, :n] - rows.centre
    return solve(kkt, right)[:m] + rows.centre


def rodrigues(axis: np.ndarray, cosine: float, sine: float) -> np.ndarray:
    """Equation 14 with the two entries mended."""
    a, b, c = axis
    outer, cross = np.outer(axis, axis), np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
    return cosine * np.eye(3) + (1 - cosine) * outer + sine * cross


def by_hand(rest: np.ndarray, posed: np.ndarray, beta: float, twist: float) -> np.ndarray:
    """(3,4) M~ and T~ of a bone, step by step: eq. 7, 11 and 20 applied to the corners of a frame."""
    d1, d2 = rest[1] - rest[0], posed[1] - posed[0]
    alpha = np.linalg.norm(d2) / np.linalg.norm(d1)
    d1, d2 = d1 / np.linalg.norm(d1), d2 / np.linalg.norm(d2)
    normal = np.cross(d1, d2)
    turn = np.eye(3)
    if np.linalg.norm(normal) > 1e-12:
        turn = rodrigues(normal / np.linalg.norm(normal), d1 @ d2, np.linalg.norm(normal))

    def moved(u: np.ndarray) -> np.ndarray:
        v = turn @ (u - rest[0])  # eq. 7, before the last translation
        along = (v @ d2) * d2
        w = alpha * along + beta * (v - along) + posed[0]  # eq. 10 and 11 in the frame of the bone
        return rodrigues(d2, np.cos(twist), np.sin(twist)) @ (w - posed[0]) + posed[0]  # eq. 20

    shift = moved(np.zeros(3))
    return np.column_stack([*(moved(axis) - shift for axis in np.eye(3)), shift])


def posing(shape: Shape, energy: EnergyOptions, lines: tuple[ControlLine, ...] = (), bones: bool = True) -> Poser:
    options = PoserOptions(energy=energy, bones=BoneOptions(turns="least") if bones else BoneOptions())
    return Poser.of(shape.vertices, shape.faces, ARM if bones else None, lines=lines, options=options)


def bones_by_hand(poser: Poser, track: PoseTrack) -> np.ndarray:
    """(t,3,4) what each triangle is asked for, from its bone and its place along it."""
    out = []
    for bone, along in zip(poser.groups.group, poser.groups.along, strict=True):
        start, stop = (0.0, 0.0) if track.twist is None else track.twist[0, bone]
        beta = 1.0 if track.cross_scale is None else track.cross_scale[0, bone]
        ends = ARM.bones[bone]
        out.append(by_hand(ARM.joints[ends], track.joints[0, ends], beta, start + along * (stop - start)))
    return np.array(out)


TRACKS = {
    "bent": PoseTrack(BENT[None]),
    "raised": PoseTrack(RAISED[None]),
    "thick": PoseTrack(BENT[None], cross_scale=np.array([[0.7, 2.0]])),
    "twisted": PoseTrack(RAISED[None], twist=np.array([[[0.0, 1.2], [1.2, 0.5]]])),
    "all": PoseTrack(RAISED[None], cross_scale=np.array([[1.5, 0.5]]), twist=np.array([[[0.0, 0.0], [0.3, -2.0]]])),
}


@pytest.mark.parametrize("name", TRACKS)
def test_bone_transforms(name: str) -> None:
    """Equations 7 to 14 and 20 to 22."""
    poser = posing(TUBE, PAPER)
    np.testing.assert_allclose(poser.ideal(TRACKS[name])[0], bones_by_hand(poser, TRACKS[name]), atol=1e-12)


@pytest.mark.parametrize("pinned", [False, True], ids=["free", "pinned"])
@pytest.mark.parametrize("energy", [PAPER, FOLLOW], ids=["paper", "follow"])
@pytest.mark.parametrize("name", TRACKS)
def test_equation_15_in_3d(name: str, energy: EnergyOptions, pinned: bool) -> None:
    poser, track = posing(TUBE, energy), TRACKS[name]
    rows = stacked_rows(TUBE, bones_by_hand(poser, track), energy)
    pins = PINNED[: 3 * pinned]
    targets = TUBE.vertices[pins] + np.array([[0.1, 0.2, 0.3], [0, 0.5, 0], [0, 0, -0.4]])[: len(pins)]
    if pinned:
        track = PoseTrack(track.joints, track.cross_scale, track.twist, pins=PinTrack(pins, targets[None]))
    assert_same_points(poser.pose(track)[0], minimised(rows, pins, targets)[: len(TUBE.vertices)], EXACT)


@pytest.mark.parametrize("pinned", [False, True], ids=["free", "pinned"])
@pytest.mark.parametrize("energy", [PAPER, FOLLOW], ids=["paper", "follow"])
@pytest.mark.parametrize("name", ["bent", "thick"])
def test_equation_15_in_2d(name: str, energy: EnergyOptions, pinned: bool) -> None:
    poser, track = posing(SHEET, energy), TRACKS[name]
    assert poser.dimension == 2
    rows = stacked_rows(SHEET, bones_by_hand(poser, track), energy, 2)
    pins = PINNED[: 3 * pinned]
    targets = SHEET.vertices[pins] + np.array([[0.1, 0.2, 0], [0, 0.5, 0], [0.2, 0, 0]])[: len(pins)]
    if pinned:
        track = PoseTrack(track.joints, track.cross_scale, pins=PinTrack(pins, targets[None]))
    posed = poser.pose(track)[0]
    assert_same_points(posed[:, :2], minimised(rows, pins, targets)[: len(SHEET.vertices)], EXACT)
    assert (posed[:, 2] == 0.5).all()


@pytest.mark.parametrize("shape", [TUBE, TWO], ids=["one piece", "two pieces"])
@pytest.mark.parametrize("name", ["raised", "all"])
def test_equation_19_holds_one_vertex_of_each_piece(shape: Shape, name: str) -> None:
    poser, track = posing(shape, HELD), TRACKS[name]
    assert poser.solver is not None
    ideal = bones_by_hand(poser, track)
    held = poser.solver.vertices[poser.solver.held]
    assert len(held) == (1 if shape is TUBE else 2)
    posed = poser.pose(track)[0]
    for vertex in held:  # it is where one of its triangles wants it
        around = ideal[(shape.faces == vertex).any(axis=1)]
        wanted = np.einsum("tij,j->ti", around[:, :, :3], shape.vertices[vertex]) + around[:, :, 3]
        assert np.linalg.norm(wanted - posed[vertex], axis=1).min() < 1e-12
    best = minimised(stacked_rows(shape, ideal, HELD), held, posed[held])
    assert_same_points(posed, best[: len(shape.vertices)], EXACT)


@pytest.mark.parametrize("pins", [PINNED, PINNED[:1], np.arange(len(TUBE.vertices))], ids=["three", "one", "all"])
def test_equation_19_with_pins_holds_nothing_else(pins: np.ndarray) -> None:
    poser, track = posing(TUBE, HELD), TRACKS["twisted"]
    targets = TUBE.vertices[pins] + np.random.default_rng(0).normal(scale=0.2, size=(len(pins), 3))
    best = minimised(stacked_rows(TUBE, bones_by_hand(poser, track), HELD), pins, targets)
    posed = poser.pose(PoseTrack(track.joints, twist=track.twist, pins=PinTrack(pins, targets[None])))[0]
    assert_same_points(posed, best[: len(TUBE.vertices)], EXACT)


def test_lines_move_their_triangles_and_nothing_else_is_asked_to_move() -> None:
    """Section 7.1 with a twist and pins; M~ = 1 and T~ = 0 where there is no line."""
    lines = (
        ControlLine((4.0, -1, 0.5), (4.5, -1, 0.5), Domain(tube=0.5), "neck"),
        ControlLine((4.5, -1, 0.5), (5.0, -1, 0.5), Domain(tube=0.5), "head"),
    )
    energy = EnergyOptions(follow=3.0, follow_lines=3.0)
    poser = posing(TUBE, energy, lines, bones=False)
    ends = np.array([[[4.0, -0.8, 0.5], [4.3, -0.4, 0.6]], [[4.3, -0.4, 0.6], [4.5, 0.2, 1.0]]])
    beta, twist = np.array([1.0, 1.5]), np.array([[0.0, 1.0], [1.0, 1.0]])
    ideal = np.tile(np.eye(3, 4), (len(TUBE.faces), 1, 1))
    for t, (line, along) in enumerate(zip(poser.groups.group, poser.groups.along, strict=True)):
        if line < 2:
            rest = np.array([lines[line].start, lines[line].stop])
            angle = twist[line, 0] + along * (twist[line, 1] - twist[line, 0])
            ideal[t] = by_hand(rest, ends[line], beta[line], angle)
    assert all((poser.groups.group == g).any() for g in range(3))
    targets = TUBE.vertices[PINNED] + 0.1
    told = LineTrack(lines, ends[None], beta[None], twist[None])
    track = PoseTrack(np.zeros((1, 0, 3)), lines=told, pins=PinTrack(PINNED, targets[None]))
    best = minimised(stacked_rows(TUBE, ideal, energy), PINNED, targets)
    assert_same_points(poser.pose(track)[0], best[: len(TUBE.vertices)], EXACT)


@pytest.mark.parametrize("name", ["raised", "thick", "all"])
def test_equation_1(name: str) -> None:
    """Blending with inverse-square weights, vertex by vertex; a twist turns by the place along the bone."""
    options = PoserOptions(method="ssd", bones=BoneOptions(turns="least"))
    track = TRACKS[name]
    posed = Poser.of(TUBE.vertices, TUBE.faces, ARM, options=options).pose(track)[0]
    for p, found in zip(TUBE.vertices, posed, strict=True):
        near, moved = [], []
        for b, (i, j) in enumerate(ARM.bones):
            vector = ARM.joints[j] - ARM.joints[i]
            along = min(max((p - ARM.joints[i]) @ vector / (vector @ vector), 0.0), 1.0)
            near.append(np.linalg.norm(p - ARM.joints[i] - along * vector) ** -2)
            beta = 1.0 if track.cross_scale is None else track.cross_scale[0, b]
            start, stop = (0.0, 0.0) if track.twist is None else track.twist[0, b]
            matrix = by_hand(ARM.joints[[i, j]], track.joints[0, [i, j]], beta, start + along * (stop - start))
            moved.append(matrix @ [*p, 1.0])
        np.testing.assert_allclose(found, np.average(moved, axis=0, weights=near), atol=1e-9)
