"""How near each vertex is to each joint, 0 … 1: where a joint may have something to do with a displacement.

    m_jv = exp(-(d / l)^2 / 2) h,      d: distance of vertex v from joint j at rest,  l: REGION of the bones that meet

h is how much of the vertex belongs, by its weights, to bones that are at most `HOPS` steps from the joint in the tree,
so that a finger does not answer for its neighbour.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.skeleton import Skeleton
from osteon.core.skin import Skin

__all__ = ["neighbouring_joints", "regions_of_joints"]

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
    """Pairs of numbers of joints of which one hangs on the other."""
    number = {int(j): n for n, j in enumerate(joints)}
    found = [(number[int(parents[j])], n) for n, j in enumerate(joints) if int(parents[j]) in number]
    return sorted((min(pair), max(pair)) for pair in found)


def _hops(parents: Int64) -> Int64:
    """(b,b) steps between bones of a tree; many between trees."""
    n = len(parents)
    hops = np.full((n, n), 2 * n, np.int64)
    np.fill_diagonal(hops, 0)
    below = np.flatnonzero(parents >= 0)
    hops[below, parents[below]] = hops[parents[below], below] = 1
    for k in range(n):
        hops = np.minimum(hops, hops[:, [k]] + hops[[k]])
    return hops
