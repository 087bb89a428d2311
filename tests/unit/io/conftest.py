"""Helpers: small OBJ files."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(name="put")
def _put(tmp_path):
    """Writes an OBJ quad whose first vertex lies at x; returns the path."""

    def put(name: str, x: float = 0.0, faces: str = "f 1 2 3 4", extra: str = "") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"v {x} 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n{extra}{faces}\n")
        return path

    return put
