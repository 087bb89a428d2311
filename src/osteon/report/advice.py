"""What to change if a result is not good enough: every rule looks at measurements and may say one thing.

A rule that knows what its change would give says so; the advice that promises most comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.report.evidence import Evidence
from osteon.report.numbers import brief, share

__all__ = ["Advice", "advise"]

#: A change is worth naming if it takes away at least this part of the error.
WORTH = 0.15
#: Error below which nobody sees a difference, in percent; then nothing needs to change.
EXACT = 0.02
#: Below this near-rigid fraction the paper calls a sequence a poor candidate for skinning (section 7).
LOW_NEAR_RIGID = 0.5
#: A frame's error is a spike if it is this many times the median.
SPIKE = 3.0
#: Blends that shrink what they move to less than this are near singular.
FLAT = 0.1


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to change."""

    topic: str
    sentence: str
    option: str  # on the command line; "" where the input has to change
    gain: float  # part of the error that may go, 0 … 1; a guess where the rule cannot measure it


def advise(evidence: Evidence) -> tuple[Advice, ...]:
    """What to change, the most promising first."""
    found = [advice for rule in RULES if (advice := rule(evidence)) is not None]
    if evidence.error_percent < EXACT:
        found = [advice for advice in found if advice.topic in ("held-out frames", "a frame that jumps")]
    return tuple(sorted(found, key=lambda advice: -advice.gain))


def _gain(evidence: Evidence, expected: float) -> float:
    """Part of the error that goes if E becomes `expected`."""
    return 1 - expected / evidence.error_percent if evidence.error_percent > 0 else 0.0


def too_few_bones(evidence: Evidence) -> Advice | None:
    """The curve of error by bones still falls beyond the model's number: take the first count that is worth it."""
    for count, expected in sorted(evidence.bones_percent.items()):
        gain = _gain(evidence, expected)
        if count > evidence.bones and gain >= WORTH:
            sentence = (
                f"More bones still help: with {count} instead of {evidence.bones}, E would be about "
                f"{brief(expected)} instead of {brief(evidence.error_percent)}."
            )
            return Advice("bones", sentence, f"--bones {count}", gain)
    return None


def low_near_rigid(evidence: Evidence) -> Advice | None:
    """Little moves rigidly, so bones have little to hold on to."""
    eta = evidence.near_rigid_fraction
    if eta >= LOW_NEAR_RIGID:
        return None
    rank = max(5, 2 * evidence.rank)
    sentence = (
        f"Only {share(eta)} of the triangles move nearly rigidly: the surface bends everywhere, as cloth or jelly "
        "does. Corrections describe such motion with less than many bones need."
    )
    return Advice("near-rigid fraction", sentence, f"--rank {rank}", 0.5 * (1 - eta))


def corrections_help(evidence: Evidence) -> Advice | None:
    """Corrections lower the error, and by no less than half of what more bones would take away."""
    tried = next((t for t in evidence.trials if t[1].startswith("--rank")), None)
    rank, expected = (int(tried[1].split()[1]), tried[2]) if tried else _next_rank(evidence)
    gain = _gain(evidence, expected)
    more = {count: error for count, error in evidence.bones_percent.items() if count > evidence.bones}
    best = min(more, key=lambda count: more[count], default=0)
    if gain < WORTH or (more and gain < 0.5 * _gain(evidence, more[best])):
        return None
    sentence = (
        f"Corrections of rank {rank} would bring E to about {brief(expected)} instead of "
        f"{brief(evidence.error_percent)}"
    )
    if more:
        sentence += f"; {best} bones to {brief(more[best])}"
    return Advice("corrections", sentence + ".", f"--rank {rank}", gain)


def _next_rank(evidence: Evidence) -> tuple[int, float]:
    """Twice the model's rank, and E if it goes on falling as it did from half the rank to the whole."""
    last = evidence.rank
    half = max((rank for rank in evidence.by_rank if 2 * rank <= last), default=0)
    if last < 2 or evidence.by_rank[half] <= 0:
        return 2 * last, evidence.error_percent
    return 2 * last, evidence.error_percent * evidence.by_rank[last] / evidence.by_rank[half]


