"""Stanford PLY: three encodings, mixed polygons, and headers that lie."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.mesh import Asset
from osteon.io import load_sequence
from osteon.io.meshes.ply import PlyWriter

VERTICES = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 1]], np.float32)
ENCODINGS = ("ascii", "binary_little_endian", "binary_big_endian")
HEADER = "ply\nformat {} 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n"
FACES = "element face {}\nproperty list uchar int {}\nend_header\n"


def ply(encoding="ascii", n_vertices=3, n_faces=1, name="vertex_indices", body=b"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"):
    return (HEADER.format(encoding, n_vertices) + FACES.format(n_faces, name)).encode() + body


@pytest.fixture(name="load")
def _load(tmp_path):
    def load(data: bytes):
        path = tmp_path / "mesh.ply"
        path.write_bytes(data)
        return load_sequence(path)

    return load


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_round_trip_with_everything(load, encoding):
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 1, 4], [1, 2, 4]], np.int32)
    asset = Asset(
        uvs=np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 3, 2)[[0, 0, 2, 3]],
        colors=np.float32(np.arange(20).reshape(5, 4) / 255),
        polygon_of_triangle=np.array([0, 0, 1, 2], np.int32),
    )
    uvs = asset.uvs.copy()
    uvs[1, 1] = uvs[0, 2]  # the corner that both triangles of the quad share
    uvs[1, 0] = uvs[0, 0]
    again = load(
        PlyWriter(faces, Asset(uvs, asset.colors, polygon_of_triangle=asset.polygon_of_triangle), encoding).frame(
            VERTICES
        )
    )
    assert np.array_equal(again.frames[0], VERTICES)
    assert np.array_equal(again.faces, faces)
    assert np.array_equal(again.asset.uvs, uvs)
    assert np.array_equal(again.asset.colors, asset.colors)
    assert again.asset.polygon_of_triangle.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("polygons", [[0, 1, 2], [0, 0, 2], [0, 0, 0]])
def test_equal_and_mixed_polygons(load, encoding, polygons):
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4]], np.int32)
    again = load(PlyWriter(faces, Asset(polygon_of_triangle=np.array(polygons)), encoding).frame(VERTICES))
    assert np.array_equal(again.faces, faces)
    assert again.frames[0].tolist() == VERTICES.tolist()


@pytest.mark.parametrize("name", ["vertex_indices", "vertex_index"])
def test_both_names_of_the_index_list(load, name):
    assert load(ply(name=name)).faces.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("order", ["<", ">"])
def test_other_elements_and_types_are_skipped(load, order):
    encoding = "binary_little_endian" if order == "<" else "binary_big_endian"
    header = (
        f"ply\r\nformat {encoding} 1.0\r\ncomment hi\r\nobj_info x\r\nelement junk 2\r\n"
        "property list ushort short a\r\n"
        "property double b\r\nelement vertex 3\r\nproperty uchar red\r\nproperty double x\r\nproperty double y\r\n"
        "property float z\r\nproperty uchar green\r\nproperty uchar blue\r\nelement face 1\r\nproperty uchar flag\r\n"
        "property list int uint vertex_indices\r\nelement more 1\r\nproperty int x\r\nend_header\r\n"
    )
    body = struct.pack(order + "Hhhd", 2, 1, 2, 0.5) + struct.pack(order + "Hd", 0, 0.5)
    for x, y in ((0, 0), (1, 0), (0, 1)):
        body += struct.pack(order + "BddfBB", 255, x, y, 0, 0, 51)
    body += struct.pack(order + "BiIIIi", 7, 3, 0, 1, 2, 9)
    sequence = load(header.encode() + body)
    assert sequence.frames[0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert sequence.faces.tolist() == [[0, 1, 2]]
    assert sequence.asset.colors[0].tolist() == [1, 0, np.float32(0.2), 1]


def test_texture_coordinates_of_vertices_and_float_colours(load):
    header = (
        HEADER.format("ascii", 3) + "property float s\nproperty float t\nproperty float red\nproperty float green\n"
    )
    header += "property float blue\n" + FACES.format(1, "vertex_indices")
    body = "0 0 0 0 0.5 1 0 0\n1 0 0 1 0.5 0 1 0\n0 1 0 0 1 0 0 0.5\n3 2 1 0\n"
    asset = load((header + body).encode()).asset
    assert asset.uvs.tolist() == [[[0, 1], [1, 0.5], [0, 0.5]]]
    assert asset.colors[2].tolist() == [0, 0, 0.5, 1]


def test_faces_before_vertices(load, tmp_path):
    text = "ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int vertex_indices\nelement vertex 3\n"
    text += "property float x\nproperty float y\nproperty float z\nend_header\n3 {}\n0 0 0\n1 0 0\n0 1 0\n"
    assert load(text.format("0 1 2").encode()).faces.tolist() == [[0, 1, 2]]
    for f, face in enumerate(("0 1 2", "1 2 0")):
        (tmp_path / f"f{f}.ply").write_text(text.format(face))
    with pytest.raises(GeometryError, match="faces differ"):
        load_sequence([tmp_path / "f0.ply", tmp_path / "f1.ply"])


BINARY = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).tobytes() + struct.pack("<Biii", 3, 0, 1, 2)


@pytest.mark.parametrize(
    ("data", "kind", "says"),
    [
        (b"", FileFormatError, "empty"),
        (b"solid x", FileFormatError, "'ply'"),
        (b"ply\nformat ascii 1.0\n", FileFormatError, "end_header"),
        (b"ply\nend_header\n", FileFormatError, "no format"),
        (b"ply\nformat ebcdic 1.0\nend_header\n", FileFormatError, "ebcdic"),
        (b"ply\nformat ascii 1.0\nelement face 0\nend_header\n", FileFormatError, "no element vertex"),
        (b"ply\nformat ascii 1.0\nelement vertex -1\nend_header\n", FileFormatError, "-1"),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty quad x\nend_header\n", FileFormatError, "quad x"),
        (
            b"ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nproperty int x\nend_header\n",
            FileFormatError,
            "two",
        ),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty list\nend_header\n", FileFormatError, "property list"),
        (b"ply\nformat ascii 1.0\nproperty int x\nend_header\n", FileFormatError, "property int x"),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n", FileFormatError, "x, y or z"),
        (ply(n_vertices=10**12), FileFormatError, "1000000000000"),
        (ply("binary_little_endian", n_vertices=10**12), FileFormatError, "1000000000000"),
        (ply("binary_little_endian", n_faces=10**12, body=BINARY), FileFormatError, "1000000000000"),
        (ply("binary_little_endian", body=BINARY[:-2]), FileFormatError, "truncated"),
        (ply("binary_little_endian", body=BINARY[:20]), FileFormatError, "truncated"),
        (ply("binary_little_endian", body=BINARY[:-13] + b"\xff"), FileFormatError, "truncated"),
        (ply("binary_little_endian", n_faces=2, body=BINARY + b"\x04abc"), FileFormatError, "truncated"),
        (ply("binary_little_endian", body=b""), FileFormatError, "truncated"),
        (ply(n_faces=2), FileFormatError, "truncated"),
        (ply(n_vertices=0, n_faces=0, body=b""), FileFormatError, "no vertices"),
        (ply(n_faces=0, body=b"0 0 0\n1 0 0\n0 1 0\n"), GeometryError, "no triangles"),
        (ply(body=b"0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n"), FileFormatError, "vertex 7"),
        (ply(body=b"0 0 0\n1 0 0\n0 1 0\n3 0 1 -1\n"), FileFormatError, "vertex -1"),
        (ply(body=b"0 0 0\n1 0 0\n0 1 0\n3 0 1 1e300\n"), FileFormatError, "3 vertices"),
        (ply(body=b"0 0 0\n1 0 0\n0 1 0\n3 0 1 0.5\n"), FileFormatError, "whole"),
        (ply(body=b"0 0 0\n1 0 0\n0 1 0\n2 0 1\n"), FileFormatError, "2 corners"),
        (ply(body=b"0 0 0\n1 0 0\n0 1 0\n9 0 1 2\n"), FileFormatError, "list of 9"),
        (ply(body=b"0 0 0\n1 0 0\n0 1 0\n-3 0 1 2\n"), FileFormatError, "list length"),
        (ply(body=b"0 0 0\n1 0\n0 1 0\n3 0 1 2\n"), FileFormatError, "vertex 1 has too few"),
        (ply(body=b"0 0 0\n1 x 0\n0 1 0\n3 0 1 2\n"), FileFormatError, "'x'"),
        (ply(body=b"0 0 0\n1 nan 0\n0 1 0\n3 0 1 2\n"), GeometryError, "vertex 1"),
    ],
)
def test_spoiled_files(tmp_path, refused, data, kind, says):
    path = tmp_path / "bad.ply"
    path.write_bytes(data)
    with refused(kind, "bad.ply", says):
        load_sequence(path)


def test_a_long_or_odd_name_of_an_element_fits_on_one_line(tmp_path):
    path = tmp_path / "a.ply"
    rest = b" 9\nproperty int a\nelement vertex 1\nproperty int x\nproperty int y\nproperty int z\nend_header\n1\n"
    for name in (b"x" * 3000, b"\x1b[31m"):
        path.write_bytes(b"ply\nformat ascii 1.0\nelement " + name + rest)
        with pytest.raises(FileFormatError, match="promises 9 rows") as caught:
            load_sequence(path)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 700 + len(str(path))


def test_a_comment_without_its_word_is_forgiven_before_the_first_element(load):
    data = ply().replace(b"element vertex", b"Created by Blender3D 247, source file: \nelement vertex")
    assert load(data).n_triangles == 1
    with pytest.raises(FileFormatError, match="cannot read the header line 'Created"):
        load(ply().replace(b"end_header", b"Created by somebody\nend_header"))
