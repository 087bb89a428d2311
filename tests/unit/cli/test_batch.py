"""`osteon batch`: real commands on tiny assets, on processes, a cluster and a farm's commands, with equal outputs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from osteon.synth.baked import bake_cylinder

MANIFEST = """
[defaults]
options = {bones = 2, rounds = 1}
[[assets]]
input = "a.npz"
[[assets]]
input = "b.npz"
command = "rig"
options = {rounds = ""}
[[assets]]
input = "bad.npz"
"""


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    sequence = bake_cylinder(2).sequence
    for name in ("a", "b"):
        np.savez(folder / f"{name}.npz", frames=sequence.frames[::2], faces=sequence.faces)
    (folder / "bad.npz").write_bytes(b"no archive")
    (folder / "batch.toml").write_text(MANIFEST)
    return folder


@pytest.fixture(scope="module")
def finished(clips: Path) -> Path:
    """The folder of a batch on two processes."""
    command = ["batch", "batch.toml", "-o", "out", "--workers", "2", "--json", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "osteon", *command], cwd=clips, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["finished"], summary["failed"]) == (2, 1)
    return clips / "out"


def test_outputs_reports_logs_and_summary(finished: Path) -> None:
    held = json.loads((finished / "summary.json").read_text())
    rows = {row["name"]: row for row in held["assets"]}
    assert rows["bad"]["reason"].endswith("is not an intact .npz archive ('File is not a zip file')")
    assert rows["a"]["bones"] == 2
    assert (rows["a"]["frames"], rows["a"]["vertices"]) == (len(np.load(finished.parent / "a.npz")["frames"]), 1034)
    for name in ("a", "b"):
        assert (finished / f"{name}.glb").stat().st_size == rows[name]["bytes"]
        assert json.loads((finished / "reports" / f"{name}.json").read_text())["error_percent"] >= 0
        assert "error E" in (finished / "logs" / f"{name}.txt").read_text()
    page = (finished / "summary.html").read_text()
    assert page.index("Failed") < page.index("Finished")
    assert page.count("data:image/png") == 2


def test_nothing_is_run_again(finished: Path, run_here) -> None:
    before = (finished / "a.glb").stat().st_mtime_ns
    done = run_here("batch", finished.parent / "batch.toml", "-o", finished, "--json", "-")
    assert done.returncode == 1
    assert json.loads(done.stdout)["kept"] == 3
    assert (finished / "a.glb").stat().st_mtime_ns == before


def test_status(finished: Path, run_here) -> None:
    done = run_here("batch", "status", finished, "--json", "-")
    assert json.loads(done.stdout)["finished"] == 2
    shown = run_here("batch", "status", finished)
    assert "2 finished, 1 failed" in shown.stdout
    assert run_here("batch", "status", finished.parent).returncode == 2


@pytest.mark.parametrize("farm", ["shell", "slurm"])
def test_the_commands_of_a_farm_give_the_same_bytes(finished: Path, run_here, tmp_path: Path, farm: str) -> None:
    out = tmp_path / "farm"
    assert (
        run_here("batch", finished.parent / "batch.toml", "-o", out, "--export", farm, "--threads", "1").returncode == 0
    )
    script = out / ("batch.sh" if farm == "shell" else "batch.slurm")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    if farm == "slurm":
        environment["SLURM_ARRAY_TASK_ID"] = "0"
    done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, check=False)
    assert (out / "a.glb").read_bytes() == (finished / "a.glb").read_bytes(), done.stderr
    assert (done.returncode == 0) == (farm == "slurm")
    counts = json.loads(run_here("batch", "status", out, "--json", "-").stdout)
    assert (counts["finished"], counts["waiting"]) == ((2, 0) if farm == "shell" else (1, 2))


def test_an_open_job_description(finished: Path, run_here, tmp_path: Path) -> None:
    made = run_here(
        "batch", finished.parent / "batch.toml", "-o", tmp_path / "job", "--export", "openjd", "--memory", "1GB"
    )
    assert made.returncode == 0
    held = json.loads((tmp_path / "job" / "batch.template.json").read_text())
    (step,) = held["steps"]
    assert step["parameterSpace"]["taskParameterDefinitions"][0]["range"] == ["a", "b", "bad"]
    assert "--memory=1000000000" in step["script"]["actions"]["onRun"]["args"]


def test_a_cluster_gives_the_same_bytes(finished: Path, run_here, tmp_path: Path) -> None:
    out = tmp_path / "cluster"
    done = run_here("batch", finished.parent / "batch.toml", "-o", out, "--cluster", "local:2", "--json", "-")
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["finished"] == 2
    for name in ("a", "b"):
        assert (out / f"{name}.glb").read_bytes() == (finished / f"{name}.glb").read_bytes()


def test_a_stopped_batch_leaves_no_process_and_the_batch_goes_on(clips: Path, tmp_path: Path, run_here) -> None:
    out = tmp_path / "stopped"
    command = [sys.executable, "-m", "osteon", "batch", str(clips / "batch.toml"), "-o", str(out), "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    until = time.monotonic() + 300
    while not (workers := _children(process.pid)) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)  # a background shell ignores SIGINT
    with process.stderr as messages:
        assert "run the same command again" in messages.read()
    assert process.wait() == 143
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    done = run_here("batch", clips / "batch.toml", "-o", out, "--json", "-")
    assert json.loads(done.stdout)["finished"] == 2
    assert all(row["runs"] == 1 for row in json.loads(done.stdout)["assets"] if row["state"] == "finished")


def _children(pid: int) -> list[int]:
    """Processes that the threads of a process have started."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += [int(word) for word in (thread / "children").read_text().split()]
    return found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--", "--bonse", "3"), "--bonse"),
        (("--", "--bones", "many"), "many"),
        (("--memory", "much"), "4GB"),
        (("--time", "-3"), "15m"),
        (("--command", "view"), "skin, rig"),
        (("--cluster", "local:0"), "local:N"),
        (("--workers", "2", "--cluster", "local:2"), "--workers"),
        (("--workers", "2", "--export", "shell"), "--workers"),
        (("--", "--json", "x.json"), "set by the batch"),
    ],
)
def test_bad_calls_start_nothing(clips: Path, run_here, tmp_path: Path, arguments, words) -> None:
    done = run_here("batch", clips / "*.npz", "-o", tmp_path / "none", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert not list(tmp_path.glob("none/*"))


def test_a_cluster_that_does_not_answer(clips: Path, run_here, tmp_path: Path) -> None:
    began = time.monotonic()
    done = run_here("batch", clips / "batch.toml", "-o", tmp_path / "none", "--cluster", "tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert "no scheduler with workers answers" in done.stderr
    assert done.stderr.count("\n") == 1
    assert time.monotonic() - began < 60
