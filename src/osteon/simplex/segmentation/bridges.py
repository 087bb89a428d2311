"""Bridges between the shells of a mesh, and triangles that see a bone only through gaps between them.

Many characters are not one surface but shells that lie beside and inside each other: a body under clothes, the plates
of a robot. Paths along the mesh (4.1, step 3b) then end at the edge of a shell, and a line of sight may pass between
the plates of one leg and between those of the other, so that a triangle sees the bone of the wrong leg, not its own.

A bridge connects a vertex to the nearest vertex of another shell that is closer than CLOSE of the diameter, unless the
two surfaces face each other across the air, as two legs do. Paths run across bridges as across edges. Of the triangles
that see bone b the heaviest piece, connected by edges and bridges, is its core; a piece in shells without a triangle of
the core is stray. Stray triangles are treated as if they saw no bone: they follow the shortest path over edges and
bridges. Where none leads to them they keep the bone that they see.

Based on: the bridges of `fit/skeleton/surface_graph.py`. Not in Yan, Hu, Martin, Yang, 2008, which has meshes of one
shell.

Notes. Triangles whose stick rotates with a joint that is 0, 1, 2 and more steps of the tree away from that of their
skin. BrainStem (Khronos glTF samples; 61,666 triangles, 391 shells) without bridges: 50,849, 10,548, 177, 92, and 92 of
the other leg; with bridges 50,616, 10,949, 88, 13, and none; if small hidden shells do not move as a whole 49,727,
11,838, 88, 13. Bridges through the air too: 7 of the other leg. Soldier (11,376, 55 shells): 9,590, 1,669, 116, 1 and
9,635, 1,465, 274, 2: the shoulders under its collar, which no bone sees, follow the head. Segmentation of BrainStem
takes 2.5 instead of 1.3 s in all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from osteon.core.arrays import Float64, Int32
from osteon.core.normals import vertex_normals
from osteon.simplex.segmentation.unit_mesh import UnitMesh, connect_triangles

#: Bridges are shorter than this, in diameters of the mesh.
CLOSE = 0.02
#: Mean cosine between a bridge and the normals at its ends above which it passes through the air between two surfaces.
FACING = 0.3
#: Most bridges of a triangle.
MOST = 3
#: A part that no bone sees and that is smaller than this, in diameters, moves as a whole.
SMALL = 0.2


def find_bridges(mesh: UnitMesh) -> tuple[Int32, Float64]:
    """(t,MOST) triangles of other shells that a bridge leads to, or -1, and (t,MOST) the lengths between centres."""
    n = len(mesh.faces)
    across, lengths = np.full((n, MOST), -1, np.int32), np.full((n, MOST), np.inf)
    n_shells = int(mesh.component.max(initial=-1)) + 1
    if n_shells < 2:
        return across, lengths
    first = np.empty(len(mesh.vertices), np.int32)
    first[mesh.faces.ravel()[::-1]] = np.repeat(np.arange(n, dtype=np.int32), 3)[::-1]  # a triangle of each vertex
    shells = _Shells(mesh)
    pairs = [shells.near(shell) for shell in range(n_shells)]
    a, b = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
    a, b = _through_no_air(mesh, a, b)
    centers = mesh.vertices[mesh.faces].mean(axis=1)
    s, t = first[a], first[b]
    length = np.linalg.norm(mesh.vertices[a] - mesh.vertices[b], axis=1)
    for points, triangles in ((a, s), (b, t)):
        length = length + np.linalg.norm(mesh.vertices[points] - centers[triangles], axis=1)
    _keep_shortest(np.concatenate([s, t]), np.concatenate([t, s]), np.concatenate([length, length]), across, lengths)
    return across, lengths


def _through_no_air(
    mesh: UnitMesh, a: NDArray[np.intp], b: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The pairs of vertices whose surfaces do not face each other, as two legs do."""
    out = vertex_normals(mesh.vertices, mesh.faces)
    step = mesh.vertices[b] - mesh.vertices[a]
    step /= np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-300)
    facing = np.einsum("ni,ni->n", out[a] - out[b], step) / 2 > FACING  # 0 for surfaces that are parallel
    return a[~facing], b[~facing]


