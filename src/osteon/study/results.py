"""What a study found: its answers, sorted, with their statistics, as figures, JSON and CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from osteon.io.save.atomic import atomic_file
from osteon.study.answers import AnswerFile, GivenAnswer
from osteon.study.plan import Question
from osteon.study.rating_statistics import (
    Comparison,
    Quartiles,
    RatingSummary,
    compare_all,
    quartiles,
    summarize_ratings,
)

__all__ = ["CandidateResult", "StudyResults", "read_results", "write_answers"]

#: The head of the table of answers, by which Osteon knows its own again (io/save/marks.py).
COLUMNS = ("rater", "question", "character", "candidate", "view", "score", "time")


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The answers about one candidate."""

    scores: tuple[int, ...]
    summary: RatingSummary
    quartiles: Quartiles | None  # None without answers


@dataclass(frozen=True, slots=True)
class StudyResults:
    """All answers of a study and what they say."""

    name: str
    questions: tuple[Question, ...]
    answers: tuple[GivenAnswer, ...]

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
        given = [answer.rater for answer in self.answers]
        return sum(given.count(rater) == len(self.questions) for rater in set(given))

    def of(self, candidate: str, keep: Callable[[Question], bool] = lambda asked: True) -> CandidateResult:
        """The answers about a candidate, perhaps only of some questions."""
        scores = tuple(a.score for a in self.answers if a.asked.candidate == candidate and keep(a.asked))
        return CandidateResult(scores, summarize_ratings(candidate, scores), quartiles(scores))

    @property
    def results(self) -> list[CandidateResult]:
        return [self.of(candidate) for candidate in self.candidates]

    @property
    def comparisons(self) -> list[Comparison]:
        return compare_all([result.summary for result in self.results])

    def to_json(self) -> dict[str, Any]:
        return {
            "study": self.name,
            "raters": self.n_raters,
            "finished": self.n_finished,
            "questions": len(self.questions),
            "answers": len(self.answers),
            "candidates": [_candidate_json(result) for result in self.results],
            "comparisons": [_comparison_json(comparison) for comparison in self.comparisons],
        }


def read_results(path: Path) -> StudyResults:
    """The results in a file of answers."""
    file = AnswerFile(path)
    try:
        return StudyResults(path.stem, tuple(file.questions), tuple(file.answers()))
    finally:
        file.close()


def write_answers(path: Path, answers: Sequence[GivenAnswer]) -> None:
    """Every answer as a row of CSV; the file appears whole or not at all."""
    text = StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for a in answers:
        asked = a.asked
        rows.writerow((a.rater, a.question, asked.character, asked.candidate, asked.view, a.score, a.answered))
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
