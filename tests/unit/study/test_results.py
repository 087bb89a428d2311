"""Results of a study: figures, JSON, CSV and the page, also with few answers or none."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from osteon.study.report_page import build_study_page
from osteon.study.results import COLUMNS, StudyResults, read_results, write_answers

from .study_cases import open_answers, paper_plan, token_of

MEANS = {"ssd": (7.9, 2.0), "as": (8.9, 1.3), "mwe": (6.3, 2.6)}

Scores = Callable[[int, str], int | None]


def study_of(path: Path, raters: int, score: Scores, characters: int = 4) -> StudyResults:
    """Raters who answer every question by a rule, or leave it for None."""
    answers = open_answers(path, paper_plan(characters))
    for rater in range(raters):
        for number, question in enumerate(answers.questions):
            given = score(rater, question.candidate)
            if given is not None:
                answers.add(token_of(rater), number, given)
    answers.close()
    return read_results(path)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    random = np.random.default_rng(19)
    path = tmp_path_factory.mktemp("study") / "frameworks.sqlite"
    return study_of(path, 5, lambda _, name: int(np.clip(np.rint(random.normal(*MEANS[name])), 0, 10)))


def test_counts_and_means(results):
    facts = results.to_json()
    assert (facts["raters"], facts["finished"], facts["answers"], facts["questions"]) == (5, 5, 120, 24)
    assert [c["name"] for c in facts["candidates"]] == ["ssd", "as", "mwe"]
    for candidate in facts["candidates"]:
        scores = [a.score for a in results.answers if a.question.candidate == candidate["name"]]
        assert candidate["answers"] == len(scores) == 40
        assert candidate["mean"] == pytest.approx(np.mean(scores))
        assert candidate["deviation"] == pytest.approx(np.std(scores, ddof=1))
        low, high = candidate["interval_95"]
        assert low < candidate["mean"] < high
    assert [c["df"] for c in facts["comparisons"]] == [78, 78, 78]
    json.dumps(facts, allow_nan=False)


def test_every_answer_is_a_row(results, tmp_path):
    write_answers(tmp_path / "answers.csv", results.answers)
    with (tmp_path / "answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 120
    assert {row["rater"] for row in rows} == set("12345")
    assert {(row["character"], row["candidate"], row["view"]) for row in rows} == {
        (q.character, q.candidate, q.view) for q in results.questions
    }
    assert sum(int(row["score"]) for row in rows) == sum(a.score for a in results.answers)
    assert not re.search("[0-9a-f]{32}", (tmp_path / "answers.csv").read_text())  # tokens are nobody's business


def test_the_page_has_a_plot_and_every_pair(results):
    page = build_study_page(results)
    assert page.count('class="box"') == 3
    assert page.count(" against ") == 3
    assert "was found most similar" in page
    assert "120 answers of 5 people, of whom 5 answered all 24 questions" in page
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)
    assert "http://" not in page
    assert "https://" not in page


@pytest.mark.parametrize(
    ("raters", "score", "says"),
    [
        (0, lambda rater, name: 5, "There are no answers yet"),
        (1, lambda rater, name: 5 if name == "as" else None, "ssd: no answers yet"),
        (2, lambda rater, name: 5, "all answers about ssd and as are the same, so neither test can be made"),
        (2, lambda rater, name: 4 + rater if name == "as" else 5, "so there is no ratio of variances"),
    ],
)
def test_too_few_answers_are_said_in_words(tmp_path, raters, score, says):
    results = study_of(tmp_path / "few.sqlite", raters, score, characters=1)
    page = build_study_page(results)
    assert says in page
    assert not re.search(r"\bnan\b|\binf\b|\bNone\b", page)
    json.dumps(results.to_json(), allow_nan=False)


def test_names_are_never_markup(tmp_path):
    from osteon.study.plan import StudyCharacter, StudyPlan

    nasty = "<img src=x onerror=alert(1)>"
    plan = StudyPlan(
        (StudyCharacter(nasty, "r", {nasty: "a", "b": "b"}), StudyCharacter("2", "r", {nasty: "a", "b": "b"}))
    )
    answers = open_answers(tmp_path / "nasty.sqlite", plan)
    for number in range(8):
        answers.add(token_of(1), number, number)
    answers.close()
    page = build_study_page(read_results(tmp_path / "nasty.sqlite"))
    assert "<img" not in page
    assert "&lt;img" in page
