"""The solve against the energy it minimises, written out plainly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

from osteon.core.errors import GeometryError
from osteon.core.topology import triangle_areas
from osteon.core.transforms import apply, identity, rotation_from_axis_angle
from osteon.simplex.simplices import Dimension, EnergyOptions, build_simplices, full_system, reduced_system
from osteon.simplex.solve import SimplexSolver, SingleTransforms
from osteon.synth.shapes import Shape, join_shapes, make_grid, make_sphere, make_tube

GRID = make_grid(7, 5)
TUBE = make_tube(8, 12)


def halves(shape: Shape) -> np.ndarray:
    """(t,) 0 or 1: two groups of triangles."""
    centres = shape.vertices[shape.faces].mean(axis=1)
    axis = int(np.ptp(shape.vertices, axis=0).argmax())
    return (centres[:, axis] > np.median(centres[:, axis])).astype(np.int32)


PAPER = EnergyOptions(follow=0)
HELD = EnergyOptions(translation=False)


def solver_of(shape: Shape, dimension: Dimension = 3, energy: EnergyOptions = PAPER) -> SimplexSolver:
    return SimplexSolver.of(build_simplices(shape.vertices, shape.faces, dimension), halves(shape), 2, energy=energy)


def bent(angle: float = 0.6) -> np.ndarray:
    """(2,3,4) one half stays, the other turns about z."""
    out = identity(2)
    out[1, :, :3] = rotation_from_axis_angle(np.array([0.0, 0, 1]), angle)
    out[1, :, 3] = [0.1, -0.2, 0]
    return out


def energy_of(shape: Shape, posed: np.ndarray, ideal: np.ndarray, follow: float = 0.0) -> float:
    """Equation 15 in 2D, term by term, about the area centroid, and the term that holds centres at their place."""
    areas = triangle_areas(shape.vertices, shape.faces)
    centre = (areas[:, None] * shape.vertices[shape.faces].mean(axis=1)).sum(axis=0) / areas.sum()
    rest = shape.vertices - centre
    alpha = (2 * np.linalg.norm(rest, axis=1).max()) ** -2
    total = 0.0
    for t, face in enumerate(shape.faces):
        u, v = rest[face, :2], (posed - centre)[face, :2]
        linear = np.stack([v[0] - v[2], v[1] - v[2]], 1) @ np.linalg.inv(
            np.stack([u[0] - u[2], u[1] - u[2]], 1)
        )  # eq. 3
        shift = v[0] - linear @ u[0]  # eq. 2
        goal = ideal[t, :2, 3] + ideal[t, :2, :2] @ centre[:2] - centre[:2]
        off = v.mean(axis=0) - ideal[t, :2, :2] @ u.mean(axis=0) - goal
        total += areas[t] * follow * alpha * (off**2).sum()
        total += areas[t] * (((linear - ideal[t, :2, :2]) ** 2).sum() + alpha * ((shift - goal) ** 2).sum())
    return total


@pytest.mark.parametrize("follow", [0.0, 10.0])
def test_minimises_equation_15_in_2d(follow: float) -> None:
    solver = solver_of(GRID, 2, EnergyOptions(follow=follow))
    ideal = bent()[halves(GRID)]
    posed = solver.pose(bent())
    least = energy_of(GRID, posed, ideal, follow)
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-4):
        for _ in range(10):
            step = np.zeros_like(posed)
            step[:, :2] = rng.normal(scale=size, size=(len(posed), 2))
            assert energy_of(GRID, posed + step, ideal, follow) > least
    # At a minimum, going a step either way costs the same.
    step = np.zeros_like(posed)
    step[:, :2] = rng.normal(scale=1e-3, size=(len(posed), 2))
    up, down = (
        energy_of(GRID, posed + step, ideal, follow) - least,
        energy_of(GRID, posed - step, ideal, follow) - least,
    )
    assert up == pytest.approx(down, rel=1e-6)


@pytest.mark.parametrize("energy", [PAPER, EnergyOptions(), HELD])
def test_eliminated_and_full_system_agree(energy: EnergyOptions) -> None:
    shape = make_sphere(2)
    simplices = build_simplices(shape.vertices, shape.faces, 3)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4 * len(shape.faces), 3))
    reduced, full = (make(simplices, energy=energy) for make in (reduced_system, full_system))
    assert reduced.stiffness.shape == (len(shape.vertices),) * 2
    assert full.stiffness.shape == (len(shape.vertices) + len(shape.faces),) * 2
    if not energy.translation:  # one vertex stays put in both
        keep = np.arange(1, full.stiffness.shape[0])
        solved = spsolve(full.stiffness[keep][:, keep], (full.load @ rows)[keep])[: len(shape.vertices) - 1]
        keep = keep[: len(shape.vertices) - 1]
        other = spsolve(reduced.stiffness[keep][:, keep], (reduced.load @ rows)[keep])
    else:
        solved = spsolve(full.stiffness, full.load @ rows)[: len(shape.vertices)]
        other = spsolve(reduced.stiffness, reduced.load @ rows)
    assert np.abs(solved - other).max() < 1e-10 * np.abs(solved).max()


@pytest.mark.parametrize(("shape", "dimension"), [(GRID, 2), (GRID, 3), (TUBE, 3)])
@pytest.mark.parametrize("energy", [PAPER, EnergyOptions(), HELD])
def test_one_motion_for_all_is_that_motion(shape: Shape, dimension: Dimension, energy: EnergyOptions) -> None:
    solver = solver_of(shape, dimension, energy)
    assert np.abs(solver.pose(identity(2)) - shape.vertices).max() < 1e-14
    axis = np.array([0.0, 0, 1]) if dimension == 2 else np.array([1.0, 2, 3])
    motion = np.concatenate([rotation_from_axis_angle(axis, 2.0), [[3.0], [4], [0]]], axis=1)
    posed = solver.pose(np.stack([motion, motion]))
    assert np.abs(posed - apply(motion, shape.vertices)).max() < 1e-12


def test_single_transforms_replace_those_of_the_group() -> None:
    simplices = build_simplices(TUBE.vertices, TUBE.faces, 3)
    group = halves(TUBE)
    together = SimplexSolver.of(simplices, group, 2).pose(bent())
    alone = SimplexSolver.of(simplices, np.zeros_like(group), 1)
    chosen = np.flatnonzero(group).astype(np.int32)
    assert np.abs(alone.pose(identity(1), SingleTransforms(chosen, bent()[group[chosen]])) - together).max() < 1e-12


def test_pins_are_met_and_the_rest_is_the_constrained_minimum() -> None:
    solver = solver_of(GRID, 2)
    free = solver.pose(bent())
    pins = solver.pins(np.array([40, 3], np.int32))
    targets = free[[40, 3]] + [[0.1, 0.05, 0], [-0.1, 0, 0]]
    posed = solver.pinned(free, pins, targets)
    assert np.abs(posed[[40, 3]] - targets).max() < 1e-14
    ideal = bent()[halves(GRID)]
    least = energy_of(GRID, posed, ideal)
    rng = np.random.default_rng(2)
    step = np.zeros_like(posed)
    step[:, :2] = rng.normal(scale=1e-3, size=(len(posed), 2))
    step[[40, 3]] = 0
    up, down = energy_of(GRID, posed + step, ideal) - least, energy_of(GRID, posed - step, ideal) - least
    assert up > 0
    assert up == pytest.approx(down, rel=1e-6)


def test_without_translation_the_shape_is_nearly_the_same() -> None:
    with_term, without = (solver_of(TUBE, energy=energy).pose(bent()) for energy in (PAPER, HELD))
    moved = without - with_term
    assert np.ptp(moved, axis=0).max() < 0.05 * np.linalg.norm(np.ptp(TUBE.vertices, axis=0))


def test_every_piece_is_held_without_translation() -> None:
    two = join_shapes([make_sphere(1), make_sphere(1).moved((3, 0, 0))])
    posed = solver_of(two, energy=HELD).pose(identity(2))
    assert np.abs(posed - two.vertices).max() < 1e-12


def test_flat_triangles_take_no_part() -> None:
    faces = np.concatenate([GRID.faces, [[0, 0, 1], [0, 1, 2]]]).astype(np.int32)
    simplices = build_simplices(GRID.vertices, faces, 3)
    assert len(simplices.faces) == len(GRID.faces)
    with pytest.raises(GeometryError, match="none of its"):
        build_simplices(GRID.vertices, np.array([[0, 0, 1]], np.int32), 3)


def test_a_vertex_without_triangles_cannot_be_pinned() -> None:
    vertices = np.concatenate([GRID.vertices, [[9.0, 9, 9]]])
    simplices = build_simplices(vertices, GRID.faces, 3)
    solver = SimplexSolver.of(simplices, halves(GRID), 2)
    for vertex in (len(vertices) - 1, 0):
        if vertex == 0:
            assert solver.pins(np.array([0], np.int32)).columns.shape[1] == 1
        else:
            with pytest.raises(GeometryError, match=f"vertex {vertex}"):
                solver.pins(np.array([vertex], np.int32))


def test_follow_brings_triangles_nearer_to_their_place() -> None:
    centres = TUBE.vertices[TUBE.faces].mean(axis=1)
    goal = np.einsum("tij,tj->ti", bent()[halves(TUBE), :, :3], centres) + bent()[halves(TUBE), :, 3]
    off = [
        np.linalg.norm(solver_of(TUBE, 3, EnergyOptions(follow=f)).pose(bent())[TUBE.faces].mean(axis=1) - goal, axis=1)
        for f in (0.0, 10.0, 100.0)
    ]
    assert off[0].mean() > 1.1 * off[1].mean() > 1.1 * off[2].mean()
