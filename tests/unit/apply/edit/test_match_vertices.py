"""Finding the model's vertices in an edited mesh that another program wrote."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.apply.edit.match_vertices import match_vertices
from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.synth.shapes import make_ball, make_tube
from tests.small_meshes import grid


def shuffled(rest: np.ndarray, faces: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions and triangles in another order, and the new number of each old vertex."""
    rng = np.random.default_rng(seed)
    order, turns = rng.permutation(len(rest)), rng.integers(3, size=len(faces))
    number = np.argsort(order)
    mixed = np.stack([np.roll(triangle, turn) for triangle, turn in zip(number[faces], turns, strict=True)])
    return rest[order], mixed[rng.permutation(len(faces))], number


def raised(points: np.ndarray, radius: float = 0.5, height: float = 0.3) -> np.ndarray:
    """A hump around the first vertex, and a twist of it that moves vertices past each other's places."""
    distance = np.linalg.norm(points - points[0], axis=1) / radius
    out = points.astype(np.float64).copy()
    near = distance < 1
    out[near] += height * ((1 - distance[near]) ** 2)[:, None] * [0.5, -0.2, 1.0]
    return out.astype(np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_a_reordered_sculpt_is_matched(seed: int) -> None:
    ball = make_ball(400, 1.0)
    mesh = Mesh(ball.vertices, ball.faces)
    moved, faces, number = shuffled(raised(mesh.rest), ball.faces, seed)
    assert np.array_equal(match_vertices(mesh, mesh.rest, Mesh(moved, faces)), number)


def test_a_sculpt_that_moves_most_vertices_is_matched() -> None:
    tube = make_tube(16, 30, 0.2, 2.0)
    mesh = Mesh(tube.vertices, tube.faces)
    sculpted = mesh.rest.copy()
    far = mesh.rest[:, 0] > 0.6
    sculpted[far, 1:] *= (1 + 0.5 * (mesh.rest[far, :1] - 0.6)) * 1.3
    moved, faces, number = shuffled(sculpted, tube.faces)
    assert np.array_equal(match_vertices(mesh, mesh.rest, Mesh(moved, faces)), number)


def test_equal_order_needs_no_match() -> None:
    """Every vertex moves; triangles are those of the model, or quads cut along the other diagonal."""
    rest, faces = (np.array(a) for a in grid(6))
    mesh = Mesh(rest, faces)
    other = faces.copy().reshape(-1, 2, 3)
    other = np.stack([[[a, b, d], [b, c, d]] for (a, b, c), (_, _, d) in other.tolist()]).reshape(-1, 3)
    for found in (faces, other, np.zeros((0, 3), np.int32)):
        assert match_vertices(mesh, mesh.rest, Mesh(rest + np.array([1.0, 2.0, 3.0]), found)).tolist() == list(
            range(49)
        )


def test_vertices_split_or_merged_at_seams_are_matched() -> None:
    """A cut along the middle, vertices there stored twice, in the model or in the edited mesh."""
    rest, faces = (np.array(a) for a in grid(8))
    extra = np.flatnonzero(rest[:, 0] == 4)
    number = np.arange(len(rest))
    number[extra] = len(rest) + np.arange(len(extra))
    right = rest[faces][:, :, 0].mean(axis=1) > 4
    split = np.where(right[:, None], number[faces], faces)
    whole, cut = Mesh(rest, faces), Mesh(np.concatenate([rest, rest[extra]]), split)
    lifted = rest.copy()
    lifted[:, 2] += np.clip(2 - np.abs(rest[:, 0] - 4), 0, 2) * (np.abs(rest[:, 1] - 4) < 2)
    moved, mixed, place = shuffled(lifted.astype(np.float32), faces)
    found = match_vertices(cut, cut.rest, Mesh(moved, mixed))
    assert np.array_equal(found, np.concatenate([place, place[extra]]))
    moved, mixed, place = shuffled(np.concatenate([lifted, lifted[extra]]).astype(np.float32), split)
    found = match_vertices(whole, whole.rest, Mesh(moved, mixed))
    assert np.array_equal(moved[found], lifted.astype(np.float32))


def test_vertices_without_triangles_stay() -> None:
    ball = make_ball(100, 1.0)
    mesh = Mesh(np.concatenate([ball.vertices, [[9.0, 9, 9]]]), ball.faces)
    moved, faces, number = shuffled(raised(ball.vertices), ball.faces)
    assert match_vertices(mesh, mesh.rest, Mesh(moved, faces)).tolist() == [*number.tolist(), -1]


def test_another_mesh_is_refused() -> None:
    ball, tube = make_ball(100, 1.0), make_tube(8, 10, 0.2, 2.0)
    mesh = Mesh(ball.vertices, ball.faces)
    with pytest.raises(GeometryError, match="do not match the 100 of the model"):
        match_vertices(mesh, mesh.rest, Mesh(tube.vertices, tube.faces))
    with pytest.raises(GeometryError, match="do not match"):
        match_vertices(mesh, mesh.rest, Mesh(ball.vertices[:50], np.zeros((0, 3), np.int32)))
