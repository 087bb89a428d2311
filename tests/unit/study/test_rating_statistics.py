"""Table 1 of the paper from its own figures, SciPy as a second opinion, and too few answers in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from osteon.study.results import (
    RatingSummary,
    compare_all,
    compare_ratings,
    quartiles,
    summarize_ratings,
)

#: Table 1: means, deviations and counts.
SSD = RatingSummary("SSD", 152, 7.875000, 2.091650)
AS = RatingSummary("AS", 152, 8.881579, 1.306804)
MWE = RatingSummary("MWE", 152, 6.289474, 2.633537)


@pytest.mark.parametrize(
    ("one", "other", "t", "p", "f_ratio", "p_variances"),
    [
        (SSD, AS, -5.03176, 0.000001, 2.561869, 0.000000),
        (MWE, SSD, -5.8124, 0.000000, 1.585261, 0.004895),
        (MWE, AS, -10.8702, 0.000000, 4.061231, 0.000000),
    ],
)
def test_table_1_of_the_paper(one, other, t, p, f_ratio, p_variances):
    found = compare_ratings(one, other)
    assert found.degrees == 302
    assert found.t == pytest.approx(t, abs=5e-5)
    assert found.p == pytest.approx(p, abs=5e-7)
    assert found.f_ratio == pytest.approx(f_ratio, rel=2e-6)
    assert found.p_variances == pytest.approx(p_variances, abs=5e-7)
    assert found.reason == ""


@pytest.mark.parametrize(
    ("summary", "printed"), [(SSD, (7.54, 8.21)), (AS, (8.67, 9.09)), (MWE, (5.87, 6.71))], ids=["SSD", "AS", "MWE"]
)
def test_intervals_of_the_paper(summary, printed):
    assert tuple(round(end, 2) for end in summary.interval) == printed


def test_as_scipy_does():
    random = np.random.default_rng(3)
    one, other = random.integers(0, 11, 17).tolist(), random.integers(4, 11, 9).tolist()
    first, second = summarize_ratings("one", one), summarize_ratings("other", other)
    found, expected = compare_ratings(first, second), stats.ttest_ind(one, other)
    assert found.t == pytest.approx(expected.statistic, rel=1e-12)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)
    assert found.degrees == expected.df == 24
    interval = stats.t.interval(0.95, 16, np.mean(one), stats.sem(one))
    assert first.interval == pytest.approx(interval, rel=1e-12)


def test_the_order_of_two_changes_only_the_sign():
    there, back = compare_ratings(SSD, AS), compare_ratings(AS, SSD)
    assert there.t == -back.t
    assert (there.p, there.f_ratio, there.p_variances) == (back.p, back.f_ratio, back.p_variances)


def test_equal_samples_do_not_differ():
    found = compare_ratings(SSD, RatingSummary("other", 152, SSD.mean, SSD.deviation))
    assert (found.t, found.p, found.f_ratio) == (0, 1, 1)
    assert found.p_variances == pytest.approx(1)


def test_variances_of_unequal_counts_stay_a_probability():
    """With a ratio near 1 and counts far apart one tail holds more than half."""
    for counts in ((2, 300), (300, 2), (5, 40)):
        one, other = RatingSummary("one", counts[0], 5, 2.0), RatingSummary("other", counts[1], 5, 2.0001)
        found = compare_ratings(one, other)
        assert 0 < found.p_variances <= 1


@pytest.mark.parametrize(
    ("scores", "others", "says"),
    [
        ([], [], "too few answers about a and b"),
        ([5], [1, 2], "too few answers about a;"),
        ([1, 2], [], "too few answers about b;"),
        ([4, 4, 4], [4, 4], "all answers about a and b are the same, so neither test"),
        ([3, 3], [9, 9], "all answers about a and b are the same, so neither test"),
        ([3, 3, 3], [9, 8, 9], "all answers about a are the same, so there is no ratio"),
    ],
)
def test_what_cannot_be_computed_is_said_in_words(scores, others, says):
    found = compare_ratings(summarize_ratings("a", scores), summarize_ratings("b", others))
    assert says in found.reason
    numbers = (found.t, found.p, found.f_ratio, found.p_variances)
    assert None in numbers
    assert not [n for n in numbers if n is not None and not math.isfinite(n)]


def test_one_spread_is_enough_to_compare_means():
    found = compare_ratings(summarize_ratings("a", [3, 3, 3]), summarize_ratings("b", [9, 8, 9]))
    assert found.t == pytest.approx(-17)  # -17/3 over sqrt(1/6 · 2/3)


@pytest.mark.parametrize(("scores", "says"), [([], "no answers"), ([7], "one answer only")])
def test_summaries_of_too_few(scores, says):
    summary = summarize_ratings("a", scores)
    assert summary.interval is None
    assert summary.deviation is None
    assert says in summary.reason


def test_the_same_score_twice_has_an_interval_of_no_width():
    summary = summarize_ratings("a", [6, 6])
    assert summary.interval == (6, 6)
    assert summary.reason == ""


def test_every_pair_once():
    pairs = [(c.first, c.second) for c in compare_all([SSD, AS, MWE])]
    assert pairs == [("SSD", "AS"), ("SSD", "MWE"), ("AS", "MWE")]
    assert compare_all([SSD]) == []


def test_boxes_and_whiskers():
    box = quartiles([0, 5, 6, 6, 7, 7, 8, 10])
    assert (box.first, box.median, box.third) == (5.75, 6.5, 7.25)
    assert (box.low, box.high, box.outliers) == (5, 8, (0, 10))
    assert quartiles([]) is None
    same = quartiles([4])
    assert (same.low, same.median, same.high, same.outliers) == (4, 4, 4, ())
