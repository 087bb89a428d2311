"""Smooth bodies from a few cross-sections: swept ellipses, blended, on a grid of samples.

A `Sweep` is a curve with an elliptical cross-section that changes along it; between the stations both follow a monotone
cubic spline, so a limb drawn with eight stations has no dents. Its field is

    g(p) = min over the curve of |S (p - c(s))| - r(s)       negative inside,

where S stretches space along `flat_axis` so that the ellipse becomes a circle. Sweeps join by a quadratic smooth
minimum, which fills the crease over a width of `blend` and changes nothing farther away.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator

from osteon.core.arrays import Float64

__all__ = ["Grid", "Station", "Sweep", "sample_field", "smooth_minimum"]

Station = tuple[float, float, float, float, float]  # x, y, z, radius, radius along the flat axis

PIECES_PER_STATION = 4  # straight pieces between two stations; more changes nothing that is visible
BAND = 3.0  # cells around a surface within which its field is evaluated


@dataclass(frozen=True, slots=True)
class Sweep:
    """One part of a body."""

    stations: tuple[Station, ...]
    blend: float = 0.05  # width over which it flows into what is already there
    flat_axis: tuple[float, float, float] = (1.0, 0.0, 0.0)  # unit vector

    def mirrored(self) -> Sweep:
        """The same part on the other side of x = 0."""
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
        """A grid that holds all parts with room to spare, symmetric about x = 0.

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
        """(n,3) positions of places given in cells."""
        return np.stack([np.interp(at[:, i], np.arange(len(a)), a) for i, a in enumerate(self.axes)], axis=1)

    def to_cells(self, points: Float64) -> Float64:
        """(n,3) places in cells, the inverse of `to_world`."""
        return np.stack([np.interp(points[:, i], a, np.arange(len(a))) for i, a in enumerate(self.axes)], axis=1)

    def spacing(self, points: Float64) -> Float64:
        """(n,3) width of the cells around points."""
        return np.stack([np.interp(points[:, i], a, np.gradient(a)) for i, a in enumerate(self.axes)], axis=1)


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
    """The blended field of all parts at the grid's points, cut off a few cells outside."""
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
    """Lower `part` to the field of one straight piece, in the box where it matters."""
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
    """The lower of two fields, rounded where they are within `width` of each other."""
    overlap = np.maximum(width - np.abs(a - b), 0)
    lower: Float64 = np.minimum(a, b) - overlap**2 / (4 * width)
    return lower
