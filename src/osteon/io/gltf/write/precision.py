"""How fine the numbers of a compressed file must be: no vertex moves farther than allowed in any frame.

Every kind of number has a share of the allowance, more for what there is most of, and gets as few bits as keep all
vertices within it. That is tried, by posing the model with only these numbers rounded: half a step moves vertices half
as far, so a few trials do. What vertices move by adds up at most, and mostly to less, so shares are first taken larger
than they are; in the end all is rounded together, and the shares shrink until no vertex is too far off.

Notes. Horse, 30 scaled bones, rank 5: weights need 14 bits, 8 bits (gltfpack's) move vertices by 0.3 % of the diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float64
from osteon.core.corrections import Corrections
from osteon.core.kinematics import parents_first, world_from_local
from osteon.core.model import SkinnedModel
from osteon.core.skin import Skin
from osteon.core.transforms import compose
from osteon.core.two_nodes import NodeTracks, join_transforms
from osteon.io.gltf.channels import ChannelPath
from osteon.io.gltf.meshopt.encode_filters import MOST_STEPS, Packing, rounded
from osteon.io.gltf.morph_range import tight_range
from osteon.io.gltf.write.influences import round_weights
from osteon.io.gltf.write.keys_between import KeyedModel

__all__ = ["COMPRESS_ERROR", "Precision", "choose_precision"]

#: Part of the diagonal by which a vertex may move, in all.
COMPRESS_ERROR = 2e-4
#: Shares of that.
SHARES = {"step": 0.45, "weights": 0.25, "rotations": 0.12, "translations": 0.08, "scales": 0.07, "morphs": 0.03}
#: How many times their size shares are taken, one after the other until they do.
GENEROUS = (2.2, 1.8, 1.5, 1.2, 0.98)
#: Bits that are tried.
WEIGHT_BITS, ROTATION_BITS, EXPONENTIAL_BITS = (7, 16), (6, 16), (0, 40)
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

    def of(self, path: ChannelPath, short: bool) -> Packing | None:
        """How a track of a joint is rounded; rotations that are not `short` finely."""
        if path == "rotation":
            return self.rotations if short else FINE_ROTATIONS
        return self.translations if path == "translation" else self.scales


def choose_precision(keyed: KeyedModel) -> Precision:
    """Coarse numbers that keep all vertices of the model within `COMPRESS_ERROR` in all frames."""
    exact = replace(keyed, model=_tight(keyed.model))
    allowed = COMPRESS_ERROR * float(np.linalg.norm(np.ptp(keyed.model.rest.astype(np.float64), axis=0)))
    found = Precision(rotations=FINE_ROTATIONS)
    for times in GENEROUS:
        parts = {name: times * share * allowed for name, share in SHARES.items()}
        found = Precision(
            _vertex_step(exact, parts["step"]),
            _weight_bits(exact, parts["weights"]),
            _rotations(exact, parts["rotations"]),
            _exponential(exact, "translations", parts["translations"]),
            _exponential(exact, "scales", parts["scales"]),
            _exponential(exact, "morphs", parts["morphs"]),
        )
        if _moved(exact, found) <= allowed:
            break
    return found


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


def _vertex_step(exact: KeyedModel, allowed: float) -> float:
    """Not finer than float32 is."""
    step = 2 * allowed
    least = float(np.finfo(np.float32).eps * np.abs(exact.model.rest).max(initial=0.0))
    while step > least and (moved := _moved(exact, Precision(step=step))) > allowed:
        step *= min(0.98 * allowed / moved, 0.9)
    return max(step, least)


def _weight_bits(exact: KeyedModel, allowed: float) -> int:
    bits, most = WEIGHT_BITS
    while bits < most and (moved := _moved(exact, Precision(weights=bits))) > allowed:
        bits += _more_bits(moved, allowed)
    return min(bits, most)


def _rotations(exact: KeyedModel, allowed: float) -> Packing:
    bits, most = ROTATION_BITS
    while bits <= most:
        packing = Packing("QUATERNION", bits)
        if (moved := _moved(exact, Precision(rotations=packing))) <= allowed:
            return packing
        bits += _more_bits(moved, allowed)
    return FINE_ROTATIONS


def _exponential(exact: KeyedModel, name: str, allowed: float) -> Packing | None:
    """The fewest bits that do for a kind of track; None if there is none of it, or a number of steps would not fit."""
    corrections, tracks = exact.model.corrections, exact.nodes.tracks
    if name == "morphs" and corrections is None:
        return None
    together = 1
    if name == "morphs" and corrections is not None:
        together, largest = corrections.rank if corrections.rank <= MOST_TOGETHER else 1, 1.0
    else:
        largest = float(np.abs(getattr(tracks, name)).max(initial=1.0))
    bits, most = EXPONENTIAL_BITS
    while bits <= most and largest * 2.0**bits < MOST_STEPS:
        packing = Packing("EXPONENTIAL", bits, together)
        if (moved := _moved(exact, Precision(**{name: packing}))) <= allowed:
            return packing
        bits += _more_bits(moved, allowed)
    return None


def _more_bits(moved: float, allowed: float) -> int:
    """How many more bits surely are needed; half a step moves vertices half as far, or little less."""
    return max(1, int(np.log2(moved / allowed))) if np.isfinite(moved) and allowed > 0 else 4


def _moved(exact: KeyedModel, precision: Precision) -> float:
    """The largest distance of a vertex from where it should be, in any frame."""
    from osteon.deform.pose import pose_frames  # compiled: not needed to import the formats

    model, coarse = exact.model, _coarse(exact, precision)
    worst = 0.0
    for start, stop in _blocks(model):
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond float32 is refused when it is written
            off = pose_frames(model, start, stop) - pose_frames(coarse, start, stop)
            worst = max(worst, float(np.sqrt(np.einsum("fvi,fvi->fv", off, off).max(initial=0.0))))
    return worst


def _blocks(model: SkinnedModel) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_VERTICES // model.n_vertices)
    return ((start, min(start + size, model.n_frames)) for start in range(0, model.n_frames, size))


def _coarse(exact: KeyedModel, precision: Precision) -> SkinnedModel:
    """The model as it is read again."""
    model, tracks, step = exact.model, exact.nodes.tracks, precision.step
    corrections, rest, weights = model.corrections, model.rest, model.skin.weights
    if step is not None:
        rest = (step * np.rint(rest.astype(np.float64) / step)).astype(np.float32)
    if corrections is not None:
        basis = corrections.basis if step is None else step * np.rint(corrections.basis.astype(np.float64) / step)
        coefficients = _rounded(corrections.coefficients.astype(np.float64), precision.morphs)
        corrections = Corrections(basis.astype(np.float32), coefficients.astype(np.float32))
    if precision.weights is not None:
        weights = round_weights(weights, precision.weights)
    turns = [_unit(_rounded(turns, precision.rotations)) for turns in (tracks.rotations, tracks.child_rotations)]
    shifts, scales = (
        _rounded(tracks.translations, precision.translations),
        _rounded(tracks.scales, precision.scales),
    )
    transforms = _transforms(exact, NodeTracks(shifts, turns[0], scales, turns[1], tracks.needs_child))
    track = BoneTrack(transforms.astype(np.float32), "flexible", model.track.names)
    return model.with_parts(rest=rest, skin=Skin(model.skin.bones, weights), track=track, corrections=corrections)


def _rounded(values: Float64, packing: Packing | None) -> Float64:
    """Values (…,n) as players have them."""
    if packing is None:
        return values
    return rounded(values.reshape(-1, values.shape[-1]), packing).reshape(values.shape).astype(np.float64)


def _unit(turns: Float64) -> Float64:
    return np.asarray(turns / np.linalg.norm(turns, axis=-1, keepdims=True))


def _transforms(exact: KeyedModel, tracks: NodeTracks) -> Float64:
    """(f,b,3,4) posed_from_rest of all bones."""
    joints, local = exact.joints, join_transforms(tracks)[:-1]
    world = world_from_local([*np.swapaxes(local, 0, 1)], joints.parents, parents_first(joints.parents))
    return compose(np.stack(world, axis=1), joints.joint_from_rest)
