"""Play characters at a level, frame by frame: only active bones are interpolated and composed.

In each frame, every active bone takes an interpolation of its keys, a matrix, a product with its parent's and one with
its bind matrix; every bone that follows takes one product. Leaders and offsets composed along the parents are computed
once, when the level is set.

    W_b = W_parent [R S | t],    U_b = W_b G_b^-1,    U_c = U_leader(c) O_c

Many instances of a character at the same level are prepared by one call, each at its own time.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 3.1, 4.1 and 4.1.2.

Notes. An active bone takes 57 ns, with sines 85; then bones that hardly move are cheaper than those that a level keeps.
A following bone takes 13 ns in double precision, 7 in single, 5 with its offset in registers for all characters.

**Keys** of a clip are local: relative to the parent of each bone in the new hierarchy.

    W_b = T_b G_b,    L_b = W_parent^-1 W_b  (W_b itself without a parent),    L_b = [R_b S_b | t_b]

W is posed_from_joint, G_b = [1 | pivot] rest_from_joint. The rotation R of the local matrix is a quaternion,
interpolated along the great arc; translation t and stretch S are interpolated linearly. Rigid bones have no S. Keys are
in the order of the bones, so n active bones need only the first n.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 3 (eq. 3) and 4.3: "transformed back to local
space based upon their new parentage".
Differs from the paper: S may be any matrix, so that a bone whose parent was scaled along other axes is exact too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from osteon.core.arrays import Float32, Float64, Int64, checked
from osteon.core.kernels import kernel, part
from osteon.core.model import SkinnedModel
from osteon.core.transforms import (
    compose,
    identity,
    invert,
    keep_hemisphere,
    nearest_rotation,
    quaternions_from_matrices,
)
from osteon.lod.bone_order import BoneOrder, Fade, blend_screws_by, fade_of_count

#: Stretches that differ from the identity by less than this in all frames are omitted. Rigid bones stored in float32
#: differ by 1e-7; keeping that reproduces the input to the last bit, for a sixth of the time.
SHAPE = 1e-12


@dataclass(frozen=True, slots=True)
class LocalKeys:
    """Keys of the ordered bones of a clip, frame by frame, and their parents."""

    rotations: Float64  # (f,n,4) x y z w, in the hemisphere of the previous frame
    translations: Float64  # (f,n,3)
    stretches: Float64  # (f,n,3,3) S, or (0,n,3,3) where all bones keep their shape
    parents: Int64  # (n,) position of the parent in the order, -1: none
    joint_from_rest: Float64  # (n,3,4) G^-1, the inverse bind matrix

    @property
    def n_frames(self) -> int:
        return len(self.rotations)


def local_keys(model: SkinnedModel, order: BoneOrder, start: int, stop: int) -> LocalKeys:
    """Keys of frames start … stop in a hierarchy."""
    exact = model.animation.transforms[start:stop, order.order].astype(np.float64)
    rank = order.ranks
    parent_bones = order.parents[order.order]
    parents = np.where(parent_bones >= 0, rank[parent_bones], -1)
    posed = exact.copy()
    places = rest_pivots(model)[order.order]
    posed[..., 3] += np.einsum("fnij,nj->fni", exact[..., :3], places)
    local = posed.copy()
    children = np.flatnonzero(parents >= 0)
    local[:, children] = compose(invert(posed[:, parents[children]]), posed[:, children])
    matrices = nearest_rotation(local[..., :3])
    stretches: Float64 = np.swapaxes(matrices, -1, -2) @ local[..., :3]
    if np.abs(stretches - np.eye(3)).max(initial=0.0) <= SHAPE:
        stretches = np.empty((0, *stretches.shape[1:]))
    rotations = quaternions_from_matrices(matrices)
    keep_hemisphere(rotations, (0,), upright=True)
    joint_from_rest = np.concatenate([np.tile(np.eye(3), (len(places), 1, 1)), -places[..., None]], axis=-1)
    return LocalKeys(rotations, np.ascontiguousarray(local[..., 3]), stretches, parents, joint_from_rest)


def rest_pivots(model: SkinnedModel) -> Float64:
    """(b,3) rest pivots of the bones: their joints, or else the weighted means of their vertices."""
    skeleton = model.skeleton
    if skeleton is not None and len(skeleton.names) == model.n_bones:
        return skeleton.world_from_joint[..., 3].astype(np.float64)
    owners, weights = model.skin.bones.ravel(), model.skin.weights.astype(np.float64)
    mass = np.bincount(owners, weights.ravel(), model.n_bones)
    sums = [np.bincount(owners, (weights * model.rest[:, i, None]).ravel(), model.n_bones) for i in range(3)]
    return np.asarray(np.stack(sums, axis=1) / np.maximum(mass, 1e-300)[:, None])


#: Arcs with a cosine closer to one than this (26 degrees of a quaternion) need no sines.
SHORT_ARC = -0.1
#: Characters whose matrices are prepared at a time.
BLOCK = 32


@part
def _interpolate_rotation(a: Float64, b: Float64, u: float, out: Float64) -> None:
    """out (3,3) = the rotation between quaternions a and b at u, along the shorter arc.

    sin(t angle) / sin(angle) is a series in cosine - 1 whose terms follow from one another (Eberly, A fast and accurate
    algorithm for computing SLERP, 2011); eight of them are exact to 1e-10 for short arcs.
    """
    cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    side = -1.0 if cosine < 0 else 1.0
    fall, t = abs(cosine) - 1.0, 1.0 - u
    first, second = t, u
    if fall > SHORT_ARC:
        p, q = t, u
        for i in range(1, 9):
            p *= (t * t / (i * (2 * i + 1)) - i / (2 * i + 1)) * fall
            q *= (u * u / (i * (2 * i + 1)) - i / (2 * i + 1)) * fall
            first, second = first + p, second + q
    else:
        angle = np.arccos(abs(cosine))
        first, second = np.sin(t * angle) / np.sin(angle), np.sin(u * angle) / np.sin(angle)
    second *= side
    x, y = first * a[0] + second * b[0], first * a[1] + second * b[1]
    z, w = first * a[2] + second * b[2], first * a[3] + second * b[3]
    s = 2.0 / (x * x + y * y + z * z + w * w)
    out[0, 0], out[0, 1], out[0, 2] = 1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)
    out[1, 0], out[1, 1], out[1, 2] = s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)
    out[2, 0], out[2, 1], out[2, 2] = s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)


@part
def _stretch(a: Float64, b: Float64, u: float, out: Float64) -> None:
    """out (3,3) = out S, with S between a (3,3) and b at u."""
    for i in range(3):
        x, y, z = out[i, 0], out[i, 1], out[i, 2]
        for j in range(3):
            out[i, j] = (
                x * ((1 - u) * a[0, j] + u * b[0, j])
                + y * ((1 - u) * a[1, j] + u * b[1, j])
                + z * ((1 - u) * a[2, j] + u * b[2, j])
            )


@part
def _chain(parent: Float64, own: Float64) -> None:
    """own (3,4) = parent own."""
    for j in range(4):
        x, y, z = own[0, j], own[1, j], own[2, j]
        for i in range(3):
            own[i, j] = parent[i, 0] * x + parent[i, 1] * y + parent[i, 2] * z
    for i in range(3):
        own[i, 3] += parent[i, 3]


@kernel("f8.3r f8.3r f8.4r i8.1r f8.3r i8.1r f8.1r i8 f8.3 f4.4")
def _prepare_active(
    rotations: Float64,
    translations: Float64,
    stretches: Float64,
    parents: Int64,
    binds: Float64,
    bones: Int64,
    frames: Float64,
    count: int,
    world: Float64,
    out: Float32,
) -> None:
    """out[m,b] = U of the first `count` bones of the order at frames (m,); world (n,3,4) is scratch."""
    last = rotations.shape[0] - 1
    for m in range(frames.shape[0]):
        f = min(max(int(frames[m]), 0), max(last - 1, 0))
        g = min(f + 1, last)
        u = min(max(frames[m] - f, 0.0), 1.0)
        for r in range(count):
            own, bind = world[r], binds[r]
            _interpolate_rotation(rotations[f, r], rotations[g, r], u, own)
            if stretches.shape[0] > 0:
                _stretch(stretches[f, r], stretches[g, r], u, own)
            for i in range(3):
                own[i, 3] = (1.0 - u) * translations[f, r, i] + u * translations[g, r, i]
            if parents[r] >= 0:
                _chain(world[parents[r]], own)
            posed = out[m, bones[r]]
            for i in range(3):
                for j in range(4):
                    shift = own[i, 3] if j == 3 else 0.0
                    posed[i, j] = own[i, 0] * bind[0, j] + own[i, 1] * bind[1, j] + own[i, 2] * bind[2, j] + shift


@kernel("i8.1r i8.1r f4.3r f4.1r f4.4")
def _prepare_followers(bones: Int64, leaders: Int64, offsets: Float32, parts: Float32, out: Float32) -> None:
    """out[m,b] = U_leader O, blended with the exact matrix by the fade of the bone."""
    for c in range(bones.shape[0]):
        b, leader, u = bones[c], leaders[c], parts[c]
        t, x, y, z = np.float32(1) - u, offsets[c, 0], offsets[c, 1], offsets[c, 2]
        x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
        y0, y1, y2, y3 = y[0], y[1], y[2], y[3]
        z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
        for m in range(out.shape[0]):
            for i in range(3):
                p, q, r, s = out[m, leader, i, 0], out[m, leader, i, 1], out[m, leader, i, 2], out[m, leader, i, 3]
                d0, d1 = p * x0 + q * y0 + r * z0, p * x1 + q * y1 + r * z1
                d2, d3 = p * x2 + q * y2 + r * z2, p * x3 + q * y3 + r * z3 + s
                if u > 0:
                    d0, d1 = t * d0 + u * out[m, b, i, 0], t * d1 + u * out[m, b, i, 1]
                    d2, d3 = t * d2 + u * out[m, b, i, 2], t * d3 + u * out[m, b, i, 3]
                out[m, b, i, 0], out[m, b, i, 1], out[m, b, i, 2], out[m, b, i, 3] = d0, d1, d2, d3


@kernel("f8.3r f8.3r f8.4r i8.1r f8.3r i8.1r f8.1r i8 f8.3 i8.1r i8.1r f4.3r f4.1r f4.4")
def _prepare(
    rotations: Float64,
    translations: Float64,
    stretches: Float64,
    parents: Int64,
    binds: Float64,
    order: Int64,
    frames: Float64,
    count: int,
    world: Float64,
    bones: Int64,
    leaders: Int64,
    offsets: Float32,
    parts: Float32,
    out: Float32,
) -> None:
    """Prepare active bones and followers, in blocks of characters that fit in the cache."""
    for start in range(0, frames.shape[0], BLOCK):
        stop = min(start + BLOCK, frames.shape[0])
        now, some = frames[start:stop], out[start:stop]
        _prepare_active(rotations, translations, stretches, parents, binds, order, now, count, world, some)
        _prepare_followers(bones, leaders, offsets, parts, some)


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """The bones that one level of a clip computes, and those that follow."""

    fade: Fade  # of the next bones of the order
    bones: Int64  # (c,) bones that follow: first those that fade, then all others with a leader
    leaders: Int64  # (c,) their leaders; n_bones is the world
    offsets: Float32  # (c,3,4)
    parts: Float32  # (c,) fade of each, 0 … 1
    still: Float32  # (b+1,3,4) bones that follow nothing, and last the world

    @property
    def n_computed(self) -> int:
        """Bones whose keys are interpolated."""
        return self.fade.high if self.fade.part > 0 else self.fade.low


def plan_level(order: BoneOrder, count: float) -> LevelPlan:
    """The plan of a level with `count` bones, 0 … n."""
    fade = fade_of_count(order, count)
    computed = fade.high if fade.part > 0 else fade.low
    fading = order.order[fade.low : computed]
    leaders, offsets = order.leaders(computed)
    followers = np.flatnonzero((leaders != np.arange(order.n_bones)) & (leaders >= 0))
    parents = order.parents[fading]
    return LevelPlan(
        fade,
        np.concatenate([fading, followers]).astype(np.int64),
        np.concatenate([np.where(parents < 0, order.n_bones, parents), leaders[followers]]).astype(np.int64),
        np.concatenate([order.offsets[fading], offsets[followers]]).astype(np.float32),
        np.concatenate([np.full(len(fading), fade.part), np.zeros(len(followers))]).astype(np.float32),
        np.concatenate([offsets, identity(1)]).astype(np.float32),
    )


class LevelPlayer:
    """Plays instances of one character at one level of a clip. The next call overwrites the returned arrays."""

    def __init__(self, keys: LocalKeys, order: BoneOrder, plan: LevelPlan, *, screws: bool = False) -> None:
        """With `screws`, fading bones stay rigid, as a dual quaternion skin requires."""
        self.plan = plan
        hierarchy = (keys.parents, keys.joint_from_rest, order.order.astype(np.int64))
        self._tracks = (keys.rotations, keys.translations, keys.stretches, *hierarchy)
        self._follow = (plan.bones, plan.leaders, plan.offsets, plan.parts)
        self._fading = int(np.count_nonzero(plan.parts)) if screws else 0
        self._scratch = np.empty((order.n_ordered, 3, 4))
        self._matrices = np.empty((0, order.n_bones + 1, 3, 4), np.float32)

    def prepare(self, frames: ArrayLike) -> Float32:
        """(m,b,3,4) posed_from_rest of all bones at frames (m,) of the clip, whole or between two."""
        times: Float64 = checked("frames", frames, (None,), np.float64)
        if len(self._matrices) < len(times):
            self._matrices = np.tile(self.plan.still, (len(times), 1, 1, 1))
        out, fading = self._matrices[: len(times)], self._fading
        active = (*self._tracks, times, self.plan.n_computed, self._scratch)
        if fading:
            _prepare_active(*active, out)
            self._fade_screws(out)
            bones, leaders, offsets, parts = self._follow
            _prepare_followers(bones[fading:], leaders[fading:], offsets[fading:], parts[fading:], out)
        else:
            _prepare(*active, *self._follow, out)
        return out[:, :-1]

    def _fade_screws(self, out: Float32) -> None:
        bones, leaders, offsets, _ = self._follow
        for c in range(self._fading):
            default = compose(out[:, leaders[c]], offsets[c])
            out[:, bones[c]] = blend_screws_by(default, out[:, bones[c]].astype(np.float64), self.plan.fade.part)
