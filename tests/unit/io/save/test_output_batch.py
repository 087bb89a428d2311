"""Several outputs appear together or not at all, and never on top of what a command reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError, OptionError
from osteon.io import atomic_file, atomic_folder
from osteon.io.save import overwriting
from osteon.io.save.output_batch import OutputBatch, output_batch, written_path
from osteon.io.save.overwriting import Output, OverwriteGuard, input_files, same_place


def anything(path: Path) -> None:
    """Every folder may be replaced."""


def write(path: Path, text: str) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(text)


def texts(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def write_three(folder: Path, text: str) -> None:
    write(folder / "a.txt", text)
    with atomic_folder(folder / "b", anything) as temporary:
        (temporary / "f.txt").write_text(text)
    write(folder / "new" / "c.txt", text)


def test_all_appear_at_the_end(tmp_path):
    with output_batch() as batch:
        write_three(tmp_path, "one")
        assert not (tmp_path / "a.txt").exists()
        assert written_path(tmp_path / "a.txt").read_text() == "one"
        assert batch.written == []
    everything = {"a.txt": "one", "b/f.txt": "one", "new/c.txt": "one"}
    assert texts(tmp_path) == everything
    assert batch.written == [tmp_path / "a.txt", tmp_path / "b", tmp_path / "new" / "c.txt"]
    assert written_path(tmp_path / "a.txt") == tmp_path / "a.txt"
    with output_batch():
        write_three(tmp_path, "two")
    assert texts(tmp_path) == dict.fromkeys(everything, "two")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("old", [False, True])
def test_none_appears_after_an_error(tmp_path, stop, old):
    if old:
        write_three(tmp_path, "old")
    before = texts(tmp_path)

    def fail() -> None:
        with output_batch():
            write_three(tmp_path, "new")
            raise stop

    with pytest.raises(stop):
        fail()
    assert texts(tmp_path) == before
    assert (tmp_path / "new").exists() == old


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("last", ["a.txt", "b", "c.txt"])
def test_a_failing_rename_takes_all_back(tmp_path, monkeypatch, refused, last, linked):
    write_three(tmp_path, "old")
    before = texts(tmp_path)
    rename, failed = os.replace, []

    def fail(source: Path, target: Path) -> None:
        if Path(target).name == last and not failed:
            failed.append(target)
            raise OSError(28, "No space left on device")
        rename(source, target)

    def no_link(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "replace", fail)
    if not linked:
        monkeypatch.setattr(os, "link", no_link)
    with refused(FileFormatError, last, "No space left"), output_batch():
        write_three(tmp_path, "new")
    assert texts(tmp_path) == before


def test_what_came_meanwhile_is_not_replaced(tmp_path, refused):
    guard = OverwriteGuard()
    with refused(FileFormatError, "a.txt", "--force"), output_batch(OutputBatch(guard.check)):
        write(tmp_path / "a.txt", "ours")
        (tmp_path / "a.txt").write_text("came while the work was done")
    assert texts(tmp_path) == {"a.txt": "came while the work was done"}


def test_one_name_for_two_outputs(tmp_path, refused):
    with refused(FileFormatError, "a.txt", "two outputs"), output_batch():
        write(tmp_path / "a.txt", "one")
        write(tmp_path / "x" / ".." / "a.txt", "two")
    assert texts(tmp_path) == {}


def test_errors_name_the_output_and_not_its_temporary_name(tmp_path, refused):
    with refused(FileFormatError, f"{tmp_path / 'a.txt'}: is bad"), atomic_file(tmp_path / "a.txt") as temporary:
        raise FileFormatError(f"{temporary}: is bad")


def test_one_file_has_many_spellings(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("x")
    (tmp_path / "soft").symlink_to(tmp_path / "a")
    os.link(tmp_path / "a", tmp_path / "hard")
    (tmp_path / "folder").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "folder")
    monkeypatch.chdir(tmp_path)
    for other in ("./a", "soft", "hard", "folder/../a"):
        assert same_place(Path("a"), Path(other)), other
    assert same_place(Path("folder/new"), Path("way/new"))
    assert same_place(tmp_path / "new", Path("new"))
    assert not same_place(Path("a"), Path("folder"))
    assert not same_place(Path("new"), Path("NEW")) or (tmp_path / "A").exists()
    monkeypatch.setattr(overwriting, "_folds_case", lambda folder: True)
    assert same_place(Path("new"), Path("NEW"))
    assert not same_place(Path("new"), Path("newer"))


def test_inputs_are_all_files_that_are_meant(tmp_path):
    for name in ("a.obj", "b.ply", "c.glb"):
        (tmp_path / name).write_text("x")
    found = input_files([tmp_path, tmp_path / "*.glb", tmp_path / "absent.obj", None])
    assert [path.name for path in found] == ["a.obj", "b.ply", "c.glb"]


def test_outputs_inside_one_another(tmp_path, refused):
    folder = Output("-o", tmp_path / "out", is_folder=True)
    inner = Output("--json", tmp_path / "out" / "a.json")
    for outputs in ((folder, inner), (inner, folder)):
        with refused(OptionError, "--json", "a.json", "lies in"):
            OverwriteGuard().check_all(outputs)
    OverwriteGuard().check_all([folder, Output("--json", tmp_path / "out.json")])


def test_names_in_an_input_lead_to_files(tmp_path, refused):
    for folder in ("my maps", "out"):
        (tmp_path / folder).mkdir()
    (tmp_path / "hand.obj").write_text("mtllib my maps/hand.mtl\nv 0 0 0\n")
    (tmp_path / "my maps" / "hand.mtl").write_text("newmtl a\nmap_Kd -s 1 1 1 sub/../skin.png\n")
    for name in ("my maps/skin.png", "out/skin.png", "out/hand.mtl", "hand.mtl"):
        (tmp_path / name).write_text("x")
    guard = OverwriteGuard((tmp_path / "hand.obj",), force=True)
    for name in ("my maps/hand.mtl", "my maps/skin.png", "my maps/../my maps/skin.png"):
        with refused(OptionError, "one of the inputs"):
            guard.check(tmp_path / name)
    for name in ("out/skin.png", "out/hand.mtl", "hand.mtl"):  # others of the same name
        guard.check(tmp_path / name)
