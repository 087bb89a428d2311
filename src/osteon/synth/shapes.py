"""Plain meshes: grid, tube, sphere, torus, and balls of any number of vertices. All but the grid are watertight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError

Numbers = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Shape:
    """A mesh at rest."""

    vertices: Float64  # (v,3)
    faces: Int32  # (t,3) counter-clockwise seen from outside

    def moved(self, offset: tuple[float, float, float]) -> Shape:
        return Shape(self.vertices + np.asarray(offset), self.faces)

    def scaled(self, factor: tuple[float, float, float]) -> Shape:
        """Scaled along the axes by positive factors."""
        return Shape(self.vertices * np.asarray(factor), self.faces)


def make_grid(n_x: int = 10, n_y: int = 10, width: float = 1.0, height: float = 1.0) -> Shape:
    """A flat sheet of n_x by n_y cells in the plane z = 0, from the origin, facing +z; vertices row by row along x."""
    _at_least("n_x, n_y", min(n_x, n_y), 1)
    x, y = np.meshgrid(np.linspace(0, width, n_x + 1), np.linspace(0, height, n_y + 1))
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    number = np.arange(x.size).reshape(x.shape)
    return Shape(vertices, _cells(number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]))


def make_tube(n_around: int = 24, n_along: int = 48, radius: float = 0.15, length: float = 2.0) -> Shape:
    """A closed tube along x from the origin: n_along + 1 rings and a point in the middle of each end."""
    _at_least("n_around", n_around, 3)
    _at_least("n_along", n_along, 1)
    angle = 2 * np.pi * np.arange(n_around) / n_around
    ring = radius * np.stack([np.zeros(n_around), np.cos(angle), np.sin(angle)], axis=1)
    along = np.linspace(0, length, n_along + 1)
    sides = ring + along[:, None, None] * np.array([1.0, 0, 0])
    vertices = np.concatenate([sides.reshape(-1, 3), [[0, 0, 0], [length, 0, 0]]])
    number = np.arange((n_along + 1) * n_around).reshape(n_along + 1, n_around)
    following = np.roll(number, -1, axis=1)
    mantle = _cells(number[:-1], following[:-1], following[1:], number[1:])
    start, end = np.full(n_around, number.size), np.full(n_around, number.size + 1)
    caps = np.concatenate(
        [np.stack([start, following[0], number[0]], axis=1), np.stack([end, number[-1], following[-1]], axis=1)]
    )
    return Shape(vertices, np.concatenate([mantle, caps]).astype(np.int32))


def make_torus(n_around: int = 48, n_tube: int = 20, radius: float = 0.5, tube: float = 0.18) -> Shape:
    """A ring about the y axis."""
    _at_least("n_around, n_tube", min(n_around, n_tube), 3)
    u = (2 * np.pi * np.arange(n_around) / n_around)[:, None]
    w = (2 * np.pi * np.arange(n_tube) / n_tube)[None, :]
    out = radius + tube * np.cos(w)
    grid = np.stack([out * np.cos(u), tube * np.sin(w) + 0 * u, out * np.sin(u)], axis=2)
    number = np.arange(n_around * n_tube).reshape(n_around, n_tube)
    right, above = np.roll(number, -1, axis=0), np.roll(number, -1, axis=1)
    return Shape(grid.reshape(-1, 3), _cells(number, above, np.roll(above, -1, axis=0), right))


def make_sphere(subdivisions: int = 3, radius: float = 0.5) -> Shape:
    """An icosahedron, each triangle cut in four `subdivisions` times, pushed out to the sphere."""
    if not 0 <= subdivisions <= 8:
        raise OptionError(f"subdivisions: expected 0 … 8, got {subdivisions}")
    g = (1 + np.sqrt(5)) / 2
    corner = np.array([[-1, g, 0], [1, g, 0], [-1, -g, 0], [1, -g, 0]])
    vertices = np.concatenate([np.roll(corner, i, axis=1) for i in range(3)])
    vertices /= np.linalg.norm(vertices[0])
    faces = _hull(vertices)
    for _ in range(subdivisions):
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        unique, number = np.unique(edges, axis=0, return_inverse=True)
        ab, bc, ca = (number.reshape(-1) + len(vertices)).reshape(3, -1)
        a, b, c = faces.T
        faces = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
        middle = vertices[unique].sum(axis=1)
        vertices = np.concatenate([vertices, middle / np.linalg.norm(middle, axis=1, keepdims=True)])
    return Shape(radius * vertices, faces.astype(np.int32))


def make_ball(n_vertices: int = 500, radius: float = 0.5) -> Shape:
    """A sphere of exactly `n_vertices` vertices, spread along a spiral."""
    _at_least("n_vertices", n_vertices, 4)
    i = np.arange(n_vertices) + 0.5
    height, angle = 1 - 2 * i / n_vertices, np.pi * (1 + np.sqrt(5)) * i
    ring = np.sqrt(1 - height**2)
    vertices = np.stack([ring * np.cos(angle), height, ring * np.sin(angle)], axis=1)
    return Shape(radius * vertices, _hull(vertices))


def join_shapes(shapes: list[Shape]) -> Shape:
    """Several shapes as one mesh of several shells."""
    starts = np.cumsum([0, *(len(s.vertices) for s in shapes[:-1])])
    faces = [s.faces + start for s, start in zip(shapes, starts, strict=True)]
    return Shape(np.concatenate([s.vertices for s in shapes]), np.concatenate(faces).astype(np.int32))


def _hull(vertices: Float64) -> Int32:
    """Triangles of the convex hull about the origin, facing outward."""
    from scipy.spatial import ConvexHull

    faces: Int32 = ConvexHull(vertices).simplices.astype(np.int32)
    inward = np.einsum("ti,ti->t", vertices[faces[:, 0]], np.cross(vertices[faces[:, 1]], vertices[faces[:, 2]])) < 0
    faces[inward] = faces[inward][:, ::-1]
    return faces


def _cells(a: Numbers, b: Numbers, c: Numbers, d: Numbers) -> Int32:
    """Two triangles for each cell a b c d, given counter-clockwise."""
    a, b, c, d = (k.ravel() for k in (a, b, c, d))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]).astype(np.int32)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise OptionError(f"{name}: expected at least {least}, got {value}")
