"""Mutations of JSON values: the text still parses, with unexpected values in it."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

from osteon_bench.fuzzing.mutate import mutate_text

#: Placeholder of nested lists that are too deep to be created as objects.
_DEEP = "@deep@"
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 1.5, -0.0, 1e300, 1e-320, 1e400, float("nan"), 255, 65535, 65536, 2**31 - 1),
    *(2**31, 2**32, 2**53, 2**63, 2**64, 10**30, 10**320, "", "x", "0", "1", "\n", "\0", "\ud800", "\x1b[31m", "../x"),
    *(
        "data:,",
        "data:;base64,AAAA",
        "SCALAR",
        "VEC2",
        "VEC3",
        "VEC4",
        "MAT4",
        "STEP",
        "LINEAR",
        "CUBICSPLINE",
        "weights",
    ),
    *(5120, 5121, 5122, 5123, 5125, 5126, [], {}, [0], [0, 0], [1, 2, 3], [0, 0, 0, 1], [None], [[]], {"a": 1}, _DEEP),
    *([0.0] * 16, [1e308] * 3, ["a", "b"], "x" * 2000, "translation", "rotation", "scale", "hip", "knee"),
]


def mutate_json(rng: Random, data: bytes) -> bytes:
    """Change some values of a JSON text, and sometimes the text itself."""
    if rng.random() < 0.15:
        return mutate_text(rng, data)
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_text(rng, data)
    text = json.dumps(mutate_tree(rng, root))
    depth = rng.choice((3, 100, 900, 5000))
    out = text.replace(f'"{_DEEP}"', "[" * depth + "]" * depth).encode()
    return mutate_text(rng, out) if rng.random() < 0.05 else out


def mutate_tree(rng: Random, root: Any) -> Any:
    """Change a few parts of the value in place and return it."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = _places(root)
        if not places:
            return deepcopy(rng.choice(VALUES))
        owner, key = rng.choice(places)
        rng.choice(_STEPS)(rng, owner, key, places)
    return root


def _places(root: Any) -> list[tuple[Any, Any]]:
    """Every value as its container and its key."""
    found: list[tuple[Any, Any]] = []
    waiting = [root]
    while waiting and len(found) < 4000:
        owner = waiting.pop()
        keys = list(owner) if isinstance(owner, dict) else range(len(owner)) if isinstance(owner, list) else ()
        for key in keys:
            found.append((owner, key))
            if isinstance(owner[key], (dict, list)):
                waiting.append(owner[key])
    return found


def _set(rng: Random, owner: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    owner[key] = deepcopy(rng.choice(VALUES))


def _nudge(rng: Random, owner: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    """A number near the one there was."""
    value = owner[key]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        owner[key] = rng.choice((value + 1, value - 1, -value, value * 2, value * 1000, 0.5))
    else:
        _set(rng, owner, key, places)


def _drop(rng: Random, owner: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    del owner[key]


def _exchange(rng: Random, owner: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    """Another value of the same tree, by its text: a value must not hold itself."""
    other, name = rng.choice(places)
    text = json.dumps(other[name])
    owner[key] = json.loads(text) if len(text) < 10_000 else None


def _repeat(rng: Random, owner: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    value = owner[key]
    if isinstance(value, list) and len(value) < 1000:
        value.extend(json.loads(json.dumps(value)) * rng.choice((1, 3, 40)))
    elif isinstance(owner, list):
        owner.insert(key, json.loads(json.dumps(value)))
    else:
        owner[rng.choice(("", "name", "x", "count", "extras", key + " "))] = json.loads(json.dumps(value))


def _wrap(rng: Random, owner: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    owner[key] = rng.choice(([owner[key]], {"x": owner[key]}, str(owner[key])[:100]))


_STEPS = (_set, _set, _set, _nudge, _nudge, _nudge, _drop, _exchange, _exchange, _repeat, _wrap)
