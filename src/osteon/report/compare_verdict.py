"""What a comparison of models says in plain sentences: which is closest, by how much, its cost, and what to mind."""

from __future__ import annotations

from osteon.pipeline.comparison import Comparison, ModelResult
from osteon.report.numbers import brief, number, share

__all__ = ["OVERFIT", "compare_verdict", "equally_close", "verdict_lines"]

#: Differences of the mean deviation that nobody sees: a twentieth of it, or a tenth of a pixel where the body is a
#: thousand pixels large.
SMALL_PART, SMALL_OF_BODY = 0.05, 1e-4
#: Unseen poses this many times as far off as training poses: the model has learned those poses, not the motion.
OVERFIT = 2.0
#: Overfitting below this mean deviation, in percent of the body's size, is not seen.
SEEN = 0.01


def compare_verdict(comparison: Comparison) -> str:
    """The first sentence: the model that is closest on unseen poses."""
    ranked = comparison.ranked()
    best, poses = ranked[0], f"the {len(comparison.unseen)} poses that it has not seen"
    off = best.unseen.deviation
    mean = f"{brief(off.percent(off.mean))} of the body’s size"
    if len(ranked) == 1:
        return f"{_capital(best.title)} is off by {mean} on average in {poses}."
    equal = [result for result in ranked[1:] if equally_close(best, result)]
    if len(equal) == len(ranked) - 1:
        return (
            f"It does not matter which: all {len(ranked)} models are off by about {mean} on average in "
            f"the {len(comparison.unseen)} poses that they have not seen."
        )
    text = f"{_capital(best.title)} is closest in {poses}: off by {mean} on average"
    base = comparison.baseline
    other = base if base is not None and base is not best and base not in equal else ranked[1 + len(equal)]
    return f"{text}, {_less(best, other)} than {other.title}."


def verdict_lines(comparison: Comparison) -> tuple[str, ...]:
    """What should be known besides."""
    lines = [*_ties(comparison), *_costs(comparison), *_other_measures(comparison), *_overfitted(comparison)]
    if any(result.word == "dqs" for result in comparison.results) and len(comparison.results) > 1:
        lines.append(
            "All models share bones that were found for linear blending; dual quaternions with bones of their own "
            "(osteon skin --model dqs) come closer than here."
        )
    return tuple(lines)


def equally_close(one: ModelResult, other: ModelResult) -> bool:
    """Whether the mean deviations on unseen poses differ by less than anybody sees."""
    a, b = sorted((one.unseen.deviation.mean, other.unseen.deviation.mean))
    return b - a <= SMALL_PART * b or b - a <= SMALL_OF_BODY * one.unseen.deviation.diagonal


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _less(one: ModelResult, other: ModelResult) -> str:
    return f"{share(1 - one.unseen.deviation.mean / max(other.unseen.deviation.mean, 1e-300))} less"


def _ties(comparison: Comparison) -> list[str]:
    ranked = comparison.ranked()
    equal = [result.title for result in ranked[1:] if equally_close(ranked[0], result)]
    if not equal or len(equal) == len(ranked) - 1:
        return []
    return [
        f"{_capital(' and '.join(equal))} {'is' if len(equal) == 1 else 'are'} as close: the difference is not seen."
    ]


def _costs(comparison: Comparison) -> list[str]:
    """What the closest model costs, beside linear blending."""
    best, base = comparison.ranked()[0], comparison.baseline
    if base is None or len(comparison.results) == 1:
        return []
    if best is base:
        return [f"{_capital(base.title)} is also what every engine plays."]
    n = comparison.sequence.n_vertices
    return [
        f"It holds {number(best.cost.floats / n)} numbers a vertex where {base.title} holds "
        f"{number(base.cost.floats / n)}, and takes {best.cost.multiply_adds} multiply-adds a vertex instead of "
        f"{base.cost.multiply_adds}."
    ]


def _other_measures(comparison: Comparison) -> list[str]:
    """Where normals or distances between vertices prefer another model."""
    best, lines = comparison.ranked()[0], []
    by_normals = min(comparison.results, key=lambda result: result.unseen.deviation.normal_mean)
    angle, least = best.unseen.deviation.normal_mean, by_normals.unseen.deviation.normal_mean
    if by_normals is not best and least < (1 - SMALL_PART) * angle:
        lines.append(
            f"Normals, which decide how it is lit, follow best with {by_normals.title}: {number(least)}° off on "
            f"average instead of {number(angle)}°."
        )
    by_rms = min(comparison.results, key=lambda result: result.unseen.distortion.rms)
    if by_rms is not best and by_rms.unseen.distortion.rms < (1 - SMALL_PART) * best.unseen.distortion.rms:
        lines.append(f"Vertex by vertex (RMS) {by_rms.title} is closer.")
    return lines


def _overfitted(comparison: Comparison) -> list[str]:
    lines = []
    for result in comparison.results:
        off = result.unseen.deviation
        if result.growth > OVERFIT and off.percent(off.mean) > SEEN:
            times = f"{result.growth:.1f}" if result.growth < 100 else "many"
            lines.append(
                f"Mind {result.title}: unseen poses are {times} times as far off as those that it was "
                "trained with. It has learned these poses more than the motion; train with more of them."
            )
    return lines
