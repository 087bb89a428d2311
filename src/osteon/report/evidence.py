"""What is measured to say where and when a skin is off, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.frames import each_frame
from osteon.core.model import SkinnedModel
from osteon.core.play_scale import scale_of_bones
from osteon.core.sequence import MeshSequence
from osteon.core.topology import welded_shells
from osteon.pipeline.skin import SkinFit

__all__ = ["BoneShare", "Evidence", "bone_shares", "frame_steps", "gather_evidence", "lone_frames", "shared_bones"]

#: A frame stands out if it is this many times farther from its neighbours than frames usually are …
APART = 8.0
#: … and by at least this fraction of the diagonal: noise in a still pose is no jump.
VISIBLE = 1e-3
#: A frame is alone if this part of the way there is the way back as well; a quick motion goes on.
BACK = 0.75
#: What is usual is told by this many frames before and after, at least FEW of them.
NEARBY = 8
FEW = 3
#: More pieces than this are a cloud of debris; nobody wants a bone each.
MANY_SHELLS = 200


@dataclass(frozen=True, slots=True)
class BoneShare:
    """How much of the mesh and of the error belongs to one bone."""

    bone: int
    vertices: float  # fraction of all vertices, by weight
    error: float  # fraction of the squared error, by weight
    vertex: int  # the one with the largest error among those that the bone moves most


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that advice is derived from."""

    error_percent: float
    bones: int
    bone_type: str
    influences: int
    near_rigid_fraction: float
    by_rank: dict[int, float]  # E % of the model cut to a rank
    per_frame: Float64  # (f,) RMS
    steps: Float64 = field(default_factory=lambda: np.zeros(0))  # (f,) RMS step of the source, NaN where a clip begins
    worst: float = 0.0  # largest distance, as a fraction of the diagonal
    worst_frame: int = 0
    heldout_percent: float | None = None
    smallest_singular: float = 1.0  # 1st percentile over the blends
    degenerate: float = 0.0  # fraction of the triangles
    shares: tuple[BoneShare, ...] = ()  # the largest share of the error first
    lone_frames: tuple[int, ...] = ()  # far from both neighbours
    cuts: tuple[int, ...] = ()  # first frames after a jump that stays
    n_shells: int = 1
    shared: tuple[tuple[int, int], ...] = ()  # bone, and how many shells it moves most of

    @property
    def rank(self) -> int:
        return max(self.by_rank, default=0)


def gather_evidence(fit: SkinFit, sequence: MeshSequence) -> Evidence:
    """Measure a fit for advice."""
    report, model = fit.report, fit.model
    steps, apart = frame_steps(sequence)
    lone, cuts = lone_frames(steps, apart, sequence.diagonal)
    n_shells, shared = shared_bones(model)
    diagonal = max(sequence.diagonal, 1e-300)
    return Evidence(
        error_percent=report.error_percent,
        bones=report.bones,
        bone_type=report.bone_type,
        influences=report.influences,
        near_rigid_fraction=report.near_rigid_fraction,
        by_rank={int(rank): error for rank, error in report.error_percent_by_rank.items()},
        per_frame=fit.distortion.per_frame,
        steps=steps,
        worst=fit.distortion.worst.distance / diagonal,
        worst_frame=fit.distortion.worst.frame,
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
    """Every bone's part of the vertices and of the squared error, the largest part of the error first."""
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
    """Frames that stand apart from both neighbours, and first frames after a jump that stays; see `frame_steps`."""
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
    """Medians of both measures over nearby frames of the clip, without `frame` and those it touches.

    A clip may begin slowly and end fast, and a walk may stand beside a run: only what is near counts.
    """
    near = np.arange(max(start, frame - NEARBY), min(stop, frame + NEARBY + 1))
    near = near[np.abs(near - frame) > 1]
    bends = apart[near][np.isfinite(apart[near])]
    if len(bends) < FEW:
        return np.inf, np.inf
    return float(np.median(steps[near])), float(np.median(bends))


def shared_bones(model: SkinnedModel) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Number of separate pieces, and the bones that move most of several of them, with how many."""
    count, shell = welded_shells(model.rest, model.faces)
    if not 1 < count <= MANY_SHELLS:
        return count, ()
    used = shell >= 0
    parts = np.zeros((count, model.n_bones))
    np.add.at(parts, (shell[used][:, None], model.skin.bones[used]), model.skin.weights[used])
    owner = np.bincount(parts.argmax(axis=1), minlength=model.n_bones)
    busiest = np.argsort(-owner, kind="stable")
    return count, tuple((int(b), int(owner[b])) for b in busiest if owner[b] > 1)
