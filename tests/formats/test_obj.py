"""Wavefront OBJ: every spelling of the same mesh, and every way to spoil it."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.mesh import Asset, Material
from osteon.io import load_sequence, write_sequence

QUAD = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
QUAD_VERTICES = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]


@pytest.fixture(name="load")
def _load(tmp_path):
    def load(text: str | bytes):
        path = tmp_path / "mesh.obj"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_sequence(path)

    return load


@pytest.mark.parametrize(
    "faces",
    [
        "f 1 2 3\nf 1 3 4\n",
        "f 1/1 2/1 3/1\nf 1/1 3/1 4/1\n",
        "f 1//1 2//1 3//1\nf 1//1 3//1 4//1\n",
        "f 1/1/1 2/1/1 3/1/1\nf 1 3//1 4/1\n",
        "f 1/ 2/ 3/\nf\t1  3\t4 \n",
        "f -4 -3 -2\nf -4 -2 -1\n",
        "f 1 \\\n2 3\nf 1 3 4 # a comment\n",
        "\n  f 1 2 3\n\n# f 9 9 9\n\tf 1 3 4",
    ],
)
def test_spellings_of_two_triangles(load, faces):
    sequence = load(QUAD + "vt 0.5 0.25\nvn 0 0 1\n" + faces)
    assert sequence.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert sequence.frames[0].tolist() == QUAD_VERTICES
    assert sequence.asset.polygon_of_triangle is None


def test_line_ends_of_other_systems(load):
    unix = load(QUAD + "f 1 2 3\n")
    for end in (b"\r\n", b"\r"):
        other = load((QUAD + "f 1 \\\n2 3\n").encode().replace(b"\n", end))
        assert np.array_equal(other.faces, unix.faces)
        assert np.array_equal(other.frames, unix.frames)


def test_relative_indices_count_from_their_own_line(load):
    sequence = load("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 0 0 1\nf -1 -2 -3\n")
    assert sequence.faces.tolist() == [[0, 1, 2], [3, 2, 1]]


def test_polygons_become_fans(load):
    sequence = load(QUAD + "v 0 0 1\nf 1 2 3 4\nf 1 2 5\n")
    assert sequence.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 4]]
    assert sequence.asset.polygon_of_triangle.tolist() == [0, 0, 1]


def test_vertex_colours_and_weights(load):
    colored = load("v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nf 1 2 3\n")
    assert colored.asset.colors.tolist() == [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]
    bytes_ = load("v 0 0 0 255 0 0\nv 1 0 0 0 255 0\nv 0 1 0 0 0 51\nf 1 2 3\n")
    assert bytes_.asset.colors[2].tolist() == [0, 0, np.float32(0.2), 1]
    some = load("v 0 0 0 0.5 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert some.asset.colors.tolist() == [[0.5, 0, 0, 1], [1, 1, 1, 1], [1, 1, 1, 1]]
    assert load("v 0 0 0 1\nv 1 0 0 1\nv 0 1 0 1\nf 1 2 3\n").asset.colors is None  # w, not a colour


def test_texture_coordinates_belong_to_corners(load):
    text = QUAD + "vt 0 0\nvt 1 0.5\nvt 0.25\nf 1/1 2/2 3/3\nf 1/-3 3/-2 4\n"
    uvs = load(text).asset.uvs
    assert uvs.tolist() == [[[0, 0], [1, 0.5], [0.25, 0]], [[0, 0], [1, 0.5], [0, 0]]]


def test_objects_groups_and_materials(load, tmp_path):
    (tmp_path / "look.mtl").write_text("newmtl red\nKd 1 0 0\nd 0.5\nPm 0.25\nPr 0.75\nmap_Kd x.png\nKd oops\n")
    text = (
        QUAD
        + "mtllib look.mtl\nf 1 2 3\no body part\nusemtl red\nf 1 3 4\nusemtl blue\nf 2 3 4\no body part\nf 1 2 4\n"
    )
    asset = load(text).asset
    assert asset.primitive_names == ("default", "body part")
    assert asset.primitive_of_triangle.tolist() == [0, 1, 1, 1]
    assert [m.name for m in asset.materials] == ["default", "red", "blue"]
    assert asset.materials[1] == Material("red", (1.0, 0.0, 0.0, 0.5), 0.25, 0.75)
    assert asset.triangle_material.tolist() == [0, 1, 2, 2]
    assert load(QUAD + "g left\nf 1 2 3\ng right\nf 1 3 4\n").asset.primitive_names == ("left", "right")


def test_material_library_outside_the_folder_is_not_read(tmp_path):
    (tmp_path / "look.mtl").write_text("newmtl red\nKd 1 0 0\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    for library in ("../look.mtl", str(tmp_path / "look.mtl"), "missing.mtl", ".", "\x01"):
        (inner / "mesh.obj").write_text(f"{QUAD}mtllib {library}\nusemtl red\nf 1 2 3\n")
        assert load_sequence(inner / "mesh.obj").asset.materials == (Material("red"),)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("", FileFormatError, "empty"),
        ("\n\n", FileFormatError, "no vertices"),
        ("hello\n", FileFormatError, "no vertices"),
        (QUAD, GeometryError, "no triangles"),
        (QUAD + "f 1 2\n", FileFormatError, "2 corners"),
        (QUAD + "f 1 2 9\n", FileFormatError, "vertex 8"),
        (QUAD + "f 1 2 99999999999999999999999\n", FileFormatError, "4 vertices"),
        (QUAD + "f -9 2 3\n", FileFormatError, "vertex -5"),
        (QUAD + "f 0 1 2\n", FileFormatError, "counts from 1"),
        (QUAD + "f /1 2 3\n", FileFormatError, "counts from 1"),
        (QUAD + "f 1 2 x\n", FileFormatError, "'x'"),
        (QUAD + "f 1 2 1.5\n", FileFormatError, "'1.5'"),
        (QUAD + "f 1/1/1/1 2 3\n", FileFormatError, "v/vt/vn"),
        (QUAD + "vt 0 0\nf 1/7 2/1 3/1\n", FileFormatError, "texture coordinate"),
        ("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", GeometryError, "vertex 0"),
        ("v 0 0 0\nv 1 inf 0\nv 0 1 0\nf 1 2 3\n", GeometryError, "vertex 1"),
        ("v 0 0 0\nv 1 0 0\nv 0 1e39 0\nf 1 2 3\n", GeometryError, "vertex 2"),
        ("v 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", FileFormatError, "vertex 0 has 2 of 3 numbers"),
        ("v 0 0 0\nv \nv 1 0 0\nv 0 1 0\nf 1 2 3\n", FileFormatError, "vertex line has no numbers"),
        (QUAD + "vt # 1\nf 1/1 2/1 3/1\n", FileFormatError, "texture coordinate line has no numbers"),
        (QUAD + "vt inf 1\nf 1/1 2/1 3/1\n", GeometryError, "uvs"),
        ("v 0 zero 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", FileFormatError, "'zero'"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf \n", FileFormatError, "names no vertices"),
    ],
)
def test_spoiled_files(tmp_path, refused, text, kind, says):
    path = tmp_path / "bad.obj"
    path.write_text(text)
    with refused(kind, "bad.obj", says):
        load_sequence(path)


def test_long_words_are_not_quoted_whole(tmp_path, refused):
    path = tmp_path / "bad.obj"
    path.write_text("v 0 0 " + "x" * 100_000 + "\n")
    with refused(FileFormatError, "…"):
        load_sequence(path)


def test_one_long_line_among_short_ones_takes_no_memory(tmp_path):
    path = tmp_path / "ragged.obj"
    path.write_text("v 0 0 0 " + "1 " * 100_000 + "\n" + "v 1 2 3\n" * 50_000 + "f 1 2 3\n")
    assert load_sequence(path).n_vertices == 50_001  # a full table would take 40 GB


def test_writes_what_it_read(load, tmp_path):
    text = QUAD + "v 0 0 1\nvt 0 0\nvt 1 0.3\no box\nusemtl red\nf 1/1 2/2 3/1 4/2\no lid\nf 1/2 2/2 5/1\n"
    first = load(text)
    write_sequence(first.frames, first.faces, tmp_path / "out", asset=first.asset)
    again = load_sequence(tmp_path / "out")
    assert "f 1/1 2/2 3/1 4/2" in (tmp_path / "out" / "frame_0000.obj").read_text()
    assert np.array_equal(again.frames, first.frames)
    for field in ("uvs", "triangle_material", "polygon_of_triangle", "primitive_of_triangle"):
        assert np.array_equal(getattr(again.asset, field), getattr(first.asset, field)), field
    assert again.asset.materials == first.asset.materials
    assert again.asset.primitive_names == ("box", "lid")


def test_names_that_would_break_a_line_are_tamed(tmp_path):
    asset = Asset(
        materials=(Material("a\nf 1 2 3 #\\", (0.25, 0.5, 1.0, 0.75), 0.5, 0.5),), triangle_material=np.zeros(1, int)
    )
    write_sequence(np.array([QUAD_VERTICES], float), np.array([[0, 1, 2]]), tmp_path / "one.obj", asset=asset)
    again = load_sequence(tmp_path / "one.obj")
    assert again.n_triangles == 1
    assert again.asset.materials[0].name == "a_f_1_2_3_"
    assert again.asset.materials[0].base_color == (0.25, 0.5, 1.0, 0.75)
    assert (tmp_path / "one.mtl").exists()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_texts_of_two_bytes_a_letter(tmp_path, encoding):
    text = "# a box\nv 0 0 0\nv 1 0 0\nv 0 1 0.5\nf 1 2 3\n"
    mark = "" if encoding == "utf-16" else "\ufeff"
    (tmp_path / "mesh.obj").write_bytes((mark + text).encode(encoding))
    assert load_sequence(tmp_path / "mesh.obj").frames[0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0.5]]
