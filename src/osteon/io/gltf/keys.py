"""Fewer keys, with a promise: in no frame does a vertex move farther than allowed.

Between two keys a channel goes straight, so a key may go where it lies near the line of its neighbours. What counts is
not the channel but the vertices. Joint i takes a point y of its own space to the space above it by L_i; with reduced
keys by M_i. For a point below the joints 0 … j

    M_0 … M_j y - L_0 … L_j y = sum over i of  M_0 … M_{i-1} (M_i - L_i) y_i,    y_i = L_{i+1} … L_j y

so the distances |M_0 … M_{i-1} (M_i - L_i) y_i| of all joints on the way add up. Each joint may use an equal part of
the allowance. The distance is convex in y_i, hence largest at a corner of the box around all points that the joint
carries in any frame, corrections included. A vertex on several joints lies between the places where each would put it,
and no farther off. Corrections have a part of their own: |sum_k w_k T_k U dq| <= (sum_k w_k |T_k|) |U dq|.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.model import Corrections, SkinnedModel
from osteon.core.transforms import apply
from osteon.io.gltf.animation import Channel, ChannelPath
from osteon.io.gltf.write_between import KeyedModel
from osteon.io.gltf.write_nodes import JointNodes, Joints, top_down
from osteon.io.two_nodes import NodeTracks, join_transforms

__all__ = ["KeptKeys", "reduce_keys"]

Keys = NDArray[np.int64]

#: For a clip's number and a track's label the frames that keep their key, counted from the clip's first.
KeptKeys = dict[tuple[int, str], Keys]

#: Part of the allowance for the corrections, if there are any.
CORRECTIONS_PART = 0.25
#: Bytes of JSON that key times of its own cost a channel; fewer keys must save more than that.
TIMES_COST = 110
#: Displacements (frames times vertices) that are in memory at a time.
BLOCK_VALUES = 2_000_000

_FIELDS = ("translations", "rotations", "scales", "child_rotations")
_CORNERS = np.array(list(product((0, 1), repeat=3)), bool)


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the four channels of a joint."""

    name: str  # ends the label of the track
    field: str  # of NodeTracks
    path: ChannelPath
    bytes: int  # a key takes at least


_PARTS = (
    _Part("child", "child_rotations", "rotation", 8),
    _Part("rotation", "rotations", "rotation", 8),
    _Part("scale", "scales", "scale", 12),
    _Part("translation", "translations", "translation", 12),
)


def reduce_keys(keyed: KeyedModel, joints: Joints, nodes: JointNodes, distance: float) -> KeptKeys:
    """Keys to keep so that no vertex is farther than `distance` from where all keys have it, in any frame."""
    model = keyed.model
    share = CORRECTIONS_PART if model.rank else 0.0
    order, depth = top_down(joints.parents)
    each = distance * (1 - share) / depth
    low, high = _boxes(model, joints, order)
    corners = np.where(_CORNERS, high[:, None], low[:, None])
    kept: KeptKeys = {}
    for number, clip in enumerate(model.clips):
        now = slice(clip.start, clip.stop)
        moments = keyed.moments[now]
        world: dict[int, Float64] = {}  # of reduced joints, linear part
        for b in order:
            above = world.get(joints.parents[b], np.eye(3)[None])
            tracks = _taken(nodes.tracks, now, b)
            exact = apply(join_transforms(tracks)[:, 0], corners[b])
            n_keys = int(keyed.own[now, b].sum())
            joint = _reduce_joint(_Mover(tracks, moments, n_keys, exact, above, corners[b], {}), each)
            world[b] = joint.linear()
            kept |= {(number, f"{b} {name}"): keys for name, keys in joint.kept.items()}
        if model.corrections is not None and model.rank:
            keys = _reduce_weights(model, model.corrections, (now, moments), distance * share)
            kept |= {} if keys is None else {(number, "weights"): keys}
    return kept


