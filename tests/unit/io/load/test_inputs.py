"""Which files an input means, in which order, as which clips."""

from __future__ import annotations

from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError
from osteon.io.load.sequences import natural_key, resolve_inputs


def names(takes):
    return [(take.name, [f.name for f in take.files]) for take in takes]


def test_natural_order():
    given = ["f10", "f2", "F1", "f02", "f2b", "a", "f"]
    assert [p.name for p in sorted(map(Path, given), key=natural_key)] == ["a", "f", "F1", "f02", "f2", "f2b", "f10"]


def test_a_folder_is_one_clip(put, tmp_path):
    for name in ("walk/f10.obj", "walk/f2.obj", "walk/.hidden.obj"):
        put(name)
    (tmp_path / "walk" / "notes.txt").write_text("x")
    (tmp_path / "walk" / "look.mtl").write_text("x")
    (tmp_path / "walk" / "sub.obj").mkdir()
    assert names(resolve_inputs([tmp_path / "walk"])) == [("walk", ["f2.obj", "f10.obj"])]


def test_the_current_folder_has_a_name(put, tmp_path, monkeypatch):
    put("a1.obj")
    monkeypatch.chdir(tmp_path)
    assert names(resolve_inputs(["."])) == [(tmp_path.name, ["a1.obj"])]


def test_a_pattern_is_one_clip(put, tmp_path):
    for name in ("d/walk_2.obj", "d/walk_10.obj", "d/run_1.obj"):
        put(name)
    assert names(resolve_inputs([tmp_path / "d" / "walk_*.obj"])) == [("walk", ["walk_2.obj", "walk_10.obj"])]
    assert names(resolve_inputs([f"{tmp_path}/d/*.obj"]))[0][0] == "d"
    both = resolve_inputs([f"{tmp_path}/d/walk_*.obj", f"{tmp_path}/d/run_?.obj"])
    assert [take.name for take in both] == ["walk", "run"]


def test_a_pattern_of_folders_or_animations(put, tmp_path):
    for name in ("takes/walk/a.obj", "takes/run/a.obj", "x1.npz", "x2.npz"):
        put(name)
    assert [t.name for t in resolve_inputs([f"{tmp_path}/takes/*"])] == ["run", "walk"]
    assert [t.name for t in resolve_inputs([f"{tmp_path}/x*.npz"])] == ["x1", "x2"]


def test_a_file_whose_name_looks_like_a_pattern(put):
    path = put("odd[1].obj")
    assert names(resolve_inputs([path])) == [("odd[1]", ["odd[1].obj"])]


def test_files_that_a_shell_expanded_are_one_clip_a_folder(put):
    walk = sorted(str(put(f"walk/f{i}.obj")) for i in (1, 2, 10))
    run = sorted(str(put(f"run/f{i}.obj")) for i in (1, 2))
    assert names(resolve_inputs(walk)) == [("walk", ["f1.obj", "f2.obj", "f10.obj"])]
    assert [(t.name, len(t.files)) for t in resolve_inputs(walk + run)] == [("walk", 3), ("run", 2)]


def test_an_order_of_ones_own_is_kept(put):
    files = [put(f"p/{name}.obj") for name in ("c", "a", "b")]
    assert names(resolve_inputs(files)) == [("p", ["c.obj", "a.obj", "b.obj"])]


def test_folders_files_and_animations_side_by_side(put, tmp_path):
    put("walk/f1.obj")
    inputs = [tmp_path / "walk", put("a.npz"), put("b.npz"), put("one.obj")]
    takes = resolve_inputs(inputs)
    assert [(t.name, t.is_frames) for t in takes] == [("walk", True), ("a", False), ("b", False), ("one", True)]


def test_what_cannot_be_resolved(put, tmp_path, refused):
    put("mixed/a.obj")
    put("mixed/b.ply")
    put("archives/a.npz")
    put("nested/inner/a.obj")
    put("noise/readme.txt")
    put("x.stl")
    put("nosuffix")
    (tmp_path / "empty").mkdir()
    for given, parts in (
        ("mixed", ("mixed", ".obj", ".ply")),
        ("mixed/*", (".obj", ".ply")),
        ("archives", ("a.npz",)),
        ("nested", ("inner",)),
        ("noise", ("no mesh", ".obj")),
        ("empty", ("empty", "frames")),
        ("x.stl", ("'.stl'", ".obj", ".ply", ".off", ".npz", ".npy", ".glb", ".gltf")),
        ("nosuffix", ("no suffix",)),
        ("missing.obj", ("no such file",)),
        ("missing", ("no such file",)),
        ("no*.obj", ("matches no",)),
    ):
        with refused(FileFormatError, given, *parts):
            resolve_inputs([tmp_path / given])
    with pytest.raises(FileFormatError, match="no input"):
        resolve_inputs([])
    with refused(FileFormatError, "both"):
        resolve_inputs([tmp_path / "mixed" / "a.obj", tmp_path / "mixed" / "b.ply"])
