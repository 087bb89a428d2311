"""Poses that move many joints at once, such as scans, split into contributions of single joints and of pairs.

The displacement of a vertex is modelled as a sum over its joints, with small terms for pairs of neighbouring joints:

    u_v(pose) = sum_j f_jv(s_j) + sum_jk g_jkv(s_j, s_k)

Of all sums that interpolate the poses, up to a ridge, the solution is the one with the smallest norm in these kernels
(a Gaussian process with independent parts):

    f_jv:   m_jv^2 (phi(|s, s'|) - phi(|s|) phi(|s'|)),    which is zero at rest
    g_jkv:  PAIR m_jv m_kv times the shapes of a pair (`deform/joint_rbf.py`), at unit size on average

m_jv in 0 … 1 is the proximity of vertex v to joint j (below). With K_v the sum of all kernels at the poses
and c_v = (K_v + ridge)^-1 u_v, a part is its own kernel times c_v. Parts are then sampled at some observed settings, as
if each joint had moved alone. Radius and ridge minimise the leave-one-out error.

For poses in which each joint moves alone the parts reproduce the observations.

Based on: Duvenaud, Nickisch and Rasmussen, Additive Gaussian processes, 2011. Kry, James and Pai, EigenSkin, 2002, has
it as future work: "in practice it is desirable to allow general pose sets".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.character import Skeleton, Skin
from osteon.deform.joint_rbf import driver_shapes
from osteon.fit.eigenskin.driver_fields import DriverField, JointSettings

# Proximity of each vertex to each joint, 0 … 1: where a joint may cause a displacement.
#
#     m_jv = exp(-(d / l)^2 / 2) h,      d: distance of vertex v from joint j at rest,  l: REGION of the bones that meet
#
# h is how much of the vertex belongs, by its weights, to bones that are at most `HOPS` steps from the joint in the
# tree, so that a finger is not affected by its neighbour.

REGION = 0.75
HOPS = 2


def regions_of_joints(rest: Float64, skin: Skin, skeleton: Skeleton, joints: Int64) -> Float64:
    """(n,v) m"""
    parents = skeleton.parents.astype(np.int64)
    places = skeleton.world_from_joint[..., 3].astype(np.float64)
    weights = skin.dense(len(parents)).astype(np.float64)
    hops = _hops(parents)
    out = np.empty((len(joints), len(rest)))
    for n, j in enumerate(joints.tolist()):
        meeting = [places[j] - places[parents[j]], *(places[parents == j] - places[j])]
        length = REGION * float(np.mean([np.linalg.norm(bone) for bone in meeting]))
        away = np.linalg.norm(rest - places[j], axis=1) / max(length, 1e-300)
        out[n] = np.exp(-0.5 * away**2) * weights[:, hops[j] <= HOPS].sum(axis=1)
    return out


def neighbouring_joints(parents: Int64, joints: Int64) -> list[tuple[int, int]]:
    """Index pairs of joints of which one is the parent of the other."""
    number = {int(j): n for n, j in enumerate(joints)}
    found = [(number[int(parents[j])], n) for n, j in enumerate(joints) if int(parents[j]) in number]
    return sorted((min(pair), max(pair)) for pair in found)


def _hops(parents: Int64) -> Int64:
    """(b,b) steps between bones of a tree; large between trees."""
    n = len(parents)
    hops = np.full((n, n), 2 * n, np.int64)
    np.fill_diagonal(hops, 0)
    below = np.flatnonzero(parents >= 0)
    hops[below, parents[below]] = hops[parents[below], below] = 1
    for k in range(n):
        hops = np.minimum(hops, hops[:, [k]] + hops[[k]])
    return hops


#: Prior variance of a pair, relative to that of a joint.
PAIR = 0.1
#: Radius of pairs, radians.
PAIR_RADIUS = 8.0
RADII, RIDGES = (0.5, 1.0, 2.0), (1e-6, 1e-3, 1e-2, 1e-1)
#: Largest number of settings at which a part is sampled.
SAMPLES = 8
#: Vertices per block of systems, and vertices for the choice of radius and ridge.
BLOCK, SAMPLED = 256, 192
#: Proximities below this count as zero.
FAR = 1e-3


@dataclass(frozen=True, slots=True)
class AdditiveFields:
    """Fields of many joints, and the radius and ridge that split them."""

    fields: list[DriverField]
    radius: float
    ridge: float


def split_poses(
    settings: JointSettings, displacements: Float64, near: Float64, pairs: list[tuple[int, int]]
) -> AdditiveFields:
    """Fields of joints and pairs from displacements (p,v,3) of poses that may move any joints; `near` (n,v) is m."""
    near = np.where(near > FAR, near, 0.0)
    moved = [j for j in range(len(settings.joints)) if settings.moved[:, j].any()]
    pairs = [pair for pair in pairs if settings.moved[:, list(pair)].all(axis=1).any()]
    radius, ridge = _chosen(settings, displacements, near, (moved, pairs))
    kernels = _kernels(settings, (moved, pairs), radius)
    sources = _solve(kernels, _parts(near, (moved, pairs)), displacements, ridge)
    fields = []
    for driver, kernel, part in zip(_drivers(moved, pairs), kernels, _parts(near, (moved, pairs)), strict=True):
        chosen = _spread(settings, driver)
        values = np.tensordot(kernel[chosen], sources, axes=1) * part[:, None]
        reach = float(np.sqrt(np.einsum("qvi,qvi->qv", values, values).max(initial=0.0)))
        joints = list(driver)
        rotations, axes = settings.rotations[chosen][:, joints], settings.axes[joints]
        fields.append(DriverField(driver, rotations, axes, values, reach))
    return AdditiveFields(fields, radius, ridge)


def _drivers(moved: list[int], pairs: list[tuple[int, int]]) -> list[tuple[int, ...]]:
    return [*((j,) for j in moved), *pairs]


def _parts(near: Float64, drivers: tuple[list[int], list[tuple[int, int]]]) -> Float64:
    """(d,v) the amplitude of every kernel at every vertex."""
    moved, pairs = drivers
    alone = [near[j] ** 2 for j in moved]
    return np.stack([*alone, *(PAIR * near[j] * near[k] for j, k in pairs)])


def _kernels(settings: JointSettings, drivers: tuple[list[int], list[tuple[int, int]]], radius: float) -> list[Float64]:
    """(p,p) for each driver, between all poses."""
    out = []
    for driver in _drivers(*drivers):
        chosen = list(driver)
        rotations, axes = settings.rotations[:, chosen], settings.axes[chosen]
        shapes = driver_shapes(rotations[:, None], rotations[None], axes, radius if len(driver) == 1 else PAIR_RADIUS)
        if len(driver) == 1:
            rest = driver_shapes(rotations, np.array([[0.0, 0.0, 0.0, 1.0]]), axes, radius)
            out.append(shapes - np.outer(rest, rest))
        else:
            out.append(shapes / max(float(np.diag(shapes).mean()), 1e-300))
    return out


def _system(kernels: list[Float64], parts: Float64, ridge: float) -> Float64:
    """(v,p,p) K + ridge of vertices with parts (d,v)."""
    summed: Float64 = np.einsum("dv,dpq->vpq", parts, np.stack(kernels), optimize=True)
    return summed + ridge * np.eye(len(kernels[0]))


def _solve(kernels: list[Float64], parts: Float64, displacements: Float64, ridge: float) -> Float64:
    """(p,v,3) c"""
    out = np.empty_like(displacements)
    for start in range(0, displacements.shape[1], BLOCK):
        now = slice(start, start + BLOCK)
        known = displacements[:, now].transpose(1, 0, 2)
        out[:, now] = np.linalg.solve(_system(kernels, parts[:, now], ridge), known).transpose(1, 0, 2)
    return out


def _chosen(
    settings: JointSettings,
    displacements: Float64,
    near: Float64,
    drivers: tuple[list[int], list[tuple[int, int]]],
) -> tuple[float, float]:
    """Radius and ridge of the least leave-one-out error over the vertices that move most."""
    moves = np.einsum("pvi,pvi->v", displacements, displacements)
    chosen = np.argsort(-moves, kind="stable")[: max(1, len(moves) // 2)]
    chosen = np.sort(chosen[:: max(1, len(chosen) // SAMPLED)])
    known = displacements[:, chosen].transpose(1, 0, 2)
    parts = _parts(near[:, chosen], drivers)
    errors = {}
    for radius in RADII:
        kernels = _kernels(settings, drivers, radius)
        for ridge in RIDGES:
            inverse = np.linalg.inv(_system(kernels, parts, ridge))
            off = (inverse @ known) / np.einsum("vpp->vp", inverse)[..., None]
            errors[radius, ridge] = float((off**2).sum())
    return min(errors, key=errors.__getitem__)


def _spread(settings: JointSettings, driver: tuple[int, ...]) -> Int64:
    """Poses whose settings of a driver are far apart, beginning with the farthest from rest."""
    chosen = list(driver)
    poses = np.flatnonzero(settings.moved[:, chosen].all(axis=1))
    rotations, axes = settings.rotations[poses][:, chosen], settings.axes[chosen]
    shapes = driver_shapes(rotations[:, None, :1], rotations[None, :, :1], axes[:1], 1.0)
    if len(driver) > 1:
        shapes = shapes * driver_shapes(rotations[:, None, 1:], rotations[None, :, 1:], axes[1:], 1.0)
    rest = np.array([[0.0, 0.0, 0.0, 1.0]])
    nearest = np.prod([driver_shapes(rotations[:, [i]], rest, axes[[i]], 1.0) for i in range(len(driver))], axis=0)
    found: list[int] = []
    while len(found) < min(SAMPLES, len(poses)):
        found.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, shapes[found[-1]])
        nearest[found] = np.inf
    return np.asarray(poses[np.sort(found)])
