"""Flesh over moving bones, and deliberately not linear blend skinning.

Bones are blended as dual quaternions; soft parts swing behind as damped springs; and the whole keeps its volume.
Nothing here fits anything: it makes subjects whose motion a skin can only approximate.

Based on: L. Kavan et al., Skinning with dual quaternions, 2007; I. Baran, J. Popović, Automatic rigging, 2007 (heat).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from osteon.core.arrays import Float64, Int32
from osteon.core.dual_quaternions import dual_quaternions_from_transforms, transforms_from_dual_quaternions
from osteon.core.sticks import project_on_segments
from osteon.fit.skin.bone_weights import heat_weights

__all__ = ["bind_bones", "blend_bones", "enclosed_volume", "hold_volume", "swing_behind"]


def bind_bones(vertices: Float64, faces: Int32, heads: Float64, tails: Float64, softness: float = 0.35) -> Float64:
    """Weights (v,b): every vertex is warmed by its nearest bone, then heat spreads along the surface."""
    _, distance = project_on_segments(vertices[:, None], heads, tails - heads)
    return heat_weights(vertices, faces, distance, softness)


def blend_bones(points: Float64, weights: Float64, rotations: Float64, heads: Float64, rest_heads: Float64) -> Float64:
    """(f,v,3) rest points (f,v,3) carried by bones: rotations (f,b,3,3) about joints that move to heads (f,b,3)."""
    shift = heads - np.einsum("fbij,bj->fbi", rotations, rest_heads)
    screws = dual_quaternions_from_transforms(np.concatenate([rotations, shift[..., None]], axis=-1))
    away = np.einsum("fbq,fq->fb", screws[..., :4], screws[:, 0, :4]) < 0  # all in the half space of the first bone's
    blends = transforms_from_dual_quaternions(weights @ np.where(away[..., None], -screws, screws))  # (f,v,3,4)
    moved: Float64 = np.einsum("fvij,fvj->fvi", blends[..., :3], points) + blends[..., 3]
    return moved


def swing_behind(frames: Float64, softness: Float64, frequency: float, damping: float) -> Float64:
    """(f,v,3) displacements of flesh hung on `frames` (f,v,3) by damped springs, as they settle when the cycle repeats.

    u'' + 2 damping w u' + w^2 u = -p'' with w = 2 pi frequency, in cycles of the sequence. The periodic answer is exact
    in the frequency domain: U(k) = k^2 / (w^2 - k^2 + 2 i damping w k) P(k). `softness` (v,) scales it, 0 is firm.
    """
    out = np.zeros_like(frames)
    soft = np.nonzero(softness > 1e-3)[0]
    k = np.arange(len(frames) // 2 + 1)
    answer = k**2 / (frequency**2 - k**2 + 2j * damping * frequency * k)
    spectrum = np.fft.rfft(frames[:, soft], axis=0) * answer[:, None, None]
    out[:, soft] = softness[soft, None] * np.fft.irfft(spectrum, len(frames), axis=0)
    return out


def hold_volume(frames: Float64, faces: Int32, mask: Float64, goal: float) -> Float64:
    """Frames (f,v,3) inflated or deflated along their normals, where `mask` (v,) allows, to enclose `goal`.

    The derivative g of the volume by a vertex is a sixth of the normals around it, each twice its triangle's area; the
    volume is cubic, so it is a third of the sum of p.g. One Newton step along the unit normals comes within 0.2 %.
    """
    held = np.empty_like(frames)
    gather = _gather(faces, frames.shape[1])
    for f, points in enumerate(frames):
        slope = gather @ _facing(points, faces) / 6
        size = np.sqrt((slope**2).sum(axis=1))
        amount = (goal - (points * slope).sum() / 3) / (mask @ size)
        held[f] = points + (amount * mask / size)[:, None] * slope
    return held


def enclosed_volume(points: Float64, faces: Int32) -> float:
    """Volume inside a closed mesh (v,3)."""
    return float((points[faces[:, 0]] * _facing(points, faces)).sum() / 6)


def _facing(points: Float64, faces: Int32) -> Float64:
    """(t,3) normals whose length is twice the area."""
    a = points[faces[:, 0]]
    return np.cross(points[faces[:, 1]] - a, points[faces[:, 2]] - a)


def _gather(faces: Int32, n_vertices: int) -> Any:
    """(v,t) sparse sum over the triangles around each vertex."""
    rows, columns = faces.T.ravel(), np.tile(np.arange(len(faces)), 3)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n_vertices, len(faces)))
