"""All bones of all frames at a level: exact where active, following where not, and between two counts on the way.

    U_b = T_b,   U_b = U_parent O_b,   and for a bone that fades in by u:   U_b = (1 - u) U_parent O_b + u T_b

Matrices fade straight, so a vertex of a linear blend skin moves on a straight line and evenly, the error between two
counts is never above the larger of both, and whatever follows a bone that fades goes along. A dual quaternion skin
blends screws, so there the fade is that of the two screws, which stays rigid.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4.1 and 4.1.2.
Differs from the paper: it interpolates the local transformation with its default. A turn about a joint takes a vertex
along an arc, which is longer than the straight way, so that a step of the level moves it farther than it has to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, FloatArray
from osteon.core.errors import OptionError
from osteon.core.quaternions import dual_quaternions_from_transforms, transforms_from_dual_quaternions
from osteon.core.transforms import compose
from osteon.lod.bone_order import BoneChain, BoneOrder

__all__ = ["Fade", "blend_screws_by", "fade_of_count", "pose_at_count", "pose_chain"]


@dataclass(frozen=True, slots=True)
class Fade:
    """Between two counts of active bones."""

    low: int  # this many are active
    high: int  # and this many on the way to it
    part: float  # 0 … 1, how far


def fade_of_count(order: BoneOrder, count: float) -> Fade:
    """Which bones are active and which fade where `count` bones, 0 … n, are allowed.

    Bones that only together lower the error wait for the last of them, and fade with it.
    """
    if not 0 <= count <= order.n_ordered:
        raise OptionError(f"bones: expected 0 … {order.n_ordered}, got {count}")
    counts = order.active_counts
    low = int(counts[int(np.floor(count))])
    if low == order.n_ordered:
        return Fade(low, low, 0.0)
    high = int(np.unique(counts[counts > low])[0])
    return Fade(low, high, max(0.0, count - (high - 1)))


def pose_at_count(order: BoneOrder, transforms: FloatArray, count: float, *, screws: bool = False) -> Float64:
    """(f,b,3,4) what takes the rest pose along when `count` bones are allowed, from the exact transforms (f,b,3,4).

    With `screws` bones that fade stay rigid, as a dual quaternion skin needs it.
    """
    return pose_chain(order.chain, np.asarray(transforms, np.float64), fade_of_count(order, count), screws=screws)


def pose_chain(chain: BoneChain, exact: Float64, fade: Fade, *, screws: bool = False) -> Float64:
    """(f,b,3,4) with the first bones of the order active and the next ones fading, whatever that does to the error."""
    posed, rank = np.empty_like(exact), chain.ranks
    blend = blend_screws_by if screws else _blend_straight
    for b in np.argsort(rank, kind="stable"):
        if rank[b] < fade.low:
            posed[:, b] = exact[:, b]
            continue
        above = chain.parents[b]
        posed[:, b] = chain.offsets[b] if above < 0 else compose(posed[:, above], chain.offsets[b])
        if rank[b] < fade.high and fade.part > 0:
            posed[:, b] = blend(posed[:, b], exact[:, b], fade.part)
    return posed


def _blend_straight(first: Float64, second: Float64, part: float) -> Float64:
    return (1 - part) * first + part * second


def blend_screws_by(first: Float64, second: Float64, part: float) -> Float64:
    """(…,3,4) the part of the way from one rigid motion to the other, along the sum of their screws."""
    a, b = dual_quaternions_from_transforms(first), dual_quaternions_from_transforms(second)
    near = np.where((a[..., :4] * b[..., :4]).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return transforms_from_dual_quaternions((1 - part) * a + part * near * b)
