"""What ratings say: means with their intervals, and for two candidates whether means and spreads differ.

    interval    mean ± t(0.975, n - 1) s / sqrt(n)
    t           (m1 - m2) / sqrt(s² (1/n1 + 1/n2)),   s² = ((n1 - 1) s1² + (n2 - 1) s2²) / (n1 + n2 - 2)
    F           larger variance / smaller variance

| symbol | name |
| --- | --- |
| n, m, s | `count`, `mean`, `deviation` of a `RatingSummary` |
| df = n1 + n2 - 2 | `degrees` of a `Comparison` |

Both p are two-sided. What cannot be computed is None, and `reason` says why: never NaN.

Based on: Mesh Approximation for Animated Characters, section 4.2 and table 1, which holds the means and deviations that
it computes with, so all of the table can be computed from its own figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

__all__ = [
    "Comparison",
    "Quartiles",
    "RatingSummary",
    "compare_all",
    "compare_ratings",
    "quartiles",
    "summarize_ratings",
]

#: Of the intervals.
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class RatingSummary:
    """The answers about one candidate, as far as tests need them."""

    name: str
    count: int
    mean: float | None  # None without answers
    deviation: float | None  # of the sample, with n - 1; None for fewer than two answers

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the mean of all people lies, with 95 % confidence (Student); None for fewer than two answers."""
        if self.mean is None or self.deviation is None:
            return None
        from scipy.special import stdtrit

        half = float(stdtrit(self.count - 1, 0.5 + CONFIDENCE / 2)) * self.deviation / math.sqrt(self.count)
        return self.mean - half, self.mean + half

    @property
    def reason(self) -> str:
        """Why something is missing; "" where nothing is."""
        if self.count == 0:
            return "no answers yet"
        return "one answer only, which has no spread" if self.count == 1 else ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two candidates against each other."""

    first: str
    second: str
    degrees: int | None = None
    t: float | None = None
    p: float | None = None
    f_ratio: float | None = None
    p_variances: float | None = None
    reason: str = ""  # why some of it is missing


@dataclass(frozen=True, slots=True)
class Quartiles:
    """What a box with whiskers shows."""

    low: float  # the smallest answer within one and a half boxes of the box
    first: float
    median: float
    third: float
    high: float
    outliers: tuple[float, ...]  # answers beyond the whiskers, each value once


def summarize_ratings(name: str, scores: Sequence[float]) -> RatingSummary:
    """Count, mean and deviation of answers."""
    mean = float(np.mean(scores)) if scores else None
    deviation = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
    return RatingSummary(name, len(scores), mean, deviation)


def compare_ratings(one: RatingSummary, other: RatingSummary) -> Comparison:
    """Student's test with pooled variance, and the ratio of the variances."""
    if one.mean is None or other.mean is None or one.deviation is None or other.deviation is None:
        few = " and ".join(s.name for s in (one, other) if s.count < 2)
        return Comparison(one.name, other.name, reason=f"too few answers about {few}; a test needs two of each")
    degrees = one.count + other.count - 2
    t, p = _means_test(one.mean - other.mean, one, other, degrees)
    f_ratio, p_variances = _variances_test(one, other)
    return Comparison(one.name, other.name, degrees, t, p, f_ratio, p_variances, _no_spread(one, other))


def compare_all(summaries: Sequence[RatingSummary]) -> list[Comparison]:
    """Every pair, in order."""
    return [compare_ratings(one, other) for one, other in combinations(summaries, 2)]


def quartiles(scores: Sequence[float]) -> Quartiles | None:
    """Box and whiskers of answers, Tukey's way; None without any."""
    if not scores:
        return None
    first, median, third = (float(q) for q in np.quantile(scores, (0.25, 0.5, 0.75)))
    reach = 1.5 * (third - first)
    inside = [s for s in scores if first - reach <= s <= third + reach]
    outliers = tuple(sorted({float(s) for s in scores} - {float(s) for s in inside}))
    return Quartiles(float(min(inside)), first, median, third, float(max(inside)), outliers)


def _means_test(
    difference: float, one: RatingSummary, other: RatingSummary, degrees: int
) -> tuple[float | None, float | None]:
    from scipy.special import stdtr  # scipy.stats has the same, and takes a second to import

    squares = sum((s.count - 1) * (s.deviation or 0.0) ** 2 for s in (one, other))
    error = math.sqrt(squares / degrees * (1 / one.count + 1 / other.count))
    if error == 0:
        return None, None
    value = difference / error
    return value, float(2 * stdtr(degrees, -abs(value)))


def _variances_test(one: RatingSummary, other: RatingSummary) -> tuple[float | None, float | None]:
    from scipy.special import fdtr, fdtrc

    small, large = sorted((one, other), key=lambda s: s.deviation or 0.0)
    if not small.deviation or not large.deviation:
        return None, None
    ratio = (large.deviation / small.deviation) ** 2
    tails = [tail(large.count - 1, small.count - 1, ratio) for tail in (fdtr, fdtrc)]
    return ratio, min(1.0, 2 * float(min(tails)))


def _no_spread(one: RatingSummary, other: RatingSummary) -> str:
    same = [s.name for s in (one, other) if not s.deviation]
    if not same:
        return ""
    missing = "neither test can be made" if len(same) == 2 else "there is no ratio of variances"
    return f"all answers about {' and '.join(same)} are the same, so {missing}"
