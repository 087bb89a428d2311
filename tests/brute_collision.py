"""Answers of collision queries without a tree: every triangle of posed vertices, one formula each, in NumPy."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray


def ray_distances(corners: Float64, origin: FloatArray, direction: FloatArray) -> Float64:
    """(t,) distance along a ray of each triangle (t,3,3), infinite where it is missed (Moeller and Trumbore)."""
    unit = np.asarray(direction, np.float64) / np.linalg.norm(direction)
    a, e, f = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = np.cross(unit, f)
    with np.errstate(all="ignore"):
        det = np.einsum("ti,ti->t", e, p)
        s = np.asarray(origin) - a
        u = np.einsum("ti,ti->t", s, p) / det
        q = np.cross(s, e)
        v = q @ unit / det
        t = np.einsum("ti,ti->t", f, q) / det
        # Without a margin Moeller and Trumbore's rounding misses edges that a ray meets exactly.
        met = (u >= -1e-12) & (v >= -1e-12) & (u + v <= 1 + 1e-12) & (t >= 0)
    return np.where(met, t, np.inf)


def point_distances(corners: Float64, point: FloatArray) -> Float64:
    """(t,) distance of a point from each triangle (t,3,3)."""
    edges = np.roll(corners, -1, axis=1) - corners
    off = np.asarray(point) - corners
    lengths = np.einsum("tci,tci->tc", edges, edges)
    s = np.clip(np.einsum("tci,tci->tc", off, edges) / np.maximum(lengths, 1e-300), 0, 1)
    least = np.linalg.norm(off - s[..., None] * edges, axis=2).min(axis=1)
    normal = np.cross(edges[:, 0], edges[:, 1])
    inside = (np.einsum("tci,tci->tc", np.cross(normal[:, None], edges), off) >= 0).all(axis=1)
    area = np.linalg.norm(normal, axis=1)
    height = np.abs(np.einsum("ti,ti->t", normal, off[:, 0])) / np.maximum(area, 1e-300)
    return np.where(inside & (area > 0), height, least)


def segment_distances(corners: Float64, start: FloatArray, end: FloatArray, steps: int = 400) -> Float64:
    """(t,) distance of a segment from each triangle, at points along it: never less than the exact one."""
    along = np.linspace(0, 1, steps)[:, None]
    points = np.asarray(start) + along * (np.asarray(end) - np.asarray(start))
    return np.stack([point_distances(corners, point) for point in points]).min(axis=0)


def box_gaps(corners: Float64, center: FloatArray, half: FloatArray, rotation: FloatArray) -> Float64:
    """(t,) largest gap between a box and each triangle along the thirteen axes that may separate them."""
    local = (corners - np.asarray(center)) @ np.asarray(rotation)
    edges = np.roll(local, -1, axis=1) - local
    axes = [np.broadcast_to(axis, (len(local), 3)) for axis in np.eye(3)]
    axes += [np.cross(edges[:, 0], edges[:, 1])]
    axes += [np.cross(edges[:, e], axis) for e in range(3) for axis in np.eye(3)]
    best = np.full(len(local), -np.inf)
    for axis in axes:
        length = np.linalg.norm(axis, axis=1)
        unit = axis / np.maximum(length, 1e-300)[:, None]
        along = np.einsum("tci,ti->tc", local, unit)
        reach = np.abs(unit) @ np.asarray(half)
        gap = np.maximum(along.min(axis=1) - reach, -reach - along.max(axis=1))
        best = np.where(length > 1e-12, np.maximum(best, gap), best)
    return best


def random_queries(corners: Float64, n: int, seed: int) -> tuple[Float64, Float64]:
    """(n,3) points around and within a surface, and (n,3) points on it."""
    rng = np.random.default_rng(seed)
    points = corners.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    around = rng.uniform(low - 0.3 * (high - low), high + 0.3 * (high - low), (n, 3))
    weights = rng.dirichlet([1, 1, 1], n)
    on = np.einsum("nc,nci->ni", weights, corners[rng.integers(len(corners), size=n)])
    return around, on
