"""The energy of a pose as a linear system: triangles in 2D, tetrahedra over triangles in 3D.

Minimise over the posed vertices X          E = sum_i A_i (|M_i - M~_i|_F^2 + alpha |T_i - T~_i|^2)          (eq. 15)

One coordinate of X at a time: the corners u_j of simplex i are at x_j = m . u_j + t, so with P_i = [u_j' 1] its
row of M and its T are (m, t) = P_i^-1 x. That makes E a sum of A_i |W^1/2 (P_i^-1 x - d_i)|^2 with
W = diag(1, …, 1, alpha) and d_i the row of its bone, and the minimum solves K x = R d with K = sum A P^-T W P^-1 and
R = A P^-T W.

    symbol      name            what
    A_i         areas           (t,) of the rest triangles; 0 for degenerate triangles
    P_i^-1      inverse         (t,n,n) n = 3 corners in 2D, 4 in 3D
    alpha       alpha           1 / size^2
    K           stiffness       (m,m), or (m+k,m+k) with fourth vertices
    R           load            (m, n t): maps the ideal transforms to the right-hand side

**Keeping the mesh near the skeleton.** The T of a triangle is a poor measure of its position: with this alpha limbs
drift off their bones, and a larger alpha also resists rotations of triangles far from the origin. So a separate term
keeps the centre c of each triangle near its position by the transform of its bone,
A_i follow alpha |M_i c + T_i - M~_i c - T~_i|^2; it adds follow alpha (c 1)'(c 1) to W. `follow = 0` is the paper.

**The fourth vertex** of a tetrahedron (over the centroid) occurs in no other simplex, so it is eliminated in advance
(Schur complement): with the 4 x 4 block K_i = [[S, k], [k', s]], the block of the others becomes S - k k'/s and
their load g becomes g - k g_4/s. This is exact; the system has m unknowns instead of m + k, and the sparsity pattern of
the mesh's edges. The height of the fourth vertex no longer affects the result.

Based on: Yan, Hu, Martin, Yang, "Shape Deformation Using a Skeleton to Drive Simplex Transformations", 2008,
sections 6.1 to 6.3, equations 2 to 5 and 15 to 19.
Differs from the paper: (i) the origin of T is the mesh's area centroid, not that of the file, and alpha comes from the
sphere about it instead of the axis-aligned box (for a box, the sphere's diameter is the box's diagonal). Otherwise
moving or rotating the scene would change the result. (ii) Eliminated fourth vertices. (iii) Degenerate triangles have
no transform and are left out, except those that are the only connection between parts of the mesh, as cracks would
open there. These are widened to a minimum height. (iv) The term `follow`.

Notes. Mean distance of triangles from their position by their bone (relative to the size), and mean strain; armadillo
bowing, all joints of the hand by 35 degrees, gingerbread man leaning, with bones assigned by distance:
    eq. 15 alone            0.0253 0.0558    0.0121 0.1113    0.0209 0.0802
    alpha 10 times          0.0201 0.0619    0.0122 0.1151    0.0187 0.0869
    alpha 100 times         0.0160 0.0743    0.0148 0.1311    0.0174 0.1111
    T about own centre      0.0245 0.0554    0.0117 0.1107    0.0202 0.0798
    the same, 10 times      0.0154 0.0611    0.0094 0.1102    0.0142 0.0833
    the same, 30 times      0.0101 0.0639    0.0075 0.1101    0.0097 0.0871
    the same, 1000 times    0.0028 0.0784    0.0032 0.1108    0.0029 0.0899    the first flipped triangles
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.csgraph import connected_components

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.topology import degenerate_triangles, triangle_areas
from osteon.simplex.options import EnergyOptions

__all__ = [
    "Dimension",
    "EnergyOptions",
    "Simplices",
    "System",
    "build_simplices",
    "find_bridges",
    "full_system",
    "reduced_system",
    "widen_triangles",
]

Dimension = Literal[2, 3]

#: Least longest edge of widened degenerate triangles, relative to the size.
WIDTH = 1e-7


DEFAULT_ENERGY = EnergyOptions()


@dataclass(frozen=True, slots=True)
class Simplices:
    """The simplices of a rest mesh."""

    faces: Int32  # (t,3) triangles, without the degenerate ones that are left out
    triangle: Int32  # (t,) index of the triangle in the mesh
    points: Float64  # (v,3) rest vertices about the centre
    areas: Float64  # (t,)
    inverse: Float64  # (t,n,n) P^-1 about the centre
    centre: Float64  # (3,) area centroid
    size: float  # diameter of the bounding sphere about the centre
    dimension: Dimension

    @property
    def alpha(self) -> float:
        return self.size**-2


@dataclass(frozen=True, slots=True)
class System:
    """K x = R d."""

    stiffness: csc_array  # (m,m) symmetric, positive definite with the translation term
    load: csr_array  # (m, n t) columns: simplex by simplex, the n entries of its row d
    vertices: Int32  # (m,) the vertex of the mesh of each unknown; fourth vertices follow


def build_simplices(vertices: Float64, faces: Int32, dimension: Dimension) -> Simplices:
    """Build a triangle (2D) or tetrahedron (3D) for every triangle that is not degenerate."""
    # Points of no triangle, which may be far away, do not count for the size of the mesh.
    used, numbers = np.unique(faces, return_inverse=True)
    degenerate = degenerate_triangles(vertices[used], numbers.reshape(-1, 3).astype(np.int32))
    if degenerate.all():
        raise GeometryError(f"mesh: none of its {len(faces)} triangles has an area, there is nothing to deform")
    areas = triangle_areas(vertices, faces)
    total = areas[~degenerate].sum()
    centre: Float64 = np.einsum("t,tcx->x", areas[~degenerate], vertices[faces[~degenerate]]) / (3 * total)
    if dimension == 2:
        centre[2] = vertices[0, 2]  # exactly, so that a drawing stays in its plane
    kept = ~degenerate | find_bridges(faces, degenerate, len(vertices))
    triangle = np.flatnonzero(kept).astype(np.int32)
    corners = vertices[faces[kept]] - centre
    reach = float(np.linalg.norm(corners, axis=2).max())
    bridges = degenerate[kept]
    corners[bridges] = widen_triangles(corners[bridges], WIDTH * 2 * reach)
    flat = np.arange(3 * len(corners), dtype=np.int32).reshape(-1, 3)
    return Simplices(
        faces[kept],
        triangle,
        vertices - centre,
        triangle_areas(corners.reshape(-1, 3), flat),
        _inverse(corners, dimension),
        centre,
        2 * reach,
        dimension,
    )


def _inverse(corners: Float64, dimension: Dimension) -> Float64:
    """(t,n,n) P^-1 (eq. 3 to 5): M from the edges, so that translations of small simplices cancel exactly, then T."""
    points = corners[:, :, :2] if dimension == 2 else np.concatenate([corners, _fourth(corners)[:, None]], axis=1)
    inner = np.linalg.inv(points[:, 1:] - points[:, :1])  # eq. 4, 5
    out = np.empty((len(points), dimension + 1, dimension + 1))
    out[:, :-1, 1:] = inner  # eq. 3
    out[:, :-1, 0] = -inner.sum(axis=2)
    out[:, -1] = -np.einsum("ti,tij->tj", points[:, 0], out[:, :-1])  # eq. 2
    out[:, -1, 0] += 1
    return out


def _fourth(corners: Float64) -> Float64:
    """(t,3) the vertex over the centroid, at a distance of the square root of twice the area (6.2)."""
    a, b, c = corners.swapaxes(0, 1)
    normal = np.cross(b - a, c - b)
    fourth: Float64 = corners.mean(axis=1) + normal / np.sqrt(np.linalg.norm(normal, axis=1, keepdims=True))
    return fourth


def reduced_system(
    simplices: Simplices, *, energy: EnergyOptions = DEFAULT_ENERGY, on_line: NDArray[np.bool_] | None = None
) -> System:
    """K and R over the vertices of the mesh alone; `on_line` (t,) are the simplices that control lines move."""
    stiffness, load = _blocks(simplices, energy, on_line)
    if simplices.dimension == 3:
        column, pivot = stiffness[:, :3, 3], stiffness[:, 3, 3, None]
        load = load[:, :3] - column[:, :, None] * (load[:, 3:] / pivot[:, :, None])
        stiffness = stiffness[:, :3, :3] - column[:, :, None] * (column / pivot)[:, None, :]
    vertices, corner = np.unique(simplices.faces, return_inverse=True)
    return _assemble(stiffness, load, corner.reshape(-1, 3), vertices.astype(np.int32), len(vertices))


def full_system(
    simplices: Simplices, *, energy: EnergyOptions = DEFAULT_ENERGY, on_line: NDArray[np.bool_] | None = None
) -> System:
    """K and R of eq. 18 as in the paper, over m vertices and k fourth vertices."""
    stiffness, load = _blocks(simplices, energy, on_line)
    vertices, corner = np.unique(simplices.faces, return_inverse=True)
    corner = corner.reshape(-1, 3)
    unknowns = len(vertices)
    if simplices.dimension == 3:
        fourth = unknowns + np.arange(len(corner))
        corner = np.concatenate([corner, fourth[:, None]], axis=1)
        unknowns += len(corner)
    return _assemble(stiffness, load, corner, vertices.astype(np.int32), unknowns)


def _blocks(simplices: Simplices, energy: EnergyOptions, on_line: NDArray[np.bool_] | None) -> tuple[Float64, Float64]:
    """(t,n,n) A P^-T W P^-1 and (t,n,n) A P^-T W of each simplex."""
    weight = np.ones(simplices.inverse.shape[2])
    weight[-1] = simplices.alpha if energy.translation else 0.0  # eq. 15, eq. 19
    load = simplices.inverse.swapaxes(1, 2) * weight
    follow = np.full(len(simplices.faces), energy.follow)
    if on_line is not None:
        follow[on_line] = energy.follow_lines
    if energy.translation and follow.any():
        centre = np.ones((len(simplices.faces), simplices.dimension + 1))
        centre[:, :-1] = simplices.points[simplices.faces, : simplices.dimension].mean(axis=1)
        place = np.einsum("tij,ti->tj", simplices.inverse, centre)  # weights of the corners in the centre's position
        load += simplices.alpha * follow[:, None, None] * place[:, :, None] * centre[:, None, :]
    load *= simplices.areas[:, None, None]
    return load @ simplices.inverse, load


def _assemble(stiffness: Float64, load: Float64, corner: NDArray[np.int64], vertices: Int32, unknowns: int) -> System:
    t, corners, entries = load.shape
    row = np.repeat(corner[:, :, None], corners, axis=2)
    matrix = csc_array((stiffness.ravel(), (row.ravel(), row.swapaxes(1, 2).ravel())), shape=(unknowns, unknowns))
    matrix.sum_duplicates()
    column = np.broadcast_to(np.arange(t * entries).reshape(t, 1, entries), load.shape)
    rows = np.broadcast_to(corner[:, :, None], load.shape)
    rhs = csr_array((load.ravel(), (rows.ravel(), column.ravel())), shape=(unknowns, t * entries))
    return System(matrix, rhs, vertices)


# Degenerate triangles that connect parts of a mesh.
#
# Strips of triangles without area connect the parts of some meshes, where two rows of vertices almost coincide. Such a
# triangle has no transform, but without it the parts would separate. So triangles that are the only connection between
# parts are widened slightly. That ties their corners firmly to each other and does not affect other vertices: the
# width is far below anything visible.

#: Least height of a triangle over its longest edge.
HEIGHT = 1e-5


def find_bridges(faces: Int32, degenerate: NDArray[np.bool_], n_vertices: int) -> NDArray[np.bool_]:
    """(t,) degenerate triangles of three different vertices that connect parts which no other triangles connect."""
    good = faces[~degenerate]
    start, stop = np.concatenate([good[:, :2], good[:, 1:]]).T
    graph = coo_array((np.ones(len(start), bool), (start, stop)), shape=(n_vertices, n_vertices))
    part = connected_components(graph, directed=False)[1]
    a, b, c = faces.T
    proper = (a != b) & (b != c) & (c != a)
    joins = (part[a] != part[b]) | (part[b] != part[c])
    return np.asarray(degenerate & proper & joins)


def widen_triangles(corners: Float64, length: float) -> Float64:
    """(t,3,3) triangles with a longest edge of at least `length` and a height of at least `HEIGHT` of it."""
    edges = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)  # opposite to each corner
    top = np.linalg.norm(edges, axis=2).argmax(axis=1)
    row = np.arange(len(corners))
    left, right, apex = (corners[row, (top + k) % 3] for k in (1, 2, 0))
    base = np.linalg.norm(right - left, axis=1, keepdims=True)
    along = np.where(base > 0, (right - left) / np.where(base > 0, base, 1), [1.0, 0, 0])
    place = np.einsum("ti,ti->t", apex - left, along)[:, None] / np.where(base > 0, base, 1)
    across, height = _across(along, apex - left)
    base = np.maximum(base, length)
    out = np.empty_like(corners)
    out[row, (top + 1) % 3], out[row, (top + 2) % 3] = left, left + base * along
    out[row, top] = left + place * base * along + np.maximum(height, HEIGHT * base) * across
    return out


def _across(along: Float64, vector: Float64) -> tuple[Float64, Float64]:
    """(t,3) unit vectors across `along`, on the side of `vector`, in the plane for vectors in it; (t,1) its height."""
    rest = vector - np.einsum("ti,ti->t", vector, along)[:, None] * along
    height = np.linalg.norm(rest, axis=1, keepdims=True)
    clear = height > 1e-9 * np.linalg.norm(vector, axis=1, keepdims=True)  # else it is rounding
    other = np.cross(np.eye(3)[2 - np.abs(along[:, ::-1]).argmin(axis=1)], along)  # about z for directions in the plane
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return np.where(clear, rest / np.where(clear, height, 1), other), height
