"""Tests within raters: SciPy as a second opinion, known effects found again, and too few answers in words."""

from __future__ import annotations

import json
import math
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from osteon.study.paired import compare_differences, compare_within_raters, holm, signed_ranks
from osteon.study.report_page import build_study_page
from osteon.study.results import StudyResults, read_results

from .study_cases import open_answers, paper_plan, token_of


def test_paired_t_is_that_of_scipy():
    random = np.random.default_rng(1)
    one, other = random.normal(6, 2, (2, 17))
    found, expected = compare_differences("a", "b", one - other), stats.ttest_rel(one, other)
    assert found.t == pytest.approx(expected.statistic, rel=1e-12)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)
    assert found.degrees == expected.df == 16
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-12)
    wide = compare_differences("a", "b", one - other, n_pairs=3).interval_together
    assert wide == pytest.approx(tuple(expected.confidence_interval(1 - 0.05 / 3)), rel=1e-9)
    assert found.effect == pytest.approx(found.difference / np.std(one - other, ddof=1))


def test_the_interval_of_the_effect_inverts_the_distribution():
    for seed, shift in ((0, 0.8), (1, -2.5), (2, 0.0)):
        differences = np.random.default_rng(seed).normal(shift, 1, 12)
        found = compare_differences("a", "b", differences)
        low, high = found.effect_interval
        assert low < found.effect < high
        assert stats.nct.sf(found.t, 11, low * math.sqrt(12)) == pytest.approx(0.025, rel=1e-3)
        assert stats.nct.cdf(found.t, 11, high * math.sqrt(12)) == pytest.approx(0.025, rel=1e-3)
        back = compare_differences("b", "a", -differences)
        assert back.effect_interval == pytest.approx((-high, -low))
        assert (back.p, back.p_ranks, back.correlation) == (found.p, found.p_ranks, -found.correlation)


def test_ranks_without_ties_are_those_of_scipy():
    differences = np.random.default_rng(2).normal(0.4, 1, 14)
    w, _, p = signed_ranks(differences)
    expected = stats.wilcoxon(differences, method="exact", alternative="two-sided")
    assert min(w, 14 * 15 / 2 - w) == expected.statistic
    assert p == pytest.approx(expected.pvalue, rel=1e-12)


def test_ranks_with_ties_and_zeros_by_counting_all_signs():
    differences = np.array([0, 1, 1, -1, 2, 2, 0.5, -3, 0])
    w, correlation, p = signed_ranks(differences)
    ranks = stats.rankdata(np.abs(differences[differences != 0]))
    sums = np.array([np.dot(signs, ranks) for signs in product((0, 1), repeat=len(ranks))])
    assert w == ranks[differences[differences != 0] > 0].sum()
    assert correlation == pytest.approx((2 * w - ranks.sum()) / ranks.sum())
    far = np.abs(sums - ranks.sum() / 2) >= abs(w - ranks.sum() / 2) - 1e-9
    assert p == pytest.approx(far.mean())


def test_many_raters_use_the_limit():
    differences = np.random.default_rng(3).normal(0.1, 1, 400)
    expected = stats.wilcoxon(differences, method="approx", correction=True)
    assert signed_ranks(differences)[2] == pytest.approx(expected.pvalue, rel=1e-6)


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, None, 0.6]) == [1.0, None, 1.0]
    assert holm([]) == []


def test_a_known_effect_is_found_with_the_promised_confidence():
    """400 studies of 12 raters whose difference is 0.7 on average: the intervals hold it in 95 % of them."""
    random = np.random.default_rng(4)
    inside = together = 0
    for _ in range(400):
        found = compare_differences("a", "b", 0.7 + random.normal(0, 1.1, 12), n_pairs=3)
        inside += found.interval[0] < 0.7 < found.interval[1]
        together += found.interval_together[0] < 0.7 < found.interval_together[1]
        assert found.effect_interval[0] < found.effect < found.effect_interval[1]
    assert 0.92 < inside / 400 < 0.98
    assert inside < together


