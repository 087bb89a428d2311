"""What commands refuse to write to, and what is there when they end early."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError
from osteon.io import save_model, save_sequence
from osteon.synth.baked import bake_cylinder

BAKED = bake_cylinder(2)
SKIN = ("--bones", "2", "--rounds", "1", "-q")
FOREIGN = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


@pytest.fixture
def work(run_here) -> Path:
    """The folder that commands run in: a sequence, frames and a model in it."""
    folder = run_here.folder
    save_sequence(BAKED.sequence, folder / "ok.npz")
    save_sequence(BAKED.sequence, folder / "src")
    save_model(BAKED.model, folder / "mine.glb")
    return folder


def state(folder: Path) -> dict[str, str]:
    """Every file below a folder and the sum of its bytes; hidden ones too."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def refused(run_here, work: Path, *arguments: object, says: tuple[str, ...]) -> None:
    """The command ends with one line that says so, and changes nothing."""
    before = state(work)
    done = run_here(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    for word in says:
        assert word in done.stderr
    assert state(work) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("skin", "src", "-o", "src/"),
        ("skin", "src", "-o", "src/frame_####.obj"),
        ("skin", "src/*.obj", "-o", "./src"),
        ("skin", "ok.npz", "-o", "ok.npz"),
        ("skin", "ok.npz", "-o", "../here/ok.npz"),
        ("skin", "mine.glb", "-o", "mine.glb"),
        ("skin", "ok.npz", "-o", "new.glb", "--json", "ok.npz"),
        ("skin", "ok.npz", "-o", "new.glb", "--json", "src/../ok.npz"),
        ("skin", "ok.npz", "-o", "new.glb", "--rest", "src/frame_0001.obj", "--json", "src/frame_0001.obj"),
        ("skin", "ok.npz", "--rig", "mine.glb", "-o", "mine.glb"),
        ("play", "mine.glb", "-o", "new", "--json", "mine.glb"),
        ("info", "ok.npz", "--json", "ok.npz"),
        ("view", "mine.glb", "ok.npz", "--no-browser", "--json", "ok.npz"),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_inputs_are_never_written_to(run_here, work, arguments, force):
    refused(run_here, work, *arguments, *(["--force"] if force else []), says=("one of the inputs",))


def test_links_to_an_input_are_that_input(run_here, work):
    (work / "soft.npz").symlink_to(work / "ok.npz")
    os.link(work / "ok.npz", work / "hard.npz")
    (work / "linked").symlink_to(work / "src")
    for output in ("soft.npz", "hard.npz", "linked/frame_0000.obj"):
        source = "src" if output.startswith("linked") else "ok.npz"
        refused(run_here, work, "info", source, "--json", output, "--force", says=("one of the inputs", output))
    refused(run_here, work, "skin", "src", "-o", "linked/", says=("one of the inputs",))


def test_outputs_are_not_each_other(run_here, work):
    (work / "link").symlink_to(work)
    for pair in (
        ("-o", "a.glb", "-o", "./a.glb"),
        ("-o", "a.glb", "--json", "link/a.glb"),
        ("-o", "a.glb", "--report", "r.html", "--json", "src/../r.html"),
    ):
        refused(run_here, work, "skin", "ok.npz", *pair, says=("named twice",))
    refused(run_here, work, "play", "mine.glb", "-o", "new/", "--json", "new/facts.json", says=("is in", "replaces"))


def test_existing_outputs_need_force(run_here, work):
    (work / "thesis.json").write_text('{"my": "work"}\n')
    (work / "thesis.json").chmod(0o640)
    for arguments in (("info", "ok.npz", "--json", "thesis.json"), ("play", "src.npz", "-o", "mine.glb")):
        shutil.copy(work / "mine.glb", work / "src.npz")
        refused(run_here, work, *arguments, says=("--force" if arguments[0] == "info" else "mine.glb",))
    (work / "src.npz").unlink()
    assert run_here("info", "ok.npz", "--json", "thesis.json", "--force", "-q").returncode == 0
    assert json.loads((work / "thesis.json").read_text())["kind"] == "sequence"
    assert (work / "thesis.json").stat().st_mode & 0o777 == 0o640
    refused(run_here, work, "info", "ok.npz", "--json", "thesis.json", says=("thesis.json exists", "--force"))
    (work / "empty.json").touch()
    assert run_here("info", "ok.npz", "--json", "empty.json", "-q").returncode == 0


def test_a_person_at_a_terminal_is_asked(work):
    (work / "facts.json").write_text("mine")
    for answer, code in (("n", 2), ("y", 0)):
        parent, child = pty.openpty()
        command = [sys.executable, "-m", "osteon", "info", "ok.npz", "--json", "facts.json", "-q"]
        with subprocess.Popen(command, cwd=work, stdin=child, stdout=child, stderr=child) as process:
            os.close(child)
            said = os.read(parent, 1000).decode()
            assert "facts.json exists already. Replace? [y/N]" in said
            assert (work / "facts.json").read_text() == "mine"
            os.write(parent, answer.encode() + b"\n")
            assert process.wait(60) == code
        os.close(parent)
    assert json.loads((work / "facts.json").read_text())["kind"] == "sequence"


def test_force_without_an_output_is_refused(run_here, work):
    refused(run_here, work, "info", "ok.npz", "--force", says=("--force", "nothing is written"))


def test_all_kinds_of_outputs_are_replaced_with_force(run_here, work):
    pytest.importorskip("pxr")
    pytest.importorskip("alembic3d")
    names = ["a.glb", "a.gltf", "a.npz", "a.usda", "a.usdc", "a.usdz", "a.abc", "frames/", "plies/f_##.ply"]
    arguments = ["skin", "ok.npz", *SKIN, *(x for name in names for x in ("-o", name))]
    arguments += ["--report", "a.html", "--json", "a.json"]
    assert run_here(*arguments).returncode == 0
    refused(run_here, work, *arguments, says=("a.glb, a.gltf", "plies", "a.html", "exist already", "--force"))
    done = run_here(*arguments, "--force")
    assert done.returncode == 0, done.stderr
    assert not [name for name in os.listdir(work) if name.startswith(".")]
    assert (work / "frames" / "frame_0000.obj").exists()


def test_a_folder_is_replaced_with_force_only_if_it_holds_such_frames_alone(run_here, work):
    (work / "folder").mkdir()
    (work / "folder" / "frame_0004.obj").write_text(FOREIGN)
    for command in (("play", "mine.glb"), ("skin", "ok.npz", *SKIN)):
        refused(run_here, work, *command, "-o", "folder", says=("folder exists", "--force"))
    assert run_here("play", "mine.glb", "-o", "folder", "-q", "--force").returncode == 0
    assert (work / "folder" / "frame_0004.obj").read_text() != FOREIGN
    (work / "folder" / "thesis.doc").write_text("precious")
    refused(run_here, work, "play", "mine.glb", "-o", "folder", "--force", says=("thesis.doc", "empty folder"))
    (work / "folder" / "thesis.doc").unlink()
    (work / "folder" / "frame_0001.obj").unlink()
    (work / "folder" / "frame_0001.obj").symlink_to(work / "src" / "frame_0001.obj")
    refused(run_here, work, "play", "mine.glb", "-o", "folder", "--force", says=("frame_0001.obj",))


def test_demo_and_pose_ask_as_well(run_here, work):
    (work / "out").mkdir()
    (work / "out" / "figure.obj").write_text(FOREIGN)
    refused(run_here, work, "demo", "figure", "-o", "out", says=("figure.obj", "--force"))
    (work / "out" / "figure.obj").rename(work / "out" / "report.html")
    refused(run_here, work, "demo", "-o", "out", says=("report.html", "--force"))
    assert run_here("demo", "cartoon", "-o", "toon", "--json", "facts.json", "-q").returncode == 0
    toon = ("pose", "toon/cartoon.obj", "toon/cartoon.json", "toon/cartoon-poses.json")
    (work / "mine.png").write_bytes(b"\x89PNG my holiday")
    for flag, name in (("--picture", "mine.png"), ("--json", "out/report.html")):
        refused(run_here, work, *toon, "-o", "new.npz", flag, name, says=(name, "--force"))
    refused(run_here, work, *toon, "-o", "new.npz", "--json", "toon/cartoon.json", "--force", says=("the inputs",))
    for force in ((), ("--force",)):
        done = run_here(*toon, "-o", "new.npz", "--picture", "new.png", "--json", "new.json", "-q", *force)
        assert done.returncode == 0, done.stderr


def test_demo_owns_its_default_folder(run_here, work):
    for _ in range(2):
        done = run_here("demo", "cartoon", "-q")
        assert done.returncode == 0, done.stderr
    assert (work / "osteon-demo" / "cartoon.obj").exists()
    refused(run_here, work, "demo", "cartoon", "--json", "mine.glb", says=("mine.glb", "--force"))


def test_records_of_benches_ask_as_well(run_here, work):
    (work / "records").mkdir()
    shutil.copy(Path(__file__).parents[3] / "benchmarks" / "results" / "paper.csv", work / "records")
    history = ("bench", "--history", "paper", "--record", "records")
    refused(run_here, work, *history, "--json", "records/paper.csv", "--force", says=("one of the inputs",))
    (work / "page.html").write_text("<p>mine</p>")
    refused(run_here, work, *history, "-o", "page.html", says=("page.html", "--force"))
    for force in ((), ("--force",)):
        assert run_here(*history, "-o", "new.html", "--json", "new.json", "-q", *force).returncode == 0


def test_a_missing_extra_is_found_before_the_work(run_here, work, monkeypatch):
    for module, extra, output in (("pxr", "usd", "a.usdc"), ("alembic3d", "alembic", "a.abc")):
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setattr("osteon.cli.skin.load_sequence", lambda *_, **__: pytest.fail("began to work"))
        refused(run_here, work, "skin", "ok.npz", "-o", "a.glb", "-o", output, says=(output, f"osteon[{extra}]"))


@pytest.mark.parametrize("old", [False, True])
def test_a_failing_second_output_leaves_none(run_here, work, monkeypatch, old):
    outputs = ("-o", "a.glb", "-o", "b.npz", "-o", "frames/", "--json", "r.json")
    if old:
        assert run_here("skin", "ok.npz", *SKIN, *outputs).returncode == 0
        outputs = (*outputs, "--force")

    def fail(*_: object, **__: object) -> None:
        raise FileFormatError("b.npz: cannot be written (the second writer fails)")

    monkeypatch.setattr("osteon.cli.skin.write_json", fail)
    refused(run_here, work, "skin", "ok.npz", *SKIN, *outputs, says=("second writer", "nothing was written"))


def test_a_failing_flush_leaves_what_was_there(run_here, work, monkeypatch):
    outputs = ("-o", "a.glb", "-o", "frames/", "--json", "r.json", "--force")
    assert run_here("skin", "ok.npz", *SKIN, *outputs).returncode == 0
    flush = os.fsync

    def fail(handle: int) -> None:
        if os.readlink(f"/proc/self/fd/{handle}").endswith("r.json"):
            raise OSError(28, "No space left on device")
        flush(handle)

    monkeypatch.setattr(os, "fsync", fail)
    says = ("r.json", "No space left", "nothing was written")
    refused(run_here, work, "skin", "ok.npz", "--bones", "1", *SKIN[2:], *outputs, says=says)


def test_an_error_between_renames_says_what_was_written(run_here, work, monkeypatch):
    rename = os.replace

    def fail(source: object, target: object) -> None:
        if str(target).endswith("r.json"):
            raise OSError(5, "Input/output error")
        rename(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", fail)
    done = run_here("skin", "ok.npz", *SKIN, "-o", "a.glb", "-o", "b.npz", "--json", "r.json")
    assert done.returncode == 2
    assert "r.json: cannot be written (Input/output error); already written: a.glb, b.npz" in done.stderr
    assert "nothing was written" not in done.stderr
    assert [name for name in state(work) if "src" not in name] == ["a.glb", "b.npz", "mine.glb", "ok.npz"]


CHILD = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from osteon.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.argv = ["osteon", *sys.argv[2:]]
main()
"""


@pytest.mark.parametrize("output", ["a.npz", "frames/", "a.abc", "a.usdc"])
def test_a_full_disk_leaves_nothing(work, output):
    if output.endswith((".abc", ".usdc")):
        pytest.importorskip({"c": "alembic3d", "dc": "pxr"}["dc" if output.endswith("dc") else "c"])
    before = state(work)
    command = [sys.executable, "-c", CHILD, "5000", "play", "mine.glb", "-o", output, "--json", "r.json"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert output.strip("/") in done.stderr
    assert "File too large" in done.stderr
    assert "nothing was written" in done.stderr
    assert _messages(done.stderr).count("\n") == 1
    assert state(work) == before


def _messages(text):
    """What a command prints besides its progress, which it prints only on a loaded machine."""
    return "".join(line for line in text.splitlines(keepends=True) if " s  " not in line)


def test_a_full_standard_output_is_named(work):
    with Path("/dev/full").open("w") as full:
        for more in ((), ("--json", "-")):
            command = [sys.executable, "-m", "osteon", "info", "ok.npz", *more]
            done = subprocess.run(command, cwd=work, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            assert done.returncode == 2
            assert done.stderr == "osteon: standard output: No space left on device\n"


def test_too_little_memory_is_one_line(run_here, work, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("osteon.cli.play.load_skinned", fail)
    refused(run_here, work, "play", "mine.glb", "-o", "new", says=("not enough memory",))


INTERRUPTED = """
import os, signal, sys
import osteon.cli.play as play
from osteon.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup and background shells ignore both
moment, number, write, rename = sys.argv[1], getattr(signal, sys.argv[2]), play.write_json, os.replace

def stop(*arguments):
    os.kill(os.getpid(), number)
    for _ in range(1000): pass
    return (rename if moment == "renaming" else write)(*arguments)

if moment == "renaming":
    os.replace = stop
else:
    play.write_json = stop
sys.argv = ["osteon", *sys.argv[3:]]
main()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("moment", ["writing", "renaming"])
def test_a_signal_leaves_nothing_or_everything(work, moment, name, code):
    before = state(work)
    command = [sys.executable, "-c", INTERRUPTED, moment, name, "play", "mine.glb", "-o", "frames/", "--json", "r.json"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    if moment == "writing":
        assert _messages(done.stderr).strip() == "osteon: stopped; nothing was written"
        assert state(work) == before
    else:  # names are changed together, so it was too late
        assert _messages(done.stderr).strip() == "osteon: stopped; written: frames, r.json"
        assert {"r.json", "frames/frame_0000.obj"} <= set(state(work))
    assert not [name for name in os.listdir(work) if name.startswith(".")]


def test_nohup_is_respected(work):
    ignoring = INTERRUPTED.replace("moment, number", "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nmoment, number")
    command = [sys.executable, "-c", ignoring, "writing", "SIGHUP", "play", "mine.glb", "-o", "frames/"]
    assert subprocess.run(command, cwd=work, check=False).returncode == 0
