"""Helpers: small OBJ files, and complaints on one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from osteon.core.errors import OsteonError


@contextmanager
def one_line_error(kind: type[OsteonError], *parts: object) -> Iterator[None]:
    """The block raises `kind`, with a message of one line that holds all `parts`."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert str(part) in message, message


@pytest.fixture(name="refused")
def _refused():
    return one_line_error


@pytest.fixture(name="put")
def _put(tmp_path):
    """Writes an OBJ quad whose first vertex lies at x; returns the path."""

    def put(name: str, x: float = 0.0, faces: str = "f 1 2 3 4", extra: str = "") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"v {x} 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n{extra}{faces}\n")
        return path

    return put
