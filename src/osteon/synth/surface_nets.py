"""The closed surface where a sampled field changes sign, as well-shaped triangles.

Every cell that the surface crosses gets one vertex, every crossed grid edge one quad between the four cells around it.
Two repairs of the signs beforehand make the result a manifold: where the inside touches itself only along an edge or at
a corner of the grid, the gap is filled. Afterwards the vertices slide along the surface until they are evenly spread.

Based on: S. Gibson, Constrained elastic surface nets, 1998; L. Latecki, 3D well-composed pictures, 1997 (the repairs).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse

from osteon.core.arrays import Float64, Int32
from osteon.synth.implicit import Grid

__all__ = ["polygonise", "relax_surface", "split_quads"]

CORNERS = np.array(list(itertools.product((0, 1), repeat=3)))
Mask = NDArray[np.bool_]


def polygonise(field: Float64, grid: Grid) -> tuple[Float64, Int32]:
    """Vertices (v,3) and quads (q,4) of the surface of the largest body in `field`; watertight and manifold."""
    inside = _largest(_well_composed(field < 0))
    small = 1e-3 * grid.step
    field = np.where(inside, np.minimum(field, -small), np.maximum(field, small))
    corners = np.stack([_corner(inside, c) for c in CORNERS])
    crossed: Mask = np.asarray(corners.any(axis=0) & ~corners.all(axis=0))
    number = np.full(crossed.shape, -1, np.int32)
    number[crossed] = np.arange(int(crossed.sum()))
    quads = np.concatenate([_quads_across(inside, number, axis) for axis in range(3)])
    return grid.to_world(_cell_points(field, crossed)), quads


def relax_surface(vertices: Float64, quads: Int32, field: Float64, grid: Grid, rounds: int = 15) -> Float64:
    """Slide vertices towards their neighbours' mean and back onto the surface, `rounds` times."""
    n = len(vertices)
    edges = np.concatenate([quads[:, [k, (k + 1) % 4]] for k in range(4)])
    around = sparse.csr_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    mean = sparse.diags(1 / np.asarray(around.sum(axis=1)).ravel()) @ around
    coefficients = ndimage.spline_filter(field, order=3)
    for _ in range(rounds):
        vertices = _project(0.4 * vertices + 0.6 * (mean @ vertices), coefficients, grid)
    return _project(vertices, coefficients, grid)


def split_quads(vertices: Float64, quads: Int32) -> Int32:
    """Two triangles for every quad, cut along the shorter diagonal."""
    a, b, c, d = (vertices[quads[:, k]] for k in range(4))
    along_ac = ((a - c) ** 2).sum(axis=1) <= ((b - d) ** 2).sum(axis=1)
    first = np.where(along_ac[:, None], quads[:, [0, 1, 2]], quads[:, [0, 1, 3]])
    second = np.where(along_ac[:, None], quads[:, [0, 2, 3]], quads[:, [1, 2, 3]])
    return np.concatenate([first, second]).astype(np.int32)


def _project(points: Float64, coefficients: Float64, grid: Grid) -> Float64:
    """One Newton step along the gradient of the field, at most half a cell long."""
    at, width = grid.to_cells(points), grid.spacing(points)
    h = 0.25  # cells, of the central difference

    def value(offset: Any) -> Float64:
        found: Float64 = ndimage.map_coordinates(coefficients, (at + offset).T, order=3, prefilter=False)
        return found

    slope = np.stack([value(h * e) - value(-h * e) for e in np.eye(3)], axis=1) / (2 * h * width)
    move = slope * (value(0.0) / np.maximum((slope**2).sum(axis=1), 0.05))[:, None]
    length = np.linalg.norm(move, axis=1, keepdims=True)
    limit = 0.5 * width.min(axis=1, keepdims=True)
    moved: Float64 = points - move * np.minimum(1, limit / np.maximum(length, 1e-12))
    return moved


def _corner(samples: NDArray[Any], corner: NDArray[Any]) -> NDArray[Any]:
    """The given corner of every cell."""
    return samples[tuple(slice(c, s - 1 + c) for c, s in zip(corner, samples.shape, strict=True))]


def _well_composed(inside: Mask) -> Mask:
    """Fill where the inside meets itself only along a grid edge or in a grid point; repeated until nothing changes."""
    inside, count = inside.copy(), -1
    while count != (count := int(inside.sum())):
        for axis in range(3):
            face = CORNERS[CORNERS[:, axis] == 0]
            a, b, c, d = (_face_corner(inside, f, axis) for f in face)
            touching = (a == d) & (b == c) & (a != b)
            for f in face:
                _face_corner(inside, f, axis)[touching] = True
        corners = np.stack([_corner(inside, c) for c in CORNERS])
        total = corners.sum(axis=0)
        for k in range(4):
            opposite = (corners[k] == corners[7 - k]) & np.where(corners[k], total == 2, total == 6)
            for c in CORNERS:
                _corner(inside, c)[opposite] = True
    return inside


def _face_corner(samples: Mask, corner: NDArray[Any], axis: int) -> Mask:
    """The given corner of every grid square normal to `axis`."""
    return samples[
        tuple(slice(None) if i == axis else slice(c, samples.shape[i] - 1 + c) for i, c in enumerate(corner))
    ]


def _largest(inside: Mask) -> Mask:
    """Only the biggest connected body, without its cavities."""
    labels, count = ndimage.label(inside)
    if count > 1:
        inside = labels == 1 + int(np.argmax(np.bincount(labels.ravel())[1:]))
    return np.asarray(ndimage.binary_fill_holes(inside), dtype=np.bool_)


def _cell_points(field: Float64, crossed: Mask) -> Float64:
    """For each crossed cell the mean of the sign changes on its edges, in cells."""
    values = np.stack([_corner(field, c)[crossed] for c in CORNERS])
    total, count = np.zeros((values.shape[1], 3)), np.zeros(values.shape[1])
    for i, j in itertools.combinations(range(8), 2):
        if np.abs(CORNERS[i] - CORNERS[j]).sum() != 1:
            continue
        changes = (values[i] < 0) != (values[j] < 0)
        s = values[i] / np.where(changes, values[i] - values[j], 1)
        total += np.where(changes[:, None], CORNERS[i] + s[:, None] * (CORNERS[j] - CORNERS[i]), 0)
        count += changes
    points: Float64 = np.argwhere(crossed) + total / count[:, None]
    return points


def _quads_across(inside: Mask, number: Int32, axis: int) -> Int32:
    """A quad around each grid edge along `axis` whose ends differ, counter-clockwise seen from outside."""
    low, high = np.moveaxis(inside, axis, 0)[:-1], np.moveaxis(inside, axis, 0)[1:]
    order = (axis, (axis + 1) % 3, (axis + 2) % 3)
    back = tuple(sorted(order[1:]))
    i, j, k = np.nonzero(low != high)
    leaving = low[i, j, k]
    place = {axis: i, back[0]: j, back[1]: k}
    ring = []
    for b, c in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
        at = (place[order[0]], place[order[1]] + b, place[order[2]] + c)
        ring.append(number[tuple(at[order.index(x)] for x in range(3))])
    quads = np.stack(ring, axis=1)
    return np.where(leaving[:, None], quads, quads[:, ::-1]).astype(np.int32)
