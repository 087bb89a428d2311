"""Quantisation: numbers as normalised integers of 16 and 8 bits, and the scales that use their full range.

Positions p are stored as (p - centre) / scale in -1 … 1, with one scale for all axes so that normals keep their angles;
the inverse is part of the inverse bind matrices, because players ignore the transform of the node of a skinned mesh.
Corrections are scaled to fill 16 bits by `morph_range`; their weights stay float32, which costs 2 bytes per frame and
column.

Web players do not normalise quaternions; Osteon and other programs do. So a quaternion of 16 bits must have length one:
of the 81 neighbours that differ by one step at most the best is taken, by length and then by angle.

Notes. Horse, 30 flexible bones, E 0.994 %: weights of 16 bits leave it at 0.994, weights of 8 bits raise it to 1.241.
All quantisation of this file together adds 0.008 % of E (rank 5: 0.02 %).

Morph weights between 0 and 1: the part of a correction that is always present becomes part of the mesh.

glTF allows any weight, but a slider goes from 0 to 1 in many programs, and Blender clamps keys outside. So

    p + sum_r q_r U_r  =  (p + sum_r low_r U_r)  +  sum_r s_r (span_r U_r),      s_r = (q_r - low_r) / span_r

with low <= 0 and low + span >= q in all clips: the first bracket is stored as the mesh, span U as the targets, and the
weights s = -low / span, which show the rest pose p, are those without animation. Columns that move normals only have
low = 0 and weights in -1 … 1: the stored normals stay those of the rest pose, which programs show that ignore the
normals of targets; those that clamp weights are among them.

With float32 a span is a power of two, so that U is restored to the last digit. With 16 bits the span makes a target
fill -1 … 1, and weights stay far below one.

**Normals** n + sum_r q_r N_r are stored as B + sum_r s_r D_r, which has the same direction. glTF requires |B| = 1, so
all of a vertex is divided by l = |n + sum low N|: players normalise after everything else. At the weights of the rest
pose the stored normals then have the length 1 / l, from which l is restored. In 8 bits no entry of D may exceed 1.
Where one does,

    minimise over D in -1 … 1 and |B| = 1:   sum_f || B + sum_r s_r^f D_r - l^f m^f ||^2,

m^f the normal in frame f and l^f its length as shown, alternating over the columns of D, B and l.

Notes. Horse, rank 5: 1.4 % of the vertices exceed 1. Clamping them left these at 4.3 degrees on average and 46 at most,
over all frames; the fit leaves them at 0.8 and 9 in 100 rounds (0.6 and 7 in 500). Storing float32 instead makes the
file a third larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, FloatArray
from osteon.core.character import Corrections
from osteon.core.model import SkinnedModel
from osteon.io.load.source import as_float32

#: Weight of the error in a quaternion's length relative to its error in angle.
LENGTH_COUNTS = 10.0
#: Quaternions that are rounded at a time.
BLOCK_ROTATIONS = 4096

_NEIGHBOURS = np.array(list(product((0.0, -1.0, 1.0), repeat=4)))


@dataclass(frozen=True, slots=True)
class Dequantize:
    """rest = scale stored + centre."""

    scale: float
    centre: Float64  # (3,)

    @staticmethod
    def of(points: Float64, reach: float = 0.0, step: float | None = None) -> Dequantize:
        """The smallest cube for the points and displacements up to `reach`, with steps no smaller than `step`."""
        low, high = points.min(axis=0), points.max(axis=0)
        half = max(float((high - low).max()) / 2, reach, 32767 * (step or 0.0))
        return Dequantize(half if half > 0 else 1.0, (low + high) / 2)

    def quantize(self, points: Float64) -> NDArray[np.int16]:
        return quantize_signed((points - self.centre) / self.scale, np.int16)

    @property
    def rest_from_stored(self) -> Float64:
        """(3,4)"""
        return np.concatenate([self.scale * np.eye(3), self.centre[:, None]], axis=1)

    def as_list(self) -> list[float]:
        return [self.scale, *self.centre.tolist()]


def quantize_signed(values: FloatArray, kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Numbers in -1 … 1 as normalised integers."""
    most = np.iinfo(kind).max
    return np.rint(np.clip(values, -1.0, 1.0) * most).astype(kind)


