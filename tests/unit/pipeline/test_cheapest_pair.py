"""The cheapest pair of bones and blends, by tests that are written out."""

from __future__ import annotations

import pytest

from osteon.pipeline.cheapest_pair import cheapest_pair, first_where

PAIRS = [(5, 1), (9, 2), (10, 3), (16, 3), (24, 4), (30, 4)]


def test_first_where():
    assert [first_where(2, 9, lambda n, k=k: n >= k) for k in range(12)] == [2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9]
    assert first_where(3, 3, lambda n: 1 / 0) == 3


@pytest.mark.parametrize(("near", "alike"), [(0, 0), (4, 0), (13, 0), (13, 12), (13, 15), (9, 19), (30, 1), (2, 27)])
def test_it_is_the_pair_with_the_fewest_bones(near, alike):
    """It needs so many bones, and three blends if it needs more than nine; bones between those of pairs count."""
    drawn = []

    def is_near(pair):
        return pair[0] >= near and (near <= 9 or pair[1] >= 3)

    def holds(pair):
        if not is_near(pair):
            return False
        drawn.append(pair)
        return pair[0] >= alike

    found = cheapest_pair(PAIRS, is_near, holds)
    assert found is not None
    assert is_near(found)
    assert found[0] >= alike
    assert found[0] == max(near, alike, 1) or any(k >= found[1] and n == found[0] - 1 for n, k in PAIRS)
    if alike <= near:
        assert all(pair[0] >= near for pair in drawn)


def test_none_serves():
    assert cheapest_pair(PAIRS, lambda pair: False, lambda pair: 1 / 0) is None
    assert cheapest_pair(PAIRS, lambda pair: True, lambda pair: False) is None


def test_pictures_are_drawn_once_where_distances_decide():
    drawn = []
    found = cheapest_pair(PAIRS, lambda pair: pair[0] >= 10, lambda pair: pair[0] >= 10 and not drawn.append(pair))
    assert found == (10, 3)
    assert drawn == [(10, 3)]
