"""Several outputs appear together or not at all, and never on top of what a command reads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError, OptionError
from osteon.io import atomic_file, atomic_folder
from osteon.io.save import atomic, overwriting
from osteon.io.save.atomic import OutputBatch, named_path, output_batch, written_path
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


@pytest.mark.parametrize("place", ["a.txt", "b", "c.txt"])
def test_a_full_disk_at_the_end_leaves_what_was_there(tmp_path, monkeypatch, refused, place):
    write_three(tmp_path, "old")
    before = texts(tmp_path)
    flush = atomic._flush_all

    def fail(path: Path) -> None:
        if named_path(path).name == place:
            raise OSError(28, "No space left on device")
        flush(path)

    monkeypatch.setattr(atomic, "_flush_all", fail)
    with refused(FileFormatError, place, "No space left"), output_batch():
        write_three(tmp_path, "new")
    assert texts(tmp_path) == before


def test_everything_is_flushed_before_it_is_renamed(tmp_path, monkeypatch):
    write_three(tmp_path, "old")
    calls = []
    flush, replace, swap = os.fsync, os.replace, atomic._swap_names

    def record(handle: int) -> None:
        calls.append(("flush", named_path(Path(os.readlink(f"/proc/self/fd/{handle}"))).name))
        flush(handle)

    monkeypatch.setattr(os, "fsync", record)
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append(("rename", Path(b).name)), replace(a, b)))
    monkeypatch.setattr(atomic, "_swap_names", lambda a, b: (calls.append(("rename", b.name)), swap(a, b))[1])
    with output_batch():
        write_three(tmp_path, "new")
    renamed = [i for i, call in enumerate(calls) if call[0] == "rename"]
    assert [calls[i][1] for i in renamed] == ["a.txt", "b", "c.txt"]
    assert {name for _, name in calls[: renamed[0]]} == {"a.txt", "b", "f.txt", "c.txt"}
    assert {name for _, name in calls[renamed[-1] + 1 :]} == {tmp_path.name, "new"}


@pytest.mark.parametrize("exchange", [True, False])
def test_a_replaced_file_keeps_its_mode(tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(atomic, "_swap_names", lambda one, other: False)
    write_three(tmp_path, "old")
    (tmp_path / "a.txt").chmod(0o640)
    (tmp_path / "b").chmod(0o750)
    with output_batch():
        write_three(tmp_path, "new")
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o750
    assert set(texts(tmp_path).values()) == {"new"}
    with output_batch(OutputBatch(private=True)):
        write(tmp_path / "a.txt", "secret")
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    now = os.umask(0o022)
    os.umask(now)
    return now


KILLED = """
import os, signal, sys
from pathlib import Path
from osteon.io.save import atomic
if sys.argv[2] == "between":
    atomic._swap_names = lambda one, other: False
    rename = os.rename
    def stop(*names):
        rename(*names)
        os.kill(os.getpid(), signal.SIGKILL)
    os.rename = stop
with atomic.atomic_folder(sys.argv[1], lambda path: None) as folder:
    (folder / "f.txt").write_text("new")
    if sys.argv[2] == "writing":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("moment", ["writing", "between"])
def test_leftovers_of_a_killed_process_go_with_the_next_output(tmp_path, moment):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "f.txt").write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "b"), moment], check=False)
    assert done.returncode == -signal.SIGKILL
    assert any(name.startswith(".osteon-") for name in os.listdir(tmp_path))
    running = atomic.temporary_path(tmp_path / "other.txt")
    running.write_text("of a process that is alive")
    write(tmp_path / "a.txt", "next")
    assert sorted(os.listdir(tmp_path)) == [running.name, "a.txt", "b"]
    assert (tmp_path / "b" / "f.txt").read_text() == "old"


def test_temporary_names(tmp_path):
    for name in ("a.obj", "a b.tar.gz", "x" * 250 + ".glb"):
        temporary = atomic.temporary_path(tmp_path / name)
        assert temporary.suffix == Path(name).suffix
        assert len(temporary.name) <= 255
        assert atomic.is_temporary(temporary.name)
        write(tmp_path / name, "fits")
    assert named_path(atomic.temporary_path(tmp_path / "a.obj")) == tmp_path / "a.obj"
    assert not atomic.is_temporary(".osteon-notes.txt")
    now = atomic.temporary_path(tmp_path / "a.obj").name.split("-")
    other_host = [*now[:1], "00000000", *now[2:]]
    other_boot = [*now[:2], "00000000", *now[3:]]
    for parts in (other_host, other_boot):
        (tmp_path / "-".join(parts)).write_text("left")
    atomic.remove_leftovers(tmp_path)
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == ["-".join(other_host)]


def test_a_scratch_folder_is_removed(monkeypatch, tmp_path):
    monkeypatch.setattr(atomic.tempfile, "gettempdir", lambda: str(tmp_path))
    with atomic.scratch_folder() as folder:
        (folder / "a").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_discard_runs_once(tmp_path, monkeypatch):
    cleared = []
    clear = atomic._Output.clear
    monkeypatch.setattr(atomic._Output, "clear", lambda self: (cleared.append(self.path.name), clear(self)))
    write(tmp_path / "a.txt", "one")
    assert cleared == ["a.txt"]


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
    monkeypatch.setattr(overwriting, "_ignores_case", lambda folder: True)
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
        with refused(OptionError, "--json", "a.json", "is in"):
            OverwriteGuard().check_all(outputs)
    OverwriteGuard().check_all([folder, Output("--json", tmp_path / "out.json")])


def test_existing_outputs_need_force_or_consent(tmp_path, refused):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "folder").mkdir()
    file, folder = Output("-o", tmp_path / "a.txt"), Output("--save", tmp_path / "folder", is_folder=True)
    OverwriteGuard().check_all([folder, Output("-o", tmp_path / "empty.txt"), Output("-o", tmp_path / "new.txt")])
    (tmp_path / "folder" / "f.txt").write_text("x")
    with refused(FileFormatError, "-o: ", "a.txt", "folder", "exist already", "--force"):
        OverwriteGuard().check_all([file, folder])
    OverwriteGuard().check_all([Output("-o", tmp_path / "folder", is_folder=True, resumes=True)])
    OverwriteGuard(force=True).check_all([file, folder])
    OverwriteGuard(owned=tmp_path).check_all([file, folder])
    questions = []

    def yes(question: str) -> bool:
        questions.append(question)
        return True

    guard = OverwriteGuard(confirm=yes)
    guard.check_all([file, folder])
    guard.check(tmp_path / "a.txt")
    assert len(questions) == 1
    with refused(FileFormatError, "will not be replaced"):
        OverwriteGuard(confirm=lambda question: False).check_all([file, folder])
