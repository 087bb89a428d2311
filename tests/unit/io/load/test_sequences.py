"""Loading frames, clips and rest poses."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from osteon.core.animation import DEFAULT_FPS, Clip
from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.io import LoadOptions, load_sequence


@pytest.fixture(name="walk")
def _walk(put, tmp_path):
    for i in range(12):
        put(f"walk/f{i}.obj", x=i)
    return tmp_path / "walk"


def test_a_folder_in_natural_order(walk):
    sequence = load_sequence(walk)
    assert sequence.frames[:, 0, 0].tolist() == list(range(12))
    assert sequence.clips == (Clip("walk", 0, 12, DEFAULT_FPS),)
    assert sequence.asset.polygon_of_triangle.tolist() == [0, 0]
    assert np.array_equal(sequence.rest, sequence.frames[0])
    assert sequence.name == "walk"


def test_several_inputs_are_clips_on_one_rig(walk, put, tmp_path):
    put("run/a.obj", x=50)
    sequence = load_sequence([walk, tmp_path / "run"], options=LoadOptions(fps=30))
    assert sequence.clips == (Clip("walk", 0, 12, 30.0), Clip("run", 12, 13, 30.0))
    assert sequence.frames[12, 0, 0] == 50
    twice = load_sequence([walk, walk])
    assert [c.name for c in twice.clips] == ["walk", "walk_"]


def test_frames_and_archives_join(walk, tmp_path):
    first = load_sequence(walk)
    np.savez(tmp_path / "more.npz", frames=first.frames + 100, faces=first.faces)
    sequence = load_sequence([walk, tmp_path / "more.npz"])
    assert [(c.name, c.n_frames) for c in sequence.clips] == [("walk", 12), ("more", 12)]


def test_other_formats_of_the_same_frame_must_agree(walk, tmp_path, refused):
    np.savez(tmp_path / "other.npz", frames=np.zeros((2, 5, 3)), faces=[[0, 1, 2]])
    with refused(GeometryError, "other", "5 vertices"):
        load_sequence([walk, tmp_path / "other.npz"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"faces": "f 1 2 3\nf 1 3 4"}, "faces differ"),
        ({"faces": "f 2 3 4 1"}, "faces differ"),
        ({"faces": "f 1 2 3 4\nf 1 2 3"}, "faces differ"),
        ({"faces": ""}, "faces differ"),
        ({"extra": "v 0 0 0\n"}, "5 vertices"),
        ({"x": float("nan")}, "vertex 0"),
    ],
)
def test_frames_that_differ_are_named(walk, put, refused, change, says):
    put("walk/f7.obj", **change)
    with refused(GeometryError, "f7.obj", "frame 7", says):
        load_sequence(walk)


def test_faces_spelled_differently_may_be_equal(walk, put):
    put("walk/f3.obj", x=3, extra="vn 0 0 1\n", faces="f 1//1 2//1 3//1 4//1")
    put("walk/f4.obj", x=4, faces="f -4 -3 -2 -1")
    assert load_sequence(walk).frames[:, 0, 0].tolist() == list(range(12))


def test_relative_faces_are_compared_by_what_they_mean(put, tmp_path, refused):
    put("rel/a.obj", faces="f -4 -3 -2")
    (tmp_path / "rel" / "b.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nf -3 -2 -1\nv 0 1 0\n")
    assert load_sequence(tmp_path / "rel").n_frames == 2
    (tmp_path / "rel" / "b.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 2 2\nf -4 -3 -2\n")
    with refused(GeometryError, "b.obj", "5 vertices"):
        load_sequence(tmp_path / "rel")


def test_bad_later_frames_are_refused_by_name(walk, refused):
    (walk / "f5.obj").write_text("")
    with refused(FileFormatError, "f5.obj", "frame 5", "empty"):
        load_sequence(walk)


def test_rest_pose_by_frame_and_by_file(walk, put, tmp_path, refused):
    assert load_sequence(walk, options=LoadOptions(rest=3)).rest[0, 0] == 3
    assert load_sequence(walk, options=LoadOptions(rest=-1)).rest[0, 0] == 11
    assert load_sequence(walk, options=LoadOptions(rest=put("rest.obj", x=-7))).rest[0, 0] == -7
    np.save(tmp_path / "rest.npy", np.full((4, 3), 9.0))
    assert load_sequence(walk, options=LoadOptions(rest=tmp_path / "rest.npy")).rest[0, 0] == 9
    first = load_sequence(walk)
    np.savez(tmp_path / "rest.npz", frames=first.frames, faces=first.faces, rest=first.rest - 1)
    assert load_sequence(walk, options=LoadOptions(rest=tmp_path / "rest.npz")).rest[0, 0] == -1
    for rest, kind, says in (
        (12, OptionError, "frame 12 of 12"),
        (put("more.obj", extra="v 0 0 0\n"), GeometryError, "5 vertices"),
        (put("turned.obj", faces="f 2 3 4 1"), GeometryError, "differently"),
        (tmp_path / "none.obj", FileFormatError, "no such file"),
    ):
        with refused(kind, says):
            load_sequence(walk, options=LoadOptions(rest=rest))


def test_vertices_without_faces_take_them_from_elsewhere(put, tmp_path, refused):
    put("points/a.obj", faces="")
    put("points/b.obj", x=2, faces="")
    with refused(GeometryError, "a.obj", "no triangles", "--faces"):
        load_sequence(tmp_path / "points")
    options = LoadOptions(faces=put("whole.obj"))
    assert load_sequence(tmp_path / "points", options=options).n_triangles == 2
    np.save(tmp_path / "t.npy", [[0, 1, 9]])
    with refused(GeometryError, "t.npy", "vertex 9"):
        load_sequence(tmp_path / "points", options=LoadOptions(faces=tmp_path / "t.npy"))


def test_one_frame_and_untidy_meshes_are_fine(put):
    path = put("one.obj", extra="v 5 5 5\nv 1 0 0\n", faces="f 1 2 2\nf 1 2 3")
    sequence = load_sequence(path)
    assert (sequence.n_frames, sequence.n_vertices, sequence.n_triangles) == (1, 6, 2)
    assert sequence.name == "one"


def test_options_are_checked(walk, refused):
    for fps in (0, -1, float("nan"), "fast"):
        with refused(OptionError, "fps"):
            LoadOptions(fps=fps)
    with refused(OptionError, "clips"):
        load_sequence(walk, options=LoadOptions(clips=("walk",)))


def test_progress_counts_files(walk):
    events = []
    load_sequence(walk, progress=events.append)
    assert [round(e.fraction * 12) for e in events] == list(range(1, 13))
    with pytest.raises(KeyboardInterrupt):
        load_sequence(walk, progress=lambda event: (_ for _ in ()).throw(KeyboardInterrupt))


def test_memory_is_the_sequence_and_one_frame(tmp_path):
    n = 3000
    body = "".join(f"v {i} {i + 1} {i + 2}\n" for i in range(n)) + "f 1 2 3\n"
    for f in range(150):
        (tmp_path / f"{f}.obj").write_text(body)
    load_sequence(tmp_path / "0.obj")
    tracemalloc.start()
    sequence = load_sequence(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.35 * sequence.frames.nbytes


def test_heavy_libraries_are_not_imported(walk):
    code = (
        "import sys; from osteon.io import load_sequence; load_sequence(sys.argv[1]); "
        "bad = {'numba', 'scipy', 'pygltflib', 'matplotlib'} & set(sys.modules); sys.exit(', '.join(bad) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(walk)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
