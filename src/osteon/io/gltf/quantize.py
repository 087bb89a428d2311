"""Numbers in 16 and 8 bits: normalised integers, and the scales that make the most of them.

Positions p are stored as (p - centre) / scale in -1 … 1, with one scale for all axes so that normals keep their angles;
the way back is part of the inverse bind matrices, because players ignore where the node of a skinned mesh stands.
A column u of the corrections becomes u / (scale k) with the largest entry 1, and its coefficients q become k q.

Notes. Horse, 30 flexible bones, E 0.994 %: weights of 16 bits leave it at 0.994, weights of 8 bits raise it to 1.241.
Everything of this file and rotations of 16 bits together add 0.005 % of E.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, FloatArray
from osteon.core.model import Corrections

__all__ = [
    "Dequantize",
    "ScaledCorrections",
    "quantize_signed",
    "quantize_unsigned",
    "quantize_weights",
    "scaled_corrections",
]


@dataclass(frozen=True, slots=True)
class Dequantize:
    """rest = scale stored + centre."""

    scale: float
    centre: Float64  # (3,)

    @staticmethod
    def of(rest: Float32) -> Dequantize:
        """The smallest cube around the rest pose."""
        low, high = rest.min(axis=0).astype(np.float64), rest.max(axis=0).astype(np.float64)
        half = float((high - low).max()) / 2
        return Dequantize(half if half > 0 else 1.0, (low + high) / 2)

    def quantize(self, points: Float32) -> NDArray[np.int16]:
        return quantize_signed((points - self.centre) / self.scale, np.int16)

    @property
    def rest_from_stored(self) -> Float64:
        """(3,4)"""
        return np.concatenate([self.scale * np.eye(3), self.centre[:, None]], axis=1)

    def as_list(self) -> list[float]:
        return [self.scale, *self.centre.tolist()]


@dataclass(frozen=True, slots=True)
class ScaledCorrections:
    """Corrections as they are stored, before rounding."""

    basis: Float64  # (r,v,3)
    sizes: Float64  # (r,) what the columns were divided by, and the coefficients must be multiplied by
    normal_basis: Float64 | None  # (r,v,3)


def quantize_signed(values: FloatArray, kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Numbers in -1 … 1 as normalised integers."""
    most = np.iinfo(kind).max
    return np.rint(np.clip(values, -1.0, 1.0) * most).astype(kind)


def quantize_unsigned(values: FloatArray, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """Numbers in 0 … 1 as normalised integers."""
    most = np.iinfo(kind).max
    return np.rint(np.clip(values, 0.0, 1.0) * most).astype(kind)


def quantize_weights(weights: FloatArray) -> NDArray[np.uint16]:
    """Weights (v,k) in 16 bits whose rows sum to 65535 exactly: what rounding down leaves goes to the largest rests."""
    exact = np.asarray(weights, np.float64) / weights.sum(axis=1, keepdims=True, dtype=np.float64) * 65535
    down = np.floor(exact)
    missing = np.rint(65535 - down.sum(axis=1)).astype(np.int64)
    place = np.argsort(np.argsort(down - exact, axis=1, kind="stable"), axis=1)
    return np.asarray(down + (place < missing[:, None]), np.uint16)


def scaled_corrections(corrections: Corrections, dequantize: Dequantize | None, normals: bool) -> ScaledCorrections:
    """The corrections in the units of the stored positions, each column filling -1 … 1 when they are quantised."""
    basis = corrections.basis.astype(np.float64)
    turns = corrections.normal_basis if normals else None
    normal_basis = None if turns is None else turns.astype(np.float64)
    if dequantize is None:
        return ScaledCorrections(basis, np.ones(len(basis)), normal_basis)
    basis = basis / dequantize.scale
    size = np.abs(basis).max(axis=(1, 2), initial=0.0)
    if normal_basis is not None:  # one coefficient moves both, so both must fit
        size = np.maximum(size, np.abs(normal_basis).max(axis=(1, 2), initial=0.0))
    size = np.where(size > 0, size, 1.0)[:, None, None]
    shrunk = None if normal_basis is None else normal_basis / size
    return ScaledCorrections(basis / size, size[:, 0, 0], shrunk)