def other_option(evidence: Evidence) -> Advice | None:
    """The best of the quick fits with another option changed."""
    worth = [t for t in evidence.trials if _gain(evidence, t[2]) >= WORTH and not t[1].startswith("--rank")]
    if not worth:
        return None
    change, option, expected = min(worth, key=lambda trial: trial[2])
    sentence = (
        f"A quick fit with {change} did better: E would be about {brief(expected)} instead of "
        f"{brief(evidence.error_percent)}."
    )
    if option.startswith("--influences") and int(option.split()[1]) > 4:
        sentence += " Some engines read only four influences a vertex."
    return Advice("another option", sentence, option, _gain(evidence, expected))


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
    return Advice("a frame that jumps", sentence, "", 0.4)


def source_cuts(evidence: Evidence) -> Advice | None:
    """A jump that stays: two takes in one clip."""
    if not evidence.cuts:
        return None
    one = "the frames named" if len(evidence.cuts) > 1 else f"frame {evidence.cuts[0]}"
    sentence = (
        f"The source jumps and goes on from there at {_listed(evidence.cuts, 'frame ')}. If {one} begins another take, "
        "give the takes as separate inputs: they become clips on one rig and nothing is blended across the cut."
    )
    return Advice("a cut", sentence, "", 0.15)


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
        f"and frame {worst} has {errors.max() / usual:.1f} times the usual error. A few "
        "corrections can repair single poses without more bones."
    )
    return Advice("few frames", sentence, f"--rank {max(3, 2 * evidence.rank)}", 0.6 * part)


def bad_region(evidence: Evidence) -> Advice | None:
    """One bone has much more of the error than of the mesh."""
    if not evidence.shares or evidence.bones < 4:
        return None
    worst = evidence.shares[0]
    if worst.error < 0.2 or worst.error < 3 * worst.vertices:
        return None
    more = evidence.bones + max(2, evidence.bones // 6)
    sentence = (
        f"Bone {worst.bone} moves {share(worst.vertices)} of the mesh but has {share(worst.error)} of the error, most "
        f"of it near vertex {worst.vertex}; the picture of the bones has its number. A few more bones would go "
        "where the error is."
    )
    return Advice("one region", sentence, f"--bones {more}", 0.7 * worst.error)


def flat_blends(evidence: Evidence) -> Advice | None:
    """Blended transforms that come close to singular."""
    if evidence.smallest_singular >= FLAT:
        return None
    value = evidence.smallest_singular
    if evidence.bone_type == "flexible":
        sentence = (
            f"Some bones flatten what they move (smallest singular value {value:.2g}): normals suffer there, and "
            "corrections cannot act. Stiffer bones cost little error."
        )
        return Advice("flat bones", sentence, "--stiffness 0.02", 0.1)
    sentence = (
        f"Some vertices follow bones that turn against each other, and collapse between them (smallest singular value "
        f"{value:.2g}). Bones in between, or flexible ones, keep the volume."
    )
    return Advice("flat bones", sentence, "--bone-type flexible", 0.2)


def overfitted(evidence: Evidence) -> Advice | None:
    """Frames that took no part are much worse than those that did."""
    held, error = evidence.heldout_percent, evidence.error_percent
    if held is None or held < 1.5 * error or held - error < 0.1:
        return None
    sentence = (
        f"Frames that took no part in the fit have E {brief(held)} instead of {brief(error)}: the weights suit "
        "their own frames too closely. More frames, fewer bones or smoother weights carry over better to new motion."
    )
    return Advice("held-out frames", sentence, "--smooth-weights 0.01", 0.3)


def degenerate_mesh(evidence: Evidence) -> Advice | None:
    """Many triangles of the rest pose have no area."""
    if evidence.degenerate < 0.01:
        return None
    sentence = (
        f"{share(evidence.degenerate)} of the triangles have no area in the rest pose and say nothing about bones. "
        "Choose a frame in which the surface is spread out."
    )
    return Advice("degenerate triangles", sentence, "--rest FRAME", min(0.5, evidence.degenerate))


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
        f"{share(error)} of the error. {extra} bones more give each its own."
    )
    return Advice("pieces that share a bone", sentence, f"--bones {evidence.bones + extra}", 0.7 * error)


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
    too_few_bones,
    corrections_help,
    other_option,
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
