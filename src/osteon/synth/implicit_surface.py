"""Smooth closed surfaces from a few cross-sections: swept ellipses, blended, sampled on a grid, and polygonised.

A `Sweep` is a curve with an elliptical cross-section that changes along it; between the stations both follow a monotone
cubic spline, so a limb of eight stations has no dents. Its field is

    g(p) = min over the curve of |S (p - c(s))| - r(s)       negative inside,

where S stretches space along `flat_axis` so that the ellipse becomes a circle. Sweeps are joined by a quadratic smooth
minimum, which fills the crease over a width of `blend` and has no effect farther away.

Surface nets polygonise the field: one vertex per cell that the surface crosses, one quad per crossed grid edge between
the four cells around it. Two repairs of the signs make the result a manifold: where inside cells touch only along an
edge or at a corner of the grid, the gap is filled. Then the vertices slide along the surface until they are evenly
spaced.

Based on: S. Gibson, Constrained elastic surface nets, 1998; L. Latecki, 3D well-composed pictures, 1997 (the repairs).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.interpolate import PchipInterpolator

from osteon.core.arrays import Float64, Int32

Station = tuple[float, float, float, float, float]  # x, y, z, radius, radius along the flat axis

PIECES_PER_STATION = 4  # straight pieces between two stations; more make no visible difference
BAND = 3.0  # cells around a surface within which its field is evaluated


@dataclass(frozen=True, slots=True)
class Sweep:
    """One part of a body."""

    stations: tuple[Station, ...]
    blend: float = 0.05  # width of the blend with the parts before it
    flat_axis: tuple[float, float, float] = (1.0, 0.0, 0.0)  # unit vector

    def mirrored(self) -> Sweep:
        """The mirror image on the other side of x = 0."""
        a, b, c = self.flat_axis
        return Sweep(tuple((-x, y, z, r, q) for x, y, z, r, q in self.stations), self.blend, (-a, b, c))

    def pieces(self) -> Float64:
        """(n,5) stations of the fine polyline."""
        rough = np.asarray(self.stations, np.float64)
        n = len(rough)
        length = np.linalg.norm(np.diff(rough[:, :3], axis=0), axis=1)
        knots = np.concatenate([[0.0], np.cumsum(length)])
        at = np.interp(np.linspace(0, n - 1, PIECES_PER_STATION * (n - 1) + 1), np.arange(n), knots)
        fine: Float64 = PchipInterpolator(knots, rough, axis=0)(at)
        return fine


@dataclass(frozen=True, slots=True)
class Grid:
    """Sample positions along x, y and z; their spacing may change slowly."""

    axes: tuple[Float64, Float64, Float64]

    @classmethod
    def around(cls, sweeps: list[Sweep], step: float, zones: tuple[tuple[int, float, float], ...] = ()) -> Grid:
        """A grid around all parts with a margin, symmetric about x = 0.

        A zone (axis, start, scale) multiplies the spacing by `scale` beyond `start`.
        """
        stations = np.concatenate([s.pieces() for s in sweeps])
        reach = stations[:, 3:].max(axis=1, keepdims=True) + 3 * step
        low, high = (stations[:, :3] - reach).min(axis=0), (stations[:, :3] + reach).max(axis=0)
        half = int(np.ceil(high[0] / step)) - 0.5
        x = step * np.arange(-half, half + 1)
        y, z = (_march(low[i], high[i], step, [z for z in zones if z[0] == i]) for i in (1, 2))
        return cls((x, y, z))

    @property
    def shape(self) -> tuple[int, int, int]:
        return (len(self.axes[0]), len(self.axes[1]), len(self.axes[2]))

    @property
    def step(self) -> float:
        """The widest spacing."""
        return float(max(np.diff(a).max() for a in self.axes))

    def to_world(self, at: Float64) -> Float64:
        """(n,3) positions from grid coordinates in cells."""
        return np.stack([np.interp(at[:, i], np.arange(len(a)), a) for i, a in enumerate(self.axes)], axis=1)

    def to_cells(self, points: Float64) -> Float64:
        """(n,3) grid coordinates in cells, the inverse of `to_world`."""
        return np.stack([np.interp(points[:, i], a, np.arange(len(a))) for i, a in enumerate(self.axes)], axis=1)

    def spacing(self, points: Float64) -> Float64:
        """(n,3) width of the cells around points."""
        return np.stack([np.interp(points[:, i], a, np.gradient(a)) for i, a in enumerate(self.axes)], axis=1)


def body_surface(
    sweeps: list[Sweep], step: float, zones: tuple[tuple[int, float, float], ...] = ()
) -> tuple[Float64, Int32]:
    """Vertices (v,3) and triangles (t,3) of a body with grid cells of size `step`; watertight."""
    grid = Grid.around(sweeps, step, zones)
    field = sample_field(sweeps, grid)
    vertices, quads = polygonise(field, grid)
    vertices = relax_surface(vertices, quads, field, grid)
    return vertices, split_quads(vertices, quads)


def _march(low: float, high: float, step: float, zones: list[tuple[int, float, float]]) -> Float64:
    """Positions from `low` to at least `high`; spacing changes over six steps at the start of a zone."""
    out = [low]
    while out[-1] < high:
        scale = 1.0
        for _, start, factor in zones:
            scale *= float(np.interp(out[-1], (start - 3 * step, start + 3 * step), (1.0, factor)))
        out.append(out[-1] + step * scale)
    return np.asarray(out)


def sample_field(sweeps: list[Sweep], grid: Grid) -> Float64:
    """The blended field of all parts at the grid points, clamped a few cells outside."""
    far = BAND * grid.step + max(s.blend for s in sweeps)
    field = np.full(grid.shape, far)
    for sweep in sweeps:
        part = np.full(grid.shape, far)
        for ends in itertools.pairwise(sweep.pieces()):
            _carve(part, grid.axes, ends, sweep.flat_axis, far)
        field = smooth_minimum(field, part, sweep.blend)
    return field


def _carve(
    part: Float64,
    axes: tuple[Float64, ...],
    ends: tuple[Float64, Float64],
    flat_axis: tuple[float, ...],
    far: float,
) -> None:
    """Set `part` to the minimum of itself and the field of one straight piece, within its bounding box."""
    start, stop = ends
    reach = max(start[3:].max(), stop[3:].max()) + far
    low, high = np.minimum(start[:3], stop[:3]) - reach, np.maximum(start[:3], stop[:3]) + reach
    box = tuple(slice(*np.searchsorted(axes[i], (low[i], high[i]))) for i in range(3))
    point = np.ix_(*(axes[i][box[i]] - start[i] for i in range(3)))
    line = stop[:3] - start[:3]
    along = sum(p * d for p, d in zip(point, line, strict=True)) / max(float(line @ line), 1e-12)
    s = np.clip(along, 0, 1)
    off = [p - s * d for p, d in zip(point, line, strict=True)]
    radius = start[3] + s * (stop[3] - start[3])
    stretch = radius / (start[4] + s * (stop[4] - start[4]))
    aside = sum(o * a for o, a in zip(off, flat_axis, strict=True))
    square = sum(o * o for o in off) + (stretch**2 - 1) * aside**2
    np.minimum(part[box], (np.sqrt(square) - radius) / np.maximum(stretch, 1), out=part[box])


def smooth_minimum(a: Float64, b: Float64, width: float) -> Float64:
    """The minimum of two fields, smoothed where they differ by less than `width`."""
    overlap = np.maximum(width - np.abs(a - b), 0)
    lower: Float64 = np.minimum(a, b) - overlap**2 / (4 * width)
    return lower


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
    """Fill where inside cells touch only along a grid edge or at a grid point; repeated until nothing changes."""
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
    """The largest connected body, without its cavities."""
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
