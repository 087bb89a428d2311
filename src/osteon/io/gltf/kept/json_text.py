"""JSON with some values changed: everything else keeps its bytes, spaces and spelling of numbers included.

    write_changes('{"a": 1.00, "b": [1]}', {"a": 1.0, "b": [1, 2]})  ->  '{"a": 1.00, "b": [1,2]}'

The text is scanned once into spans. Where a value is equal to what the text says, its span is copied; an object or a
list that differs is copied piece by piece, with what is new at its end.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

__all__ = ["write_changes", "write_json"]

_SPACE = re.compile(r"[ \t\r\n]*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\s]+")


@dataclass(slots=True)
class _Span:
    """Where a value stands in the text; of an object or a list also its entries."""

    start: int
    stop: int = 0
    entries: list[_Span] = field(default_factory=list)
    keys: list[str] | None = None  # of an object
    key_starts: list[int] = field(default_factory=list)


def write_json(value: Any) -> str:
    """A value without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def write_changes(text: str, value: Any) -> str:
    """The JSON `text` with what differs from `value` changed."""
    start = _skip(text, 0)
    span = _scan(text, start)
    return text[:start] + _written(text, span, json.loads(text[start : span.stop]), value) + text[span.stop :]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _scan(text: str, at: int) -> _Span:
    """The span of the value that begins at `at`; the text has been parsed before, so it is well formed."""
    span = _Span(at)
    opens = text[at]
    if opens not in "{[":
        found = (_TEXT if opens == '"' else _PLAIN).match(text, at)
        span.stop = at + 1 if found is None else found.end()
        return span
    span.keys = [] if opens == "{" else None
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        if span.keys is not None:
            key = _scan(text, at)
            span.keys.append(json.loads(text[key.start : key.stop]))
            span.key_starts.append(key.start)
            at = _skip(text, _skip(text, key.stop) + 1)
        entry = _scan(text, at)
        span.entries.append(entry)
        at = _skip(text, entry.stop)
        if text[at] == ",":
            at = _skip(text, at + 1)
    span.stop = at + 1
    return span


def _written(text: str, span: _Span, old: Any, new: Any) -> str:
    if _same(old, new):
        return text[span.start : span.stop]
    if isinstance(old, dict) and isinstance(new, dict) and span.keys is not None:
        return _object(text, span, old, new)
    if isinstance(old, list) and isinstance(new, list) and 0 < len(old) <= len(new):
        entries = [_written(text, e, a, b) for e, a, b in zip(span.entries, old, new[: len(old)], strict=True)]
        return _pieced(text, span, entries, [write_json(one) for one in new[len(old) :]])
    return write_json(new)


def _same(old: Any, new: Any) -> bool:
    """Whether two values are equal; true is not 1."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_same(a, b) for a, b in zip(old, new, strict=True))
    return isinstance(old, bool) is isinstance(new, bool) and bool(old == new)


def _object(text: str, span: _Span, old: dict[str, Any], new: dict[str, Any]) -> str:
    assert span.keys is not None
    added = [f"{write_json(key)}:{write_json(value)}" for key, value in new.items() if key not in old]
    entries = {
        key: _written(text, entry, old[key], new[key])
        for key, entry in zip(span.keys, span.entries, strict=True)
        if key in new
    }
    if len(entries) == len(span.keys) and entries:
        return _pieced(text, span, list(entries.values()), added)
    starts = dict(zip(span.keys, zip(span.key_starts, span.entries, strict=True), strict=True))
    kept = [text[starts[key][0] : starts[key][1].start] + entry for key, entry in entries.items()]
    return "{" + ",".join(kept + added) + "}"


def _pieced(text: str, span: _Span, entries: list[str], added: list[str]) -> str:
    """All that stands between the entries as it is, these entries, and what is new behind the last one."""
    pieces, at = [], span.start
    for entry, written in zip(span.entries, entries, strict=True):
        pieces += [text[at : entry.start], written]
        at = entry.stop
    return "".join(pieces) + "".join(f",{one}" for one in added) + text[at : span.stop]
