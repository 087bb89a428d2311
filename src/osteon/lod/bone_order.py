"""The progressive hierarchy of a clip: an order of the bones, and one parent with one constant offset per bone.

    U_b = T_b                  the first `count` bones of the order: active
    U_b = U_parent(b) O_b      all others; U_b = O_b where parent(b) is -1

Errors are sums over frames and vertices of squared distances. A bone whose activation alone would raise the error is
activated together with the next one: `active_counts` lists how many bones are active when n are allowed, so the error
never rises.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4.1 and 4.3: one integer per bone and clip.
Differs from the paper: a default is relative to the parent of the new hierarchy, in the rest pose, so that it means
the same whichever ancestors are active; and a bone may follow nothing.

Posing at a level: bones are exact where active and follow elsewhere; between two counts they fade.

    U_b = T_b,   U_b = U_parent O_b,   and for a bone that fades in by u:   U_b = (1 - u) U_parent O_b + u T_b

Matrices are interpolated linearly, so a vertex of a linear blend skin moves at constant speed on a straight line, the
error between two counts never exceeds the larger of both, and bones that follow a fading bone move with it. A dual
quaternion skin blends screws, so there the two screws are blended, which stays rigid.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4.1 and 4.1.2.
Differs from the paper: it interpolates the local transformation with its default. A rotation about a joint moves a
vertex along an arc, which is longer than the straight line, so a step of the level moves it farther than needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, IntArray, checked, checked_indices
from osteon.core.character import Arrays
from osteon.core.errors import GeometryError, OptionError
from osteon.core.transforms import compose, dual_quaternions_from_transforms, identity, transforms_from_dual_quaternions

#: How an order was computed. advanced: new parents, fitted offsets. The others keep the parents of the rig, with fitted
#: offsets, the mean over the clip, or a copy of the parent.
BoneForm = Literal["advanced", "offset", "mean", "copy"]


def count_of_part(part: float, n_bones: int) -> int:
    """The number of bones that is a fraction 0 … 1 of all, at least one."""
    if not 0 <= part <= 1:
        raise OptionError(f"part: expected 0 … 1, got {part}")
    return max(1, int(np.floor(part * n_bones + 0.5)))


class BoneChain(NamedTuple):
    """The arrays that posing needs, in full precision and in any units."""

    order: IntArray  # (n,)
    parents: IntArray  # (b,)
    offsets: Float64  # (b,3,4)

    @property
    def ranks(self) -> Int64:
        """(b,) the position of each bone in the order; n for those that are not in it."""
        rank = np.full(len(self.parents), len(self.order), np.int64)
        rank[self.order] = np.arange(len(self.order))
        return rank


@dataclass(frozen=True, slots=True)
class BoneOrder:
    """The order in which bones are activated, and the parent that each follows before."""

    order: Int32  # (n,) bones by importance; the first is the root
    parents: Int32  # (b,) the bone that each follows, earlier in the order; -1: none
    offsets: Float32  # (b,3,4) O: parent's rest pose from the bone's; of a bone without a parent posed_from_rest
    errors: Float64  # (n+1,) squared error with 0 … n active bones, in units of the model, over frames and vertices
    base: float  # the same with only the root of the rig active, and copied by all: the reference of relative errors
    samples: int = 1  # frames times vertices that the errors are sums over
    form: BoneForm = "advanced"
    clip: str = ""  # its name; "" where the order serves all clips

    def __post_init__(self) -> None:
        n_bones = len(np.asarray(self.parents))
        object.__setattr__(self, "order", checked_indices("order", self.order, (None,), n_bones))
        object.__setattr__(self, "parents", checked("parents", self.parents, (n_bones,), np.int32))
        object.__setattr__(self, "offsets", checked("offsets", self.offsets, (n_bones, 3, 4)))
        object.__setattr__(self, "errors", checked("errors", self.errors, (len(self.order) + 1,), np.float64))
        if self.form not in get_args(BoneForm):
            raise GeometryError(f"form: expected {', '.join(get_args(BoneForm))}, got {self.form!r}")
        self._check_order()

    def _check_order(self) -> None:
        """Check that parents come first: an active bone depends on active ones, and chains end."""
        if not len(self.order) or len(np.unique(self.order)) != len(self.order):
            raise GeometryError(f"order: expected each bone once, got {len(self.order)} numbers")
        if self.parents.min() < -1 or self.parents.max() >= self.n_bones:
            raise GeometryError(f"parents: expected -1 … {self.n_bones - 1}")
        rank = self.ranks
        parents = self.parents[self.order]
        late = (parents >= 0) & (rank[parents] >= np.arange(len(self.order)))
        if late.any():
            raise GeometryError(f"parents: bone {self.order[late.argmax()]} comes before its parent")
        for b in np.flatnonzero(rank == len(self.order)):
            if self.parents[b] >= 0 and rank[self.parents[b]] == len(self.order):
                raise GeometryError(f"parents: bone {b} follows bone {self.parents[b]}, which is not in the order")

    @property
    def n_bones(self) -> int:
        """Bones of the model."""
        return len(self.parents)

    @property
    def n_ordered(self) -> int:
        """Bones that can be active."""
        return len(self.order)

    @property
    def ranks(self) -> Int64:
        """(b,) the position of each bone in the order; n for those that are not in it."""
        return self.chain.ranks

    @property
    def chain(self) -> BoneChain:
        return BoneChain(self.order, self.parents, self.offsets.astype(np.float64))

    @property
    def active_counts(self) -> Int64:
        """(n+1,) how many bones are active where 0 … n are allowed: the largest count with the least error up to n."""
        best = np.minimum.accumulate(self.errors)
        return np.maximum.accumulate(np.where(self.errors <= best, np.arange(len(self.errors)), 0))

    @property
    def shares(self) -> Float64:
        """(n+1,) the error by how many bones are allowed, as a share of `base`; it never rises."""
        least = self.errors[self.active_counts]
        return least / self.base if self.base > 0 else np.zeros_like(least)

    @property
    def rms(self) -> Float64:
        """(n+1,) root mean square distance by how many bones are allowed, in units of the model."""
        return np.asarray(np.sqrt(self.errors[self.active_counts] / self.samples))

    def count_for_share(self, part: float) -> int:
        """The number of bones that is a fraction 0 … 1 of all, at least one."""
        return count_of_part(part, self.n_ordered)

    def leaders(self, count: int) -> tuple[Int32, Float64]:
        """(b,) the active bone that each follows if the first `count` of the order are active: itself, another or -1.

        Also returns its offset (b,3,4): U_b = T_leader O, or U_b = O without a leader.
        """
        if not 0 <= count <= self.n_ordered:
            raise OptionError(f"bones: expected 0 … {self.n_ordered}, got {count}")
        leader = np.full(self.n_bones, -1, np.int32)
        whole = identity(self.n_bones)
        rank = self.ranks
        for b in np.argsort(rank, kind="stable"):
            parent = self.parents[b]
            if rank[b] < count:
                leader[b] = b
            elif parent < 0:
                whole[b] = self.offsets[b]
            else:
                leader[b] = leader[parent]
                whole[b] = compose(whole[parent], self.offsets[b].astype(np.float64))
        return leader, whole

    def default_pose(self) -> Float64:
        """(b,3,4) transforms of all bones if none is active: the default pose of the clip."""
        return self.leaders(0)[1]

    def arrays(self) -> Arrays:
        """Named arrays for files and packs."""
        return {
            "order": self.order,
            "parents": self.parents,
            "offsets": self.offsets,
            "errors": self.errors,
            "base": np.array([self.base, self.samples], np.float64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, clip: str = "", form: BoneForm = "advanced") -> Self:
        """The inverse of `arrays`; raises GeometryError if the arrays are inconsistent."""
        base: FloatArray = checked("base", arrays["base"], (2,), np.float64)
        order, parents, offsets, errors = (arrays[name] for name in ("order", "parents", "offsets", "errors"))
        return cls(order, parents, offsets, errors, float(base[0]), int(base[1]), form, clip)


@dataclass(frozen=True, slots=True)
class Fade:
    """Between two counts of active bones."""

    low: int  # number of active bones
    high: int  # number of active bones at the end of the fade
    part: float  # 0 … 1, progress of the fade


def fade_of_count(order: BoneOrder, count: float) -> Fade:
    """Which bones are active and which fade if `count` bones, 0 … n, are allowed.

    Bones that only together lower the error are activated together, and fade together.
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
    """(f,b,3,4) posed_from_rest if `count` bones are allowed, from the exact transforms (f,b,3,4).

    With `screws`, fading bones stay rigid, as a dual quaternion skin requires.
    """
    return pose_chain(order.chain, np.asarray(transforms, np.float64), fade_of_count(order, count), screws=screws)


def pose_chain(chain: BoneChain, exact: Float64, fade: Fade, *, screws: bool = False) -> Float64:
    """(f,b,3,4) with the first bones of the order active and the next ones fading."""
    posed, rank = np.empty_like(exact), chain.ranks
    blend = blend_screws_by if screws else _blend_linear
    for b in np.argsort(rank, kind="stable"):
        if rank[b] < fade.low:
            posed[:, b] = exact[:, b]
            continue
        parent = chain.parents[b]
        posed[:, b] = chain.offsets[b] if parent < 0 else compose(posed[:, parent], chain.offsets[b])
        if rank[b] < fade.high and fade.part > 0:
            posed[:, b] = blend(posed[:, b], exact[:, b], fade.part)
    return posed


def _blend_linear(first: Float64, second: Float64, part: float) -> Float64:
    return (1 - part) * first + part * second


def blend_screws_by(first: Float64, second: Float64, part: float) -> Float64:
    """(…,3,4) the interpolation of two rigid motions by blending their screws."""
    a, b = dual_quaternions_from_transforms(first), dual_quaternions_from_transforms(second)
    near = np.where((a[..., :4] * b[..., :4]).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return transforms_from_dual_quaternions((1 - part) * a + part * near * b)
