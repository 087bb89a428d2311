"""Joints of pairs of sections: the point of the rest pose that both sections move alike.

    minimise over c:   sum_f || T_a^f c - T_b^f c ||^2 + STRENGTH f || c - o ||^2

| symbol | name |
| --- | --- |
| T | transforms (f,b,3,4) of rigid sections |
| c | place (3,) of the joint in the rest pose |
| o | boundary (3,): the centroid of the shared vertices, weighted by w_a w_b |

A ball joint has one such point. A hinge has a line of them, of which the regularisation selects the one nearest to the
boundary. The boundary of sections that share no vertex (separate parts, such as shoes) is between their nearest
vertices.

Based on: Reid, Jacka, Gain and Merry, Mesh Approximation for Animated Characters, section 2.2 and figure 2; the least
squares point is that of Anguelov, Koller, Pang, Srinivasan and Thrun, Recovering articulated object models from 3D
range data, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from osteon.core.arrays import Float64, Int64

#: Regularisation of a joint towards the boundary, per frame, in squared problem units.
STRENGTH = 3e-3
#: Frames that rotations are compared with.
ROTATION_FRAMES = 24
#: Least weight of a vertex of a section in distances between sections.
OUTSIDE = 0.3


@dataclass(frozen=True, slots=True)
class PairJoints:
    """Pairs of sections as candidate joints, with their measures."""

    pairs: Int64  # (n,2) sections a < b
    places: Float64  # (n,3) the joint in the rest pose
    boundaries: Float64  # (n,3) where the sections meet
    residuals: Float64  # (n,) RMS over frames of the distance between both positions of the joint
    angles: Float64  # (n,) degrees of the largest relative rotation
    swings: Float64  # (n,) the same as the vertices of the smaller section move: without rotation about their line
    shared: Float64  # (n,) sum over vertices of w_a w_b
    gaps: Float64  # (n,) distance between sections that share no vertex, else 0

    def slack(self) -> Float64:
        """(n,) residual per radian of rotation: large where there is no joint."""
        return self.residuals / np.maximum(np.radians(self.angles), 1e-9)

    def offsets(self) -> Float64:
        """(n,) distance of each joint from its boundary."""
        return np.asarray(np.linalg.norm(self.places - self.boundaries, axis=1))


def measure_pairs(points: Float64, transforms: Float64, weights: Float64, *, distant: bool = True) -> PairJoints:
    """All pairs that share vertices, and with `distant` all others; points (v,3), weights (v,b)."""
    shared = weights.T @ weights
    n_bones = len(shared)
    a, b = np.triu_indices(n_bones, 1)
    touch = shared[a, b] > 0
    if not distant:
        a, b, touch = a[touch], b[touch], touch[touch]
    common = shared[a, b]
    places = np.einsum("vn,vi->ni", weights[:, a[touch]] * weights[:, b[touch]], points, optimize=True)
    boundaries, gaps = np.empty((len(a), 3)), np.zeros(len(a))
    boundaries[touch] = places / common[touch, None]
    boundaries[~touch], gaps[~touch] = _between(points, weights, a[~touch], b[~touch])
    joints, residuals = _solve_joints(transforms[:, a], transforms[:, b], boundaries)
    relative = np.einsum("fnji,fnjk->nfik", transforms[:, a, :, :3], transforms[:, b, :, :3])
    mass = weights.sum(axis=0)
    spreads = _spreads(points, weights, np.where(mass[a] <= mass[b], a, b), joints)
    angles, swings = _widest(relative, np.tile(np.eye(3) / 2, (len(a), 1, 1))), _widest(relative, spreads)
    return PairJoints(np.stack([a, b], axis=1), joints, boundaries, residuals, angles, swings, common, gaps)


def _between(points: Float64, weights: Float64, a: Int64, b: Int64) -> tuple[Float64, Float64]:
    """Midpoint (n,3) and length (n,) of the shortest segment between the vertices of sections."""
    trees: dict[int, cKDTree] = {}
    middles, lengths = np.empty((len(a), 3)), np.empty(len(a))
    for n, pair in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        for section in pair:
            if section not in trees:
                own = np.flatnonzero(weights[:, section] >= min(OUTSIDE, float(weights[:, section].max())))
                trees[section] = cKDTree(points[own])
        first, second = trees[pair[0]], trees[pair[1]]
        far, nearest = first.query(second.data)
        best = int(far.argmin())
        lengths[n] = far[best]
        middles[n] = (first.data[nearest[best]] + second.data[best]) / 2
    return middles, lengths


def _solve_joints(first: Float64, second: Float64, boundaries: Float64) -> tuple[Float64, Float64]:
    """Places (n,3) and residuals (n,) of the joints of transforms (f,n,3,4)."""
    n_frames = len(first)
    apart = first[..., :3] - second[..., :3]
    shift = second[..., 3] - first[..., 3]
    normal = np.einsum("fnij,fnik->njk", apart, apart, optimize=True) + STRENGTH * n_frames * np.eye(3)
    right = np.einsum("fnij,fni->nj", apart, shift, optimize=True) + STRENGTH * n_frames * boundaries
    places = np.linalg.solve(normal, right[..., None])[..., 0]
    left = np.einsum("fnij,nj->fni", apart, places) - shift
    return places, np.sqrt((left**2).sum(axis=(0, 2)) / n_frames)


def _spreads(points: Float64, weights: Float64, sections: Int64, joints: Float64) -> Float64:
    """(n,3,3) second moments of the vertices of sections (n,) about joints (n,3), of trace 1."""
    mass = np.maximum(weights.sum(axis=0), 1e-12)
    centers = (weights.T @ points) / mass[:, None]
    about = np.einsum("vb,vi,vj->bij", weights, points, points, optimize=True) / mass[:, None, None]
    about -= centers[:, :, None] * centers[:, None]
    arms = centers[sections] - joints
    out: Float64 = about[sections] + arms[:, :, None] * arms[:, None]
    out /= np.maximum(out.trace(axis1=1, axis2=2), 1e-300)[:, None, None]
    return out


def _widest(relative: Float64, spreads: Float64) -> Float64:
    """(n,) degrees of the largest rotation of relative (n,f,3,3) between any frame and some, weighted by a spread.

    Such points move by a chord, whose mean square is tr(D M D') for rotations that differ by D and a spread M.
    """
    n_pairs, n_frames = relative.shape[:2]
    chosen = np.unique(np.linspace(0, n_frames - 1, min(n_frames, ROTATION_FRAMES)).astype(int))
    weighed = (relative @ spreads[:, None]).reshape(n_pairs, n_frames, 9)
    flat = relative.reshape(n_pairs, n_frames, 9)
    own = (weighed * flat).sum(axis=2)
    chords = own[:, :, None] + own[:, None, chosen] - 2 * weighed @ np.swapaxes(flat[:, chosen], 1, 2)
    half = np.sqrt(np.clip(chords.max(axis=(1, 2), initial=0.0), 0, 4)) / 2
    return np.asarray(2 * np.degrees(np.arcsin(np.minimum(half, 1))))
