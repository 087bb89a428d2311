"""Bad input: one line that helps, exit code 2, nothing written."""

from __future__ import annotations

import numpy as np
import pytest

FACES = np.array([[0, 1, 2], [2, 1, 3]], np.int32)


def frames(n: int = 4) -> np.ndarray:
    rest = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], np.float32)
    out = np.repeat(rest[None], n, axis=0)
    out[:, 3, 2] = np.linspace(0, 1, n)
    return out


def refused(run, *arguments, says: str) -> None:
    done = run("skin", *arguments, "-o", "out.npz")
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith("osteon: ")
    assert says in done.stderr
    assert list(run.folder.iterdir()) == []


def obj(positions, faces="f 1 2 3\n") -> str:
    return "".join(f"v {x} {y} {z}\n" for x, y, z in positions) + faces


SQUARE = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]


def folder_of(tmp_path, *texts: str):
    folder = tmp_path / "frames"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"frame_{number}.obj").write_text(text)
    return folder


def test_different_vertex_counts(run, tmp_path):
    refused(run, folder_of(tmp_path, obj(SQUARE), obj([*SQUARE, (1, 1, 1)])), says="frame_1.obj")


def test_different_connectivity(run, tmp_path):
    texts = (obj(SQUARE), obj([(0, 0, 1), *SQUARE[1:]], "f 1 3 2\n"))
    refused(run, folder_of(tmp_path, *texts), says="frame_1.obj")


def test_not_a_number(run, tmp_path):
    refused(run, folder_of(tmp_path, obj(SQUARE), obj([(0, 0, "nan"), *SQUARE[1:]])), says="frame_1.obj")


def test_empty_folder(run, tmp_path):
    (tmp_path / "nothing").mkdir()
    refused(run, tmp_path / "nothing", says="nothing")


def test_one_frame(run, write_npz):
    refused(run, write_npz(frames=frames(1), faces=FACES), says="one frame")


def test_no_triangles(run, write_npz):
    refused(run, write_npz(frames=frames(), faces=np.empty((0, 3), np.int32)), says="triangle")


def test_only_zero_area_triangles(run, write_npz):
    flat = frames()
    flat[0, :, 1:] = 0
    refused(run, write_npz(frames=flat, faces=FACES), says="zero area")


def test_all_frames_equal(run, write_npz):
    refused(run, write_npz(frames=np.repeat(frames(1), 3, axis=0), faces=FACES), says="equal")


def test_more_bones_than_triangles(run, write_npz):
    refused(run, write_npz(frames=frames(), faces=FACES), "--bones", 3, says="2 triangles")


def test_unknown_suffix(run, tmp_path):
    (tmp_path / "mesh.xyz").write_text("hello")
    refused(run, tmp_path / "mesh.xyz", says=".xyz")


def test_missing_file(run):
    refused(run, "nowhere.obj", says="nowhere.obj")


def test_damaged_archive(run, tmp_path):
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 this is not a zip")
    refused(run, tmp_path / "broken.npz", says="broken.npz")


def test_a_header_that_promises_too_much(run, tmp_path):
    text = "ply\nformat binary_little_endian 1.0\nelement vertex 1000000000000\n"
    text += "property float x\nproperty float y\nproperty float z\n"
    text += "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    (tmp_path / "huge.ply").write_text(text)
    refused(run, tmp_path / "huge.ply", says="huge.ply")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--influences", 9), "influences"),
        (("--bones", -1), "bones"),
        (("--weights", "tsvd"), "--preset paper"),
        (("--holdout", 1), "holdout"),
        (("--tolerance", 0), "tolerance"),
        (("--threads", -2), "threads"),
        (("--rest", 99), "rest"),
    ],
)
def test_bad_options(run, write_npz, options, says):
    refused(run, write_npz(frames=frames(), faces=FACES), *options, says=says)


def test_an_output_of_unknown_kind(run, tube_npz):
    done = run("skin", tube_npz, "-o", "out.xyz")
    assert done.returncode == 2
    assert "out.xyz" in done.stderr
    assert list(run.folder.iterdir()) == []


def test_degenerate_unreferenced_and_duplicate_vertices_work(run, write_npz):
    moving = np.concatenate([frames(), frames()[:, :1], frames()[:, :1] + 5], axis=1)  # a duplicate and a stray
    faces = np.concatenate([FACES, [[0, 0, 1], [0, 4, 1]]]).astype(np.int32)  # two without area
    done = run("skin", write_npz(frames=moving, faces=faces), "--bones", 2, "-o", "out.npz")
    assert done.returncode == 0, done.stderr
    assert "no area" in done.stdout
    assert "belong to no triangle" in done.stdout
