"""Batches of built-in subjects of different sizes: throughput, equal bytes, faults and bad assets.

- Time of two workers against one, on processes and on a local Dask cluster, and the overhead per asset over the same
  fits called in one warm process. All commands use one thread.
- Kills at random moments (SIGKILL): of workers, of a Dask scheduler, and of the whole batch, which is started again
  each time. At the end every asset must be finished once, with the bytes of an undisturbed run, and no process be left.
- Bad assets among good ones: truncated, NaN, other triangles, one that takes all memory, one that never ends.

`--small` runs a tenth of it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

ASSETS, BAD = 200, 50
WORKER_KILLS, SCHEDULER_KILLS, BATCH_KILLS = 30, 5, 10
SPEED_UP, OVERHEAD = 1.85, 0.15
OPTIONS = ("--", "--bones", "8")
#: Seconds after which a run that does not end counts as hanging.
HANGS = 3600.0


def bench_scale(run: BenchRun) -> list[Row]:
    """All rows."""
    part = 0.1 if run.small else 1.0
    with TemporaryDirectory(prefix="osteon-scale-") as name:
        folder = Path(name)
        count = max(4, int(ASSETS * part))
        _write_assets(folder / "assets", count)
        label = f"{count} assets"
        rows = _throughput(run, folder, label, count)
        rows += _faults(run, folder, label, part)
        rows += _bad_assets(run, folder, int(BAD * part) or 5, count)
    return rows


def _write_assets(folder: Path, count: int) -> None:
    """Bending tubes of 200 to 6,000 vertices and 12 to 40 frames."""
    from osteon.synth.baked import bake_cylinder

    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for n in range(count):
        sequence = bake_cylinder(int(rng.integers(2, 6))).sequence
        frames = sequence.frames + 1e-3 * n * np.sin(np.arange(sequence.n_frames))[:, None, None]
        keep = int(rng.integers(12, sequence.n_frames + 1))
        np.savez(folder / f"tube{n:03d}.npz", frames=frames[:keep].astype(np.float32), faces=sequence.faces)


@dataclass(frozen=True, slots=True)
class _Ended:
    """A batch that has ended."""

    seconds: float
    exit_code: int
    summary: dict[str, Any]


def _command(folder: Path, out: str, *flags: str) -> list[str]:
    pattern = str(folder / "assets" / "*.npz")
    return [
        sys.executable,
        "-m",
        "osteon",
        "batch",
        pattern,
        "-o",
        str(folder / out),
        "--json",
        "-",
        "-q",
        *flags,
        *OPTIONS,
    ]


def _batch(folder: Path, out: str, *flags: str) -> _Ended:
    """Run a batch to its end."""
    began = time.perf_counter()
    done = subprocess.run(
        _command(folder, out, *flags), capture_output=True, text=True, check=False, timeout=HANGS, env=_environment()
    )
    seconds = time.perf_counter() - began
    summary = json.loads(done.stdout) if done.stdout.startswith("{") else {"assets": [], "error": done.stderr}
    return _Ended(seconds, done.returncode, summary)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONWARNINGS": "ignore"}


def _throughput(run: BenchRun, folder: Path, label: str, count: int) -> list[Row]:
    run.report("one worker")
    one = _batch(folder, "one", "--workers", "1", "--threads", "1")
    run.report("two workers")
    two = _batch(folder, "two", "--workers", "2", "--threads", "1")
    run.report("the same fits in one process")
    plain = _plain_seconds(folder)
    first, second = one.summary["seconds"], two.summary["seconds"]
    rows = [
        at_least(f"{label}, processes", "time of one worker over that of two", first / second, SPEED_UP),
        at_most(f"{label}, one worker", "seconds per asset beyond the fits", (first - plain) / count, OVERHEAD),
        figure(f"{label}, one worker", "assets per hour", 3600 * count / first),
        at_most(f"{label}, two workers", "models that differ from one worker's", _different(folder, "one", "two"), 0),
    ]
    run.report("a Dask cluster")
    single = _batch(folder, "dask1", "--cluster", "local:1").summary["seconds"]
    double = _batch(folder, "dask2", "--cluster", "local:2").summary["seconds"]
    return [
        *rows,
        at_least(f"{label}, Dask", "time of one worker over that of two", single / double, SPEED_UP),
        at_most(f"{label}, Dask", "models that differ from those of processes", _different(folder, "one", "dask2"), 0),
    ]


_PLAIN = """
import glob, sys, time
import numpy, osteon.deform.pose, osteon.io
from osteon.cli.main import run_command
def skin(file, out):
    run_command(["skin", file, "-o", f"{sys.argv[2]}/{out}.glb", "--bones", "8", "-q", "--threads", "1"], 0.0)
