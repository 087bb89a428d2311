"""The results of a study: its answers with their statistics, as figures, JSON and CSV.

    interval    mean ± t(0.975, n - 1) s / sqrt(n)
    t           (m1 - m2) / sqrt(s² (1/n1 + 1/n2)),   s² = ((n1 - 1) s1² + (n2 - 1) s2²) / (n1 + n2 - 2)
    F           larger variance / smaller variance

| symbol | name |
| --- | --- |
| n, m, s | `count`, `mean`, `deviation` of a `RatingSummary` |
| df = n1 + n2 - 2 | `degrees` of a `Comparison` |

Both p values are two-sided. A figure that cannot be computed is None, never NaN, and `reason` explains why.

Based on: Mesh Approximation for Animated Characters, section 4.2 and table 1, which can be recomputed from its means
and deviations.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from osteon.io.save.atomic import atomic_file
from osteon.study.answers import Answer, AnswerFile
from osteon.study.paired import PairedComparison, compare_within_raters
from osteon.study.plan import Question

#: Confidence level of the intervals.
CONFIDENCE = 0.95
#: Header of the table of answers.
COLUMNS = ("rater", "question", "character", "candidate", "view", "score", "time")


@dataclass(frozen=True, slots=True)
class RatingSummary:
    """Count, mean and deviation of the answers about one candidate."""

    name: str
    count: int
    mean: float | None  # None without answers
    deviation: float | None  # of the sample, with n - 1; None for fewer than two answers

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the mean (Student); None for fewer than two answers."""
        if self.mean is None or self.deviation is None:
            return None
        from scipy.special import stdtrit

        half = float(stdtrit(self.count - 1, 0.5 + CONFIDENCE / 2)) * self.deviation / math.sqrt(self.count)
        return self.mean - half, self.mean + half

    @property
    def reason(self) -> str:
        """Why a figure is missing; empty if none is."""
        if self.count == 0:
            return "no answers yet"
        return "one answer only, which has no spread" if self.count == 1 else ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tests of two candidates against each other."""

    first: str
    second: str
    degrees: int | None = None
    t: float | None = None
    p: float | None = None
    f_ratio: float | None = None
    p_variances: float | None = None
    reason: str = ""  # why a figure is missing


@dataclass(frozen=True, slots=True)
class Quartiles:
    """The values of a box plot."""

    low: float  # the smallest answer within 1.5 interquartile ranges of the box
    first: float
    median: float
    third: float
    high: float
    outliers: tuple[float, ...]  # answers beyond the whiskers, each value once


def summarize_ratings(name: str, scores: Sequence[float]) -> RatingSummary:
    """Summarise the answers about one candidate."""
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
    """Compare every pair, in order."""
    return [compare_ratings(one, other) for one, other in combinations(summaries, 2)]


def quartiles(scores: Sequence[float]) -> Quartiles | None:
    """The box plot of answers (Tukey); None without answers."""
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
    from scipy.special import stdtr  # scipy.stats has these tests too, but takes a second to import

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


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The answers about one candidate."""

    scores: tuple[int, ...]
    summary: RatingSummary
    quartiles: Quartiles | None  # None without answers


@dataclass(frozen=True, slots=True)
class StudyResults:
    """All answers of a study, and figures computed from them."""

    name: str
    questions: tuple[Question, ...]
    answers: tuple[Answer, ...]

    @property
    def candidates(self) -> list[str]:
        """In the order of the study."""
        return list(dict.fromkeys(question.candidate for question in self.questions))

    @property
    def characters(self) -> list[str]:
        return list(dict.fromkeys(question.character for question in self.questions))

    @property
    def views(self) -> list[str]:
        return list(dict.fromkeys(question.view for question in self.questions))

    @property
    def n_raters(self) -> int:
        return len({answer.rater for answer in self.answers})

    @property
    def n_finished(self) -> int:
        """Raters who answered everything."""
        return sum(count == len(self.questions) for count in Counter(a.rater for a in self.answers).values())

    def of(self, candidate: str, keep: Callable[[Question], bool] = lambda question: True) -> CandidateResult:
        """The answers about a candidate, to all questions or to those that `keep` selects."""
        scores = tuple(a.score for a in self.answers if a.question.candidate == candidate and keep(a.question))
        return CandidateResult(scores, summarize_ratings(candidate, scores), quartiles(scores))

    @property
    def results(self) -> list[CandidateResult]:
        return [self.of(candidate) for candidate in self.candidates]

    @property
    def comparisons(self) -> list[Comparison]:
        return compare_all([result.summary for result in self.results])

    @property
    def paired(self) -> list[PairedComparison]:
        """The same pairs within raters."""
        return compare_within_raters(self.answers, self.candidates)

    def to_json(self) -> dict[str, Any]:
        return {
            "study": self.name,
            "raters": self.n_raters,
            "finished": self.n_finished,
            "questions": len(self.questions),
            "answers": len(self.answers),
            "candidates": [_candidate_json(result) for result in self.results],
            "comparisons": [_comparison_json(comparison) for comparison in self.comparisons],
            "paired": [found.to_json() for found in self.paired],
        }


def read_results(path: Path) -> StudyResults:
    """The results in a file of answers."""
    with closing(AnswerFile(path)) as file:
        return StudyResults(path.stem, tuple(file.questions), tuple(file.answers()))


def write_answers(path: Path, answers: Sequence[Answer]) -> None:
    """Write one row of CSV per answer; the file appears whole or not at all."""
    text = StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for a in answers:
        q = a.question
        rows.writerow((a.rater, a.number, q.character, q.candidate, q.view, a.score, a.time))
    with atomic_file(path) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8", newline="")


def _candidate_json(result: CandidateResult) -> dict[str, Any]:
    summary, box = result.summary, result.quartiles
    return {
        "name": summary.name,
        "answers": summary.count,
        "mean": summary.mean,
        "deviation": summary.deviation,
        "interval_95": None if summary.interval is None else list(summary.interval),
        "median": None if box is None else box.median,
        "quartiles": None if box is None else [box.first, box.third],
        "note": summary.reason or None,
    }


def _comparison_json(found: Comparison) -> dict[str, Any]:
    return {
        "first": found.first,
        "second": found.second,
        "t": found.t,
        "df": found.degrees,
        "p": found.p,
        "f_ratio": found.f_ratio,
        "p_variances": found.p_variances,
        "note": found.reason or None,
    }
