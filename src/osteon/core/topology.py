"""Triangle meshes: extent, areas, neighbours, connected shells, and vertices that are stored twice but move as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64
from osteon.core.frames import frame_blocks

if TYPE_CHECKING:  # SciPy takes a tenth of a second to import: only where a graph is built
    from scipy.sparse import csr_array

    from osteon.core.sequence import MeshSequence


#: A triangle this flat (height over longest edge) has no reliable normal in float32.
FLATNESS = 1e-6
#: An edge this short (over the bounding-box diagonal) is a point in float32.
SHORTNESS = 1e-7
#: A mesh with a smaller extent in z (over the bounding-box diagonal) is 2D.
FLAT_EXTENT = 1e-9
#: Triangles per block: intermediate arrays take about 100 MB.
BLOCK = 500_000


def bounding_diagonal(points: FloatArray) -> float:
    """Length of the diagonal of the box around points (v,3); 0 for no points."""
    return float(np.linalg.norm(np.ptp(points.astype(np.float64), axis=0))) if len(points) else 0.0


def is_flat(points: FloatArray) -> bool:
    """Whether all points (v,3) have (nearly) the same z; True without points."""
    return not len(points) or float(np.ptp(points[:, 2])) <= FLAT_EXTENT * bounding_diagonal(points)


def triangle_areas(vertices: FloatArray, faces: Int32) -> Float64:
    """(t,) areas."""
    a, b, c = (vertices[faces[:, i]].astype(np.float64) for i in range(3))
    areas: Float64 = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return areas


def vertex_areas(vertices: FloatArray, faces: Int32) -> Float64:
    """(v,) a third of the areas of the triangles around each vertex."""
    shares = np.repeat(triangle_areas(vertices, faces) / 3, 3)
    return np.bincount(faces.reshape(-1), shares, len(vertices)).astype(np.float64)


def degenerate_triangles(vertices: FloatArray, faces: Int32) -> np.ndarray:
    """(t,) True where a triangle has (nearly) no area, so that it has no orientation."""
    diagonal = bounding_diagonal(vertices)
    degenerate = np.empty(len(faces), bool)
    for start in range(0, len(faces), BLOCK):
        block = faces[start : start + BLOCK]
        corners = vertices[block].astype(np.float64)
        longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1, initial=0)
        height = 2 * triangle_areas(vertices, block) / np.maximum(longest, 1e-300)
        degenerate[start : start + BLOCK] = (longest <= SHORTNESS * diagonal) | (height <= FLATNESS * longest)
    return degenerate


def triangle_neighbors(faces: Int32) -> Int32:
    """(t,3) the triangle across each edge, -1 at a border. Of an edge with more than two, consecutive ones pair up."""
    n = len(faces)
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1).astype(np.int64)
    key = edges[:, 0] * (int(faces.max(initial=0)) + 1) + edges[:, 1]
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    first, second = order[same], order[same + 1]
    neighbors = np.full((n, 3), -1, np.int32)
    neighbors[first % n, first // n] = second % n
    neighbors[second % n, second // n] = first % n
    return neighbors


def vertex_graph(faces: Int32, n_vertices: int) -> csr_array:
    """(v,v) ones where two vertices share an edge."""
    from scipy.sparse import csr_array

    i = np.concatenate([faces[:, 0], faces[:, 1], faces[:, 2]])
    j = np.concatenate([faces[:, 1], faces[:, 2], faces[:, 0]])
    graph = csr_array((np.ones(2 * len(i)), (np.r_[i, j], np.r_[j, i])), shape=(n_vertices, n_vertices))
    graph.sum_duplicates()
    graph.setdiag(0)
    graph.eliminate_zeros()
    graph.data[:] = 1
    return graph


def shells(faces: Int32, n_vertices: int) -> tuple[int, Int32]:
    """How many connected pieces the referenced vertices form, and (v,) which one each is in (-1: unreferenced)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    label = np.arange(n_vertices, dtype=np.int32)
    count = n_vertices
    for start in range(0, len(faces), BLOCK):  # pieces are merged block by block; they keep the order of their vertices
        joined = label[faces[start : start + BLOCK]]
        ends = joined[:, :2].ravel(), joined[:, 1:].ravel()
        graph = csr_array((np.ones(len(ends[0]), bool), ends), shape=(count, count))
        count, merged = connected_components(graph, directed=False)
        label = merged[label]
    used = np.zeros(n_vertices, bool)
    used[faces] = True
    pieces, renumbered = np.unique(label[used], return_inverse=True)
    out = np.full(n_vertices, -1, np.int32)
    out[used] = renumbered
    return len(pieces), out


def weld_vertices(sequence: MeshSequence) -> tuple[Int32, Int32]:
    """Indices (u,) of one vertex out of every set that coincides at rest and in all frames; (v,) which of them each is.

    Fitted once and copied, such vertices get equal weights, and no crack opens between them.
    """
    representative = np.arange(sequence.n_vertices, dtype=np.int32)
    _, group = weld_points(sequence.rest)
    shared = np.flatnonzero(np.bincount(group)[group] > 1)  # vertices that may still coincide with another
    group = group[shared]
    for block in frame_blocks(sequence.source):
        if not len(shared):
            break
        group = _split(group, block.frames, shared)
        stays = np.bincount(group)[group] > 1
        shared, group = shared[stays], group[stays]
    _, first, same = np.unique(group, return_index=True, return_inverse=True)
    representative[shared] = shared[first[same.reshape(-1)]]
    return _numbered(representative)


def _split(group: Int32, frames: Float32, vertices: Int64) -> Int32:
    """(n,) numbers of the groups of vertices (n,) that were in one group and coincide in all frames (f,v,3)."""
    columns = [group[:, None]]
    columns += [(frame[vertices] + np.float32(0)).view(np.int32) for frame in frames]  # -0 becomes 0
    rows = np.concatenate(columns, axis=1)
    # Rows as opaque byte strings, which can be sorted in one go.
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int32)


def weld_points(points: FloatArray) -> tuple[Int32, Int32]:
    """Indices (u,) of the first of all points (v,3) that coincide, ascending; (v,) which of them each is."""
    order = np.lexsort(points.T)  # stable, so the first of equal ones comes first; three times as fast as np.unique
    begins = np.ones(len(points), bool)
    begins[1:] = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    representative = np.empty(len(points), np.int32)
    representative[order] = order[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    return _numbered(representative)


def welded_shells(rest: FloatArray, faces: Int32) -> tuple[int, Int32]:
    """Number of separate pieces of a mesh, and (v,) the piece of each vertex, -1 without one; seams hold together."""
    unique, welded_of_vertex = weld_points(rest)
    count, shell = shells(welded_of_vertex[faces], len(unique))
    return count, shell[welded_of_vertex]


def _numbered(representative: Int32) -> tuple[Int32, Int32]:
    """The representatives (u,), ascending, and (v,) which of them each vertex has."""
    unique, inverse = np.unique(representative, return_inverse=True)
    return unique.astype(np.int32), inverse.reshape(-1).astype(np.int32)