def quantize_unsigned(values: FloatArray, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """Numbers in 0 … 1 as normalised integers."""
    most = np.iinfo(kind).max
    return np.rint(np.clip(values, 0.0, 1.0) * most).astype(kind)


def quantize_weights(weights: FloatArray, total: int = 65535) -> NDArray[np.uint32]:
    """Weights (v,k) as integers whose rows sum to `total`, rounded by the largest-remainder method."""
    exact = np.asarray(weights, np.float64) / weights.sum(axis=1, keepdims=True, dtype=np.float64) * total
    down = np.floor(exact)
    missing = np.rint(total - down.sum(axis=1)).astype(np.int64)
    place = np.argsort(np.argsort(down - exact, axis=1, kind="stable"), axis=1)
    return np.asarray(down + (place < missing[:, None]), np.uint32)


def quantize_rotations(quaternions: FloatArray) -> NDArray[np.int16]:
    """Unit quaternions (…,4) as normalised integers whose length is as near one as their neighbours allow."""
    exact = np.asarray(quaternions, np.float64).reshape(-1, 4)
    blocks = [
        _rounded_rotations(exact[start : start + BLOCK_ROTATIONS]) for start in range(0, len(exact), BLOCK_ROTATIONS)
    ]
    return np.concatenate(blocks).reshape(np.shape(quaternions))


def _rounded_rotations(exact: Float64) -> NDArray[np.int16]:
    """(n,4) the best neighbour of each."""
    steps = (np.rint(exact * 32767)[:, None] + _NEIGHBOURS).clip(-32767, 32767)
    near = steps / 32767
    length = np.linalg.norm(near, axis=-1)
    # The matrix of a quaternion that is too long is off by the excess of its square times the size of the rotation.
    stretch = np.abs(length**2 - 1) * 2 * np.linalg.norm(near[..., :3], axis=-1)
    angle = 2 * np.linalg.norm(near / length[..., None] - exact[:, None], axis=-1)
    best = (LENGTH_COUNTS * stretch + angle).argmin(axis=1)
    return np.asarray(steps[np.arange(len(exact)), best], np.int16)


@dataclass(frozen=True, slots=True)
class MorphRange:
    """The map from coefficients q to weights s; the identity if low is 0 and span is 1."""

    low: Float64  # (r,) <= 0
    span: Float64  # (r,) > 0

    def weights(self, coefficients: FloatArray) -> Float64:
        """(f,r) between 0 and 1."""
        return np.asarray((coefficients - self.low) / self.span)

    def coefficients(self, weights: FloatArray) -> Float64:
        """(f,r) the coefficients of weights."""
        return np.asarray(weights * self.span + self.low)

    @property
    def rest(self) -> Float64:
        """(r,) weights of the rest pose."""
        return np.asarray(-self.low / self.span + 0.0)  # no -0

    @property
    def changes_nothing(self) -> bool:
        return bool((self.low == 0).all() and (self.span == 1).all())


@dataclass(frozen=True, slots=True)
class Grid:
    """The quantisation grid."""

    cube: Dequantize | None = None  # the range of positions; None: floats without quantisation
    step: float | None = None  # None: the finest that 16 bits allow; with a step weights use all of 0 … 1

    @staticmethod
    def of(models: Sequence[SkinnedModel], step: float | None = None) -> Grid:
        """The smallest grid for all stored positions and targets of some meshes."""
        reach = 0.0
        for corrections in (model.corrections for model in models if model.n_columns):
            if corrections is not None:
                sizes = np.abs(corrections.basis).max(axis=(1, 2), initial=0.0).astype(np.float64)
                reach = max(reach, float((_needed(corrections) * sizes).max()))
        return Grid(Dequantize.of(np.concatenate([_lowest(model) for model in models]), reach, step), step)


REAL_NUMBERS = Grid()


@dataclass(frozen=True, slots=True)
class PackedMesh:
    """Vertices and morph targets as they are stored, before rounding."""

    points: Float64  # (v,3)
    normals: Float64 | None  # (v,3) unit
    morph_range: MorphRange
    basis: Float32  # (r,v,3) of the corrections
    normal_targets: Float32 | None  # (r,v,3)
    dequantize: Dequantize | None

    @property
    def rank(self) -> int:
        return len(self.basis)

    def target(self, r: int) -> Float64:
        """(v,3) displacements of target r, in the units of the stored positions."""
        scale = 1.0 if self.dequantize is None else self.dequantize.scale
        return np.asarray(self.basis[r].astype(np.float64) * (self.morph_range.span[r] / scale))


def tight_range(corrections: Corrections) -> MorphRange:
    """Weights that use all of 0 … 1, so that no target is finer than needed."""
    needed = _needed(corrections)
    return MorphRange(_low(corrections), np.where(needed > 0, needed, 1.0))


def _low(corrections: Corrections) -> Float64:
    """(r,) the smallest coefficients, at most 0; 0 for columns that move normals only."""
    low = corrections.coefficients.min(axis=0, initial=0.0).astype(np.float64)
    low[corrections.rank :] = 0
    return np.asarray(low)


def _needed(corrections: Corrections) -> Float64:
    """(r,) the range of the coefficients; for columns that move normals only, their largest size."""
    needed = corrections.coefficients.max(axis=0, initial=0.0) - _low(corrections)
    needed[corrections.rank :] = np.abs(corrections.coefficients[:, corrections.rank :]).max(axis=0, initial=0.0)
    return np.asarray(needed)


def _lowest(model: SkinnedModel) -> Float64:
    """(v,3) the rest pose with every correction at its smallest coefficient."""
    corrections, points = model.corrections, model.rest.astype(np.float64)
    if corrections is None or not model.n_columns:
        return points
    return np.asarray(points + np.tensordot(_low(corrections), corrections.basis.astype(np.float64), axes=1))


def pack_mesh(model: SkinnedModel, normals: Float64 | None, grid: Grid = REAL_NUMBERS) -> PackedMesh:
    """The mesh with its corrections as they are stored; `normals (v,3)` of the rest pose, or None."""
    corrections, points, dequantize = model.corrections, _lowest(model), grid.cube
    if corrections is None or not model.n_columns:
        empty = np.zeros((0, *points.shape), np.float32)
        return PackedMesh(points, normals, MorphRange(np.zeros(0), np.ones(0)), empty, None, dequantize)
    sizes = np.abs(corrections.basis).max(axis=(1, 2), initial=0.0).astype(np.float64)
    if normals is None or corrections.normal_basis is None:
        morph_range = _range(corrections, sizes, grid)
        return PackedMesh(points, normals, morph_range, corrections.basis, None, dequantize)
    packed, lengths = pack_normals(normals, corrections.normal_basis, _low(corrections))
    targets = as_float32(corrections.normal_basis / lengths[:, None])
    if dequantize is not None:  # one weight moves both, so both must fit
        sizes = np.maximum(sizes, dequantize.scale * np.abs(targets).max(axis=(1, 2), initial=0.0))
    morph_range = _range(corrections, sizes, grid)
    targets = as_float32(targets * morph_range.span[:, None, None])
    if dequantize is not None:
        weights = morph_range.weights(corrections.coefficients)
        packed, targets = fit_normal_targets(normals, corrections, weights, (packed, targets))
    return PackedMesh(points, packed, morph_range, corrections.basis, targets, dequantize)


def _range(corrections: Corrections, sizes: Float64, grid: Grid) -> MorphRange:
    """The range for columns of these sizes (r,); with 16 bits, spans that make the columns fill -1 … 1."""
    tight, needed = tight_range(corrections), _needed(corrections)
    if grid.step is not None:
        return tight
    if grid.cube is None:
        return MorphRange(tight.low, np.asarray(2.0 ** np.ceil(np.log2(np.maximum(needed, 1.0)))))
    filled = np.where(sizes > 0, grid.cube.scale / np.where(sizes > 0, sizes, 1), 1.0)
    return MorphRange(tight.low, np.maximum(filled, needed))


def unpack_mesh(
    points: FloatArray, stored: Corrections, morph_range: MorphRange, normals: Float64 | None
) -> tuple[Float64, Corrections]:
    """The rest pose and the corrections from stored points and targets; `normals` as stored."""
    basis = stored.basis / morph_range.span[:, None, None]
    rest = points - np.tensordot(morph_range.low, basis, axes=1)
    deltas = stored.normal_basis
    if deltas is not None and normals is not None:
        shown = np.linalg.norm(normals + np.tensordot(morph_range.rest, deltas.astype(np.float64), axes=1), axis=1)
        deltas = deltas / morph_range.span[:, None, None] / np.maximum(shown, np.finfo(np.float32).tiny)[:, None]
    return rest, Corrections(as_float32(basis), as_float32(morph_range.coefficients(stored.coefficients)), deltas)


#: Normals shorter than this before they are scaled are replaced: their direction is not visible in any frame.
SHORTEST = 1e-4
ROUNDS = 100
#: Frames, evenly spaced, that are used in the fit.
FRAMES = 64
#: Least length of a shown normal in the fit, so that it reverses instead of vanishing.
LEAST_SHOWN = 0.2


def pack_normals(normals: Float64, basis: Float32, low: Float64) -> tuple[Float64, Float64]:
    """(v,3) normalised n + sum low N, and (v,) their lengths before."""
    packed = normals + np.tensordot(low, basis.astype(np.float64), axes=1)
    short = np.linalg.norm(packed, axis=1) < SHORTEST
    packed[short] = SHORTEST * normals[short]
    lengths = np.linalg.norm(packed, axis=1)
    return packed / lengths[:, None], lengths


def fit_normal_targets(
    normals: Float64, corrections: Corrections, weights: Float64, stored: tuple[Float64, Float32]
) -> tuple[Float64, Float32]:
    """Stored normals (v,3) and targets (r,v,3) with entries in -1 … 1; `normals` are those of the rest pose.

    `weights (f,r)` are the morph weights s.
    """
    base, targets = stored
    large = np.flatnonzero(np.abs(targets).max(axis=(0, 2)) > 1)
    if not len(large) or corrections.normal_basis is None:
        return stored
    frames = np.unique(np.linspace(0, len(weights) - 1, FRAMES).round().astype(np.int64))
    deltas = corrections.normal_basis[:, large].astype(np.float64)
    shown = normals[large] + np.tensordot(corrections.coefficients[frames].astype(np.float64), deltas, axes=1)
    fitted = _fit(_unit(shown), weights[frames], base[large], targets[:, large].astype(np.float64))
    base, targets = base.copy(), targets.copy()
    base[large], targets[:, large] = fitted[0], as_float32(fitted[1])
    return base, targets


def _fit(wanted: Float64, weights: Float64, base: Float64, targets: Float64) -> tuple[Float64, Float64]:
    """Base normals and targets in -1 … 1 whose sums base + weights targets have the directions `wanted (f,v,3)`."""
    targets = targets.clip(-1, 1)
    sizes = np.maximum((weights**2).sum(axis=0), np.finfo(np.float64).tiny)
    for _ in range(ROUNDS):
        moved = np.tensordot(weights, targets, axes=1)
        length = np.maximum(((base + moved) * wanted).sum(axis=-1, keepdims=True), LEAST_SHOWN)
        base = _unit((length * wanted - moved).mean(axis=0))
        missing = length * wanted - base - moved
        for r, s in enumerate(weights.T):
            better = (targets[r] + np.tensordot(s, missing, axes=1) / sizes[r]).clip(-1, 1)
            missing -= s[:, None, None] * (better - targets[r])
            targets[r] = better
    return base, targets


def _unit(vectors: Float64) -> Float64:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SHORTEST**2))
