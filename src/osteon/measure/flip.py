"""FLIP: how different two pictures look when one takes the place of the other.

    FLIP = C^(1 - F)

per pixel, from 0 (equal) to 1. C is the difference of colours as the eye sees them at a number of pixels per degree:
both pictures are blurred by the contrast sensitivity of the eye (one filter per opponent channel), and compared by the
HyAB distance in Hunt-adjusted L*a*b*, raised to QC and mapped so that PC of the largest distance becomes PT. F is the
difference of edges and of points, found by the first and second derivatives of a Gaussian in the lightness.

| symbol | name |
| --- | --- |
| C, F | colour, feature |
| q_c, p_c, p_t, q_f | QC, PC, PT, QF |
| w | FEATURE, the width of an edge in degrees |

Based on: Andersson, Nilsson, Akenine-Moller, Oskarsson, Astrom and Fairchild, FLIP: A Difference Evaluator for
Alternating Images, 2020, sections 3 and 4.
Differs from the paper: nothing; `tests/crosscheck/test_flip.py` compares with the authors' `flip-evaluator` to 2e-4.

Notes. The filters are separable, so a pixel takes 2 (2 r + 1) products instead of (2 r + 1)^2 for a radius r of 9 to 10
pixels; the blue-yellow filter is a sum of two. A picture that is compared with many others is prepared once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from osteon.core.arrays import Float32, Float64, checked
from osteon.core.errors import GeometryError
from osteon.core.kernels import kernel

#: Pixels per degree of a 4K monitor of 0.7 m, seen from 0.7 m.
PIXELS_PER_DEGREE = 0.7 * 3840 / 0.7 * np.pi / 180
QC, PC, PT, QF = 0.7, 0.4, 0.95, 0.5
FEATURE = 0.082
#: Sums of Gaussians a sqrt(pi / b) exp(-pi^2 x^2 / b), x in degrees: lightness, red-green and blue-yellow.
SENSITIVITY = (((1.0, 0.0047),), ((1.0, 0.0053),), ((34.1, 0.04), (13.5, 0.025)))
#: X, Y, Z of linear sRGB, and of white.
XYZ = (
    np.array(
        [
            [10135552 / 24577794, 8788810 / 24577794, 4435075 / 24577794],
            [2613072 / 12288897, 8788810 / 12288897, 887015 / 12288897],
            [1425312 / 73733382, 8788810 / 73733382, 70074185 / 73733382],
        ]
    )
).astype(np.float32)
WHITE = XYZ.sum(axis=1)
#: The opponent channels Y', C_x and C_z of X, Y, Z relative to white, without the constant of Y'.
OPPONENT = np.array([[0.0, 116.0, 0.0], [500.0, -500.0, 0.0], [0.0, 200.0, -200.0]], np.float32)
TO_OPPONENT = OPPONENT @ (XYZ / WHITE[:, None])
FROM_OPPONENT = np.linalg.inv(TO_OPPONENT)


def linear_from_srgb(colors: Float32) -> Float32:
    """Linear light of sRGB values in 0 … 1."""
    dark = np.float32(0.04045)
    powered = ((np.maximum(colors, dark) + np.float32(0.055)) / np.float32(1.055)) ** np.float32(2.4)
    return np.where(colors <= dark, colors / np.float32(12.92), powered)


def srgb_from_linear(colors: Float32) -> Float32:
    """sRGB values in 0 … 1 of linear light."""
    dark = np.float32(0.0031308)
    powered = np.float32(1.055) * np.maximum(colors, dark) ** np.float32(1 / 2.4) - np.float32(0.055)
    return np.where(colors <= dark, np.float32(12.92) * colors, powered)


@dataclass(frozen=True, slots=True)
class SeenPicture:
    """A picture as the eye sees it, for comparison with others of its size."""

    lab: Float32  # (3,h,w) Hunt-adjusted L*a*b* of the blurred picture
    edges: Float32  # (h,w)
    points: Float32  # (h,w)

    @staticmethod
    def of(picture: Float32) -> SeenPicture:
        """Prepare an sRGB picture (h,w,3) in 0 … 1."""
        colors: Float32 = checked("picture", picture, (None, None, 3))
        opponent = _mapped(TO_OPPONENT, linear_from_srgb(np.clip(np.moveaxis(colors, 2, 0), 0, 1)))
        blurred = np.stack([_blurred(c, *pair) for c, pair in zip(opponent, _sensitivity(), strict=True)])
        linear = np.clip(_mapped(FROM_OPPONENT, blurred), 0, 1)
        edge, point, wide = _feature_filters()
        light = opponent[0] / np.float32(116)
        return SeenPicture(_hunt_lab(linear), _length(light, edge, wide), _length(light, point, wide))


def flip_between(first: SeenPicture, second: SeenPicture) -> Float32:
    """(h,w) FLIP of two pictures of the same size."""
    if first.edges.shape != second.edges.shape:
        raise GeometryError(f"pictures: expected equal sizes, got {first.edges.shape} and {second.edges.shape}")
    color = _redistributed(_hyab(first.lab - second.lab) ** np.float32(QC))
    feature = np.maximum(np.abs(first.edges - second.edges), np.abs(first.points - second.points))
    found: Float32 = color ** (1 - np.clip(feature / np.float32(np.sqrt(2)), 0, 1) ** np.float32(QF))
    return found


def _mapped(matrix: Float32, channels: Float32) -> Float32:
    """(3,h,w) linear combinations of channels (3,h,w); BLAS takes four times as long."""
    return np.stack([sum(m * channel for m, channel in zip(row, channels, strict=True)) for row in matrix])


def _hunt_lab(linear: Float32) -> Float32:
    """(3,h,w) L*a*b* of linear light, with chroma in proportion to lightness."""
    relative = _mapped(XYZ / WHITE[:, None], linear)
    limit = (6 / 29) ** 3
    f = np.where(relative > limit, np.cbrt(relative), relative / np.float32(3 * (6 / 29) ** 2) + np.float32(4 / 29))
    light = 116 * f[1] - 16
    return np.stack([light, 0.01 * light * 500 * (f[0] - f[1]), 0.01 * light * 200 * (f[1] - f[2])]).astype(np.float32)


def _hyab(difference: Float32) -> Float32:
    """Distance of lightness plus that of chroma."""
    return np.asarray(np.abs(difference[0]) + np.hypot(difference[1], difference[2]))


@lru_cache(maxsize=1)
def _largest() -> float:
    """The largest distance of two colours, between green and blue, raised to QC."""
    both = np.array([[[0.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]], np.float32)
    lab = _hunt_lab(both)
    distance = float(_hyab(lab[:, :, :1] - lab[:, :, 1:])[0, 0])
    return float(distance**QC)


def _redistributed(distance: Float32) -> Float32:
    """Distances of colours as 0 … 1: PC of the largest one becomes PT."""
    most = _largest()
    low = distance * np.float32(PT / (PC * most))
    high = PT + (distance - np.float32(PC * most)) * np.float32((1 - PT) / (most - PC * most))
    return np.where(distance < PC * most, low, high).astype(np.float32)


@lru_cache(maxsize=1)
def _sensitivity() -> tuple[tuple[tuple[Float32, ...], tuple[float, ...]], ...]:
    """Of every opponent channel the Gaussians of its filter, and their weights; the filter has the sum one."""
    most = max(b for terms in SENSITIVITY for _, b in terms)
    radius = int(np.ceil(3 * np.sqrt(most / (2 * np.pi**2)) * PIXELS_PER_DEGREE))
    squared = (np.arange(-radius, radius + 1) / PIXELS_PER_DEGREE) ** 2
    out = []
    for terms in SENSITIVITY:
        sides = [np.exp(-(np.pi**2) * squared / b) for _, b in terms]
        sizes = [a * np.sqrt(np.pi / b) for a, b in terms]
        total = sum(size * side.sum() ** 2 for size, side in zip(sizes, sides, strict=True))
        out.append((tuple(side.astype(np.float32) for side in sides), tuple(float(size / total) for size in sizes)))
    return tuple(out)


@lru_cache(maxsize=1)
def _feature_filters() -> tuple[Float32, Float32, Float32]:
    """The first and second derivative of a Gaussian, whose positive and negative parts have the sum one; itself."""
    deviation = 0.5 * FEATURE * PIXELS_PER_DEGREE
    radius = int(np.ceil(3 * deviation))
    x = np.arange(-radius, radius + 1) / deviation
    bell = np.exp(-0.5 * x**2)
    return _balanced(-x * bell), _balanced((x**2 - 1) * bell), (bell / bell.sum()).astype(np.float32)


def _balanced(values: Float64) -> Float32:
    positive = np.where(values > 0, values, 0.0)
    negative = np.where(values < 0, values, 0.0)
    return np.asarray(positive / positive.sum() - negative / negative.sum(), np.float32)


def _blurred(channel: Float32, sides: tuple[Float32, ...], sizes: tuple[float, ...]) -> Float32:
    """A channel after a sum of separable filters."""
    found = [np.float32(size) * _filtered(channel, side, side) for side, size in zip(sides, sizes, strict=True)]
    return np.asarray(np.sum(found, axis=0), np.float32)


def _length(light: Float32, across: Float32, along: Float32) -> Float32:
    """(h,w) length of the two responses to a filter across rows and across columns."""
    return np.hypot(_filtered(light, across, along), _filtered(light, along, across))


def _filtered(channel: Float32, rows: Float32, columns: Float32) -> Float32:
    """A channel (h,w) correlated with `rows` along x and `columns` along y; it stays constant beyond the border."""
    radius = len(rows) // 2
    padded = np.pad(channel, radius, mode="edge")
    across = np.zeros((padded.shape[0], channel.shape[1]), np.float32)
    out = np.zeros(channel.shape, np.float32)
    _correlate(np.ascontiguousarray(padded), rows, columns, across, out)
    return out


@kernel("f4.2 f4.1r f4.1r f4.2 f4.2")
def _correlate(padded: Float32, rows: Float32, columns: Float32, across: Float32, out: Float32) -> None:
    """out += the padded channel, correlated along x to `across`, then along y."""
    width = across.shape[1]
    for y in range(across.shape[0]):
        for i in range(rows.shape[0]):
            weight = rows[i]
            for x in range(width):
                across[y, x] += weight * padded[y, x + i]
    for y in range(out.shape[0]):
        for i in range(columns.shape[0]):
            weight = columns[i]
            for x in range(width):
                out[y, x] += weight * across[y + i, x]
