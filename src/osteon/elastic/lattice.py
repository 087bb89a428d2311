"""A solid around any closed surface: the tetrahedra of a regular lattice that hold some of its inside.

Nodes are the corners and the centres of cubes. A tetrahedron joins the centres of two cubes that share a face with an
edge of that face, so twelve belong to each cube (three faces, four edges each). All have one shape, close to a regular
one, in six ways round, which leaves the solid without a grain. A point's tetrahedron is found by looking at its offset
from the centre of its cube: the longest coordinate tells the face, the next one the edge.

An element at the rim counts as flesh by the part of it that is inside, by samples on a finer grid.

Based on: F. Labelle, J. Shewchuk, Isosurface stuffing, 2007 (the lattice); M. Nesme, P. Kry et al., Preserving topology
and elasticity for embedded deformable models, 2009 (elements that are filled in part).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.core.topology import triangle_neighbors
from osteon.core.weld import weld_points
from osteon.elastic.inside import inside_grid
from osteon.elastic.solid import Solid, in_order

__all__ = ["check_closed", "lattice_around"]

#: Samples along the edge of a cube; none falls on a plane between elements.
SAMPLES = 5
#: Where they lie between multiples of their spacing, so that none does.
OFFSETS = (0.137, 0.319, 0.461)
#: The least part that an element at the rim counts for.
LEAST_FILL = 0.1
#: Cubes a lattice may have along its box; beyond, memory ends before patience.
MOST_CUBES = 1_000_000
#: The other two axes of each axis.
OTHERS = np.array([[1, 2], [2, 0], [0, 1]])


@dataclass(frozen=True, slots=True)
class _Grid:
    origin: Float64  # (3,) lowest corner
    cube: float  # edge of a cube
    shape: Int64  # (3,) cubes

    @staticmethod
    def around(vertices: Float64, cube: float) -> _Grid:
        low = vertices.min(axis=0) - 1.5 * cube
        shape = np.ceil((np.ptp(vertices, axis=0) + 3 * cube) / cube).astype(np.int64)
        if shape.prod() > MOST_CUBES:
            raise GeometryError(
                f"lattice: {shape.prod():,} cubes around the mesh are too many, at most {MOST_CUBES:,}; ask for fewer"
            )
        return _Grid(low, cube, shape)

    def elements_at(self, points: Float64) -> Int64:
        """(n,) number of the element that holds each point: twelve a cube."""
        inner = (points - self.origin) / self.cube
        cube = np.floor(inner).astype(np.int64)
        off = inner - cube - 0.5
        order = np.argsort(-np.abs(off), axis=1, kind="stable")
        face, beside = order[:, 0], order[:, 1]
        rows = np.arange(len(points))
        cube[rows, face] -= off[rows, face] < 0  # a face belongs to the cube below it
        edge = 2 * (OTHERS[face, 1] == beside) + (off[rows, beside] > 0)
        flat = (cube[:, 0] * self.shape[1] + cube[:, 1]) * self.shape[2] + cube[:, 2]
        return np.asarray(12 * flat + 4 * face + edge)

    def nodes_of(self, elements: Int64) -> Int64:
        """(e,4) numbers of nodes: corners of cubes first, then centres."""
        flat, face, edge = elements // 12, elements % 12 // 4, elements % 4
        cube = np.stack(np.unravel_index(flat, tuple(self.shape)), axis=1)
        rows = np.arange(len(elements))
        beyond = cube.copy()
        beyond[rows, face] += 1
        across, along = OTHERS[face, edge // 2], OTHERS[face, 1 - edge // 2]
        corner = beyond.copy()
        corner[rows, across] += edge % 2
        other = corner.copy()
        other[rows, along] += 1
        n_corners = int((self.shape + 1).prod())
        ends = [self._number(corner, self.shape + 1), self._number(other, self.shape + 1)]
        centres = [n_corners + self._number(c, self.shape) for c in (cube, beyond)]
        return np.stack([*centres, *ends], axis=1)

    def _number(self, at: Int64, shape: Int64) -> Int64:
        return np.asarray((at[:, 0] * shape[1] + at[:, 1]) * shape[2] + at[:, 2])

    def places(self, nodes: Int64) -> Float64:
        """(n,3) of nodes."""
        n_corners = int((self.shape + 1).prod())
        is_corner = nodes < n_corners
        corner = np.stack(np.unravel_index(np.where(is_corner, nodes, 0), tuple(self.shape + 1)), axis=1)
        centre = np.stack(np.unravel_index(np.where(is_corner, 0, nodes - n_corners), tuple(self.shape)), axis=1)
        return np.asarray(self.origin + self.cube * np.where(is_corner[:, None], corner, centre + 0.5))


def lattice_around(surface: Mesh, cube: float) -> Solid:
    """A solid of cubes with this edge around a closed surface, which it carries."""
    vertices = surface.rest.astype(np.float64)
    check_closed(surface)
    grid = _Grid.around(vertices, cube)
    elements, fill = _filled(grid, vertices, surface.faces)
    nodes = grid.nodes_of(elements)
    used, numbered = np.unique(nodes, return_inverse=True)
    points = grid.places(used)
    tets = in_order(points, numbered.reshape(-1, 4))
    corners = tets[np.searchsorted(elements, grid.elements_at(vertices))]
    return Solid(points, tets, fill, surface, corners, _barycentric(points[corners], vertices))


def check_closed(surface: Mesh) -> None:
    """Refuse a surface with a border; vertices at one place count as one."""
    _, same = weld_points(surface.rest)
    faces = same[surface.faces]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    if not len(faces):
        raise GeometryError(f"'{surface.name}': has no triangle with an area; a lattice needs a closed surface")
    open_edges = int((triangle_neighbors(faces) < 0).sum())
    if open_edges:
        raise GeometryError(
            f"'{surface.name}': is open along {open_edges:,} edges, so it has no inside for a lattice; close its holes"
        )


def _filled(grid: _Grid, vertices: Float64, faces: Int32) -> tuple[Int64, Float64]:
    """Elements, ascending, that hold flesh or a piece of the surface, and which part of each is flesh."""
    axes = _sample_axes(grid)
    inside = np.nonzero(inside_grid(vertices, faces, axes))
    held, count = np.unique(
        grid.elements_at(np.stack([axis[i] for axis, i in zip(axes, inside, strict=True)], axis=1)), return_counts=True
    )
    elements = np.union1d(held, grid.elements_at(_surface_samples(vertices, faces, grid.cube / 3)))
    part = np.zeros(len(elements))
    part[np.searchsorted(elements, held)] = count
    return elements, np.clip(part / _samples_each()[elements % 12], LEAST_FILL, 1)


def _sample_axes(grid: _Grid) -> tuple[Float64, Float64, Float64]:
    step = grid.cube / SAMPLES
    x, y, z = (grid.origin[i] + step * (np.arange(SAMPLES * n) + OFFSETS[i]) for i, n in enumerate(grid.shape))
    return x, y, z


def _samples_each() -> Int64:
    """(12,) how many samples fall into each element of a cube: counted in the middle of three cubes each way."""
    grid = _Grid(np.zeros(3), 1.0, np.array([3, 3, 3]))
    samples = np.stack(np.meshgrid(*_sample_axes(grid), indexing="ij"), axis=-1).reshape(-1, 3)
    inner = samples[((samples > 0.5) & (samples < 2.5)).all(axis=1)]
    middle = 12 * 13  # of 27
    return np.bincount(grid.elements_at(inner), minlength=middle + 12)[middle : middle + 12]


def _surface_samples(vertices: Float64, faces: Int32, spacing: float) -> Float64:
    """(n,3) points all over the triangles, not farther apart than `spacing`, and all vertices."""
    corners = vertices[faces]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    pieces = np.ceil(longest / spacing).astype(np.int64).clip(1)
    found = [vertices]
    for n in np.unique(pieces).tolist():
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        inner = (i + j <= n).ravel()
        weights = np.stack([i.ravel(), j.ravel(), n - i.ravel() - j.ravel()], axis=1)[inner] / n
        found.append((weights @ corners[pieces == n]).reshape(-1, 3))
    return np.concatenate(found)


def _barycentric(corners: Float64, points: Float64) -> Float64:
    """(v,4) weights of the four corners (v,4,3) that give each point (v,3)."""
    edges = (corners[:, 1:] - corners[:, :1]).swapaxes(1, 2)
    inner = np.linalg.solve(edges, (points - corners[:, 0])[..., None])[..., 0]
    return np.concatenate([1 - inner.sum(axis=1, keepdims=True), inner], axis=1)
