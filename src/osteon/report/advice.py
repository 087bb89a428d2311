"""Why a result is as it is: evidence measured on a fit, and rules that each derive at most one cause from it.

A rule names a cause and no option. The effect of other options is not estimated here but measured (curves.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.frames import each_frame
from osteon.core.mesh import scale_of_bones
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.topology import welded_shells
from osteon.pipeline.skin import SkinFit
from osteon.report.page_parts import brief, share

#: A frame is an outlier if it is this many times farther from its neighbours than the median of nearby frames ...
APART = 8.0
#: ... and at least this fraction of the diagonal: noise in a still pose is no jump.
VISIBLE = 1e-3
#: A frame is an outlier if the motion returns by this fraction of the step to it; a quick motion continues.
BACK = 0.75
#: The medians are of this many frames before and after, at least FEW of them.
NEARBY = 8
FEW = 3
#: More pieces than this are debris, which needs no bone per piece.
MANY_SHELLS = 200


@dataclass(frozen=True, slots=True)
class BoneShare:
    """The shares of the mesh and of the error that one bone has."""

    bone: int
    vertices: float  # fraction of all vertices, by weight
    error: float  # fraction of the squared error, by weight
    vertex: int  # the one with the largest error among those that the bone moves most


@dataclass(frozen=True, slots=True)
class Evidence:
    """The measurements from which advice is derived."""

    error_percent: float
    bones: int
    bone_type: str
    near_rigid_fraction: float
    per_frame: Float64  # (f,) RMS
    steps: Float64 = field(default_factory=lambda: np.zeros(0))  # (f,) RMS step of the source, NaN where a clip starts
    heldout_percent: float | None = None
    smallest_singular: float = 1.0  # 1st percentile over the blends
    degenerate: float = 0.0  # fraction of the triangles
    shares: tuple[BoneShare, ...] = ()  # the largest share of the error first
    lone_frames: tuple[int, ...] = ()  # far from both neighbours
    cuts: tuple[int, ...] = ()  # first frames after a permanent jump
    n_shells: int = 1
    shared: tuple[tuple[int, int], ...] = ()  # bone, and how many shells it moves most of


def gather_evidence(fit: SkinFit, sequence: MeshSequence) -> Evidence:
    """Measure a fit for advice."""
    report, model = fit.report, fit.model
    steps, apart = frame_steps(sequence)
    lone, cuts = lone_frames(steps, apart, sequence.diagonal)
    n_shells, shared = shared_bones(model)
    return Evidence(
        error_percent=report.error_percent,
        bones=report.bones,
        bone_type=report.bone_type,
        near_rigid_fraction=report.near_rigid_fraction,
        per_frame=fit.distortion.per_frame,
        steps=steps,
        heldout_percent=report.heldout_error_percent,
        smallest_singular=report.smallest_singular_value["percentile_1"] / scale_of_bones(model.track.transforms),
        degenerate=report.input["degenerate_triangles"] / max(1, report.input["triangles"]),
        shares=bone_shares(model, fit.distortion.per_vertex),
        lone_frames=lone,
        cuts=cuts,
        n_shells=n_shells,
        shared=shared,
    )


def bone_shares(model: SkinnedModel, per_vertex: Float64) -> tuple[BoneShare, ...]:
    """Every bone's share of the vertices and of the squared error, sorted by the error."""
    bones, weights = model.skin.bones, np.abs(model.skin.weights.astype(np.float64))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    squared = per_vertex**2 / max(float((per_vertex**2).sum()), 1e-300)
    error = np.bincount(bones.ravel(), (weights * squared[:, None]).ravel(), model.n_bones)
    mass = np.bincount(bones.ravel(), weights.ravel(), model.n_bones) / max(1, len(weights))
    strongest = np.take_along_axis(bones, weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    order = np.argsort(-error, kind="stable")
    worst = [int(np.where(strongest == b, per_vertex, -1.0).argmax()) for b in order]
    return tuple(BoneShare(int(b), float(mass[b]), float(error[b]), v) for b, v in zip(order, worst, strict=True))


def frame_steps(sequence: MeshSequence) -> tuple[Float64, Float64]:
    """(f,) RMS distance to the frame before, and to the mean of both neighbours; NaN where a clip begins or ends."""
    steps, apart = (np.full(sequence.n_frames, np.nan) for _ in range(2))
    starts = {clip.start for clip in sequence.clips}
    last: list[Float64] = []  # the one or two frames of this clip before f
    for f, frame in enumerate(each_frame(sequence.source)):
        here = frame.astype(np.float64)
        last = [] if f in starts else last[-2:]
        if last:
            steps[f] = np.sqrt(((here - last[-1]) ** 2).sum(axis=1).mean())
        if len(last) == 2:
            apart[f - 1] = np.sqrt((((last[0] + here) / 2 - last[1]) ** 2).sum(axis=1).mean())
        last.append(here)
    return steps, apart


def lone_frames(steps: Float64, apart: Float64, diagonal: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Frames far from both neighbours, and first frames after a permanent jump; see `frame_steps`."""
    lone: list[int] = []
    cuts: list[int] = []
    starts = np.flatnonzero(np.isnan(steps))
    for start, stop in pairwise([*starts.tolist(), len(steps)]):
        for f in range(start + 1, stop):
            usual, bend = _usual(steps, apart, f, start + 1, stop)
            if steps[f] <= max(APART / 2 * usual, 2 * VISIBLE * diagonal):
                continue
            far = max(APART * bend, VISIBLE * diagonal)
            there_and_back = max(steps[f], steps[f + 1]) if f + 1 < stop else np.inf
            around = [steps[i] for i in range(max(start + 1, f - 2), min(stop, f + 3)) if i != f]
            if np.nan_to_num(apart[f]) > max(far, BACK * there_and_back):
                lone.append(f)
            elif steps[f] > APART / 2 * max(around, default=np.inf):
                cuts.append(f)
    return tuple(lone), tuple(cuts)


def _usual(steps: Float64, apart: Float64, frame: int, start: int, stop: int) -> tuple[float, float]:
    """Medians of both measures over nearby frames of the clip, without `frame` and its neighbours.

    Only nearby frames count, since a clip may begin slowly and end fast.
    """
    near = np.arange(max(start, frame - NEARBY), min(stop, frame + NEARBY + 1))
    near = near[np.abs(near - frame) > 1]
    bends = apart[near][np.isfinite(apart[near])]
    if len(bends) < FEW:
        return np.inf, np.inf
    return float(np.median(steps[near])), float(np.median(bends))


def shared_bones(model: SkinnedModel) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Number of separate pieces, and (bone, count) for bones that dominate several pieces."""
    count, shell = welded_shells(model.rest, model.faces)
    if not 1 < count <= MANY_SHELLS:
        return count, ()
    used = shell >= 0
    parts = np.zeros((count, model.n_bones))
    np.add.at(parts, (shell[used][:, None], model.skin.bones[used]), model.skin.weights[used])
    owner = np.bincount(parts.argmax(axis=1), minlength=model.n_bones)
    busiest = np.argsort(-owner, kind="stable")
    return count, tuple((int(b), int(owner[b])) for b in busiest if owner[b] > 1)


#: E % below which differences are invisible; then only faults of the source are reported.
EXACT = 0.02
#: Below this near-rigid fraction the paper calls a sequence a poor candidate for skinning (section 7).
LOW_NEAR_RIGID = 0.5
#: A frame's error is a spike if it is this many times the median.
SPIKE = 3.0
#: Blends with a smaller singular value are near singular.
FLAT = 0.1


@dataclass(frozen=True, slots=True)
class Advice:
    """One cause of error."""

    topic: str
    sentence: str
    weight: float  # share of the error that it may explain, 0 … 1; determines the order


def advise(evidence: Evidence) -> tuple[Advice, ...]:
    """Causes derived from the measurements, sorted by weight."""
    found = [advice for rule in RULES if (advice := rule(evidence)) is not None]
    if evidence.error_percent < EXACT:
        found = [advice for advice in found if advice.topic in ("held-out frames", "a frame that jumps")]
    return tuple(sorted(found, key=lambda advice: -advice.weight))


def low_near_rigid(evidence: Evidence) -> Advice | None:
    """Few triangles move rigidly, so few bones cannot follow the surface."""
    eta = evidence.near_rigid_fraction
    if eta >= LOW_NEAR_RIGID:
        return None
    sentence = (
        f"Only {share(eta)} of the triangles move nearly rigidly: the surface bends everywhere, as cloth or jelly "
        "does, and few bones cannot follow it."
    )
    return Advice("near-rigid fraction", sentence, 0.5 * (1 - eta))


def frame_jumps(evidence: Evidence) -> Advice | None:
    """A frame of the source far from both of its neighbours."""
    if not evidence.lone_frames:
        return None
    listed = _listed(evidence.lone_frames)
    many = len(evidence.lone_frames) > 1
    sentence = (
        f"Frame{'s' if many else ''} {listed} of the source {'are' if many else 'is'} far from the frames "
        "before and after. Inspect the source; if it is a glitch, repair or remove it."
    )
    return Advice("a frame that jumps", sentence, 0.4)


def source_cuts(evidence: Evidence) -> Advice | None:
    """A permanent jump: two takes in one clip."""
    if not evidence.cuts:
        return None
    one = "the frames named" if len(evidence.cuts) > 1 else f"frame {evidence.cuts[0]}"
    sentence = (
        f"The source jumps permanently at {_listed(evidence.cuts, 'frame ')}. If {one} begins another take, "
        "pass the takes as separate inputs: they become clips on one rig, and nothing is blended across the cut."
    )
    return Advice("a cut", sentence, 0.15)


def error_spike(evidence: Evidence) -> Advice | None:
    """Few frames hold most of the error."""
    errors = evidence.per_frame
    usual = float(np.median(errors)) if len(errors) > 3 else 0.0
    if usual <= 0 or errors.max() < SPIKE * usual:
        return None
    high = np.flatnonzero(errors > SPIKE / 2 * usual)
    part = float((errors[high] ** 2).sum() / (errors**2).sum())
    worst = int(errors.argmax())
    if len(high) > len(errors) / 4:
        return None
    sentence = (
        f"The error is concentrated in few frames: {share(part)} of it is in {_listed(tuple(high.tolist()))}, "
        f"and frame {worst} has {errors.max() / usual:.1f} times the usual error."
    )
    return Advice("few frames", sentence, 0.6 * part)


def bad_region(evidence: Evidence) -> Advice | None:
    """One bone has a much larger share of the error than of the mesh."""
    if not evidence.shares or evidence.bones < 4:
        return None
    worst = evidence.shares[0]
    if worst.error < 0.2 or worst.error < 3 * worst.vertices:
        return None
    sentence = (
        f"Bone {worst.bone} moves {share(worst.vertices)} of the mesh but has {share(worst.error)} of the error, most "
        f"of it near vertex {worst.vertex}; the picture of the bones has its number."
    )
    return Advice("one region", sentence, 0.7 * worst.error)


def flat_blends(evidence: Evidence) -> Advice | None:
    """Blended transforms that are close to singular."""
    if evidence.smallest_singular >= FLAT:
        return None
    value = f"smallest singular value {evidence.smallest_singular:.2g}"
    if evidence.bone_type != "rigid":
        sentence = f"Some bones flatten the vertices they move ({value}), which degrades normals and corrections."
        return Advice("flat bones", sentence, 0.1)
    sentence = f"Some vertices follow bones that rotate against each other, and collapse between them ({value})."
    return Advice("flat bones", sentence, 0.2)


def overfitted(evidence: Evidence) -> Advice | None:
    """Held-out frames have a much larger error than fitted frames."""
    held, error = evidence.heldout_percent, evidence.error_percent
    if held is None or held < 1.5 * error or held - error < 0.1:
        return None
    sentence = (
        f"The held-out frames have E {brief(held)} instead of {brief(error)}: the weights overfit "
        "the other frames. Compare this figure with more frames, fewer bones or smoother weights."
    )
    return Advice("held-out frames", sentence, 0.3)


def degenerate_mesh(evidence: Evidence) -> Advice | None:
    """Many triangles of the rest pose have no area."""
    if evidence.degenerate < 0.01:
        return None
    sentence = (
        f"{share(evidence.degenerate)} of the triangles have no area in the rest pose and no use in finding bones. "
        "Choose a rest pose with --rest in which the surface is spread out."
    )
    return Advice("degenerate triangles", sentence, min(0.5, evidence.degenerate))


def shared_pieces(evidence: Evidence) -> Advice | None:
    """Separate pieces that share a bone."""
    if not evidence.shared:
        return None
    bone, pieces = evidence.shared[0]
    error = sum(s.error for s in evidence.shares if s.bone in dict(evidence.shared))
    mesh = sum(s.vertices for s in evidence.shares if s.bone in dict(evidence.shared))
    if error < max(0.1, 1.3 * mesh) and evidence.n_shells <= evidence.bones:
        return None
    extra = sum(count - 1 for _, count in evidence.shared)
    sentence = (
        f"{pieces} of {evidence.n_shells} separate pieces share bone {bone}, and the pieces that share bones have "
        f"{share(error)} of the error. Each would have its own with {evidence.bones + extra} bones."
    )
    return Advice("pieces that share a bone", sentence, 0.7 * error)


def _listed(frames: tuple[int, ...], noun: str = "") -> str:
    """3, 7 and 9; runs are shortened to 3–9, and a long list ends with the number of further entries."""
    runs: list[list[int]] = []
    for frame in frames:
        if runs and frame == runs[-1][1] + 1:
            runs[-1][1] = frame
        else:
            runs.append([frame, frame])
    parts = [noun + (str(a) if a == b else f"{a}–{b}") for a, b in runs]
    if len(parts) > 4:
        parts = [*parts[:3], f"{len(parts) - 3} more"]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


RULES: tuple[Callable[[Evidence], Advice | None], ...] = (
    low_near_rigid,
    frame_jumps,
    source_cuts,
    error_spike,
    bad_region,
    flat_blends,
    overfitted,
    degenerate_mesh,
    shared_pieces,
)
