"""What a comparison of models says in plain sentences: which is closest, by how much, its cost, and what to mind."""

from __future__ import annotations

from osteon.pipeline.comparison import Comparison, ModelResult
from osteon.report.numbers import brief, number, share

__all__ = ["OVERFIT", "best_choice", "compare_verdict", "equally_close", "verdict_lines"]

#: Differences of the mean deviation that nobody sees: a twentieth of it, or a tenth of a pixel where the body is a
#: thousand pixels large.
SMALL_PART, SMALL_OF_BODY = 0.05, 1e-4
#: Unseen poses this many times as far off as training poses: the model has learned those poses, not the motion.
OVERFIT = 2.0
#: Overfitting below this mean deviation, in percent of the body's size, is not seen.
SEEN = 0.01


def best_choice(comparison: Comparison) -> ModelResult:
    """Of the models that are as close on unseen poses as the closest one, that which holds the fewest numbers."""
    ranked = comparison.ranked()
    return min((r for r in ranked if equally_close(ranked[0], r)), key=lambda r: r.cost.floats)


def compare_verdict(comparison: Comparison) -> str:
    """The first sentence: the model that is closest on unseen poses, or the smaller one that is as close to the eye."""
    best, ranked = best_choice(comparison), comparison.ranked()
    off, count = best.unseen.deviation, len(comparison.unseen)
    mean = f"{brief(off.percent(off.mean))} of the body’s size"
    if len(ranked) == 1:
        return f"{_capital(best.title)} is off by {mean} on average in the {count} poses that it has not seen."
    others = [result for result in ranked if not equally_close(best, result)]
    if not others:
        return (
            f"It does not matter which: all {len(ranked)} models are off by about {mean} on average in the {count} "
            "poses that they have not seen."
        )
    base = comparison.baseline
    other = base if base in others and base is not None else others[0]
    if best is ranked[0]:
        return (
            f"{_capital(best.title)} is closest in the {count} poses that it has not seen: off by {mean} on average, "
            f"{_less(best, other)} than {other.title}."
        )
    least = ranked[0].unseen.deviation
    return (
        f"{_capital(best.title)} is the best choice: in the {count} poses that it has not seen it is off by {mean} on "
        f"average, {_less(best, other)} than {other.title}. {_capital(ranked[0].title)} is closest, off by "
        f"{brief(least.percent(least.mean))}, which nobody sees."
    )


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
    """Models that are as close as the best choice, where others are not."""
    best = best_choice(comparison)
    equal = [result.title for result in comparison.ranked() if result is not best and equally_close(best, result)]
    if not equal or len(equal) == len(comparison.results) - 1:
        return []
    are = "is as close, but holds" if len(equal) == 1 else "are as close, but hold"
    return [f"{_capital(' and '.join(equal))} {are} no fewer numbers: the difference is not seen."]


def _costs(comparison: Comparison) -> list[str]:
    """What the best choice costs, beside linear blending."""
    best, base = best_choice(comparison), comparison.baseline
    if base is None or len(comparison.results) == 1:
        return []
    if best is base:
        return [f"{_capital(base.title)} is also what every engine plays, and no other holds fewer numbers."]
    n = comparison.sequence.n_vertices
    return [
        f"It holds {number(best.cost.floats / n)} numbers a vertex where {base.title} holds "
        f"{number(base.cost.floats / n)}, and takes {best.cost.multiply_adds} multiply-adds a vertex instead of "
        f"{base.cost.multiply_adds}."
    ]


def _other_measures(comparison: Comparison) -> list[str]:
    """Where normals or distances between vertices prefer another model."""
    best, lines = best_choice(comparison), []
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
