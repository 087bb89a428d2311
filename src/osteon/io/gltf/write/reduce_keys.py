"""Key reduction with a guaranteed bound: in no frame does a vertex move farther than allowed.

Between two keys a channel is linear, so a key can be dropped where it is near the line through its neighbours. The
bound is on the vertices, not on the channel. L_i takes a point y from the space of joint i to that of its parent; with
reduced keys it is M_i. For a point that follows the chain of joints 0 … j

    M_0 … M_j y - L_0 … L_j y = sum over i of  M_0 … M_{i-1} (M_i - L_i) y_i,    y_i = L_{i+1} … L_j y

so the distances |M_0 … M_{i-1} (M_i - L_i) y_i| of all joints of the chain add up. Each joint may use an equal part of
the allowance. The distance is convex in y_i, hence largest at a corner of the box around all points that the joint
carries in any frame, corrections included. A vertex with several joints is between the positions where each would put
it, and no farther off. Corrections have their own part: |sum_k w_k T_k U dq| <= (sum_k w_k |T_k|) |U dq|.

Between keys glTF interpolates rotations along the arc (slerp). Blender interpolates quaternions linearly and normalises
(nlerp), which results in other angles between two keys. The reduced keys must satisfy the bound with both, and the
two must not differ by more: rotations keep a key about every ten degrees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.character import Corrections
from osteon.core.kinematics import depths_of, parents_first
from osteon.core.model import SkinnedModel
from osteon.core.transforms import apply
from osteon.io.gltf.channels import Channel, ChannelPath
from osteon.io.gltf.write.joints import Joints
from osteon.io.gltf.write.keys_between import KeyedModel
from osteon.io.two_nodes import NodeTracks, join_transforms

Keys = NDArray[np.int64]

#: Bytes of JSON for separate key times of a channel; key reduction must save more than that.
TIMES_COST = 110

_FIELDS = ("translations", "rotations", "scales", "child_rotations")


@dataclass(frozen=True, slots=True)
class JointChannel:
    """One of the four channels of a joint."""

    name: str  # ends the label of the track
    field: str  # of NodeTracks
    path: ChannelPath
    bytes: int  # per key, at least


JOINT_CHANNELS = (
    JointChannel("child", "child_rotations", "rotation", 8),
    JointChannel("rotation", "rotations", "rotation", 8),
    JointChannel("scale", "scales", "scale", 12),
    JointChannel("translation", "translations", "translation", 12),
)


@dataclass(frozen=True, slots=True)
class JointPlace:
    """The data of a joint in one clip that do not depend on its keys."""

    moments: Float64  # (f,)
    exact: Float64  # (f,8,3) corners of its box with all keys
    parent: Float64  # (2,f,3,3) or (1,1,3,3) linear part of its reduced parent, with slerp and nlerp
    corners: Float64  # (8,3)
    strictness: float  # the allowance divided by that for the distance between slerp and nlerp


@dataclass(frozen=True, slots=True)
class MovingJoint:
    """One joint in one clip, with some of its channels reduced."""

    interpolated: tuple[NodeTracks, NodeTracks]  # (f,1,n) the reduced tracks, with slerp and with nlerp
    place: JointPlace
    n_keys: int  # of a channel before reduction
    kept: dict[str, Keys]  # of the channels reduced so far
    saved: int = 0  # bytes

    def reduced(self, parts: Sequence[JointChannel], keys: Keys) -> MovingJoint:
        """The joint with only these keys in some channels."""
        slerp, nlerp = (self._interpolate(i, parts, keys) for i in range(2))
        size, times = sum(p.bytes for p in parts), TIMES_COST + 4 * len(keys) if len(keys) > 1 else 0
        saved = self.saved + (self.n_keys - len(keys)) * size - times  # constant channels share one key time
        kept = self.kept | {p.name: keys for p in parts}
        return replace(self, interpolated=(slerp, nlerp), kept=kept, saved=saved)

    def _interpolate(self, i: int, parts: Sequence[JointChannel], keys: Keys) -> NodeTracks:
        tracks, paths = self.interpolated[i], {p.field: p.path for p in parts}
        between = _nlerp_between if i else between_keys
        fields = [
            between(paths[name], self.place.moments, track[:, 0], keys)[:, None] if name in paths else track
            for name in _FIELDS
            for track in [getattr(tracks, name)]
        ]
        return NodeTracks(fields[0], fields[1], fields[2], fields[3], tracks.needs_child)

    def distances(self) -> Float64:
        """(f,) largest error of a corner, or distance between slerp and nlerp, in units of its allowance."""
        place = self.place
        posed = np.stack([apply(join_transforms(tracks)[:, 0], place.corners) for tracks in self.interpolated])
        linear = np.swapaxes(place.parent, -1, -2)
        off = np.linalg.norm((posed - place.exact) @ linear, axis=-1).max(axis=(0, -1))
        apart = np.linalg.norm(np.diff(posed @ linear, axis=0)[0], axis=-1).max(axis=-1)
        return np.asarray(np.maximum(off, place.strictness * apart))

    def linear(self) -> Float64:
        """(2,f,3,3) linear part of the joint and all its ancestors."""
        local = np.stack([join_transforms(tracks)[:, 0, :, :3] for tracks in self.interpolated])
        return np.asarray(self.place.parent @ local)


def take_joint(tracks: NodeTracks, now: slice, bone: int) -> NodeTracks:
    """The tracks (f,1,n) of one joint in one clip."""
    fields = [getattr(tracks, name)[now, bone : bone + 1] for name in _FIELDS]
    return NodeTracks(fields[0], fields[1], fields[2], fields[3], tracks.needs_child[bone : bone + 1])


def between_keys(path: ChannelPath, moments: Float64, values: Float64, keys: Keys) -> Float64:
    """(f,n) values that a player interpolates from the keys."""
    return Channel(0, path, "LINEAR", moments[keys], values[keys]).at(moments)


def _nlerp_between(path: ChannelPath, moments: Float64, values: Float64, keys: Keys) -> Float64:
    """(f,n) values that Blender interpolates: linearly, with quaternions normalised afterwards."""
    found = between_keys("scale", moments, values, keys)
    if path != "rotation":
        return found
    length = np.linalg.norm(found, axis=-1, keepdims=True)
    return np.asarray(found / np.where(length > 0, length, 1))


#: For a clip's number and a track's label the frames that keep their key, relative to the clip's first.
KeptKeys = dict[tuple[int, str], Keys]

#: Fraction of the allowance for the corrections, if there are any.
CORRECTIONS_PART = 0.25
#: Displacements (frames times vertices) that are in memory at a time.
BLOCK_VALUES = 2_000_000
#: Fraction of the diagonal by which slerp and nlerp may differ: half of what players may.
PLAYERS_APART = 5e-6

#: Radians by which key reduction may rotate a normal, about half a degree.
LARGEST_ANGLE = 0.01

_CORNERS = np.array(list(product((0, 1), repeat=3)), bool)


def reduce_keys(keyed: KeyedModel, error: float) -> KeptKeys:
    """Keys to keep so that no vertex is off by more than the fraction `error` of the diagonal, in any frame."""
    model, joints, nodes = keyed.model, keyed.joints, keyed.nodes
    distance = error * float(np.linalg.norm(np.ptp(model.rest.astype(np.float64), axis=0)))
    share = CORRECTIONS_PART if model.n_columns else 0.0
    order, depth = parents_first(joints.parents), 1 + max(depths_of(joints.parents))
    each = distance * (1 - share) / depth
    strictness = error * (1 - share) / PLAYERS_APART
    low, high = _boxes(model, joints, order)
    corners = np.where(_CORNERS, high[:, None], low[:, None])
    kept: KeptKeys = {}
    for number, clip in enumerate(model.clips):
        now = slice(clip.start, clip.stop)
        moments = keyed.moments[now]
        world: dict[int, Float64] = {-1: np.eye(3)[None, None]}  # of reduced joints, linear part
        for b in order:
            tracks = take_joint(nodes.tracks, now, b)
            exact = apply(join_transforms(tracks)[:, 0], corners[b])
            place = JointPlace(moments, exact, world[joints.parents[b]], corners[b], strictness)
            joint = _reduce_joint(MovingJoint((tracks, tracks), place, int(keyed.has_key[now, b].sum()), {}), each)
            world[b] = joint.linear()
            kept |= {(number, f"{b} {name}"): keys for name, keys in joint.kept.items()}
        if model.corrections is not None and model.n_columns:
            keys = _reduce_weights(model, model.corrections, (now, moments), distance * share)
            kept |= {} if keys is None else {(number, "weights"): keys}
    return kept


def _boxes(model: SkinnedModel, joints: Joints, order: list[int]) -> tuple[Float64, Float64]:
    """(b,3) lowest and highest corner of all points that follow a joint, in its space, in any frame."""
    lowest = highest = model.rest.astype(np.float64)
    if model.corrections is not None and model.n_columns:
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
        parent = joints.parents[b]
        if parent >= 0 and np.isfinite(low[b]).all():
            moved = apply(joints.local[:, b], np.where(_CORNERS, high[b], low[b])).reshape(-1, 3)
            low[parent], high[parent] = np.minimum(low[parent], moved.min(0)), np.maximum(high[parent], moved.max(0))
    empty = ~np.isfinite(low)
    return np.where(empty, 0.0, low), np.where(empty, 0.0, high)


def _reduce_joint(joint: MovingJoint, allowance: float) -> MovingJoint:
    """Make channels constant where possible; reduce the others together or one by one, whichever saves more bytes."""
    parts = [part for part in JOINT_CHANNELS if part.name != "child" or joint.interpolated[0].needs_child[0]]
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


def _reduce_parts(joint: MovingJoint, parts: Sequence[JointChannel], allowance: float) -> MovingJoint:
    """The joint with one set of keys for some channels, or unchanged if that saves nothing."""
    size = sum(part.bytes for part in parts)
    worth = _worth(joint.n_keys, size)
    keys = _fewest_keys(len(joint.place.moments), lambda k: joint.reduced(parts, k).distances(), allowance, worth)
    return joint if keys is None else joint.reduced(parts, keys)


def _fewest_keys(n_frames: int, distances: Callable[[Keys], Float64], allowance: float, most: int) -> Keys | None:
    """Few keys that keep all distances (f,) within the allowance; None if that takes more than `most`.

    The worst frame of every interval between keys that exceeds the allowance becomes a new key.
    """
    keys = np.unique([0, n_frames - 1])
    while len(keys) <= most:
        far = distances(keys)
        intervals = [(int(a), int(b)) for a, b in pairwise(keys) if b > a + 1]
        worst = [a + 1 + int(far[a + 1 : b].argmax()) for a, b in intervals]
        added = [f for f in worst if far[f] > allowance]
        if not added:
            return keys
        keys = np.union1d(keys, added)
    return None


def _worth(n_before: int, size: int) -> int:
    """The largest number of keys that still saves bytes."""
    return (n_before * size - TIMES_COST - 1) // (size + 4)


def _reduce_weights(
    model: SkinnedModel, corrections: Corrections, clip: tuple[slice, Float64], allowance: float
) -> Keys | None:
    """Keys of the morph weights in a clip's frames and moments, or None for all of them."""
    frames, moments = clip
    coefficients = corrections.coefficients[frames].astype(np.float64)
    basis = corrections.basis.astype(np.float64).reshape(corrections.n_columns, -1)
    normals = np.zeros((corrections.n_columns, 3))
    if corrections.normal_basis is not None:
        normals = corrections.normal_basis.astype(np.float64).reshape(corrections.n_columns, -1)
    linear = model.track.transforms[frames, :, :, :3].astype(np.float64)
    stretch = np.linalg.norm(linear, ord=2, axis=(-2, -1))  # (f,b)
    step = max(1, BLOCK_VALUES // basis.shape[1])

    def distances(keys: Keys) -> Float64:
        off = between_keys("weights", moments, coefficients, keys) - coefficients
        out = np.zeros(len(off))
        for start in range(0, len(off), step):
            now = slice(start, start + step)
            lengths = np.linalg.norm((off[now] @ basis).reshape(len(off[now]), -1, 3), axis=-1)
            factor = np.einsum("fvk,vk->fv", stretch[now][:, model.skin.bones], model.skin.weights)
            out[now] = (lengths * factor).max(axis=1)
            angles = np.linalg.norm((off[now] @ normals).reshape(len(off[now]), -1, 3), axis=-1).max(axis=1)
            out[now] = np.maximum(out[now], angles * (allowance / LARGEST_ANGLE))
        return out

    still = np.zeros(1, np.int64)
    if distances(still).max() <= allowance:
        return still
    n_keys = int((moments % 1 == 0).sum())
    return _fewest_keys(len(coefficients), distances, allowance, _worth(n_keys, 4 * corrections.n_columns))
