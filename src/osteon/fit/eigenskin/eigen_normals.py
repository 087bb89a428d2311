"""Corrections of normals that go with eigendisplacements, by the same coefficients and on the same supports.

    minimise over N:   sum_p || d_v^p - sum_r a_r^p N_rv ||^2 + damping,     d_v^p = |F n~| F^-1 n_v^p - n~_v

F is the linear part of the blend of vertex v in pose p, n~ its normal at rest and n its normal as observed: what is
missing, taken back to the rest pose as displacements are, for players that show F (n~ + N a) at unit length.

Based on: Kry, James and Pai, EigenSkin, 2002, section 2: "it applies similarly to the construction of linear normal
corrections".
Differs from the paper: no components of their own; files move positions and normals by one weight.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.deformer import Deformer
from osteon.core.normals import vertex_normals
from osteon.deform.pose import blends_of
from osteon.fit.eigenskin.rest_displacements import FLATTEST, bounded_inverse

__all__ = ["eigen_normals"]

#: Of the mean square of a column's coefficients.
DAMPING = 1e-3
#: Vertices whose systems are solved at a time.
BLOCK = 2048


def eigen_normals(
    deformer: Deformer,
    surface: tuple[Float64, Int32],
    frames: FloatArray,
    transforms: Float64,
    columns: Float64,
    a: Float64,
) -> Float64:
    """(r,v,3) N for columns (r,v,3) with coefficients a (p,r) in the poses (p,v,3) of a mesh (rest, faces)."""
    rest, faces = surface
    missing = _missing(deformer, vertex_normals(rest, faces), faces, frames, transforms)
    out = np.zeros(columns.shape)
    moves = np.any(columns, axis=2)
    width = int(moves.sum(axis=0).max(initial=0))
    if not width:
        return out
    order = np.argsort(~moves, axis=0, kind="stable")[:width].T  # (v,width) columns that move each vertex come first
    used = np.take_along_axis(moves.T, order, axis=1)
    for start in range(0, len(order), BLOCK):
        now = slice(start, start + BLOCK)
        q = np.where(used[now], a[:, order[now]], 0.0).transpose(1, 0, 2)  # (v,p,width)
        gram = q.transpose(0, 2, 1) @ q
        size = np.einsum("vkk->v", gram) / np.maximum(used[now].sum(axis=1), 1)
        gram += np.eye(width) * np.where(used[now], DAMPING * size[:, None], 1.0)[:, None] + 1e-300 * np.eye(width)
        solved = np.linalg.solve(gram, q.transpose(0, 2, 1) @ missing[:, now].transpose(1, 0, 2))
        vertices = np.arange(start, start + len(q))
        out[order[now].T, vertices[None]] = np.where(used[now].T[..., None], solved.transpose(1, 0, 2), 0.0)
    return out


def _missing(deformer: Deformer, rest: Float64, faces: Int32, frames: FloatArray, transforms: Float64) -> Float64:
    """(p,v,3) d"""
    out = np.empty(frames.shape)
    for p, (frame, bones) in enumerate(zip(frames, transforms, strict=True)):
        linear = blends_of(deformer, bones)[..., :3]
        length = np.linalg.norm(np.einsum("vij,vj->vi", linear, rest), axis=1, keepdims=True)
        size = float(np.median(length))
        inverse = bounded_inverse(linear, FLATTEST * size)[0]
        out[p] = np.einsum("vij,vj->vi", inverse, length * vertex_normals(frame, faces)) - rest
    return out
