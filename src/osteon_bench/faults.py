"""Files that remain after kills and power cuts: whole outputs, old or new, and nothing else after the next run.

Commands are killed before each of their fsyncs and renames, and at random times, half of them over outputs of an
earlier run. A power cut is a copy of the image of a mounted ext4 file system, taken while `simulate` writes to it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from osteon.core.errors import OsteonError
from osteon_bench.fault_server import FaultServer
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

KILLS, COPIES = 200, 12
#: Megabytes of the ext4 image.
IMAGE = 32
SWEEP = ("simulate", "bar.obj", "bar.tgf", "--sweep", "--limits", "limits.json", "--validate", "0", "--jobs", "1")
SMALL = ("--cells", "14", "-q", "-o", "poses")


@dataclass(frozen=True, slots=True)
class Case:
    """A command that is killed, and the one that wrote its outputs before."""

    name: str
    arguments: tuple[str, ...]
    before: tuple[str, ...]
    folders: tuple[str, ...] = ()  # outputs that are replaced as a whole
    until: str | None = None  # file that tells that a server runs


_SKIN = ("skin", "tube.npz", "-o", "a.glb", "-o", "frames/", "--json", "r.json", "--rounds", "1", "--threads", "1")
_POSE = ("pose", "cartoon.obj", "cartoon.json", "cartoon-poses.json", "-o", "posed/", "--json", "r.json")
_LOD = ("lod", "tube.glb", "-o", "a.glb", "--json", "r.json", "--levels")
_PLAY = ("play", "tube.glb", "-o", "frames/")
_STUDY = ("study", "run", "tube.npz", "tube.glb", "--no-browser", "-o", "a.sqlite", "--json", "r.json")
_FORCE = ("-q", "--force")
_SIMULATE = (*SWEEP, "--each", "2", *SMALL)
CASES = (
    Case("skin", (*_SKIN, "--bones", "2", *_FORCE), (*_SKIN, "--bones", "1", *_FORCE), ("frames",)),
    Case("play", (*_PLAY, *_FORCE), (*_PLAY, "--frames", "0:4", *_FORCE), ("frames",)),
    Case("pose", (*_POSE, "--picture", "p.png", *_FORCE), (*_POSE, "--follow", "0.5", *_FORCE), ("posed",)),
    Case("lod", (*_LOD, "2", *_FORCE), (*_LOD, "3", *_FORCE)),
    Case("simulate", _SIMULATE, (*_SIMULATE, "--poisson", "0.3")),
    Case("study", (*_STUDY, *_FORCE), (*_STUDY, *_FORCE), until="r.json"),
)


def bench_faults(run: BenchRun) -> list[Row]:
    """Kills of every command, then power cuts of `simulate`."""
    kills = KILLS if run.inputs is None else run.inputs
    with TemporaryDirectory(prefix="osteon-faults-") as name, FaultServer() as server:
        trials = [_Trials(case, server, Path(name, case.name)) for case in CASES]
        for trial in trials:
            run.report(f"{trial.case.name}: a kill at each of {trial.calls} calls")
            trial.kill_at_calls()
        left = max(0, kills - sum(trial.kills for trial in trials))
        for i, trial in enumerate(trials):
            run.report(f"{trial.case.name}: kills at random times")
            trial.kill_at_times(left // len(trials) + (i < left % len(trials)))
        rows = [row for trial in trials for row in trial.rows()]
        rows.append(at_least("all commands", "kills", sum(trial.kills for trial in trials), kills))
        run.report("power cuts of simulate")
        return rows + _power_cuts(Path(name))


class _Trials:
    """All kills of one command, and what they left."""

    def __init__(self, case: Case, server: FaultServer, folder: Path) -> None:
        self.case, self.server, self.folder = case, server, folder
        self.counts: Counter[str] = Counter()
        self.kills = 0
        self.random = random.Random(case.name)
        self.inputs = folder / "inputs"
        _write_inputs(self.inputs)
        self.old = self._complete("old", case.before)
        self.new = self._complete("new", case.arguments)
        answer = self.answer
        self.calls, self.seconds = answer["calls"], answer["seconds"]

    def _complete(self, name: str, arguments: tuple[str, ...]) -> dict[str, bytes]:
        """The files of a run that is not killed."""
        work = self.folder / name
        shutil.copytree(self.inputs, work)
        self.answer = self.server.run(arguments, work, until=self.case.until)
        if self.answer["code"] != self._code:
            raise OsteonError(f"osteon {' '.join(arguments)} ended with exit code {self.answer['code']}")
        return _files(work)

    @property
    def _code(self) -> int:
        """The exit code of a run that was not killed; servers are ended by SIGTERM."""
        return 0 if self.case.until is None else 128 + signal.SIGTERM

    def kill_at_calls(self) -> None:
        for call in range(1, self.calls + 1):
            self._kill(over_old=call % 2 == 0, call=call)

    def kill_at_times(self, count: int) -> None:
        wanted = self.kills + count
        for k in range(3 * count):  # some runs end before their time
            if self.kills < wanted:
                self._kill(over_old=k % 2 == 0, seconds=self.random.uniform(0, self.seconds))

    def _kill(self, *, over_old: bool, call: int | None = None, seconds: float | None = None) -> None:
        work = self.folder / "work"
        shutil.copytree(self.folder / "old" if over_old else self.inputs, work)
        until = None if seconds is not None else self.case.until
        answer = self.server.run(self.case.arguments, work, call=call, seconds=seconds, until=until)
        self.kills += answer["code"] == -signal.SIGKILL
        if answer["code"] != -signal.SIGKILL:  # it ended before its time
            self.seconds = min(self.seconds, answer["seconds"])
        self._check(_files(work), over_old)
        again = self.server.run(self.case.arguments, work, until=self.case.until)
        self.counts["next runs that failed"] += again["code"] != self._code
        after = _files(work)
        temporary = Path(f"{work}-tmp")
        left = [name for name in after if Path(name).name.startswith(".")] + os.listdir(temporary)
        self.counts["leftovers after the next run"] += len(left)
        wrong = {name for name in after.keys() | self.new.keys() if not self._is_whole(name, after.get(name), False)}
        self.counts["outputs of the next run that differ"] += len(wrong - set(left))
        shutil.rmtree(work)
        shutil.rmtree(temporary)

    def _check(self, files: dict[str, bytes], over_old: bool) -> None:
        """Count files that are neither old nor new, and folders that are missing or hold a mixture."""
        shown = {name: data for name, data in files.items() if not _is_hidden(name)}
        self.counts["partial files"] += sum(not self._is_whole(name, data, over_old) for name, data in shown.items())
        for folder in self.case.folders:
            inside = {name: data for name, data in shown.items() if Path(name).parent.name == folder}
            states = [_in_folder(self.new, folder), _in_folder(self.old, folder) if over_old else {}]
            self.counts["lost folders"] += inside not in states

    def _is_whole(self, name: str, data: bytes | None, over_old: bool) -> bool:
        """Whether a file is that of a complete run. Files with times or random keys in them must be readable."""
        if data is None:
            return False
        if data == self.new.get(name) or (over_old and data == self.old.get(name)):
            return True
        if name.endswith((".sqlite-wal", ".sqlite-shm")):
            return True  # SQLite's own journal
        if name.endswith(".sqlite"):
            return self._is_database(name)
        return Path(name).name in ("r.json", "poses.json") and _is_json(data)

    def _is_database(self, name: str) -> bool:
        with closing(sqlite3.connect(self.folder / "work" / name)) as base:
            return bool(base.execute("PRAGMA integrity_check").fetchone() == ("ok",))

    def rows(self) -> list[Row]:
        names = ["partial files", "lost folders", "leftovers after the next run"]
        names += ["next runs that failed", "outputs of the next run that differ"]
        bounded = [at_most(f"osteon {self.case.name}", name, self.counts[name], 0) for name in names]
        return [figure(f"osteon {self.case.name}", "kills", self.kills), *bounded]


def _power_cuts(folder: Path) -> list[Row]:
    """Copies of a mounted image while poses are written, each mounted and continued."""
    case = "power cut of osteon simulate on ext4"
    image, place = folder / "image", folder / "mounted"
    try:
        with image.open("wb") as file:
            file.truncate(IMAGE << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True, capture_output=True)
        with _mounted(image, place):
            expected, copies = _write_and_copy(folder, image, place)
    except (OSError, subprocess.CalledProcessError) as error:
        return [figure(case, f"copies that were continued (skipped, no loop mounts here: {error})", 0)]
    counts: Counter[str] = Counter()
    for copy in copies:
        with _mounted(copy, place):
            work = place / "work"
            counts["partial files"] += sum(_is_partial(name, data, expected) for name, data in _files(work).items())
            counts["poses found"] += len(json.loads((work / "poses" / "poses.json").read_bytes())["poses"])
            done = subprocess.run(_power_command(), cwd=work, capture_output=True, check=False)
            counts["runs that did not continue"] += done.returncode != 0 or _files(work) != expected
    names = ("partial files", "runs that did not continue")
    return [
        at_least(case, "copies", len(copies), 1),
        figure(case, "poses that were done in them", counts["poses found"]),
        *(at_most(case, name, counts[name], 0) for name in names),
    ]


def _power_command() -> list[str]:
    return [sys.executable, "-m", "osteon", *SWEEP, "--each", "20", *SMALL]


def _write_and_copy(folder: Path, image: Path, place: Path) -> tuple[dict[str, bytes], list[Path]]:
    """Run a simulation in a mounted image, and copy the image at some times while the process is stopped."""
    work = place / "work"
    copies: list[Path] = []
    _write_inputs(work)
    os.sync()  # the inputs are older than the power cut
    listed = work / "poses" / "poses.json"
    with subprocess.Popen(_power_command(), cwd=work) as process:
        while process.poll() is None and not listed.is_file():
            time.sleep(0.01)
        while process.poll() is None and len(copies) < COPIES:
            time.sleep(random.Random(len(copies)).uniform(0.02, 0.3))
            process.send_signal(signal.SIGSTOP)
            copies.append(folder / f"copy{len(copies)}")
            shutil.copyfile(image, copies[-1])
            process.send_signal(signal.SIGCONT)
    return _files(work), copies


@contextmanager
def _mounted(image: Path, place: Path) -> Iterator[None]:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True, capture_output=True)


def _is_partial(name: str, data: bytes, expected: dict[str, bytes]) -> bool:
    if _is_hidden(name) or data == expected.get(name):
        return False
    return not (name.endswith("poses.json") and _is_json(data))


def _write_inputs(folder: Path) -> None:
    """Small inputs of all commands."""
    from osteon.core.sequence import MeshSequence
    from osteon.io import save_model, save_sequence
    from osteon.io.poses import save_poses
    from osteon.io.skeletons import save_skeleton
    from osteon.synth.baked import BakeOptions, bake_cylinder
    from osteon.synth.cartoon import cartoon_poses, make_cartoon
    from osteon_bench.subjects import bar_skeleton, make_bar

    folder.mkdir(parents=True)
    baked = bake_cylinder(1, options=BakeOptions(frames=6))
    save_sequence(baked.sequence, folder / "tube.npz")
    save_model(baked.model, folder / "tube.glb")
    vertices, faces, skeleton = make_cartoon()
    rest = vertices.astype(np.float32)
    save_sequence(MeshSequence(rest[None], faces, rest), folder / "cartoon.obj")
    save_skeleton(skeleton, folder / "cartoon.json")
    save_poses(cartoon_poses(skeleton, 3), skeleton, folder / "cartoon-poses.json", name="cartoon")
    points, _, triangles = make_bar((8, 2, 2))
    used, again = np.unique(triangles, return_inverse=True)
    surface = points[used].astype(np.float32)
    save_sequence(MeshSequence(surface[None], again.reshape(-1, 3), surface), folder / "bar.obj")
    save_skeleton(bar_skeleton(), folder / "bar.tgf")
    limits = {"limits": {"joint1": {"axis": [0, 1, 0], "degrees": [-20, 40]}}}
    (folder / "limits.json").write_text(json.dumps(limits))


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _in_folder(files: dict[str, bytes], folder: str) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if Path(name).parent.name == folder}


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in Path(name).parts)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True
