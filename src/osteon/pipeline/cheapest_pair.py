"""The cheapest pair of bones and blends that serves a level, with few tests of pictures.

Pairs come in the order of falling error. The first one is found by bisection over what is quick to test (distances);
usually its pictures are right, too. If they are not, bisection over both goes on from there. Steps between pairs
are of several bones, so at last the blends are kept, and bisection finds the fewest bones.

Notes. Soldier, a level for 400 pixels, one thread: a pair that is near and looks like the model takes 0.7 s to test,
one that is not near 0.1 s. All levels: bisection over both from the start took 20.7 s, this takes 19.8 s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

#: Bones and blends.
Pair = tuple[int, int]


def cheapest_pair(pairs: Sequence[Pair], is_near: Callable[[Pair], bool], holds: Callable[[Pair], bool]) -> Pair | None:
    """The first pair that holds, with the fewest bones; None if none does. Whatever holds is near."""
    first = first_where(0, len(pairs), lambda i: is_near(pairs[i]))
    if first < len(pairs) and not holds(pairs[first]):
        first = first_where(first + 1, len(pairs), lambda i: holds(pairs[i]))
    if first == len(pairs):
        return None
    bones, blends = pairs[first]
    failed = max((n for n, k in pairs[:first] if k >= blends), default=0)
    return first_where(failed + 1, bones, lambda n: holds((n, blends))), blends


def first_where(low: int, high: int, serves: Callable[[int], bool]) -> int:
    """The first of low … high - 1 that serves, as all after it do; `high` if none does."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if serves(middle) else (middle + 1, high)
    return low
