"""A solid around any surface: the tetrahedra of a regular lattice that hold some of its inside.

Nodes are the corners and the centres of cubes. A tetrahedron joins the centres of two cubes that share a face with an
edge of that face, so twelve belong to each cube (three faces, four edges each). All have one shape, close to a regular
one, in six ways round, which leaves the solid without a grain. A point's tetrahedron is found by looking at its offset
from the centre of its cube: the longest coordinate determines the face, the next one the edge.

An element at the rim counts as flesh by the part of it that is inside, by samples on a finer grid. Parts that only come
close, such as fingers, are not joined: where an element holds pieces of both, there are two (`lattice_copies.py`).

Based on: F. Labelle, J. Shewchuk, Isosurface stuffing, 2007 (the lattice); M. Nesme, P. Kry et al., Preserving topology
and elasticity for embedded deformable models, 2009 (elements that are filled in part, and several in one place).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.core.normals import vertex_normals
from osteon.core.topology import shells, triangle_areas, weld_points
from osteon.elastic.holes import ClosedSurface, close_holes
from osteon.elastic.inside import Axes, GridCuts
from osteon.elastic.lattice_copies import NodeBoxes, SampledBody, element_copies
from osteon.elastic.solid import Solid, in_order

#: Samples along the edge of a cube.
SAMPLES = 4
#: Their offset from multiples of the spacing, so that none is on the border of two elements.
OFFSETS = (0.137, 0.319, 0.461)
#: The least fill of an element at the rim.
LEAST_FILL = 0.1
#: Cubes in the box around a mesh; more would not fit into memory.
MOST_CUBES = 300_000
#: The least volume of a surface, over its area to the power of 1.5; a cube has 0.068.
THINNEST = 1e-7
#: Nodes of a lattice per cube of volume, and per square of surface.
NODES_INSIDE, NODES_AT_RIM = 2.0, 1.7
#: The other two axes of each axis.
OTHERS = np.array([[1, 2], [2, 0], [0, 1]])


@dataclass(frozen=True, slots=True)
class Grid:
    """Cubes in a box, and the elements between them."""

    origin: Float64  # (3,) lowest corner
    cube: float  # edge of a cube
    shape: Int64  # (3,) cubes

    @staticmethod
    def around(vertices: Float64, cube: float) -> Grid:
        """Room for all vertices and a cube more on every side."""
        shape = np.ceil((np.ptp(vertices, axis=0) + 3 * cube) / cube).astype(np.int64)
        if not shape.prod() <= MOST_CUBES:
            raise GeometryError(
                f"lattice: {shape.prod():,} cubes around the mesh are too many, at most {MOST_CUBES:,}; "
                "use fewer --cells"
            )
        return Grid(vertices.min(axis=0) - 1.5 * cube, cube, shape)

    def elements_at(self, points: Float64) -> Int64:
        """(n,) number of the element that holds each point: twelve per cube."""
        inner = (points - self.origin) / self.cube
        cube = np.floor(inner).astype(np.int64)
        off = inner - cube - 0.5
        order = np.argsort(-np.abs(off), axis=1, kind="stable")
        face, beside = order[:, 0], order[:, 1]
        rows = np.arange(len(points))
        cube[rows, face] -= off[rows, face] < 0  # a face belongs to the cube on its lower side
        edge = 2 * (OTHERS[face, 1] == beside) + (off[rows, beside] > 0)
        return np.asarray(12 * _number(cube, self.shape) + 4 * face + edge)

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
        ends = [_number(corner, self.shape + 1), _number(other, self.shape + 1)]
        return np.stack([*(n_corners + _number(c, self.shape) for c in (cube, beyond)), *ends], axis=1)

    def places(self, nodes: Int64) -> Float64:
        """(n,3) of nodes."""
        n_corners = int((self.shape + 1).prod())
        is_corner = nodes < n_corners
        corner = np.stack(np.unravel_index(np.where(is_corner, nodes, 0), tuple(self.shape + 1)), axis=1)
        centre = np.stack(np.unravel_index(np.where(is_corner, 0, nodes - n_corners), tuple(self.shape)), axis=1)
        return np.asarray(self.origin + self.cube * np.where(is_corner[:, None], corner, centre + 0.5))

    def boxes_of(self, points: Float64) -> NodeBoxes:
        """The corners and centres that are less than a cube away, in each coordinate."""
        inner = (points - self.origin) / self.cube
        cells = np.floor(np.stack([inner, inner - 0.5], axis=1)).astype(np.int64)
        steps = np.array([[s >> 2, s >> 1 & 1, s & 1] for s in range(8)])
        shapes = (self.shape + 1, self.shape)
        starts = (0, int((self.shape + 1).prod()))
        nodes = [
            start + _number((cells[:, kind, None] + steps).reshape(-1, 3), shape).reshape(-1, 8)
            for kind, (start, shape) in enumerate(zip(starts, shapes, strict=True))
        ]
        return NodeBoxes(cells, np.concatenate(nodes, axis=1))

    def sample_axes(self) -> Axes:
        """Positions of samples."""
        step = self.cube / SAMPLES
        x, y, z = (self.origin[i] + step * (np.arange(SAMPLES * n) + OFFSETS[i]) for i, n in enumerate(self.shape))
        return x, y, z


def _number(at: Int64, shape: Int64) -> Int64:
    return np.asarray((at[:, 0] * shape[1] + at[:, 1]) * shape[2] + at[:, 2])


def lattice_around(surface: Mesh, cube: float, closed: ClosedSurface | None = None) -> Solid:
    """A solid of cubes with this edge around a surface, which it carries; pass `closed` if it is known."""
    whole = closed or filled_surface(surface)
    vertices = surface.rest.astype(np.float64)
    grid = Grid.around(vertices, cube)
    axes = grid.sample_axes()
    cuts = GridCuts.of(whole.vertices, whole.faces, axes)
    _, same = weld_points(surface.rest)
    _, shell = shells(same[surface.faces], len(vertices))
    body = SampledBody(axes, cuts, vertices, _outward(surface, whole), shell[same])
    copies = element_copies(body, grid)
    points = grid.places(copies.lattice_nodes)
    tets = in_order(points, copies.tets)
    fill = np.clip(copies.samples / _samples_each()[copies.elements % 12], LEAST_FILL, 1)
    corners = tets[copies.of_vertex]
    return Solid(points, tets, fill, surface, corners, _barycentric(points[corners], vertices))


def filled_surface(surface: Mesh) -> ClosedSurface:
    """The surface with its holes closed; refuses one that holds no volume then, such as a sheet."""
    closed = close_holes(surface)
    if not closed.n_own:
        raise GeometryError(f"'{surface.name}': has no triangle with an area; a lattice needs a surface")
    area = float(triangle_areas(surface.rest, surface.faces).sum())
    if abs(_volume(closed)) <= THINNEST * area**1.5:
        raise GeometryError(f"'{surface.name}': has no inside for a lattice; give it a thickness, or close it")
    return closed


def cube_for_nodes(surface: Mesh, n_nodes: int, closed: ClosedSurface) -> float:
    """The edge of cubes with which a lattice has about this many nodes."""
    volume = abs(_volume(closed))
    area = float(triangle_areas(surface.rest, surface.faces).sum())
    low, high = 0.0, float(np.ptp(surface.rest, axis=0).max())
    for _ in range(60):
        middle = (low + high) / 2
        many = NODES_INSIDE * volume / middle**3 + NODES_AT_RIM * area / middle**2 > n_nodes
        low, high = (middle, high) if many else (low, middle)
    return high


def _volume(closed: ClosedSurface) -> float:
    a, b, c = (closed.vertices[closed.faces[:, k]] for k in range(3))
    return float(np.einsum("ti,ti->", a, np.cross(b, c)) / 6)


def _outward(surface: Mesh, closed: ClosedSurface) -> Float64:
    """(v,3) unit normals; vertices at one place have one."""
    _, same = weld_points(surface.rest)
    points = np.zeros((same.max() + 1, 3))
    points[same] = surface.rest
    normals = vertex_normals(points, same[surface.faces])[same].astype(np.float64)
    return normals if _volume(closed) >= 0 else -normals


def _samples_each() -> Int64:
    """(12,) how many samples fall into each element of a cube: counted in the middle of three cubes each way."""
    grid = Grid(np.zeros(3), 1.0, np.array([3, 3, 3]))
    samples = np.stack(np.meshgrid(*grid.sample_axes(), indexing="ij"), axis=-1).reshape(-1, 3)
    inner = samples[((samples > 0.5) & (samples < 2.5)).all(axis=1)]
    middle = 12 * 13  # of 27
    return np.bincount(grid.elements_at(inner), minlength=middle + 12)[middle : middle + 12]


def _barycentric(corners: Float64, points: Float64) -> Float64:
    """(v,4) barycentric weights of the four corners (v,4,3) for each point (v,3)."""
    edges = (corners[:, 1:] - corners[:, :1]).swapaxes(1, 2)
    inner = np.linalg.solve(edges, (points - corners[:, 0])[..., None])[..., 0]
    return np.concatenate([1 - inner.sum(axis=1, keepdims=True), inner], axis=1)
