"""Edits that the page saves."""

from __future__ import annotations

import json

import numpy as np
import pytest

from osteon.apply.edit.strokes import Strokes, read_strokes, strokes_from_json
from osteon.core.errors import FileFormatError, GeometryError

GOOD = {"format": "osteon-edit", "version": 1, "name": "a", "vertices": 5, "moved": [1], "displacements": [[0, 0, 1]]}


def test_strokes_and_back(tmp_path) -> None:
    strokes = Strokes("horns", 9, np.array([2, 4]), np.array([[0.5, 0, 0], [0, 0.25, 0]]))
    (tmp_path / "a.json").write_text(json.dumps(strokes.to_json()))
    again = read_strokes(tmp_path / "a.json")
    assert (again.name, again.n_vertices, again.moved.tolist()) == ("horns", 9, [2, 4])
    assert np.array_equal(again.displacements, strokes.displacements)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"format": "pose"}, "expected strokes of the page"),
        ({"version": 2}, "version: expected 1, got '2'"),
        ({"name": 3}, "name, vertices"),
        ({"vertices": True}, "name, vertices"),
        ({"vertices": -1}, "name, vertices"),
        ({"name": ""}, "name: expected a word"),
        ({"moved": [5]}, "moved: indices must be in 0 … 4"),
        ({"moved": [0, 1]}, "displacements: expected shape"),
        ({"moved": "a"}, "expected vertex numbers"),
        ({"displacements": [[1, 2]]}, "expected vertex numbers"),
        ({"displacements": [[1, 2, float("nan")]]}, "not finite"),
    ],
)
def test_other_json_is_refused(change: dict, what: str) -> None:
    strokes_from_json(GOOD)
    with pytest.raises(GeometryError, match=what):
        strokes_from_json(GOOD | change)


def test_other_files_are_named(tmp_path) -> None:
    (tmp_path / "a.json").write_text("[1")
    with pytest.raises(FileFormatError, match=r"a\.json: is not JSON"):
        read_strokes(tmp_path / "a.json")
    (tmp_path / "b.json").write_text("[1]")
    with pytest.raises(FileFormatError, match=r"b\.json: expected strokes"):
        read_strokes(tmp_path / "b.json")