def _boxes(model: SkinnedModel, joints: Joints, order: list[int]) -> tuple[Float64, Float64]:
    """(b,3) lowest and highest corner of all points that a joint carries, in its own space, in any frame."""
    lowest = highest = model.rest.astype(np.float64)
    if model.corrections is not None and model.rank:
        coefficients = model.corrections.coefficients.astype(np.float64)
        for column, q in zip(model.corrections.basis.astype(np.float64), coefficients.T, strict=True):
            ends = np.stack([column * q.min(), column * q.max()])
            lowest, highest = lowest + ends.min(axis=0), highest + ends.max(axis=0)
    middle, half = (lowest + highest) / 2, (highest - lowest) / 2
    low, high = np.full((model.n_bones, 3), np.inf), np.full((model.n_bones, 3), -np.inf)
    for b in reversed(order):
        mine = ((model.skin.bones == b) & (model.skin.weights > 0)).any(axis=1)
        if mine.any():
            reach = half[mine] @ np.abs(joints.joint_from_rest[b, :, :3]).T
            place = apply(joints.joint_from_rest[b], middle[mine])
            low[b], high[b] = np.minimum(low[b], (place - reach).min(0)), np.maximum(high[b], (place + reach).max(0))
        above = joints.parents[b]
        if above >= 0 and np.isfinite(low[b]).all():
            carried = apply(joints.local[:, b], np.where(_CORNERS, high[b], low[b])).reshape(-1, 3)
            low[above], high[above] = np.minimum(low[above], carried.min(0)), np.maximum(high[above], carried.max(0))
    empty = ~np.isfinite(low)
    return np.where(empty, 0.0, low), np.where(empty, 0.0, high)


@dataclass(frozen=True, slots=True)
class _Mover:
    """One joint in one clip, with some of its channels reduced."""

    tracks: NodeTracks  # (f,1,n) as they move now
    moments: Float64  # (f,)
    n_keys: int  # that a channel has now; the other frames lie between
    exact: Float64  # (f,8,3) corners of its box with all keys
    above: Float64  # (f,3,3) or (1,3,3) linear part of what carries the joint
    corners: Float64  # (8,3)
    kept: dict[str, Keys]  # of the channels reduced so far
    saved: int = 0  # bytes

    def reduced(self, parts: Sequence[_Part], keys: Keys) -> _Mover:
        """The same with only these keys in some channels."""
        whole = {p: getattr(self.tracks, p.field)[:, 0] for p in parts}
        now = {p.field: _between(p.path, self.moments, values, keys)[:, None] for p, values in whole.items()}
        fields = [now.get(name, getattr(self.tracks, name)) for name in _FIELDS]
        tracks = NodeTracks(fields[0], fields[1], fields[2], fields[3], self.tracks.needs_child)
        saved = self.saved + _saving(len(keys), self.n_keys, sum(p.bytes for p in parts))
        return replace(self, tracks=tracks, kept=self.kept | {p.name: keys for p in parts}, saved=saved)

    def distances(self) -> Float64:
        """(f,) how far the farthest corner is from where it should be."""
        off = apply(join_transforms(self.tracks)[:, 0], self.corners) - self.exact
        return np.asarray(np.linalg.norm(off @ np.swapaxes(self.above, -1, -2), axis=-1).max(axis=-1))

    def linear(self) -> Float64:
        """(f,3,3) linear part of the joint and all above it."""
        return self.above @ join_transforms(self.tracks)[:, 0, :, :3]


def _taken(tracks: NodeTracks, now: slice, bone: int) -> NodeTracks:
    """The tracks (f,1,n) of one joint in one clip."""
    fields = [getattr(tracks, name)[now, bone : bone + 1] for name in _FIELDS]
    return NodeTracks(fields[0], fields[1], fields[2], fields[3], tracks.needs_child[bone : bone + 1])


