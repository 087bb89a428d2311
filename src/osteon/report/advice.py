"""Why a result is as it is: every rule looks at measurements and may say one thing.

A rule names a cause and no option. What another option gives is not guessed here but tried (trials.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.report.evidence import Evidence
from osteon.report.numbers import brief, share

__all__ = ["Advice", "advise"]

#: Error below which nobody sees a difference, in percent; then only faults of the source are named.
EXACT = 0.02
#: Below this near-rigid fraction the paper calls a sequence a poor candidate for skinning (section 7).
LOW_NEAR_RIGID = 0.5
#: A frame's error is a spike if it is this many times the median.
SPIKE = 3.0
#: Blends that shrink what they move to less than this are near singular.
FLAT = 0.1


@dataclass(frozen=True, slots=True)
class Advice:
    """One cause."""

    topic: str
    sentence: str
    weight: float  # how much of the error it may explain, 0 … 1; only for the order


def advise(evidence: Evidence) -> tuple[Advice, ...]:
    """What the measurements point to, the weightiest first."""
    found = [advice for rule in RULES if (advice := rule(evidence)) is not None]
    if evidence.error_percent < EXACT:
        found = [advice for advice in found if advice.topic in ("held-out frames", "a frame that jumps")]
    return tuple(sorted(found, key=lambda advice: -advice.weight))


def low_near_rigid(evidence: Evidence) -> Advice | None:
    """Little moves rigidly, so bones have little to hold on to."""
    eta = evidence.near_rigid_fraction
    if eta >= LOW_NEAR_RIGID:
        return None
    sentence = (
        f"Only {share(eta)} of the triangles move nearly rigidly: the surface bends everywhere, as cloth or jelly "
        "does, and bones have little to hold on to."
    )
    return Advice("near-rigid fraction", sentence, 0.5 * (1 - eta))


def frame_jumps(evidence: Evidence) -> Advice | None:
    """A frame of the source that does not belong between its neighbours."""
    if not evidence.lone_frames:
        return None
    listed = _listed(evidence.lone_frames)
    many = len(evidence.lone_frames) > 1
    sentence = (
        f"Frame{'s' if many else ''} {listed} of the source {'stand' if many else 'stands'} far apart from the frames "
        "before and after. Look at the source: if it is a glitch, repair it or leave it out."
    )
    return Advice("a frame that jumps", sentence, 0.4)


def source_cuts(evidence: Evidence) -> Advice | None:
    """A jump that stays: two takes in one clip."""
    if not evidence.cuts:
        return None
    one = "the frames named" if len(evidence.cuts) > 1 else f"frame {evidence.cuts[0]}"
    sentence = (
        f"The source jumps and goes on from there at {_listed(evidence.cuts, 'frame ')}. If {one} begins another take, "
        "give the takes as separate inputs: they become clips on one rig and nothing is blended across the cut."
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
        f"The error is a matter of few frames: {share(part)} of it is in {_listed(tuple(high.tolist()))}, "
        f"and frame {worst} has {errors.max() / usual:.1f} times the usual error."
    )
    return Advice("few frames", sentence, 0.6 * part)


def bad_region(evidence: Evidence) -> Advice | None:
    """One bone has much more of the error than of the mesh."""
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
    """Blended transforms that come close to singular."""
    if evidence.smallest_singular >= FLAT:
        return None
    value = f"smallest singular value {evidence.smallest_singular:.2g}"
    if evidence.bone_type != "rigid":
        sentence = f"Some bones flatten what they move ({value}): normals suffer there, and corrections cannot act."
        return Advice("flat bones", sentence, 0.1)
    sentence = f"Some vertices follow bones that turn against each other, and collapse between them ({value})."
    return Advice("flat bones", sentence, 0.2)


def overfitted(evidence: Evidence) -> Advice | None:
    """Frames that took no part are much worse than those that did."""
    held, error = evidence.heldout_percent, evidence.error_percent
    if held is None or held < 1.5 * error or held - error < 0.1:
        return None
    sentence = (
        f"Frames that took no part in the fit have E {brief(held)} instead of {brief(error)}: the weights suit "
        "their own frames too closely. Look at this figure again with more frames, fewer bones or smoother weights."
    )
    return Advice("held-out frames", sentence, 0.3)


def degenerate_mesh(evidence: Evidence) -> Advice | None:
    """Many triangles of the rest pose have no area."""
    if evidence.degenerate < 0.01:
        return None
    sentence = (
        f"{share(evidence.degenerate)} of the triangles have no area in the rest pose and say nothing about bones. "
        "Name a frame with --rest in which the surface is spread out."
    )
    return Advice("degenerate triangles", sentence, min(0.5, evidence.degenerate))


def shared_pieces(evidence: Evidence) -> Advice | None:
    """Separate pieces that have to share a bone."""
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
    """3, 7 and 9; runs are shortened to 3–9, and a long list ends with how many more there are."""
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