files = sorted(glob.glob(sys.argv[1]))
skin(files[0], "warm")
began = time.perf_counter()
for n, file in enumerate(files):
    skin(file, n)
print(time.perf_counter() - began)
"""


def _plain_seconds(folder: Path) -> float:
    """Seconds of the same commands in one process, one after the other."""
    with TemporaryDirectory(prefix="osteon-scale-plain-") as out:
        command = [sys.executable, "-c", _PLAIN, str(folder / "assets" / "*.npz"), out]
        cores = sorted(os.sched_getaffinity(0))[:1]
        done = subprocess.run(["taskset", "-c", str(cores[0]), *command], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def _different(folder: Path, expected: str, found: str) -> int:
    """Number of models that are missing or have other bytes."""
    names = [path.name for path in (folder / expected).glob("*.glb")]
    other = [name for name in names if _bytes(folder / expected / name) != _bytes(folder / found / name)]
    return len(other) + (0 if names else 1)


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _faults(run: BenchRun, folder: Path, label: str, part: float) -> list[Row]:
    rng = random.Random(0)
    workers, batches = max(2, int(WORKER_KILLS * part)), max(2, int(BATCH_KILLS * part))
    run.report(f"{workers} kills of workers, {batches} of the batch")
    killed = _with_kills(folder, "faults", ("--workers", "2", "--threads", "1"), rng, workers, batches)
    rows = _fault_rows(f"{label}, {killed} kills of workers and batches", folder, "faults")
    schedulers = max(1, int(SCHEDULER_KILLS * part))
    run.report(f"{schedulers} kills of a Dask scheduler")
    killed = _with_scheduler_kills(folder, rng, schedulers)
    return rows + _fault_rows(f"{label}, {killed} kills of a Dask scheduler", folder, "scheduler")


def _fault_rows(case: str, folder: Path, out: str) -> list[Row]:
    held = json.loads((folder / out / "summary.json").read_text())
    unfinished = sum(1 for row in held["assets"] if row["state"] != "finished")
    repeated = sum(max(0, row["runs"] - 1) for row in held["assets"])
    return [
        at_most(case, "assets that are not finished", unfinished, 0),
        at_most(case, "finished assets that were run again", repeated, 0),
        at_most(case, "models that are partial or differ", _different(folder, "one", out), 0),
        at_most(case, "files that are left aside", len(list((folder / out / ".osteon-batch" / "work").glob("*"))), 0),
        at_most(case, "processes that are left", len(_processes(str(folder / out))), 0),
    ]


def _with_kills(folder: Path, out: str, flags: Sequence[str], rng: random.Random, workers: int, batches: int) -> int:
    """Run a batch until it ends by itself, with kills at random moments; returns the number of kills."""
    killed = 0
    left = ["worker"] * workers + ["batch"] * batches
    rng.shuffle(left)
    while True:
        process = subprocess.Popen(
            _command(folder, out, *flags), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment()
        )
        ended = False
        while not ended:
            pause = time.monotonic() + rng.uniform(0.2, 2.5)
            while time.monotonic() < pause and not ended:
                time.sleep(0.02)
                ended = process.poll() is not None
            if ended or not left:
                process.wait(timeout=HANGS)
                break
            if left[-1] == "batch":
                left.pop()
                process.kill()
                process.wait()
                killed += 1
                break
            children = _children(process.pid)
            if children:
                left.pop()
                killed += 1
                with suppress(ProcessLookupError):
                    os.kill(rng.choice(children), signal.SIGKILL)
        if process.returncode in (0, 1) and (folder / out / "summary.json").is_file():
            return killed


def _start(words: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)


def _with_scheduler_kills(folder: Path, rng: random.Random, kills: int) -> int:
    """The same with a scheduler and two workers in processes of their own; only the scheduler is killed."""
    port, killed = 40000 + os.getpid() % 20000, 0
    address = f"tcp://127.0.0.1:{port}"
    scheduler_words = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    worker_words = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard")
    scheduler = _start(scheduler_words, folder)
    workers = [_start(worker_words, folder) for _ in range(2)]
    command = _command(folder, "scheduler", "--cluster", address, "--threads", "1")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment())
    try:
        while process.poll() is None:
            time.sleep(rng.uniform(1.0, 4.0))
            if killed < kills and process.poll() is None:
                scheduler.kill()
                scheduler.wait()
                killed += 1
                scheduler = _start(scheduler_words, folder)
            # Workers end when their scheduler does, a while later; a service would start them again.
            workers = [worker if worker.poll() is None else _start(worker_words, folder) for worker in workers]
    finally:
        for one in (process, *workers, scheduler):
            one.kill()
            one.wait()
    return killed


def _children(pid: int) -> list[int]:
    """Processes that a process has started."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += [int(word) for word in (thread / "children").read_text().split()]
    return found