def _reduce_joint(joint: _Mover, allowance: float) -> _Mover:
    """Channels that may stand still do; the others lose keys together or one by one, whichever saves more bytes."""
    parts = [part for part in _PARTS if part.name != "child" or joint.tracks.needs_child[0]]
    moving = []
    still = np.zeros(1, np.int64)
    used = 0.0
    for part in parts:
        tried = joint.reduced([part], still)
        if tried.distances().max() <= used + allowance / len(parts):
            joint, used = tried, used + allowance / len(parts)
        else:
            moving.append(part)
    if not moving:
        return joint
    together = _reduce_parts(joint, moving, allowance)
    alone = joint
    for done, part in enumerate(moving, start=1):
        alone = _reduce_parts(alone, [part], used + (allowance - used) * done / len(moving))
    return max(together, alone, key=lambda mover: mover.saved)


def _reduce_parts(joint: _Mover, parts: Sequence[_Part], allowance: float) -> _Mover:
    """The joint with one set of keys for some channels, or as it is if that saves nothing."""
    size = sum(part.bytes for part in parts)
    worth = _worth(joint.n_keys, size)
    keys = _fewest_keys(len(joint.moments), lambda k: joint.reduced(parts, k).distances(), allowance, worth)
    return joint if keys is None else joint.reduced(parts, keys)


def _between(path: ChannelPath, moments: Float64, values: Float64, keys: Keys) -> Float64:
    """(f,n) what a player makes of the keys alone."""
    return Channel(0, path, "LINEAR", moments[keys], values[keys]).at(moments)


def _fewest_keys(n_frames: int, distances: Callable[[Keys], Float64], allowance: float, most: int) -> Keys | None:
    """Few keys that keep all distances (f,) within the allowance; None if that takes more than `most`.

    Every stretch between keys that fails gets its worst frame as a new key.
    """
    keys = np.unique([0, n_frames - 1])
    while len(keys) <= most:
        far = distances(keys)
        stretches = [(int(a), int(b)) for a, b in pairwise(keys) if b > a + 1]
        worst = [a + 1 + int(far[a + 1 : b].argmax()) for a, b in stretches]
        added = [f for f in worst if far[f] > allowance]
        if not added:
            return keys
        keys = np.union1d(keys, added)
    return None


def _saving(n_keys: int, n_before: int, size: int) -> int:
    """Bytes that fewer keys save; all channels that stand still share one key time."""
    times = TIMES_COST + 4 * n_keys if n_keys > 1 else 0
    return (n_before - n_keys) * size - times


def _worth(n_before: int, size: int) -> int:
    """The largest number of keys that still saves bytes."""
    return (n_before * size - TIMES_COST - 1) // (size + 4)


def _reduce_weights(
    model: SkinnedModel, corrections: Corrections, clip: tuple[slice, Float64], allowance: float
) -> Keys | None:
    """Keys of the morph weights in a clip's frames and moments, or None for all of them."""
    frames, moments = clip
    coefficients = corrections.coefficients[frames].astype(np.float64)
    basis = corrections.basis.astype(np.float64).reshape(corrections.rank, -1)
    linear = model.track.transforms[frames, :, :, :3].astype(np.float64)
    stretch = np.linalg.norm(linear, ord=2, axis=(-2, -1))  # (f,b)
    step = max(1, BLOCK_VALUES // basis.shape[1])

    def distances(keys: Keys) -> Float64:
        off = _between("weights", moments, coefficients, keys) - coefficients
        out = np.zeros(len(off))
        for start in range(0, len(off), step):
            now = slice(start, start + step)
            lengths = np.linalg.norm((off[now] @ basis).reshape(len(off[now]), -1, 3), axis=-1)
            factor = np.einsum("fvk,vk->fv", stretch[now][:, model.skin.bones], model.skin.weights)
            out[now] = (lengths * factor).max(axis=1)
        return out

    still = np.zeros(1, np.int64)
    if distances(still).max() <= allowance:
        return still
    n_keys = int((moments % 1 == 0).sum())
    return _fewest_keys(len(coefficients), distances, allowance, _worth(n_keys, 4 * corrections.rank))
