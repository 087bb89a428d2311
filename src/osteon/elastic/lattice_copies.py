"""Copies of the elements of a lattice around a body: one for each separate piece of it that passes through them.

Samples inside the body are linked if they are neighbours on their grid and the body is not left between them.
Around each node of the lattice is a box of two cubes each way; samples that are linked within that box belong to one
copy of the node. The copies of its four corners determine which copy of its element a sample is in.

    (p, n)  ~  (q, n)   if p and q are linked and both are in the box of node n
    copies of nodes     = classes of ~
    copies of elements  = distinct rows of the classes of (p, n1) … (p, n4), n1 … n4 the nodes of p's element

A vertex of the surface is in the copy of its element that belongs to the sample just below it, or in that sample's
element. A part that is connected by an edge or a corner alone would rotate about it freely, and is omitted; so is what
appears as a separate piece of samples in a thin part: vertices there follow the nearest sample of the rest.

Based on: N. Molino, Z. Bao, R. Fedkiw, A virtual node algorithm for changing mesh topology during simulation, 2004; M.
Nesme, P. Kry, L. Jerabkova, F. Faure, Preserving topology and elasticity for embedded deformable models, 2009.

Notes. Two bars a tenth of a cube apart are two pieces; before, with one copy of each node, they moved as one. Links
within the elements around a node alone, instead of its box, tore the rim: a fifth more nodes on the hand. With vertices
linked among each other as samples are, a tenth more, some of them connected by an edge only: a fist did not converge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.errors import GeometryError
from osteon.elastic.inside import Axes, GridCuts

#: Distance below a vertex at which its sample is searched, over the spacing; the number of samples checked there.
BELOW, LOOKED_AT = 0.75, 8


@dataclass(frozen=True, slots=True)
class NodeBoxes:
    """The nodes in whose boxes points are: eight corners of cubes, and eight centres."""

    cells: Int64  # (p,2,3) lowest of the corners and of the centres, as whole coordinates
    nodes: Int64  # (p,16) their numbers; slots 4x + 2y + z from the lowest, corners first


class Lattice(Protocol):
    """Interface of a lattice of tetrahedra."""

    def elements_at(self, points: Float64) -> Int64:
        """(p,) number of the element that holds each point."""

    def nodes_of(self, elements: Int64) -> Int64:
        """(e,4) numbers of the nodes of elements."""

    def boxes_of(self, points: Float64) -> NodeBoxes:
        """In which boxes points are; the nodes of a point's element are among them."""


@dataclass(frozen=True, slots=True)
class SampledBody:
    """A closed surface on a grid of samples."""

    axes: Axes
    cuts: GridCuts
    vertices: Float64  # (v,3)
    normals: Float64  # (v,3) outward
    shells: Int32  # (v,) the connected part of the surface that each vertex is in


@dataclass(frozen=True, slots=True)
class ElementCopies:
    """Elements with one entry per copy."""

    elements: Int64  # (e,) number in the lattice
    tets: Int32  # (e,4) copies of nodes
    samples: Int64  # (e,) inside each
    lattice_nodes: Int64  # (n,) the node of the lattice of which each is a copy
    of_vertex: Int64  # (v,) the copy that holds each vertex of the surface


def element_copies(body: SampledBody, lattice: Lattice) -> ElementCopies:
    """All elements that hold a sample inside the body or a vertex of its surface."""
    samples, numbers = _samples(body)
    if not len(samples):
        raise GeometryError("lattice: its cells are larger than the mesh is thick; use more --cells")
    boxes = lattice.boxes_of(samples)
    classes = _classes(boxes, _grid_links(body, numbers))
    inner = _Corners.at(samples, lattice).classified(np.arange(len(samples)), boxes, classes)
    below = _samples_below(body, samples)
    outer = _Corners.at(body.vertices, lattice).classified(below, boxes, classes)
    attached = (outer.classes >= 0).all(axis=1) & (np.isin(outer.classes, inner.classes).sum(axis=1) >= 3)
    rows = np.concatenate([inner.rows(), np.where(attached[:, None], outer.rows(), inner.rows()[below])])
    nodes = np.concatenate([inner.nodes, np.where(attached[:, None], outer.nodes, inner.nodes[below])])
    distinct, first, of_point = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    of_point = of_point.ravel()
    count = np.bincount(of_point[: len(samples)], minlength=len(distinct))
    kept = _main_parts(distinct[:, 1:], count, of_point[len(samples) :], body.shells)
    of_vertex = _in_kept(of_point[len(samples) :], of_point[: len(samples)], kept, samples, body.vertices)
    used, tets = np.unique(distinct[kept, 1:], return_inverse=True)
    lattice_nodes = np.empty(len(used), np.int64)
    lattice_nodes[tets.ravel()] = nodes[first[kept]].ravel()
    return ElementCopies(distinct[kept, 0], tets.reshape(-1, 4).astype(np.int32), count[kept], lattice_nodes, of_vertex)


