"""Matches the joints of two files by name.

Programs decorate names: a namespace (`mixamorig:Hips`, `Armature|Hips`), or that namespace without its colon where a
name must not have one. Names are matched as they are; the unmatched ones without their namespace; the rest of them
also without case, spaces, points and dashes. A match counts only if it is unique in both files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence


def _as_it_is(name: str) -> str:
    return name


def _without_namespace(name: str) -> str:
    return re.sub(r"^mixamorig\d*(?=[A-Z])", "", re.split(r"[:|/]", name)[-1])


def _letters(name: str) -> str:
    return re.sub(r"[\s._-]+", "", _without_namespace(name)).casefold()


#: From the strictest to the most tolerant.
_READINGS: tuple[Callable[[str], str], ...] = (_as_it_is, _without_namespace, _letters)


def match_joints(names: Sequence[str], wanted: Sequence[str]) -> dict[int, int]:
    """For each of `names` that has one, the number of the matching joint of `wanted`; empty names match none."""
    found: dict[int, int] = {}
    for reading in _READINGS:
        ours, theirs = [reading(name) for name in names], [reading(name) for name in wanted]
        times_ours, times_theirs = Counter(ours), Counter(theirs)
        number = {name: j for j, name in enumerate(theirs) if name and times_theirs[name] == 1}
        taken = set(found.values())
        for i, name in enumerate(ours):
            j = number.get(name)
            if i not in found and j is not None and j not in taken and times_ours[name] == 1:
                found[i] = j
    return dict(sorted(found.items()))