def test_without_an_effect_a_family_of_tests_is_rarely_significant():
    random = np.random.default_rng(5)
    plain = corrected = 0
    for _ in range(400):
        ps = [compare_differences("a", "b", random.normal(0, 1, 10)).p for _ in range(6)]
        plain += min(ps) < 0.05
        corrected += min(holm(ps)) < 0.05
    assert corrected / 400 < 0.08
    assert plain / 400 > 0.15  # which is what the correction is for


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """Nine raters of very different severity, who all find `as` 0.8 better than `ssd`, and `mwe` no different."""
    random = np.random.default_rng(6)
    path = tmp_path_factory.mktemp("paired") / "study.sqlite"
    answers = open_answers(path, paper_plan())
    for rater in range(9):
        severity = random.integers(2, 9)
        for number, question in enumerate(answers.questions):
            score = severity + (random.random() < 0.8) * (question.candidate == "as") + random.integers(-1, 2)
            answers.add(token_of(rater), number, int(np.clip(score, 0, 10)))
    answers.close()
    return read_results(path)


def test_severity_hides_an_effect_from_independent_samples_only(results):
    found = {(c.first, c.second): c for c in results.paired}
    independent = {(c.first, c.second): c for c in results.comparisons}
    better, same = found["ssd", "as"], found["ssd", "mwe"]
    assert better.raters == same.raters == 9
    assert better.interval[0] < -0.8 < better.interval[1] < 0
    assert better.p_corrected < 0.01
    assert better.p_ranks_corrected < 0.05
    assert better.effect_interval[1] < -1
    assert independent["ssd", "as"].p > better.p
    assert same.p_corrected > 0.2
    for one, corrected in pairwise(sorted((c.p, c.p_corrected) for c in results.paired)):
        assert one[1] <= corrected[1]


def test_the_page_and_the_json_have_the_paired_tests(results):
    page, facts = build_study_page(results), results.to_json()
    assert "Within raters" in page
    assert "paired t" in page
    assert [c["raters"] for c in facts["paired"]] == [9, 9, 9]
    assert "within raters" in page.split("</header>")[0]  # the verdict's p
    json.dumps(facts, allow_nan=False)


def few(path: Path, answered: list[tuple[int, int, int]]) -> StudyResults:
    answers = open_answers(path, paper_plan(1))
    for rater, number, score in answered:
        answers.add(token_of(rater), number, score)
    answers.close()
    return read_results(path)


def test_only_matching_questions_count(tmp_path):
    """A rater who saw one candidate from the front and the other from the back tells nothing about the pair."""
    path = tmp_path / "few.sqlite"
    questions = [(q.candidate, q.view) for q in few(path, []).questions]
    front, back = questions[0][1], next(view for _, view in questions if view != questions[0][1])
    path.unlink()
    pairs = [(0, questions.index(("ssd", front)), 5), (0, questions.index(("as", back)), 9)]
    pairs += [(1, questions.index(("ssd", front)), 5), (1, questions.index(("as", front)), 6)]
    found = few(path, pairs).paired[0]
    assert (found.raters, found.difference) == (1, -1)
    assert "one rater only" in found.reason


def test_too_few_answers_are_said_in_words(tmp_path):
    none = compare_within_raters([], ["a", "b"])[0]
    assert "no rater has rated a and b" in none.reason
    agree = compare_differences("a", "b", np.array([1.0, 1.0, 1.0]))
    assert "no spread" in agree.reason
    assert (agree.t, agree.p_ranks) == (None, 0.25)
    equal = compare_differences("a", "b", np.zeros(4))
    assert (equal.difference, equal.t, equal.w, equal.p_ranks) == (0.0, None, None, None)
    assert "–" in build_study_page(few(tmp_path / "none.sqlite", []))
