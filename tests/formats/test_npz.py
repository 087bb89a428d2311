"""NumPy archives and arrays as sequences."""

from __future__ import annotations

import io
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.core.sequence import MeshSequence
from osteon.io import LoadOptions, load_sequence, save_sequence

FACES = np.array([[0, 1, 2], [0, 2, 3]])
REST = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
FRAMES = np.stack([REST, REST + 1, REST * 2])


def test_plain_archive(tmp_path):
    np.savez(tmp_path / "walk.npz", frames=FRAMES, faces=FACES)
    sequence = load_sequence(tmp_path / "walk.npz")
    assert np.array_equal(sequence.frames, FRAMES.astype(np.float32))
    assert np.array_equal(sequence.rest, REST)
    assert sequence.clips == (Clip("walk", 0, 3, 24.0),)
    assert sequence.name == "walk"


def test_rest_and_rate_of_the_file(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, frames=FRAMES, faces=FACES.astype(np.uint16), rest=REST - 5, fps=60)
    sequence = load_sequence(path)
    assert np.array_equal(sequence.rest, REST - 5)
    assert sequence.clips[0].fps == 60
    assert load_sequence(path, options=LoadOptions(fps=12)).clips[0].fps == 12


def test_quads_and_column_order(tmp_path):
    frames = np.asfortranarray(FRAMES.astype(np.float32))
    np.savez(tmp_path / "q.npz", frames=frames, faces=np.array([[0, 1, 2, 3]]))
    sequence = load_sequence(tmp_path / "q.npz")
    assert sequence.faces.tolist() == FACES.tolist()
    assert sequence.asset.polygon_of_triangle.tolist() == [0, 0]
    assert np.array_equal(sequence.frames, FRAMES.astype(np.float32))


def test_clips_are_kept_and_chosen_by_name(tmp_path, refused):
    clips = (Clip("walk", 0, 2, 24.0), Clip("run", 2, 3, 30.0))
    save_sequence(MeshSequence(FRAMES, FACES, REST, clips, name="dog"), tmp_path / "s.npz")
    assert load_sequence(tmp_path / "s.npz").clips == clips
    chosen = load_sequence(tmp_path / "s.npz", options=LoadOptions(clips=("run",)))
    assert chosen.clips == (Clip("run", 0, 1, 30.0),)
    assert np.array_equal(chosen.frames[0], FRAMES[2])
    assert np.array_equal(chosen.rest, REST)
    with refused(OptionError, "'fly'", "'walk', 'run'"):
        load_sequence(tmp_path / "s.npz", options=LoadOptions(clips=("fly",)))


