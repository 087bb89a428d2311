"""Object File Format."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError
from osteon.io import load_sequence

BODY = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n"


@pytest.fixture(name="load")
def _load(tmp_path):
    def load(text: str):
        path = tmp_path / "mesh.off"
        path.write_text(text)
        return load_sequence(path)

    return load


@pytest.mark.parametrize(
    "text",
    [
        "OFF\n4 1 4\n" + BODY,
        "OFF 4 1 4\n" + BODY,
        "OFF 4 1\n" + BODY,
        "# head\n\nOFF # it is\n# counts\n 4 1 0 # here\n" + BODY.replace("\n", " # x\n\n"),
        "OFF\r\n4 1 4\r\n" + BODY.replace("\n", "\r\n"),
        "OFF\n4 1 4\n" + BODY[:-1] + " 255 0 0\n",
        "NOFF\n4 1 4\n0 0 0 0 0 1\n1 0 0 0 0 1\n1 1 0 0 0 1\n0 1 0 0 0 1\n4 0 1 2 3\n",
    ],
)
def test_spellings_of_a_quad(load, text):
    sequence = load(text)
    assert sequence.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert sequence.frames[0].tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert sequence.asset.polygon_of_triangle.tolist() == [0, 0]


def test_colours_in_bytes_and_in_parts_of_one(load):
    parts = load("COFF\n3 1 0\n0 0 0 1 0 0 0.5\n1 0 0 0 1 0 1\n0 1 0 0 0 1 1\n3 0 1 2\n")
    assert parts.asset.colors[0].tolist() == [1, 0, 0, 0.5]
    whole = load("COFF\n3 1 0\n0 0 0 255 0 0\n1 0 0 0 51 0\n0 1 0 0 0 255\n3 0 1 2\n")
    assert whole.asset.colors[:2].tolist() == [[1, 0, 0, 1], [0, np.float32(0.2), 0, 1]]


def test_texture_coordinates(load):
    sequence = load("STOFF\n3 1 0\n0 0 0 0 0.5\n1 0 0 1 0.5\n0 1 0 0 1\n3 2 1 0\n")
    assert sequence.asset.uvs.tolist() == [[[0, 1], [1, 0.5], [0, 0.5]]]


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("", FileFormatError, "empty"),
        ("# nothing\n", FileFormatError, "expected OFF"),
        ("4OFF\n1 1 1\n", FileFormatError, "expected OFF"),
        ("OFF\n", FileFormatError, "counts"),
        ("OFF BINARY\n1 1 1\n", FileFormatError, "BINARY"),
        ("OFF\nfour 1 0\n", FileFormatError, "four"),
        ("OFF\n-4 1 0\n" + BODY, FileFormatError, "-4"),
        ("OFF\n1000000000000 1 0\n" + BODY, FileFormatError, "1000000000000"),
        ("OFF\n4 2 0\n" + BODY, FileFormatError, "truncated"),
        ("OFF\n0 0 0\n", FileFormatError, "no vertices"),
        ("OFF\n4 0 0\n" + BODY, GeometryError, "no triangles"),
        ("OFF\n4 1 0\n" + BODY.replace("2 3\n", "2 9\n"), FileFormatError, "vertex 9"),
        ("OFF\n4 1 0\n" + BODY.replace("4 0", "7 0"), FileFormatError, "face 0"),
        ("OFF\n4 1 0\n" + BODY.replace("4 0", "nan 0"), FileFormatError, "face 0"),
        ("OFF\n4 1 0\n" + BODY.replace("2 3\n", "2 0.5\n"), FileFormatError, "whole"),
        ("OFF\n4 1 0\n" + BODY.replace("1 1 0", "1 1"), FileFormatError, "vertex 2"),
        ("OFF\n4 1 0\n" + BODY.replace("1 1 0", "1 1 inf"), GeometryError, "vertex 2"),
    ],
)
def test_spoiled_files(tmp_path, refused, text, kind, says):
    path = tmp_path / "bad.off"
    path.write_text(text)
    with refused(kind, "bad.off", says):
        load_sequence(path)