def _keep_shortest(s: Int32, t: Int32, length: Float64, across: Int32, lengths: Float64) -> None:
    """Fill `across` and `lengths` with the shortest steps from triangles s to t, each pair once."""
    order = np.lexsort((length, t, s))
    s, t, length = s[order], t[order], length[order]
    fresh = np.ones(len(s), bool)
    fresh[1:] = (s[1:] != s[:-1]) | (t[1:] != t[:-1])
    s, t, length = s[fresh], t[fresh], length[fresh]
    order = np.lexsort((t, length, s))
    s, t, length = s[order], t[order], length[order]
    rank = np.arange(len(s)) - np.searchsorted(s, s)
    kept = rank < MOST
    across[s[kept], rank[kept]], lengths[s[kept], rank[kept]] = t[kept], length[kept]


class _Shells:
    """The vertices of each shell, and their boxes."""

    def __init__(self, mesh: UnitMesh) -> None:
        self.vertices = mesh.vertices
        own = np.unique(np.stack([np.repeat(mesh.component, 3), mesh.faces.ravel()], axis=1), axis=0)
        starts = np.flatnonzero(np.r_[True, own[1:, 0] != own[:-1, 0]])
        self.members = np.split(own[:, 1].astype(np.intp), starts[1:])
        places = mesh.vertices[own[:, 1]]
        self.low, self.high = np.minimum.reduceat(places, starts), np.maximum.reduceat(places, starts)

    def near(self, shell: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Vertices of other shells near this one, and its vertex nearest to each."""
        low, high, mine = self.low[shell] - CLOSE, self.high[shell] + CLOSE, self.members[shell]
        meet = ((self.low <= high) & (self.high >= low)).all(axis=1)
        meet[shell] = False
        others = np.concatenate([mine[:0], *(self.members[other] for other in np.flatnonzero(meet))])
        places = self.vertices[others]
        others = others[((places >= low) & (places <= high)).all(axis=1)]
        if not len(others):
            return others, others
        far, nearest = cKDTree(self.vertices[mine]).query(self.vertices[others], distance_upper_bound=CLOSE)
        return others[far < CLOSE], mine[nearest[far < CLOSE]]


def find_stray(bone: Int32, wide: Int32, component: Int32, areas: Float64) -> NDArray[np.bool_]:
    """(t,) triangles that see a bone whose core is in other shells; `wide` are neighbours and bridges."""
    piece = connect_triangles(wide, bone)
    _, first = np.unique(piece, return_index=True)
    of_piece, area = bone[first], np.bincount(piece, areas)
    stray = np.zeros(len(bone), bool)
    for b in np.unique(bone[bone >= 0]):
        pieces = np.flatnonzero(of_piece == b)
        if len(pieces) < 2:
            continue
        core = piece == pieces[area[pieces].argmax()]
        stray |= (bone == b) & ~np.isin(component, component[core])
    return stray


def connect_shells(component: Int32, across: Int32) -> Int32:
    """(c,) the group of each shell: shells connected by bridges."""
    t, e = np.nonzero(across >= 0)
    n = int(component.max(initial=-1)) + 1
    edges = component[t], component[across[t, e]]
    graph = coo_array((np.ones(len(t), np.int8), edges), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int32)


def unite_small(bone: Int32, hidden: NDArray[np.bool_], mesh: UnitMesh, areas: Float64) -> Int32:
    """The bones, with one for each small shell that no bone sees: the one of most of its area."""
    out = bone.copy()
    triangles = np.flatnonzero(hidden[mesh.component] & (bone >= 0))
    if not len(triangles):
        return out
    order = triangles[np.argsort(mesh.component[triangles], kind="stable")]
    for some in np.split(order, np.flatnonzero(np.diff(mesh.component[order])) + 1):
        points = mesh.vertices[mesh.faces[some].ravel()]
        if np.linalg.norm(np.ptp(points, axis=0)) < SMALL:
            out[some] = np.bincount(bone[some], areas[some] + 1e-300).argmax()
    return out
