"""How fine the numbers of a compressed file must be: no vertex moves farther than allowed in any frame.

Every kind of number has a share of the allowance, more for what there is most of, and gets as few bits as keep all
vertices within it. That is tried, by posing the model with only these numbers rounded: half a step moves vertices half
as far, so a few trials do. What vertices move by adds up at most, and mostly to less, so shares are first taken larger
than they are; in the end all is rounded together, in all frames, and the shares shrink until no vertex is too far off.

Notes. Horse, 30 scaled bones, rank 5: weights need 14 bits, 8 bits (gltfpack's) move vertices by 0.3 % of the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float64, FloatArray
from osteon.core.corrections import Corrections
from osteon.core.kinematics import parents_first, world_from_local
from osteon.core.model import SkinnedModel
from osteon.core.skin import Skin
from osteon.core.transforms import compose
from osteon.core.two_nodes import BoolArray, NodeTracks, join_transforms
from osteon.io.doors.source import as_float32
from osteon.io.gltf.channels import ChannelPath
from osteon.io.gltf.meshopt.encode_filters import MOST_STEPS, Packing, rounded
from osteon.io.gltf.morph_range import tight_range
from osteon.io.gltf.quantize import Dequantize, quantize_signed
from osteon.io.gltf.write.influences import round_weights
from osteon.io.gltf.write.keys_between import KeyedModel
from osteon.io.gltf.write.short_rotations import short_turns

__all__ = ["COMPRESS_ERROR", "Precision", "choose_precision"]

TrackKind = Literal["translations", "scales", "morphs"]

#: Part of the diagonal by which a vertex may move, in all: of the rest pose, or of what plays if that is smaller.
COMPRESS_ERROR = 2.5e-4
#: Shares of that.
SHARES = {"step": 0.45, "weights": 0.25, "rotations": 0.12, "translations": 0.08, "scales": 0.07, "morphs": 0.03}
#: How many times their size shares are taken at first, how they shrink, and when that has no more sense.
MOST_GENEROUS, NEXT_GENEROUS, LEAST_GENEROUS = 2.2, 0.85, 0.1
#: What of the allowance may be used: float32, of transforms and of the times of keys, takes the rest.
ALMOST = 0.95
#: Bits that are tried: first and last.
WEIGHT_BITS, ROTATION_BITS = (7, 16), (6, 16)
#: Frames, evenly spread, that shares are tried on. In the end all frames are looked at; the worst one joins these.
FRAMES = 16
#: Rotations that 16 bits or the differences between players forbid: real numbers with a step of a millionth.
FINE_ROTATIONS = Packing("EXPONENTIAL", 20)
#: A stream has elements of at most so many real numbers.
MOST_TOGETHER = 64
#: Vertices times frames that are posed at a time.
BLOCK_VERTICES = 2_000_000


@dataclass(frozen=True, slots=True)
class Precision:
    """How each kind of number is rounded; None is as it is."""

    step: float | None = None  # of positions and morph targets, in the model's units
    weights: int | None = None  # bits
    rotations: Packing | None = None
    translations: Packing | None = None
    scales: Packing | None = None
    morphs: Packing | None = None
    short: BoolArray | None = None  # (b,) joints whose rotations are so; those of others are fine. None: all

    def of(self, path: ChannelPath, bone: int) -> Packing | None:
        """How a track of a joint is rounded."""
        if path == "rotation":
            return self.rotations if self.short is None or self.short[bone] else FINE_ROTATIONS
        return self.translations if path == "translation" else self.scales


#: Nothing is rounded.
EXACT = Precision()


def choose_precision(keyed: KeyedModel) -> Precision:
    """Coarse numbers that keep all vertices of the model within `COMPRESS_ERROR` in all frames."""
    exact = replace(keyed, model=_tight(keyed.model))
    every = np.arange(exact.model.n_frames)
    some = np.unique(np.linspace(0, every[-1], FRAMES).round().astype(np.int64))
    allowed = COMPRESS_ERROR * Trial(exact, some).diagonal()
    times, found, chosen = MOST_GENEROUS, EXACT, EXACT
    while times > LEAST_GENEROUS:
        found = _with_shares(Trial(exact, some), {name: times * part * allowed for name, part in SHARES.items()}, found)
        chosen = replace(found, short=_short(keyed, found.rotations))
        moved, frame = Trial(exact, every).worst(chosen)
        if moved <= ALMOST * allowed:
            break
        times *= NEXT_GENEROUS if frame in some else 1.0
        some = np.union1d(some, frame)
    return chosen


def _short(keyed: KeyedModel, packing: Packing | None) -> BoolArray:
    """(b,) joints whose rotations may be rounded in a way that is none to all players."""
    if packing is None or packing.filter != "QUATERNION":
        return np.zeros(keyed.model.n_bones, bool)

    def round_turns(turns: FloatArray) -> NDArray[np.int16]:
        return np.asarray(rounded(turns.reshape(-1, 4), packing), np.int16).reshape(turns.shape)

    return short_turns(keyed, round_turns)


def _with_shares(trial: Trial, parts: dict[str, float], last: Precision) -> Precision:
    """The coarsest numbers that are as fine as the last ones and keep each kind within its part."""
    return Precision(
        _vertex_step(trial, parts["step"], last.step),
        _weight_bits(trial, parts["weights"], last.weights),
        _rotations(trial, parts["rotations"], last.rotations),
        _exponential(trial, "translations", parts["translations"], last.translations),
        _exponential(trial, "scales", parts["scales"], last.scales),
        _exponential(trial, "morphs", parts["morphs"], last.morphs),
    )


def _tight(model: SkinnedModel) -> SkinnedModel:
    """The same positions in all frames, with coefficients in 0 … 1, as `morph_range` stores them."""
    corrections = model.corrections
    if corrections is None or not model.rank:
        return model.with_parts(corrections=None)
    morph_range = tight_range(corrections)
    basis = corrections.basis.astype(np.float64)
    rest = model.rest + np.tensordot(morph_range.low, basis, axes=1)
    weights = morph_range.weights(corrections.coefficients)
    scaled = Corrections((basis * morph_range.span[:, None, None]).astype(np.float32), weights.astype(np.float32))
    return model.with_parts(rest=rest.astype(np.float32), corrections=scaled)


def _vertex_step(trial: Trial, allowed: float, last: float | None) -> float:
    """Not finer than 16 bits can be."""
    step = 2 * allowed if last is None else last
    corrections, rest = trial.exact.model.corrections, trial.exact.model.rest.astype(np.float64)
    least = Dequantize.of(rest, 0.0 if corrections is None else float(np.abs(corrections.basis).max())).scale / 32767
    while step > least and (moved := trial.moved(Precision(step=step))) > allowed:
        step *= min(0.98 * allowed / moved, 0.9)
    return max(step, least)


def _weight_bits(trial: Trial, allowed: float, last: int | None) -> int:
    bits = WEIGHT_BITS[0] if last is None else last
    while bits < WEIGHT_BITS[1] and (moved := trial.moved(Precision(weights=bits))) > allowed:
        bits += _more_bits(moved, allowed)
    return min(bits, WEIGHT_BITS[1])


def _rotations(trial: Trial, allowed: float, last: Packing | None) -> Packing:
    if last == FINE_ROTATIONS:
        return FINE_ROTATIONS
    bits = ROTATION_BITS[0] if last is None else last.bits
    while bits <= ROTATION_BITS[1]:
        packing = Packing("QUATERNION", bits)
        if (moved := trial.moved(Precision(rotations=packing))) <= allowed:
            return packing
        bits += _more_bits(moved, allowed)
    return FINE_ROTATIONS


def _exponential(trial: Trial, name: TrackKind, allowed: float, last: Packing | None) -> Packing | None:
    """The fewest bits that do for a kind of track; None if there is none of it, or a number of steps would not fit."""
    corrections, tracks, together = trial.exact.model.corrections, trial.exact.nodes.tracks, 1
    if name == "morphs":
        if corrections is None:
            return None
        largest, together = 1.0, corrections.rank if corrections.rank <= MOST_TOGETHER else 1
    else:
        largest = float(np.abs(getattr(tracks, name)).max(initial=1.0))
    bits = 0 if last is None else last.bits
    while largest * 2.0**bits < MOST_STEPS:
        packing = Packing("EXPONENTIAL", bits, together)
        if (moved := trial.moved(_only(name, packing))) <= allowed:
            return packing
        bits += _more_bits(moved, allowed)
    return None


def _only(name: TrackKind, packing: Packing) -> Precision:
    """Nothing but this kind of track is rounded."""
    if name == "morphs":
        return Precision(morphs=packing)
    return Precision(translations=packing) if name == "translations" else Precision(scales=packing)


def _more_bits(moved: float, allowed: float) -> int:
    """How many more bits surely are needed; half a step moves vertices half as far, or little less."""
    return max(1, int(np.log2(moved / allowed))) if np.isfinite(moved) and allowed > 0 else 4


@dataclass(frozen=True, slots=True)
class Trial:
    """What rounding does to some frames of a model."""

    exact: KeyedModel  # `_tight`
    frames: NDArray[np.int64]

    def diagonal(self) -> float:
        """Of the rest pose, or of what plays where bones shrink it."""
        from osteon.deform.pose import pose_frames

        rest = float(np.linalg.norm(np.ptp(self.exact.model.rest.astype(np.float64), axis=0)))
        frames = [pose_frames(self.exact.model, int(f), int(f) + 1)[0].astype(np.float64) for f in self.frames]
        played = max(float(np.linalg.norm(np.ptp(frame, axis=0))) for frame in frames)
        return min(rest, played) if played > 0 else rest

    def moved(self, precision: Precision) -> float:
        """The largest distance of a vertex from where it should be."""
        return self.worst(precision)[0]

    def worst(self, precision: Precision) -> tuple[float, int]:
        """That, and the frame it is in."""
        from osteon.deform.pose import pose_frames  # compiled: not needed to import the formats

        worst, size = (0.0, 0), max(1, BLOCK_VERTICES // self.exact.model.n_vertices)
        for start in range(0, len(self.frames), size):
            now = self.frames[start : start + size]
            with np.errstate(over="ignore", invalid="ignore"):  # what is beyond float32 is refused when it is written
                off = pose_frames(_coarse(self.exact, precision, now)) - pose_frames(_coarse(self.exact, EXACT, now))
                far = np.sqrt(np.einsum("fvi,fvi->fv", off, off).max(axis=1))
            worst = max(worst, (float(far.max()), int(now[far.argmax()])))
        return worst


def _coarse(exact: KeyedModel, precision: Precision, frames: NDArray[np.int64]) -> SkinnedModel:
    """Some frames of the model as it is read again."""
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
    return model.with_parts(rest=rest, skin=skin, track=track, corrections=corrections, clips=())


def _transforms(exact: KeyedModel, precision: Precision, frames: NDArray[np.int64]) -> Float64:
    """(f,b,3,4) posed_from_rest of all bones."""
    joints, tracks = exact.joints, exact.nodes.tracks
    turns = [_rounded(way[frames], precision.rotations) for way in (tracks.rotations, tracks.child_rotations)]
    if precision.short is not None:
        fine = [_rounded(way[frames], FINE_ROTATIONS) for way in (tracks.rotations, tracks.child_rotations)]
        turns = [np.where(precision.short[:, None], *both) for both in zip(map(_unit, turns), fine, strict=True)]
    shifts = _rounded(tracks.translations[frames], precision.translations)
    scales = _rounded(tracks.scales[frames], precision.scales)
    local = join_transforms(NodeTracks(shifts, _unit(turns[0]), scales, _unit(turns[1]), tracks.needs_child))
    world = world_from_local([*np.swapaxes(local, 0, 1)], joints.parents, parents_first(joints.parents))
    return compose(np.stack(world, axis=1), joints.joint_from_rest)


def _rounded(values: Float64, packing: Packing | None) -> Float64:
    """Values (…,n) as players have them."""
    if packing is None:
        return values
    return rounded(values.reshape(-1, values.shape[-1]), packing).reshape(values.shape).astype(np.float64)


def _unit(turns: Float64) -> Float64:
    return np.asarray(turns / np.linalg.norm(turns, axis=-1, keepdims=True))
