"""MEDIT text meshes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osteon.core.errors import FileFormatError, GeometryError, InputError
from osteon.io import load_sequence

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

HEAD = "MeshVersionFormatted 1\nDimension 3\n"
POINTS = "Vertices\n4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 7\n"
TRIANGLE = "Triangles\n1\n1 2 3 5\n"
QUAD = "Quadrilaterals\n1\n1 2 3 4 5\n"
TETRAHEDRON = "Tetrahedra\n1\n1 2 3 4 0\n"
GOOD = HEAD + POINTS + TRIANGLE


@pytest.fixture(name="load")
def _load(tmp_path):
    def load(text: str):
        path = tmp_path / "solid.mesh"
        path.write_text(text)
        return load_sequence(path)

    return load


def volume(sequence) -> float:
    a, b, c = (sequence.frames[0].astype(float)[sequence.faces[:, i]] for i in range(3))
    return float(np.einsum("ti,ti->", np.cross(a, b), c)) / 6


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD + "End\n",
        GOOD + "Edges\n0\n End",
        GOOD + "End\nwhatever follows 1 2 3",
        HEAD + TRIANGLE + POINTS + "End\n",
        "MeshVersionFormatted\n2\nDimension\n3\n" + POINTS + TRIANGLE,
        "MeshVersionFormatted 1 Dimension 3\nVertices 4\n" + POINTS[11:] + "Triangles 1\n1 2 3 5\n",
        "# made by hand\n" + GOOD.replace("Triangles", "# faces\nTriangles # here").replace("0 0 1 7", "0 0 1 7 # top"),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\n\n  "),
        GOOD.replace("1 2 3 5", "1 2\n3 5"),
        GOOD.replace("1 2 3 5", "1 2 3"),
        GOOD.replace("Vertices", "VERTICES").replace("Triangles", "triangles"),
        GOOD + "Corners\n2\n1 2\nRequiredVertices 1 1\nNormals\n1\n0 0 1\nEnd\n",
        GOOD + TETRAHEDRON,
    ],
)
def test_spellings_of_a_triangle(load, text):
    sequence = load(text)
    assert sequence.faces.tolist() == [[0, 1, 2]]
    assert sequence.frames[0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_a_flat_mesh_lies_at_zero(load):
    sequence = load("MeshVersionFormatted 1\nDimension 2\nVertices 3\n0 0 1\n2 0 1\n0 3 1\nTriangles 1\n1 2 3 0\n")
    assert sequence.frames[0].tolist() == [[0, 0, 0], [2, 0, 0], [0, 3, 0]]


def test_triangles_and_quadrilaterals(load):
    sequence = load(HEAD + QUAD + POINTS + TRIANGLE)
    assert sequence.faces.tolist() == [[0, 1, 2], [0, 1, 2], [0, 2, 3]]
    assert sequence.asset.polygon_of_triangle.tolist() == [0, 1, 1]


@pytest.mark.parametrize("corners", ["1 2 3 4", "2 1 3 4", "4 3 2 1", "3 4 2 1"])
def test_the_surface_of_a_tetrahedron_faces_outward(load, corners):
    sequence = load(HEAD + POINTS + f"Tetrahedra\n1\n{corners} 0\n")
    assert sequence.n_triangles == 4
    assert volume(sequence) == pytest.approx(1 / 6)


def test_faces_between_tetrahedra_are_left_out_and_vertices_stay(load):
    """A cube of five tetrahedra, some of them inside out, with a vertex that nothing uses."""
    cube = [(i & 1, i >> 1 & 1, i >> 2) for i in range(8)]
    rows = ["1 2 3 5", "4 3 2 8", "6 2 5 8", "7 3 5 8", "2 3 5 8"]
    points = "\n".join(f"{x} {y} {z} 0" for x, y, z in [*cube, (9, 9, 9)])
    sequence = load(f"{HEAD}Tetrahedra 5\n{' 0 '.join(rows)} 0\nVertices 9\n{points}\n")
    assert (sequence.n_vertices, sequence.n_triangles) == (9, 12)
    assert volume(sequence) == pytest.approx(1)
    assert np.array_equal(np.unique(sequence.faces), np.arange(8))


def test_a_sequence_of_files(tmp_path):
    for frame in range(3):
        (tmp_path / f"f{frame}.mesh").write_text(HEAD + POINTS.replace("0 0 1 7", f"0 0 {frame + 1} 7") + TETRAHEDRON)
    sequence = load_sequence(tmp_path)
    assert sequence.frames[:, 3, 2].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("", FileFormatError, "empty"),
        ("Vertices 1\n", FileFormatError, "expected MeshVersionFormatted"),
        ("4 MeshVersionFormatted 1\n", FileFormatError, "expected MeshVersionFormatted"),
        (HEAD, FileFormatError, "Vertices"),
        (HEAD + TRIANGLE, FileFormatError, "Vertices"),
        (GOOD.replace("Dimension 3", "Dimension 4"), FileFormatError, "Dimension"),
        (
            GOOD.replace("Vertices\n4", "Vertices\n0").replace("0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 7\n", ""),
            None,
            "no vert",
        ),
        (HEAD + POINTS, GeometryError, "no triangles"),
        (HEAD + POINTS + "Triangles 0\nEnd\n", GeometryError, "no triangles"),
        (GOOD.replace("\n4\n", "\n5\n"), FileFormatError, "truncated"),
        (GOOD.replace("\n4\n", "\n2\n"), FileFormatError, "too small"),
        (GOOD.replace("\n4\n", "\n-4\n"), FileFormatError, "-4"),
        (GOOD.replace("\n4\n", "\n1000000000000\n"), FileFormatError, "1000000000000"),
        (GOOD.replace("\n4\n", "\n" + "9" * 5000 + "\n"), FileFormatError, "count"),
        (GOOD[: GOOD.index("4\n0 0 0")], FileFormatError, "count"),
        (GOOD.replace("0 1 0 0", "0 one 0 0"), FileFormatError, "Vertices"),
        (GOOD.replace("0 1 0 0", "0 1x 0 0"), FileFormatError, "1x"),
        (GOOD.replace("0 1 0 0", "0 nan 0 0"), GeometryError, "vertex 2"),
        (GOOD.replace("0 1 0 0", "0 -inf 0 0"), GeometryError, "vertex 2"),
        (GOOD.replace("1 2 3 5", "1 2 5 5"), FileFormatError, "vertex 4"),
        (GOOD.replace("1 2 3 5", "1 0 3 5"), FileFormatError, "vertex -1"),
        (GOOD.replace("1 2 3 5", "1 2.5 3 5"), FileFormatError, "2.5"),
        (GOOD.replace("1 2 3 5", "1 2 3 5 9"), FileFormatError, "too small"),
        (GOOD + TRIANGLE, FileFormatError, "two sections"),
        (HEAD + POINTS + TETRAHEDRON.replace("4 0", "9 0"), FileFormatError, "tetrahedron 0"),
    ],
)
def test_spoiled_files(tmp_path, refused, text, kind, says):
    path = tmp_path / "bad.mesh"
    path.write_text(text)
    with refused(kind or FileFormatError, "bad.mesh", says):
        load_sequence(path)


@pytest.mark.parametrize("seed", [GOOD, HEAD + POINTS + TETRAHEDRON], ids=["triangles", "tetrahedra"])
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_are_read_or_refused(tmp_path, seed, data):
    spoiled = bytearray(seed.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(spoiled)))
        piece = st.one_of(st.binary(max_size=4), st.sampled_from([b"-", b"9" * 12, b"\n", b"nan ", b" End "]))
        spoiled[at : at + data.draw(st.integers(0, 4))] = data.draw(piece)
    path = tmp_path / "any.mesh"
    path.write_bytes(bytes(spoiled))
    try:
        sequence = load_sequence(path)
    except InputError as error:
        message = str(error)
    else:
        assert np.isfinite(sequence.frames).all()
        return
    assert "any.mesh" in message
    assert "\n" not in message


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the repository")
def test_the_triangles_of_a_real_file_are_the_surface_of_its_tetrahedra(tmp_path):
    path = DATA / "meshes" / "hand.mesh"
    sequence = load_sequence(path)
    assert (sequence.n_vertices, sequence.n_triangles) == (7234, 9556)
    text = path.read_text()
    without = text[: text.index("Triangles")] + text[text.index("Tetrahedra") :]
    (tmp_path / "inside.mesh").write_text(without)
    again = load_sequence(tmp_path / "inside.mesh")
    assert np.array_equal(_sorted_faces(again.faces), _sorted_faces(sequence.faces))


def _sorted_faces(faces: np.ndarray) -> np.ndarray:
    """The faces in one order, each from its lowest corner on, so that only their winding is left."""
    turned = np.take_along_axis(faces, (faces.argmin(axis=1)[:, None] + np.arange(3)) % 3, axis=1)
    return turned[np.lexsort(turned.T)]
