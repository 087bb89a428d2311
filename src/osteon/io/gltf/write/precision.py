"""How fine the numbers of a compressed file must be: no vertex moves farther than allowed in any frame.

Every kind of number has a share of the allowance, more for what there is most of, and gets as few bits as keep all
vertices within it. That is tried, by posing the model with only these numbers rounded: half a step moves vertices half
as far, so a few trials do. What vertices move by adds up at most, and mostly to less, so shares are first taken larger
than they are; in the end all is rounded together, in all frames, and the shares shrink until no vertex is too far off.

Notes. Horse, 30 scaled bones, rank 5: weights need 13 bits, 8 bits (gltfpack's) move vertices by 0.3 % of the diagonal.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import FloatArray
from osteon.core.corrections import Corrections
from osteon.core.model import SkinnedModel
from osteon.core.two_nodes import BoolArray
from osteon.io.gltf.meshopt.encode_filters import MOST_STEPS, Packing, rounded
from osteon.io.gltf.morph_range import tight_range
from osteon.io.gltf.quantize import Dequantize
from osteon.io.gltf.write.keys_between import KeyedModel
from osteon.io.gltf.write.rounding import EXACT, FINE_ROTATIONS, Precision, Trial
from osteon.io.gltf.write.short_rotations import short_turns

__all__ = ["COMPRESS_ERROR", "choose_precision"]

TrackKind = Literal["translations", "scales", "morphs"]

#: Part of the diagonal by which a vertex may move, in all: of the rest pose, or of what plays if that is smaller.
COMPRESS_ERROR = 2.5e-4
#: Shares of that.
SHARES = {"step": 0.45, "weights": 0.25, "rotations": 0.12, "translations": 0.08, "scales": 0.07, "morphs": 0.03}
#: How many times their size shares are taken at first, how they shrink, and when that has no more sense.
MOST_GENEROUS, NEXT_GENEROUS, LEAST_GENEROUS = 2.2, 0.9, 0.1
#: What of the allowance may be used: float32 takes the rest.
ALMOST = 0.99
#: Bits that are tried: first and last.
WEIGHT_BITS, ROTATION_BITS = (7, 16), (6, 16)
#: Bits after the point of morph weights that move normals only: what is rounded off a weight turns a normal by about a
#: tenth of a degree at most.
NORMAL_WEIGHT_BITS = 9
#: Frames, evenly spread, that shares are tried on. In the end all frames are looked at; the worst one joins these.
FRAMES = 16
#: A stream has elements of at most so many real numbers.
MOST_TOGETHER = 64


def choose_precision(keyed: KeyedModel, *, short_rotations: bool = True) -> Precision:
    """Coarse numbers that keep all vertices of the model within `COMPRESS_ERROR` in all frames.

    Without `short_rotations` all rotations are real numbers.
    """
    exact = replace(keyed, model=_tight(keyed.model))
    every = np.arange(exact.model.n_frames)
    some = np.unique(np.linspace(0, every[-1], FRAMES).round().astype(np.int64))
    allowed = COMPRESS_ERROR * Trial(exact, some).diagonal()
    times, found, chosen = MOST_GENEROUS, EXACT, EXACT
    short_of = cache(partial(_short, keyed))  # shares shrink more often than rotations get more bits
    while times > LEAST_GENEROUS:
        found = _with_shares(Trial(exact, some), {name: times * part * allowed for name, part in SHARES.items()}, found)
        chosen = replace(found, short=short_of(found.rotations if short_rotations else None))
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
    if corrections is None or not model.n_columns:
        return model.with_corrections(None)
    morph_range = tight_range(corrections)
    basis = corrections.basis.astype(np.float64)
    rest = model.rest + np.tensordot(morph_range.low, basis, axes=1)
    weights = morph_range.weights(corrections.coefficients)
    scaled = Corrections((basis * morph_range.span[:, None, None]).astype(np.float32), weights.astype(np.float32))
    return model.with_corrections(None).with_mesh(rest=rest.astype(np.float32)).with_corrections(scaled)


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
        largest, together = 1.0, corrections.n_columns if corrections.n_columns <= MOST_TOGETHER else 1
    else:
        largest = float(np.abs(getattr(tracks, name)).max(initial=1.0))
    bits = 0 if last is None else last.bits
    if name == "morphs" and trial.exact.model.normal_rank:
        bits = max(bits, NORMAL_WEIGHT_BITS)  # what vertices do tells nothing of these
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
