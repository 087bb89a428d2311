"""The precision of numbers in a smaller file: no vertex moves farther than allowed in any frame.

For `--compress`, every kind of number has a share of the allowance, more for what there is most of, and gets as few
bits as keep all vertices within it. That is tried, by posing the model with only these numbers rounded: half a step
moves vertices half as far, so a few trials suffice. Displacements of vertices add up at most, and mostly to less, so
shares are first taken larger than they are; in the end all is rounded together, in all frames, and the shares shrink
until no vertex is too far off.

Notes. Horse, 30 scaled bones, rank 5: weights need 13 bits, 8 bits (gltfpack's) move vertices by 0.3 % of the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import FloatArray
from osteon.core.character import Corrections
from osteon.core.model import SkinnedModel
from osteon.io.engines import engine_of
from osteon.io.formats.engine_facts import packs_rotations
from osteon.io.formats.options import SaveOptions
from osteon.io.gltf.meshopt.filters import MOST_STEPS, Packing, rounded
from osteon.io.gltf.quantize import Dequantize, tight_range
from osteon.io.gltf.write.keys_between import KeyedModel
from osteon.io.gltf.write.mesh import MeshLayout
from osteon.io.gltf.write.rounding import EXACT, FINE_ROTATIONS, Precision, Trial, short_rotation_joints
from osteon.io.two_nodes import BoolArray

TrackKind = Literal["translations", "scales", "morphs"]

#: Fraction of the diagonal by which a vertex may move in all: of the rest pose, or of the posed body if smaller.
COMPRESS_ERROR = 2.5e-4
#: Shares of the allowance.
SHARES = {"step": 0.45, "weights": 0.25, "rotations": 0.12, "translations": 0.08, "scales": 0.07, "morphs": 0.03}
#: Factor of the shares at first, the factor by which they shrink, and the factor at which the search ends.
MOST_GENEROUS, NEXT_GENEROUS, LEAST_GENEROUS = 2.2, 0.9, 0.1
#: The part of the allowance that may be used; the rest is for the rounding of float32.
ALMOST = 0.99
#: Bits that are tried: first and last.
WEIGHT_BITS, ROTATION_BITS = (7, 16), (6, 16)
#: Fractional bits of morph weights that move normals only: rounding rotates a normal by about 0.1 degrees at most.
NORMAL_WEIGHT_BITS = 9
#: Frames, evenly spaced, for trials of shares. In the end all frames are checked; the worst one is added to these.
FRAMES = 16
#: The largest number of floats in an element of a stream.
MOST_TOGETHER = 64


def choose_precision(keyed: KeyedModel, *, short_rotations: bool = True) -> Precision:
    """The coarsest numbers found that keep all vertices of the model within `COMPRESS_ERROR` in all frames.

    Without `short_rotations` all rotations are floats.
    """
    exact = replace(keyed, model=_tight(keyed.model))
    every = np.arange(exact.model.n_frames)
    some = np.unique(np.linspace(0, every[-1], FRAMES).round().astype(np.int64))
    allowed = COMPRESS_ERROR * Trial(exact, some).diagonal()
    times, found, chosen = MOST_GENEROUS, EXACT, EXACT
    short_of = cache(partial(_short_joints, keyed))  # shares shrink more often than rotations get more bits
    while times > LEAST_GENEROUS:
        found = _with_shares(Trial(exact, some), {name: times * part * allowed for name, part in SHARES.items()}, found)
        chosen = replace(found, short=short_of(found.rotations if short_rotations else None))
        moved, frame = Trial(exact, every).worst(chosen)
        if moved <= ALMOST * allowed:
            break
        times *= NEXT_GENEROUS if frame in some else 1.0
        some = np.union1d(some, frame)
    return chosen


def _short_joints(keyed: KeyedModel, packing: Packing | None) -> BoolArray:
    """(b,) joints whose rotations may be rounded to integers without differences between players."""
    if packing is None or packing.filter != "QUATERNION":
        return np.zeros(keyed.model.n_bones, bool)

    def quantize(rotations: FloatArray) -> NDArray[np.int16]:
        return np.asarray(rounded(rotations.reshape(-1, 4), packing), np.int16).reshape(rotations.shape)

    return short_rotation_joints(keyed, quantize)


def _with_shares(trial: Trial, parts: dict[str, float], last: Precision) -> Precision:
    """The coarsest numbers that are at least as fine as the last ones and keep each kind within its share."""
    return Precision(
        _vertex_step(trial, parts["step"], last.step),
        _weight_bits(trial, parts["weights"], last.weights),
        _rotations(trial, parts["rotations"], last.rotations),
        _exponential(trial, "translations", parts["translations"], last.translations),
        _exponential(trial, "scales", parts["scales"], last.scales),
        _exponential(trial, "morphs", parts["morphs"], last.morphs),
    )


def _tight(model: SkinnedModel) -> SkinnedModel:
    """The model with coefficients in 0 … 1, as `morph_range` stores them; all frames have the same positions."""
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
    """The step of positions and morph targets, not finer than 16 bits allow."""
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
    """The fewest sufficient bits for a kind of track; None without such tracks, or if the steps do not fit."""
    corrections, tracks, together = trial.exact.model.corrections, trial.exact.nodes.tracks, 1
    if name == "morphs":
        if corrections is None:
            return None
        largest, together = 1.0, corrections.n_columns if corrections.n_columns <= MOST_TOGETHER else 1
    else:
        largest = float(np.abs(getattr(tracks, name)).max(initial=1.0))
    bits = 0 if last is None else last.bits
    if name == "morphs" and trial.exact.model.normal_rank:
        bits = max(bits, NORMAL_WEIGHT_BITS)  # positions of vertices do not depend on these
    while largest * 2.0**bits < MOST_STEPS:
        packing = Packing("EXPONENTIAL", bits, together)
        only = {
            "translations": Precision(translations=packing),
            "scales": Precision(scales=packing),
            "morphs": Precision(morphs=packing),
        }[name]
        if (moved := trial.moved(only)) <= allowed:
            return packing
        bits += _more_bits(moved, allowed)
    return None


def _more_bits(moved: float, allowed: float) -> int:
    """A lower bound for the number of further bits; half a step moves vertices about half as far."""
    return max(1, int(np.log2(moved / allowed))) if np.isfinite(moved) and allowed > 0 else 4


@dataclass(frozen=True, slots=True)
class CompactForm:
    """The order of triangles and the precision of numbers with --quantize, --short-rotations and --compress."""

    short: BoolArray  # (b,) joints whose rotations are stored in 16 bits
    precision: Precision | None = None  # of a compressed file
    step: float | None = None  # of positions and targets; None for all of 16 bits, or float32
    weight_bits: int | None = None  # likewise

    def order(self, layout: MeshLayout) -> MeshLayout:
        """The layout in the order in which it is written."""
        return layout if self.precision is None else _reordered_layout(layout)


def compact_form(keyed: KeyedModel, options: SaveOptions) -> CompactForm:
    """The form that `options` select; positions and weights have 16 bits with --quantize, also with --compress."""
    none = np.zeros(keyed.model.n_bones, bool)
    if not options.compress:
        return CompactForm(short_rotation_joints(keyed) if options.short_rotations else none)
    precision = choose_precision(keyed, short_rotations=packs_rotations(engine_of(options.engine)))
    short = none if precision.short is None else precision.short
    if options.quantize:
        return CompactForm(short, precision)
    return CompactForm(short, precision, precision.step, precision.weights)


def _reordered_layout(layout: MeshLayout) -> MeshLayout:
    """The layout with the triangles of each group in runs, and vertices in the order of their first use."""
    from osteon.io.gltf.write.mesh_order import order_triangles, order_vertices  # compiled

    n_vertices = len(layout.vertices)
    runs = [g.start + order_triangles(layout.corners[g.start : g.stop], n_vertices) for g in layout.groups]
    triangles = np.concatenate(runs)
    vertices = order_vertices(layout.corners[triangles], n_vertices)
    place = np.empty(n_vertices, np.int32)
    place[vertices] = np.arange(n_vertices)
    return replace(
        layout,
        vertices=layout.vertices[vertices],
        normals=layout.normals[vertices],
        triangles=layout.triangles[triangles],
        corners=place[layout.corners[triangles]],
        uvs=tuple(uvs[vertices] for uvs in layout.uvs),
        shifted=True,
    )