def _processes(word: str) -> list[int]:
    """Processes whose command line has a word, after those that end have had a minute to end."""
    until = time.monotonic() + 60
    while True:
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdecimal() and word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.2)


def _bad_assets(run: BenchRun, folder: Path, bad: int, count: int) -> list[Row]:
    """Good and bad assets in one batch; every bad one has a reason of its own."""
    run.report(f"{bad} bad assets")
    good = sorted((folder / "assets").glob("*.npz"))[: count - bad]
    names = _write_bad(folder / "bad", bad)
    lines = ["[defaults]", "options = {bones = 8}"]
    for path in [*good, *names]:
        lines += ["[[assets]]", f'input = "{path.as_posix()}"']
        lines += ["options = {bones = 3000}"] if path == names[1] else []
    (folder / "bad.toml").write_text("\n".join(lines))
    command = [sys.executable, "-m", "osteon", "batch", str(folder / "bad.toml"), "-o", str(folder / "mixed")]
    limits = ["--memory", "1GB", "--time", "20s", "--workers", "2", "--threads", "1", "--json", "-", "-q"]
    done = subprocess.run([*command, *limits], capture_output=True, text=True, check=False, timeout=HANGS)
    held = json.loads(done.stdout)
    reasons = [row["reason"] for row in held["assets"] if row["state"] == "failed"]
    case = f"{len(good)} good assets and {bad} bad ones"
    return [
        at_least(case, "finished", held["finished"], len(good)),
        at_least(case, "failed with a reason", sum(1 for reason in reasons if reason), bad),
        at_least(case, "kinds of reasons", len({_kind(reason) for reason in reasons}), min(bad, len(_KINDS))),
        at_most(case, "exit code of the batch, less 1", abs(done.returncode - 1), 0),
    ]


def _kind(reason: str) -> str:
    return reason.partition(".npz: ")[2][:24] or reason[:24]


def _truncated(path: Path, frames: np.ndarray, faces: np.ndarray) -> None:
    np.savez(path, frames=frames, faces=faces)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _not_a_number(path: Path, frames: np.ndarray, faces: np.ndarray) -> None:
    frames = frames.copy()
    frames[3, 7, 1] = np.nan
    np.savez(path, frames=frames, faces=faces)


def _other_triangles(path: Path, frames: np.ndarray, faces: np.ndarray) -> None:
    np.savez(path, frames=frames, faces=faces + frames.shape[1])


def _too_large(path: Path, frames: np.ndarray, faces: np.ndarray) -> None:
    """Needs more memory than the limit."""
    np.savez_compressed(path, frames=np.tile(frames, (1, 200, 1)).repeat(6, axis=0), faces=faces)


def _endless(path: Path, frames: np.ndarray, faces: np.ndarray) -> None:
    """Takes far longer than the limit: thousands of bones for vertices that share no motion."""
    rng = np.random.default_rng(0)
    many = np.tile(frames, (1, 4, 1)) + rng.normal(0, 0.5, (len(frames), 4 * frames.shape[1], 3))
    np.savez(path, frames=many.astype(np.float32), faces=faces)


_KINDS: tuple[Callable[[Path, np.ndarray, np.ndarray], None], ...] = (
    _truncated,
    _not_a_number,
    _other_triangles,
    _too_large,
    _endless,
)


def _write_bad(folder: Path, count: int) -> list[Path]:
    """Bad assets, one of memory and one of time, the others in turn."""
    from osteon.synth.baked import bake_cylinder

    folder.mkdir(parents=True)
    sequence = bake_cylinder(4).sequence
    made = []
    for n in range(count):
        write = _KINDS[3 + n] if n < 2 else _KINDS[n % 3]
        made.append(folder / f"bad{n:03d}.npz")
        write(made[-1], np.array(sequence.frames), np.array(sequence.faces))
    return made