def bad_archives():
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w", zipfile.ZIP_DEFLATED) as archive:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 1, 3)}\n"
        archive.writestr("frames.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 48)
    good = {"frames": FRAMES, "faces": FACES}
    nan = FRAMES.copy()
    nan[1, 2, 0] = np.nan
    return [
        (b"", FileFormatError, "npz"),
        (b"not a zip", FileFormatError, "npz"),
        (huge.getvalue(), FileFormatError, "1000000000000"),
        (good | {"frames": np.array([{"a": 1}])}, FileFormatError, "pickle"),
        (good | {"faces": np.array([None])}, FileFormatError, "pickle"),
        ({"faces": FACES}, FileFormatError, "'frames'"),
        ({"frames": FRAMES}, FileFormatError, "--faces"),
        (good | {"frames": FRAMES[..., :2]}, FileFormatError, "(3, 4, 2)"),
        (good | {"frames": FRAMES[:0]}, FileFormatError, "(0, 4, 3)"),
        (good | {"frames": FRAMES.astype(complex)}, FileFormatError, "complex128"),
        (good | {"frames": np.array(["2020-01-01"], "M8[D]")}, FileFormatError, "datetime64"),
        (good | {"frames": np.array("text")}, FileFormatError, "shape ()"),
        (good | {"frames": nan}, GeometryError, "frame 1): vertex 2"),
        (good | {"faces": FACES + 0.5}, FileFormatError, "float64"),
        (good | {"faces": FACES.ravel()}, FileFormatError, "(6,)"),
        (good | {"faces": FACES + 9}, GeometryError, "0 … 3"),
        (good | {"faces": FACES[:0]}, GeometryError, "no triangles"),
        (good | {"rest": REST[:2]}, FileFormatError, "'rest'"),
        (good | {"rest": REST + np.inf}, GeometryError, "vertex 0"),
        (good | {"fps": np.array([1, 2])}, FileFormatError, "'fps'"),
        (good | {"fps": 0}, GeometryError, "frame rate"),
        (good | {"format": "osteon-model"}, FileFormatError, "is a skinned model"),
        (good | {"format": "osteon-sequence", "version": 9}, FileFormatError, "version 9"),
        (good | {"format": "osteon-sequence"}, FileFormatError, "no version"),
        (good | {"header": "{"}, FileFormatError, "JSON"),
        (good | {"header": "[]"}, FileFormatError, "JSON object"),
        (good | {"header": '{"clips": [1]}'}, FileFormatError, "header"),
        (good | {"header": '{"materials": [{}]}'}, FileFormatError, "header"),
    ]


@pytest.mark.parametrize(("content", "kind", "says"), bad_archives())
def test_spoiled_archives(tmp_path, refused, content, kind, says):
    path = tmp_path / "bad.npz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.savez(path, **content)
    with refused(kind, "bad.npz", says):
        load_sequence(path)


def npy(header: str, body: bytes = b"") -> bytes:
    """An array with a header written by hand."""
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def packed(method: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    """An archive of these members and otherwise sound ones."""
    sound = {"frames": FRAMES.astype("<f4"), "faces": FACES}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, array in sound.items():
            saved = io.BytesIO()
            np.save(saved, array)
            archive.writestr(f"{name}.npy", members.get(name, saved.getvalue()))
        for name in set(members) - set(sound):
            archive.writestr(f"{name}.npy", members[name])
    return out.getvalue()


PLAIN = "{'descr': '<f4', 'fortran_order': False, 'shape': "


@pytest.mark.parametrize(
    ("member", "content", "says"),
    [
        ("frames", npy(PLAIN + "(3, 4, 3"), "header"),
        ("frames", npy(PLAIN + "(True, 4, 3)}", bytes(200)), "header"),
        ("frames", npy(PLAIN + "(-1, 4, 3)}", bytes(200)), "header"),
        ("frames", npy(PLAIN + f"({'9' * 30},)}}"), "shape"),
        ("frames", npy(PLAIN + f"({'3' * 60}"), "header"),
        ("frames", npy(PLAIN + "(" * 9000), "header"),
        ("frames", npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}"), "header"),
        ("format", npy("{'descr': '<U0', 'fortran_order': False, 'shape': ()}"), "<U0"),
        ("format", npy("{'descr': '<U1', 'fortran_order': False, 'shape': ()}", b"\xff\xff\xff\x7f"), "letters"),
        ("format", npy("{'descr': '<U2', 'fortran_order': False, 'shape': ()}", "a\n".encode("utf-32-le")), r"'a'"),
    ],
)
def test_headers_that_numpy_trips_over(tmp_path, refused, member, content, says):
    (tmp_path / "bad.npz").write_bytes(packed(**{member: content}))
    with refused(FileFormatError, "bad.npz", says):
        load_sequence(tmp_path / "bad.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_damaged_inside_any_compression(tmp_path, refused, method):
    data = bytearray(packed(method))
    (tmp_path / "bad.npz").write_bytes(data)
    assert load_sequence(tmp_path / "bad.npz").n_frames == 3
    data[60:72] = b"\xff" * 12
    (tmp_path / "bad.npz").write_bytes(data)
    with refused(FileFormatError, "bad.npz"):
        load_sequence(tmp_path / "bad.npz")


def test_headers_of_old_and_careful_writers(tmp_path):
    """Keys in another order, a long with an L, no comma at the end, version 2.0."""
    body = FRAMES.astype("<f4").tobytes()
    odd = npy("{ 'shape':(3L, 4, 3,) , 'descr' : '<f4','fortran_order':False}   ", body)
    header = odd[10 : -len(body)]
    second = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header + body
    for content in (odd, second):
        (tmp_path / "a.npz").write_bytes(packed(frames=content))
        assert np.array_equal(load_sequence(tmp_path / "a.npz").frames, FRAMES.astype(np.float32))


def test_truncated_archive(tmp_path, refused):
    path = tmp_path / "bad.npz"
    np.savez_compressed(path, frames=FRAMES, faces=FACES)
    data = path.read_bytes()
    for keep in (10, len(data) // 2, len(data) - 5):
        path.write_bytes(data[:keep])
        with refused(FileFormatError, "bad.npz", "intact"):
            load_sequence(path)


def test_damaged_archive_members(tmp_path):
    path = tmp_path / "bad.npz"
    np.savez_compressed(path, frames=FRAMES, faces=FACES)
    data = bytearray(path.read_bytes())
    read = 0
    places = range(30, len(data) - 1, 7)
    for at in places:
        spoiled = bytearray(data)
        spoiled[at] ^= 0x5A
        path.write_bytes(spoiled)
        with suppress(FileFormatError, GeometryError):
            load_sequence(path)
            read += 1
    assert len(places) > 20
    assert read < 0.5 * len(places)  # most damage is noticed, and none is another error


def test_zip_bomb(tmp_path, refused, monkeypatch):
    monkeypatch.setattr("osteon.io.load.source.LARGEST_UNPACKED", 1 << 20)
    np.savez_compressed(tmp_path / "bomb.npz", frames=np.zeros((1, 200_000, 3)), faces=FACES)
    with refused(FileFormatError, "bomb.npz", "unpacks to"):
        load_sequence(tmp_path / "bomb.npz")


def test_npy_with_faces_from_other_files(tmp_path, refused):
    frames, faces = tmp_path / "frames.npy", tmp_path / "faces.npy"
    np.save(frames, FRAMES)
    np.save(faces, FACES)
    (tmp_path / "m.obj").write_text("v 0 0 0 1 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 1\nf 1 2 3 4\n")
    with refused(FileFormatError, "frames.npy", "--faces"):
        load_sequence(frames)
    sequence = load_sequence(frames, options=LoadOptions(faces=faces))
    assert np.array_equal(sequence.frames, FRAMES)
    assert sequence.faces.tolist() == FACES.tolist()
    textured = load_sequence(frames, options=LoadOptions(faces=tmp_path / "m.obj"))
    assert textured.asset.polygon_of_triangle.tolist() == [0, 0]
    assert textured.asset.colors[0].tolist() == [1, 0, 0, 1]
    np.savez(tmp_path / "only.npz", frames=FRAMES)
    assert load_sequence(tmp_path / "only.npz", options=LoadOptions(faces=faces)).n_triangles == 2
    np.savez(tmp_path / "full.npz", frames=FRAMES, faces=FACES)
    assert load_sequence(frames, options=LoadOptions(faces=tmp_path / "full.npz")).n_triangles == 2


def test_one_frame_array(tmp_path):
    np.save(tmp_path / "f.npy", REST)
    np.save(tmp_path / "t.npy", np.array([[0, 1, 2, 3]], np.uint8))
    sequence = load_sequence(tmp_path / "f.npy", options=LoadOptions(faces=tmp_path / "t.npy"))
    assert sequence.frames.shape == (1, 4, 3)
    assert sequence.asset.polygon_of_triangle.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("frames", "faces", "kind", "name", "says"),
    [
        (FRAMES, FACES + 9, GeometryError, "f.npy", "0 … 3"),
        (FRAMES, FACES - 1, FileFormatError, "t.npy", "negative"),
        (FRAMES, FACES.astype(float), FileFormatError, "t.npy", "float64"),
        (FRAMES, FACES[:0], GeometryError, "t.npy", "no triangles"),
        (np.array([object()]), FACES, FileFormatError, "f.npy", "pickle"),
        (FRAMES.ravel(), FACES, FileFormatError, "f.npy", "(36,)"),
        (FRAMES > 0, FACES, FileFormatError, "f.npy", "bool"),
    ],
)
def test_spoiled_arrays(tmp_path, refused, frames, faces, kind, name, says):
    np.save(tmp_path / "f.npy", frames, allow_pickle=True)
    np.save(tmp_path / "t.npy", faces)
    with refused(kind, name, says):
        load_sequence(tmp_path / "f.npy", options=LoadOptions(faces=tmp_path / "t.npy"))


def test_truncated_and_foreign_arrays(tmp_path, refused):
    np.save(tmp_path / "t.npy", FACES)
    np.save(tmp_path / "f.npy", FRAMES)
    options = LoadOptions(faces=tmp_path / "t.npy")
    data = (tmp_path / "f.npy").read_bytes()
    for spoiled, says in ((data[:-9], "truncated"), (b"\x93NUMPY\x07\x00", "version"), (b"text", "numpy.save")):
        (tmp_path / "f.npy").write_bytes(spoiled)
        with refused(FileFormatError, "f.npy", says):
            load_sequence(tmp_path / "f.npy", options=options)
