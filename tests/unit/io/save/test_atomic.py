"""Outputs appear whole or not at all."""

from __future__ import annotations

import os
import re
from functools import partial

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, OptionError
from osteon.core.sequence import MeshSequence
from osteon.io import (
    atomic_file,
    atomic_folder,
    check_output,
    check_sequence_output,
    load_sequence,
    save_sequence,
    write_sequence,
)
from osteon.io.save.atomic import check_folder

FACES = np.array([[0, 1, 2]], np.int32)
FRAMES = np.arange(27, dtype=np.float32).reshape(3, 3, 3)
ANY = partial(check_folder, expected=re.compile(r"f\d+\.txt"))


def listing(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_file_appears_when_it_is_complete(tmp_path):
    with atomic_file(tmp_path / "new" / "deep" / "a.txt") as temporary:
        temporary.write_text("done")
        assert temporary.suffix == ".txt"
        assert not (tmp_path / "new" / "deep" / "a.txt").exists()
    assert (tmp_path / "new" / "deep" / "a.txt").read_text() == "done"
    assert listing(tmp_path / "new" / "deep") == ["a.txt"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_an_interrupted_file_leaves_what_was_there(tmp_path, stop):
    (tmp_path / "a.txt").write_text("old")

    def write(path):
        with atomic_file(path) as temporary:
            temporary.write_text("half")
            raise stop

    with pytest.raises(stop):
        write(tmp_path / "a.txt")
    with pytest.raises(stop):
        write(tmp_path / "never" / "b.txt")
    assert listing(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_new_files_have_usual_permissions(tmp_path):
    with atomic_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_keeps_pointing_to_its_file(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with atomic_file(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_outputs_that_cannot_be(tmp_path, refused):
    (tmp_path / "file").write_text("x")
    for path, says in ((tmp_path, "folder"), (tmp_path / "file" / "a.txt", "not a folder"), (os.devnull, "device")):
        with refused(FileFormatError, says):
            check_output(path)
    check_output(tmp_path / "new" / "a.txt")
    assert listing(tmp_path) == ["file"]


def test_what_the_system_refuses_is_told(tmp_path, refused):
    with refused(FileFormatError, "a.txt", "cannot be written"), atomic_file(tmp_path / "a.txt"):
        raise OSError(28, "No space left on device")
    assert listing(tmp_path) == []


def test_a_folder_replaces_its_own_kind_only(tmp_path, refused):
    target = tmp_path / "out"
    for text in ("one", "two"):
        with atomic_folder(target, ANY) as temporary:
            for i in range(3 if text == "one" else 2):
                (temporary / f"f{i}.txt").write_text(text)
    assert listing(target) == ["f0.txt", "f1.txt"]
    assert (target / "f0.txt").read_text() == "two"
    assert listing(tmp_path) == ["out"]
    (target / "thesis.doc").write_text("precious")
    with refused(FileFormatError, "out", "thesis.doc"), atomic_folder(target, ANY):
        pass
    assert "thesis.doc" in listing(target)
    (target / "thesis.doc").unlink()
    (target / "f9.txt").mkdir()
    with refused(FileFormatError, "f9.txt"), atomic_folder(target, ANY):
        pass


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_an_interrupted_folder_leaves_what_was_there(tmp_path, stop):
    target = tmp_path / "out"
    target.mkdir()
    (target / "f0.txt").write_text("old")

    def write(path):
        with atomic_folder(path, ANY) as temporary:
            (temporary / "f0.txt").write_text("half")
            raise stop

    with pytest.raises(stop):
        write(target)
    with pytest.raises(stop):
        write(tmp_path / "never" / "deep")
    assert listing(tmp_path) == ["out"]
    assert (target / "f0.txt").read_text() == "old"


def test_the_current_folder_is_not_replaced(tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    with refused(FileFormatError, "current"):
        write_sequence(FRAMES, FACES, "f_####.obj")


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("out", ["frame_0000.obj", "frame_0001.obj", "frame_0002.obj"]),
        ("out/", ["frame_0000.obj", "frame_0001.obj", "frame_0002.obj"]),
        ("out/h_##.obj", ["h_00.obj", "h_01.obj", "h_02.obj"]),
        ("out/h_%03d.PLY", ["h_000.PLY", "h_001.PLY", "h_002.PLY"]),
        ("out/%d.ply", ["0.ply", "1.ply", "2.ply"]),
    ],
)
def test_names_of_frames(tmp_path, path, names):
    written = write_sequence(iter(FRAMES), FACES, f"{tmp_path}/{path}")
    assert listing(tmp_path / "out") == names
    assert [p.name for p in written] == names
    assert np.array_equal(load_sequence(tmp_path / "out").frames, FRAMES)
    write_sequence(FRAMES[:1], FACES, f"{tmp_path}/{path}")
    assert listing(tmp_path / "out") == names[:1]


def test_folders_take_the_format_asked_for(tmp_path, refused):
    write_sequence(FRAMES, FACES, tmp_path / "out", suffix="ply")
    assert listing(tmp_path / "out")[0] == "frame_0000.ply"
    with refused(FileFormatError, "frame_0000.ply"):
        write_sequence(FRAMES, FACES, tmp_path / "out", suffix=".obj")
    with refused(OptionError, "'.off'", ".obj, .ply"):
        write_sequence(FRAMES, FACES, tmp_path / "new", suffix=".off")


def test_one_frame_to_one_file(tmp_path, refused):
    assert write_sequence(FRAMES[1:2], FACES, tmp_path / "one.ply") == [tmp_path / "one.ply"]
    assert np.array_equal(load_sequence(tmp_path / "one.ply").frames, FRAMES[1:2])
    for frames, says in ((FRAMES, "several"), (FRAMES[:0], "no frame")):
        with refused(OptionError, "many.obj", says, "many_####.obj"):
            write_sequence(frames, FACES, tmp_path / "many.obj")
    with refused(OptionError, "no frames"):
        write_sequence(FRAMES[:0], FACES, tmp_path / "none")
    assert listing(tmp_path) == ["one.ply"]


def test_paths_that_name_no_output(tmp_path, refused):
    for path, kind, says in (
        ("a.stl", FileFormatError, ".stl"),
        ("a.glb", FileFormatError, ".obj or .ply"),
        ("a_##_##.obj", OptionError, "more than one"),
    ):
        with refused(kind, says):
            check_sequence_output(tmp_path / path)
    (tmp_path / "file").write_text("x")
    with refused(FileFormatError, "is a file"):
        check_sequence_output(tmp_path / "file")
    check_sequence_output(tmp_path / "new" / "f_###.obj")
    check_sequence_output(tmp_path / "one.obj")
    check_sequence_output(tmp_path / "s.npz")


def test_stopping_in_the_middle_leaves_no_frames(tmp_path):
    def stop(event):
        if event.fraction > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_sequence(FRAMES, FACES, tmp_path / "out", progress=stop)
    assert listing(tmp_path) == []


def test_a_whole_sequence_by_suffix(tmp_path):
    sequence = MeshSequence(FRAMES, FACES, FRAMES[2], name="s")
    assert save_sequence(sequence, tmp_path / "s.npz") == [tmp_path / "s.npz"]
    assert np.array_equal(load_sequence(tmp_path / "s.npz").rest, FRAMES[2])
    assert len(save_sequence(sequence, tmp_path / "frames", suffix=".ply")) == 3
