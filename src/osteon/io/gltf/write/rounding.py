"""The error that rounding causes: how far vertices move, and how far players differ.

In a compressed file all numbers are rounded. A `Trial` rounds a model exactly as it is read again from the file.

Rotations of 16 bits leave a quaternion q a little off length one. Programs that normalise it and programs that do not
then show matrices that differ by (1 - |q|^2) (I - R). `quantize_rotations` keeps that small but cannot where q is along
an axis, as in a motion that rotates one way only. So the difference is computed for every vertex and frame, and the
bones that exceed the limit keep float32. A joint with children keeps it too: its rounding would be inherited.

Notes. Horse, 30 flexible bones: 3.8e-6 of the diagonal at most, no bone exceeds the limit. A bar of one bone that
rotates about an axis: 1.7e-5, it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float32, Float64, FloatArray
from osteon.core.character import Corrections, Skin
from osteon.core.kinematics import parents_first, world_from_local
from osteon.core.model import SkinnedModel
from osteon.core.transforms import compose, matrices_from_quaternions
from osteon.deform.linear_blend import LinearBlend
from osteon.io.gltf.channels import ChannelPath
from osteon.io.gltf.meshopt.filters import Packing, rounded
from osteon.io.gltf.quantize import Dequantize, quantize_rotations, quantize_signed
from osteon.io.gltf.write.joints import JointNodes, Joints
from osteon.io.gltf.write.keys_between import KeyedModel
from osteon.io.gltf.write.mesh import round_weights
from osteon.io.load.source import as_float32
from osteon.io.two_nodes import BoolArray, NodeTracks, join_transforms

#: Rotations for which 16 bits are too few, or make players differ: floats with a step of about a millionth.
FINE_ROTATIONS = Packing("EXPONENTIAL", 20)
#: Vertices times frames that are posed at once.
BLOCK_VERTICES = 2_000_000


@dataclass(frozen=True, slots=True)
class Precision:
    """The rounding of each kind of number; None: not rounded."""

    step: float | None = None  # of positions and morph targets, in the model's units
    weights: int | None = None  # bits
    rotations: Packing | None = None
    translations: Packing | None = None
    scales: Packing | None = None
    morphs: Packing | None = None
    short: BoolArray | None = None  # (b,) joints with these rotations; others have fine ones. None: all

    def of(self, path: ChannelPath, bone: int) -> Packing | None:
        """The rounding of a track of a joint."""
        if path == "rotation":
            return self.rotations if self.short is None or self.short[bone] else FINE_ROTATIONS
        return self.translations if path == "translation" else self.scales


EXACT = Precision()


@dataclass(frozen=True, slots=True)
class Trial:
    """A comparison of some frames of a model with and without rounding."""

    exact: KeyedModel  # with coefficients in 0 … 1
    frames: NDArray[np.int64]
    posed: list[Float32] = field(default_factory=list)  # (f,v,3) without rounding, if one block holds all frames

    def diagonal(self) -> float:
        """The diagonal of the rest pose, or of the largest posed frame if bones shrink it."""
        from osteon.deform.pose import pose_frames

        rest = float(np.linalg.norm(np.ptp(self.exact.model.rest.astype(np.float64), axis=0)))
        frames = [pose_frames(self.exact.model, int(f), int(f) + 1)[0].astype(np.float64) for f in self.frames]
        played = max(float(np.linalg.norm(np.ptp(frame, axis=0))) for frame in frames)
        return min(rest, played) if played > 0 else rest

    def moved(self, precision: Precision) -> float:
        """The largest displacement of a vertex by rounding."""
        return self.worst(precision)[0]

    def worst(self, precision: Precision) -> tuple[float, int]:
        """The largest displacement of a vertex by rounding, and its frame."""
        from osteon.deform.pose import pose_frames  # compiled: not needed to import the formats

        worst, size = (0.0, 0), max(1, BLOCK_VERTICES // self.exact.model.n_vertices)
        for start in range(0, len(self.frames), size):
            now = self.frames[start : start + size]
            with np.errstate(over="ignore", invalid="ignore"):  # an overflow is refused when it is written
                off = pose_frames(_rounded_model(self.exact, precision, now)) - self._posed(now)
                far = np.sqrt(np.einsum("fvi,fvi->fv", off, off).max(axis=1))
            worst = max(worst, (float(far.max()), int(now[far.argmax()])))
        return worst

    def _posed(self, frames: NDArray[np.int64]) -> Float32:
        """(f,v,3) some of the frames without rounding."""
        from osteon.deform.pose import pose_frames

        if len(frames) < len(self.frames):
            return pose_frames(_rounded_model(self.exact, EXACT, frames))
        if not self.posed:
            self.posed.append(pose_frames(_rounded_model(self.exact, EXACT, frames)))
        return self.posed[0]


def _rounded_model(exact: KeyedModel, precision: Precision, frames: NDArray[np.int64]) -> SkinnedModel:
    """Some frames of the model as it is read again after rounding."""
    model, step = exact.model, precision.step
    corrections, rest, weights = model.corrections, model.rest, model.skin.weights
    basis = np.zeros((0, 3), np.float32) if corrections is None else corrections.basis
    if step is not None:
        grid = Dequantize.of(rest.astype(np.float64), float(np.abs(basis).max(initial=0.0)), step)
        rest = as_float32(grid.quantize(rest.astype(np.float64)) * (grid.scale / 32767) + grid.centre)
        basis = as_float32(quantize_signed(basis.astype(np.float64) / grid.scale, np.int16) * (grid.scale / 32767))
    if corrections is not None:
        coefficients = _rounded(corrections.coefficients[frames].astype(np.float64), precision.morphs)
        corrections = Corrections(basis, coefficients.astype(np.float32))
    if precision.weights is not None:
        weights = round_weights(weights, precision.weights)
    track = BoneTrack(_transforms(exact, precision, frames).astype(np.float32), "flexible", model.track.names)
    skin = Skin(model.skin.bones, weights)
    return (
        model.with_corrections(None)
        .with_mesh(rest=rest)
        .with_character(deformer=LinearBlend(skin))
        .with_animation(track=track, clips=())
        .with_corrections(corrections)
    )


def _transforms(exact: KeyedModel, precision: Precision, frames: NDArray[np.int64]) -> Float64:
    """(f,b,3,4) posed_from_rest of all bones."""
    joints, tracks = exact.joints, exact.nodes.tracks
    rotations, child_rotations = (
        _round_moving(exact, track, frames, partial(_round_rotations, precision))
        for track in (tracks.rotations, tracks.child_rotations)
    )
    translations = _round_moving(exact, tracks.translations, frames, partial(_rounded, packing=precision.translations))
    scales = _round_moving(exact, tracks.scales, frames, partial(_rounded, packing=precision.scales))
    local = join_transforms(NodeTracks(translations, rotations, scales, child_rotations, tracks.needs_child))
    world = world_from_local([*np.swapaxes(local, 0, 1)], joints.parents, parents_first(joints.parents))
    return compose(np.stack(world, axis=1), joints.joint_from_rest)


def _round_rotations(precision: Precision, rotations: Float64) -> Float64:
    """Unit quaternions (f,b,4) as players have them."""
    short = _unit(_rounded(rotations, precision.rotations))
    if precision.short is None:
        return short
    return np.where(precision.short[:, None], short, _unit(_rounded(rotations, FINE_ROTATIONS)))


def _round_moving(
    exact: KeyedModel, track: Float64, frames: NDArray[np.int64], round_track: Callable[[Float64], Float64]
) -> Float64:
    """Tracks (f,b,n) in some frames, rounded except for joints at the rest pose throughout a clip."""
    same = (track[:-1].astype(np.float32) == track[-1].astype(np.float32)).all(axis=-1)
    for clip in exact.model.clips:
        same[clip.start : clip.stop] = same[clip.start : clip.stop].all(axis=0)
    return np.where(same[frames][..., None], track[frames], round_track(track[frames]))


def _rounded(values: Float64, packing: Packing | None) -> Float64:
    """Values (…,n) as players decode them."""
    if packing is None:
        return values
    return rounded(values.reshape(-1, values.shape[-1]), packing).reshape(values.shape).astype(np.float64)


def _unit(rotations: Float64) -> Float64:
    return np.asarray(rotations / np.linalg.norm(rotations, axis=-1, keepdims=True))


#: A function from quaternions (…,4) to normalised integers.
QuantizeRotations = Callable[[FloatArray], NDArray[np.int16]]

#: Fraction of the diagonal by which programs may differ for this reason: half of what they may in all.
PLAYERS_APART = 5e-6


def short_rotation_joints(keyed: KeyedModel, quantize: QuantizeRotations = quantize_rotations) -> BoolArray:
    """(b,) joints whose rotations may be rounded to 16 bits, by `quantize`."""
    model, joints, nodes = keyed.model, keyed.joints, keyed.nodes
    short = ~np.isin(np.arange(model.n_bones), joints.parents)
    limit = PLAYERS_APART * float(np.linalg.norm(np.ptp(model.rest.astype(np.float64), axis=0)))
    differences = _player_differences(joints, nodes, quantize)
    for _ in range(model.n_bones):
        track = BoneTrack(np.where(short[:, None, None], differences, 0).astype(np.float32))
        exceeding = short & _exceeding_bones(model.with_animation(track=track), limit)
        if not exceeding.any():
            break
        short &= ~exceeding
    return short


@np.errstate(over="ignore", invalid="ignore")  # an overflow is refused when it is written
def _player_differences(joints: Joints, nodes: JointNodes, quantize: QuantizeRotations) -> Float64:
    """(f,b,3,4) difference between transforms without and with normalisation of quaternions."""
    tracks = nodes.tracks
    stored = [quantize(rotations[:-1]) / 32767 for rotations in (tracks.rotations, tracks.child_rotations)]
    scales = tracks.scales[:-1, :, None, :]
    as_stored = (matrices_from_quaternions(stored[0]) * scales) @ matrices_from_quaternions(stored[1])
    unit = [_unit(q) for q in stored]
    off = as_stored - (matrices_from_quaternions(unit[0]) * scales) @ matrices_from_quaternions(unit[1])
    for b, parent in enumerate(joints.parents):
        if parent >= 0:
            off[:, b] = joints.world[:-1, parent, :, :3] @ off[:, b]
    return np.asarray(np.nan_to_num(off @ joints.joint_from_rest))


def _exceeding_bones(differences: SkinnedModel, limit: float) -> BoolArray:
    """(b,) the bones with the largest share of a difference beyond the limit; the track has the differences."""
    from osteon.deform.pose import pose_frames  # compiled: not needed to import the formats

    exceeding = np.zeros(differences.n_bones, bool)
    skin = differences.skin
    points = np.concatenate([differences.rest, np.ones((differences.n_vertices, 1), np.float32)], axis=1)
    size = max(1, BLOCK_VERTICES // differences.n_vertices)
    for start in range(0, differences.n_frames, size):
        posed: FloatArray = pose_frames(differences, start, min(start + size, differences.n_frames))
        frame, vertex = np.nonzero(np.linalg.norm(posed, axis=2) > limit)
        bones = skin.bones[vertex]
        moves = differences.track.transforms[start + frame[:, None], bones]
        share = np.linalg.norm(np.einsum("nkij,nj->nki", moves, points[vertex]), axis=2) * skin.weights[vertex]
        exceeding[np.take_along_axis(bones, share.argmax(axis=1)[:, None], axis=1)] = True
    return exceeding
