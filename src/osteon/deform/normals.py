"""Normals of a posed model, by both forms of eq. 13 of Skinning Mesh Animations.

    inverse_transpose:  n = F^-T (n~ + N q)      exact for a surface that F moves
    linear:             n = F (n~ + N q)         what the shaders of stock players compute

F is the linear part of a vertex's blend, n~ its unit normal in the rest pose, N q the correction. The result has unit
length.
Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from osteon.core.arrays import Float32, Float64, checked
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.deform.pose import linear_parts

__all__ = ["NormalCorrections", "NormalForm", "normal_map", "pose_normals"]

NormalForm = Literal["linear", "inverse_transpose"]


@dataclass(frozen=True, slots=True)
class NormalCorrections:
    """Rest-frame displacements of normals."""

    rest: Float32  # (v,3) unit normals of the rest pose
    basis: Float32  # (r,v,3)
    coefficients: Float32  # (f,r)
    form: NormalForm = "linear"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rest", checked("rest", self.rest, (None, 3)))
        object.__setattr__(self, "basis", checked("basis", self.basis, (None, len(self.rest), 3)))
        shape = (None, len(self.basis))
        object.__setattr__(self, "coefficients", checked("coefficients", self.coefficients, shape))
        if self.form not in ("linear", "inverse_transpose"):
            raise GeometryError(f"form: expected 'linear' or 'inverse_transpose', got {self.form!r}")


def normal_map(linear: Float64, form: NormalForm) -> Float64:
    """(v,3,3) what takes rest normals to posed ones: F, or its cofactors, which are det F times F^-T."""
    if form == "linear":
        return linear
    columns = linear.transpose(0, 2, 1)
    a, b, c = columns[:, 0], columns[:, 1], columns[:, 2]
    # Cofactors need no inverse, and a normal's length does not count; the sign of det F does.
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=2)
    sign = np.sign(np.einsum("vi,vi->v", a, cofactors[:, :, 0]))
    out: Float64 = cofactors * np.where(sign < 0, -1.0, 1.0)[:, None, None]
    return out


def pose_normals(model: SkinnedModel, frame: int, normals: NormalCorrections) -> Float32:
    """(v,3) unit normals in a frame; zero where a normal vanishes."""
    moved = normals.rest.astype(np.float64)
    if len(normals.basis):
        moved = moved + np.tensordot(normals.coefficients[frame].astype(np.float64), normals.basis, axes=1)
    posed = np.einsum("vij,vj->vi", normal_map(linear_parts(model, frame), normals.form), moved)
    length = np.linalg.norm(posed, axis=1, keepdims=True)
    return np.asarray(np.where(length > 0, posed / np.where(length > 0, length, 1), 0), np.float32)
