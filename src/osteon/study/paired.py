"""Pairs of candidates compared within each rater, who serves as his own control.

    d_i         mean over the matched questions of rater i of  (score of the first - score of the second)
    t           m sqrt(n) / s,  n - 1 degrees of freedom                  m, s: mean and deviation of the d_i
    effect      d_z = m / s; its interval from the non-central t distribution
    W           sum of the ranks of the positive |d_i|; zeros are dropped, equal ones share their mean rank
    correlation (W+ - W-) / (W+ + W-)
    corrected   p_(i) max over j <= i of (c - j + 1) p_(j), at most 1, of c pairs                          (Holm)

Questions of a pair match if they show the same character from the same side. One difference per rater, not one per
answer, because the answers of one person depend on each other: someone who rates everything high does so for both
candidates. With balanced answers the t test is that of a mixed model with random effects of raters and of raters by
candidates. The characters are those of the study: the result is about them.

The p values of W are exact: of the 2^n choices of signs, the fraction with a sum at least as far from its mean.
Intervals "together" (Bonferroni) contain all differences of the study with 95 % probability.

Based on: Student, The probable error of a mean, 1908; Wilcoxon, Individual comparisons by ranking methods, 1945; Holm,
A simple sequentially rejective multiple test procedure, 1979; Steiger and Fouladi, Noncentrality interval estimation,
1997. Reid and Jacka, Mesh Approximation for Animated Characters, table 1, has Student's test of independent samples
(`results.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from osteon.core.arrays import Float64
from osteon.study.answers import Answer

#: Confidence level of the intervals.
CONFIDENCE = 0.95
#: Raters up to which W has an exact p: sums of ranks are then small enough to be counted. Above, the normal limit.
EXACT = 200
#: A deviation below this part of the mean difference is rounding.
ROUNDING = 1e-12

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """The tests of two candidates against each other, within raters. A figure that cannot be computed is None."""

    first: str
    second: str
    raters: int  # who answered matching questions about both
    difference: float | None = None  # mean over raters, first - second
    interval: Interval | None = None  # 95 % of the difference
    interval_together: Interval | None = None  # 95 % for all pairs of the study together
    effect: float | None = None  # d_z
    effect_interval: Interval | None = None  # 95 %
    t: float | None = None
    p: float | None = None
    p_corrected: float | None = None  # Holm
    w: float | None = None  # sum of positive ranks
    correlation: float | None = None  # rank-biserial
    p_ranks: float | None = None
    p_ranks_corrected: float | None = None  # Holm
    reason: str = ""  # why a figure is missing

    @property
    def degrees(self) -> int | None:
        return None if self.t is None else self.raters - 1

    def to_json(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "raters": self.raters,
            "difference": self.difference,
            "interval_95": _listed(self.interval),
            "interval_95_together": _listed(self.interval_together),
            "effect": self.effect,
            "effect_interval_95": _listed(self.effect_interval),
            "t": self.t,
            "df": self.degrees,
            "p": self.p,
            "p_corrected": self.p_corrected,
            "w": self.w,
            "rank_correlation": self.correlation,
            "p_ranks": self.p_ranks,
            "p_ranks_corrected": self.p_ranks_corrected,
            "note": self.reason or None,
        }


def compare_within_raters(answers: Iterable[Answer], candidates: Sequence[str]) -> list[PairedComparison]:
    """Every pair of candidates, in order, with p values corrected for their number."""
    pairs = list(combinations(candidates, 2))
    known = {(a.rater, a.question.character, a.question.view, a.question.candidate): a.score for a in answers}
    found = [compare_differences(one, other, _differences(known, one, other), len(pairs)) for one, other in pairs]
    means, ranks = holm([c.p for c in found]), holm([c.p_ranks for c in found])
    return [replace(c, p_corrected=p, p_ranks_corrected=q) for c, p, q in zip(found, means, ranks, strict=True)]


def _differences(known: dict[tuple[int, str, str, str], int], one: str, other: str) -> Float64:
    """(n,) mean difference of every rater over the matched questions."""
    of_rater: dict[int, list[int]] = {}
    for (rater, character, view, candidate), score in known.items():
        if candidate == one and (against := known.get((rater, character, view, other))) is not None:
            of_rater.setdefault(rater, []).append(score - against)
    return np.array([np.mean(of_rater[rater]) for rater in sorted(of_rater)], np.float64)


def compare_differences(first: str, second: str, differences: Float64, n_pairs: int = 1) -> PairedComparison:
    """The tests of the differences (n,) of n raters; p values are not corrected."""
    n = len(differences)
    if n == 0:
        return PairedComparison(first, second, 0, reason=f"no rater has rated {first} and {second} in the same scene")
    mean = float(differences.mean())
    if n == 1:
        reason = "one rater only; a paired test needs two"
        return PairedComparison(first, second, 1, mean, reason=reason)
    w, correlation, p_ranks = signed_ranks(differences)
    ranked = PairedComparison(first, second, n, mean, w=w, correlation=correlation, p_ranks=p_ranks)
    deviation = float(differences.std(ddof=1))
    if deviation <= ROUNDING * max(1.0, abs(mean)):
        return replace(ranked, reason="all raters agree on the difference, so it has no spread and no t")
    from scipy.special import stdtr  # scipy.stats has these tests too, but takes a second to import

    t = mean * math.sqrt(n) / deviation
    return replace(
        ranked,
        interval=_interval(mean, deviation, n, 1),
        interval_together=_interval(mean, deviation, n, n_pairs),
        effect=mean / deviation,
        effect_interval=_effect_interval(t, n),
        t=t,
        p=float(2 * stdtr(n - 1, -abs(t))),
    )


def _interval(mean: float, deviation: float, n: int, n_pairs: int) -> Interval:
    from scipy.special import stdtrit

    half = -float(stdtrit(n - 1, 0.5 * (1 - CONFIDENCE) / n_pairs)) * deviation / math.sqrt(n)
    return mean - half, mean + half


def _effect_interval(t: float, n: int) -> Interval | None:
    """The effects d_z for which t is at either end of its distribution."""
    from scipy.special import nctdtr, nctdtrinc

    ends = []
    for share in (0.5 + CONFIDENCE / 2, 0.5 - CONFIDENCE / 2):
        # By symmetry t >= 0: the other half of the distribution is less accurate.
        wanted = share if t >= 0 else 1 - share
        center = float(nctdtrinc(n - 1, wanted, abs(t)))
        if not math.isfinite(center) or abs(float(nctdtr(n - 1, center, abs(t))) - wanted) > 1e-4:
            return None
        ends.append(math.copysign(1.0, t) * center / math.sqrt(n))
    return ends[0], ends[1]


def signed_ranks(differences: Float64) -> tuple[float | None, float | None, float | None]:
    """Wilcoxon's W, the rank-biserial correlation and the two-sided p; None where all differences are zero."""
    nonzero = differences[np.abs(differences) > ROUNDING * max(1.0, float(np.abs(differences).max(initial=0)))]
    if not len(nonzero):
        return None, None, None
    # Differences of means of whole numbers: equal ones may differ by rounding.
    size = np.round(np.abs(nonzero), 9)
    _, place, count = np.unique(size, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    w, total = float(ranks[nonzero > 0].sum()), float(ranks.sum())
    return w, (2 * w - total) / total, _p_of_ranks(ranks, w)


def _p_of_ranks(ranks: Float64, w: float) -> float:
    """Probability of a sum at least as far from its mean, if every sign is a toss of a coin."""
    total = float(ranks.sum())
    low = min(w, total - w)
    if len(ranks) > EXACT:
        from scipy.special import ndtr

        spread = math.sqrt(float((ranks**2).sum())) / 2
        return min(1.0, 2 * float(ndtr((low + 0.5 - total / 2) / spread)))
    doubled = np.rint(2 * ranks).astype(np.int64)  # mean ranks are whole or half numbers
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    for rank in doubled:
        share *= 0.5
        share[rank:] += share[: len(share) - rank].copy()
    return min(1.0, 2 * float(share[: round(2 * low) + 1].sum()))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """p values corrected for their number (Holm, 1979); missing ones stay missing and are not counted."""
    known = [(p, i) for i, p in enumerate(values) if p is not None]
    out: list[float | None] = [None] * len(values)
    largest = 0.0
    for done, (p, i) in enumerate(sorted(known)):
        largest = max(largest, min(1.0, (len(known) - done) * p))
        out[i] = largest
    return out


def _listed(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)