@dataclass(frozen=True, slots=True)
class _Corners:
    """The elements in which points are, their nodes, and which copies of these."""

    elements: Int64  # (p,)
    nodes: Int64  # (p,4)
    classes: Int64  # (p,4) -1 where it is not known

    @staticmethod
    def at(points: Float64, lattice: Lattice) -> _Corners:
        elements = lattice.elements_at(points)
        nodes = lattice.nodes_of(elements)
        return _Corners(elements, nodes, np.full(nodes.shape, -1))

    def classified(self, samples: Int64, boxes: NodeBoxes, classes: Int64) -> _Corners:
        """With the copies that belong to a sample for each point."""
        same = boxes.nodes[samples][:, None, :] == self.nodes[:, :, None]  # (p,4,16)
        found = np.take_along_axis(classes[samples], same.argmax(axis=2), axis=1)
        return _Corners(self.elements, self.nodes, np.where(same.any(axis=2), found, -1))

    def rows(self) -> Int64:
        """(p,5) rows that identify copies of elements."""
        return np.concatenate([self.elements[:, None], self.classes], axis=1)


def _samples(body: SampledBody) -> tuple[Float64, Int64]:
    """(s,3) samples inside, and on the whole grid the number of each, -1 outside."""
    at = np.nonzero(body.cuts.inside)
    numbers = np.full(body.cuts.inside.shape, -1, np.int64)
    numbers[at] = np.arange(len(at[0]))
    return np.stack([axis[i] for axis, i in zip(body.axes, at, strict=True)], axis=1), numbers


def _grid_links(body: SampledBody, numbers: Int64) -> Int64:
    """(m,2) neighbours along the grid with no gap between them."""
    found = []
    for k in range(3):
        one, other = np.delete(numbers, -1, axis=k), np.delete(numbers, 0, axis=k)
        linked = (one >= 0) & (other >= 0) & ~body.cuts.gaps[k]
        found.append(np.stack([one[linked], other[linked]], axis=1))
    return np.concatenate(found)


def _samples_below(body: SampledBody, samples: Float64) -> Int64:
    """(v,) a sample on the inner side of each vertex."""
    step = float(body.axes[0][1] - body.axes[0][0])
    below = body.vertices - BELOW * step * body.normals
    _, near = cKDTree(samples).query(below, k=min(LOOKED_AT, len(samples)))
    near = near.reshape(len(below), -1)
    away = samples[near] - body.vertices[:, None]
    outside = np.einsum("vki,vi->vk", away, body.normals) > 0
    cost = np.linalg.norm(samples[near] - below[:, None], axis=2) + np.where(outside, 4 * step, 0)
    return np.asarray(near[np.arange(len(near)), cost.argmin(axis=1)])


def _classes(boxes: NodeBoxes, links: Int64) -> Int64:
    """(s,16) for each sample and each node in whose box it is, which copy of the node it belongs to."""
    first, second = [], []
    for kind in range(2):
        cells = boxes.cells[:, kind]
        apart = cells[links[:, 1]] - cells[links[:, 0]]
        for slot in range(8):
            there = np.array([slot >> 2, slot >> 1 & 1, slot & 1]) - apart  # the same node, seen from the other sample
            shared = ((there >= 0) & (there <= 1)).all(axis=1)
            first.append(16 * links[shared, 0] + 8 * kind + slot)
            second.append(16 * links[shared, 1] + 8 * kind + there[shared] @ (4, 2, 1))
    one, other = np.concatenate(first), np.concatenate(second)
    n = boxes.nodes.size
    graph = csr_array((np.ones(len(one), bool), (one, other)), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    return np.asarray(label, np.int64).reshape(-1, 16)


def _main_parts(tets: Int64, count: Int64, of_vertex: Int64, shells: Int32) -> Int64:
    """Elements to keep: for each shell of the surface the largest part (by samples) that is connected by faces."""
    n = len(tets)
    faces = np.sort(tets[:, [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]].reshape(-1, 3), axis=1)
    _, face = np.unique(faces, axis=0, return_inverse=True)
    members = csr_array((np.ones(4 * n, np.int32), (face.ravel(), np.repeat(np.arange(n), 4))))
    _, part = connected_components(members.T @ members, directed=False)
    total = np.bincount(part, count)
    touched = np.unique(np.stack([shells, part[of_vertex]], axis=1), axis=0)
    order = np.lexsort((-total[touched[:, 1]], touched[:, 0]))
    main = touched[order][np.unique(touched[order, 0], return_index=True)[1], 1]
    return np.flatnonzero(np.isin(part, main))


def _in_kept(of_vertex: Int64, of_sample: Int64, kept: Int64, samples: Float64, vertices: Float64) -> Int64:
    """(v,) which of the kept elements holds each vertex; where its own is omitted, that of the nearest sample."""
    number = np.full(max(int(of_vertex.max()), int(of_sample.max())) + 1, -1)
    number[kept] = np.arange(len(kept))
    out = number[of_vertex]
    lost = np.flatnonzero(out < 0)
    if len(lost):
        good = np.flatnonzero(number[of_sample] >= 0)
        _, near = cKDTree(samples[good]).query(vertices[lost])
        out[lost] = number[of_sample[good[near]]]
    return out
