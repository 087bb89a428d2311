"""Runs the assets of a manifest, each once, and records what is finished.

    check      outputs that are finished for the present inputs, options and version are kept
    run        the others, the largest inputs first; as many at a time as the executor has workers
    alone      assets whose process died are run again by themselves, so that they cannot take others with them

An error of an asset is recorded and never stops the others. A command that refuses its input is not tried again; one
whose process was killed is, up to `retries` times. A full disk stops the batch.

State is in the folder `.osteon-batch` of the output folder: the ledger (`ledger.py`), the manifest as it was read, and
outputs that are not complete.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from osteon.core.errors import FileFormatError, OptionError, OsteonError
from osteon.core.options import check_options, option
from osteon.core.progress import Progress, report_progress
from osteon.io.save.atomic import atomic_file
from osteon.scale.child import Outcome, Task
from osteon.scale.executors import Executor
from osteon.scale.fingerprint import fingerprint, input_bytes
from osteon.scale.ledger import Ledger, Record, begin, finish_placing, is_in_place, open_ledger, place
from osteon.scale.manifest import Asset

STATE = ".osteon-batch"
#: Runs of the batch that were killed with an asset in flight, after which the asset runs alone.
SUSPICIOUS = 2
_NO_SPACE = re.compile(r"no space left|disk quota exceeded|file too large", re.IGNORECASE)


def _bytes(text: str) -> int:
    """A number of bytes: 500M, 4GB, 1.5g."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", text, re.IGNORECASE)
    if found is None or float(found[1]) <= 0:
        raise ValueError(f"expected a size such as 4GB, got {text!r}")
    return int(float(found[1]) * 1000 ** " kmgt".index(found[2].lower() or " "))


def _seconds(text: str) -> float:
    """Seconds: 90, 90s, 15m, 2h."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh]?)\s*", text, re.IGNORECASE)
    if found is None or float(found[1]) <= 0:
        raise ValueError(f"expected a time such as 90s, 15m or 2h, got {text!r}")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2].lower() or "s"]


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Limits and attempts of every asset."""

    memory: int | None = option(
        None, help="Memory that the processes of one asset may take: 4GB.", flags=("--memory",), metavar="SIZE",
        parse=_bytes, shown_default="no limit",
    )  # fmt: skip
    time: float | None = option(
        None, help="Time that one asset may take: 90s, 15m, 2h.", flags=("--time",), metavar="TIME",
        parse=_seconds, shown_default="no limit",
    )  # fmt: skip
    retries: int = option(
        3, help="Further attempts, alone, of an asset whose process was killed.", flags=("--retries",), minimum=0
    )
    retry_failed: bool = option(
        False, help="Run assets again that have failed with the same input and options.", flags=("--retry-failed",)
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Records of all assets of a manifest, in its order."""

    records: tuple[Record, ...]
    kept: int  # that were finished before
    seconds: float
    stopped_by: str = ""  # why the batch ended early

    @property
    def failed(self) -> tuple[Record, ...]:
        return tuple(record for record in self.records if record.state == "failed")

    @property
    def left(self) -> int:
        """Number of assets that were not run."""
        return sum(1 for record in self.records if record.state not in ("finished", "failed"))


@dataclass(slots=True)
class _Job:
    """An asset that is to be run."""

    asset: Asset
    fingerprint: str
    size: int
    record: Record


class Batch:
    """One run over the assets of a manifest."""

    def __init__(
        self,
        assets: Sequence[Asset],
        folder: Path,
        *,
        options: BatchOptions,
        threads: int = 0,
        shared: bool = False,
        exclusive: bool = True,
    ) -> None:
        """`shared`: several machines write the ledger; `exclusive`: no other process runs assets of this folder."""
        self.assets, self.folder, self.options = tuple(assets), folder, options
        self.progress: Progress | None = None
        self.threads = threads  # of every command; 0: its default
        self.state = folder / STATE
        self.ledger: Ledger = open_ledger(self.state, shared=shared)
        self._work = self.state / "work"
        self._exclusive = exclusive
        self._waiting: list[_Job] = []
        self._alone: list[_Job] = []
        self._flying: dict[str, _Job] = {}
        self._kept = 0
        self._bytes_done = 0

    def close(self) -> None:
        self.ledger.close()

    def plan(self) -> int:
        """Decide which assets are to be run; returns how many."""
        self._recover()
        for number, asset in enumerate(self.assets, 1):
            found = fingerprint(asset, self.ledger)
            record = self.ledger.get(asset.name)
            if self._is_done(record, found):
                self._kept += 1
            else:
                job = _Job(asset, found, input_bytes(asset), record)
                (self._alone if _is_suspicious(record, found) else self._waiting).append(job)
            report_progress(self.progress, "check", number / len(self.assets))
        self._waiting.sort(key=lambda job: -job.size)
        return len(self._waiting) + len(self._alone)

    def _recover(self) -> None:
        """Complete outputs that an earlier run was moving when it was killed; remove those that are not complete."""
        own = {asset.name for asset in self.assets}
        for record in self.ledger.records():
            if record.state == "placing" and (self._exclusive or record.name in own):
                finish_placing(self.ledger, record, self._work / record.name, self.folder)
        for folder in [self._work] if self._exclusive else [self._work / name for name in own]:
            shutil.rmtree(folder, ignore_errors=True)

    def _is_done(self, record: Record, found: str) -> bool:
        if record.fingerprint != found:
            return False
        if record.state == "failed":
            return not self.options.retry_failed
        return record.state == "finished" and is_in_place(record, self.folder)

    def run(self, executor: Executor, watch: Callable[[Record], None] = lambda record: None) -> BatchResult:
        """Run what `plan` found; `watch` receives the record of every asset that has ended."""
        began, stopped_by = time.monotonic(), ""
        total = sum(job.size for job in [*self._waiting, *self._alone]) or 1
        try:
            while self._waiting or self._alone or self._flying:
                self._submit(executor)
                done = executor.next_done(1.0)
                if done is not None:
                    record = self._take(*done)
                    if record is not None:
                        watch(record)
                report_progress(self.progress, self._stage(), self._bytes_done / total)
        except _DiskFull as error:
            stopped_by = str(error)
        if self._exclusive:  # attempts that a scheduler has repeated elsewhere
            shutil.rmtree(self._work, ignore_errors=True)
        return BatchResult(self._records(), self._kept, time.monotonic() - began, stopped_by)

    def as_found(self) -> BatchResult:
        """The result of a plan in which nothing is left to run."""
        return BatchResult(self._records(), self._kept, 0.0)

    def _stage(self) -> str:
        left = len(self._waiting) + len(self._alone) + len(self._flying)
        return f"run: {left} of {len(self.assets)} left"

    def _submit(self, executor: Executor) -> None:
        """Fill the executor; an asset that runs alone waits until all others have ended."""
        while self._waiting and len(self._flying) < executor.capacity:
            self._start(self._waiting.pop(0), executor)
        if self._alone and not self._waiting and not self._flying:
            self._start(self._alone.pop(0), executor)

    def _start(self, job: _Job, executor: Executor) -> None:
        job.record = begin(self.ledger, job.record, job.fingerprint)
        self._flying[job.asset.name] = job
        executor.submit(self._task(job.asset))

    def _task(self, asset: Asset) -> Task:
        """The command of an asset, which writes to a folder of its own."""
        work, log = self._work / asset.name, self.folder / "logs" / f"{asset.name}.txt"
        shutil.rmtree(work, ignore_errors=True)
        for made in (work, log.parent):
            made.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")
        return Task(
            asset.name,
            command_of(asset, work, self.threads),
            str(Path(asset.folder).absolute()),
            str(log.absolute()),
            str(work.absolute()),
            self.options.memory or 0,
            self.options.time or 0.0,
        )

    def _take(self, task: Task, outcome: Outcome) -> Record | None:
        """Record how a task ended; None if it is to be run again."""
        job = self._flying.pop(task.name)
        record = replace(job.record, seconds=outcome.seconds, exit_code=outcome.exit_code, reason=outcome.message)
        work = Path(outcome.work) if outcome.work else self._work / task.name
        if outcome.kind == "done" and outcome.exit_code in (0, 1) and (work / job.asset.output).exists():
            return self._finish(job, record, work)
        if _NO_SPACE.search(outcome.message):
            self.ledger.put(replace(record, state="waiting"))
            raise _DiskFull(f"the disk is full ({outcome.message})")
        if outcome.kind != "done":
            record = replace(record, deaths=record.deaths + 1)
            if record.deaths <= self._retries_of(outcome):
                job.record = replace(record, state="waiting")
                self.ledger.put(job.record)
                self._alone.append(job)
                return None
            if record.deaths > 1:
                record = replace(record, reason=f"{outcome.message}, in each of {record.deaths} attempts")
        failed = replace(record, state="failed", reason=record.reason or f"ended with exit code {outcome.exit_code}")
        self.ledger.put(failed)
        self._bytes_done += job.size
        shutil.rmtree(self._work / task.name, ignore_errors=True)
        return failed

    def _retries_of(self, outcome: Outcome) -> int:
        """Further attempts after an outcome: a limit that was exceeded is tried once more."""
        return min(1, self.options.retries) if outcome.kind in ("memory", "time") else self.options.retries

    def _finish(self, job: _Job, record: Record, work: Path) -> Record:
        """Move the output to its place; the folder of this attempt gets the name that `_recover` expects."""
        expected = self._work / job.asset.name
        if work != expected:
            shutil.rmtree(expected, ignore_errors=True)
            os.replace(work, expected)
            work = expected
        facts = _facts(work / "reports" / f"{job.asset.name}.json")
        try:
            done = place(self.ledger, replace(record, facts=facts), work, self.folder)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _DiskFull(f"the disk is full ({error.strerror})") from error
            done = replace(record, state="failed", reason=f"its output cannot be moved to its place ({error})")
            self.ledger.put(done)
        shutil.rmtree(work, ignore_errors=True)
        self._bytes_done += job.size
        return done

    def _records(self) -> tuple[Record, ...]:
        return tuple(self.ledger.get(asset.name) for asset in self.assets)


class _DiskFull(OsteonError):
    """The disk is full: no asset is to blame."""


def _is_suspicious(record: Record, found: str) -> bool:
    """Whether an asset has ended its process, or was in flight whenever earlier runs were killed."""
    return record.fingerprint == found and (record.deaths > 0 or record.attempts >= SUSPICIOUS)


def command_of(asset: Asset, work: Path, threads: int) -> tuple[str, ...]:
    """The arguments of `osteon` that write the output of an asset, and its report, below `work`."""
    output = work / asset.output
    report = work / "reports" / f"{asset.name}.json"
    for made in (output.parent, report.parent):
        made.mkdir(parents=True, exist_ok=True)
    end = "/" if asset.output.endswith("/") else ""
    own = [] if asset.command == "play" or not threads else [f"--threads={threads}"]
    outputs = [f"--output={output.absolute()}{end}", f"--json={report.absolute()}"]
    return (asset.command, *asset.inputs, *asset.arguments, *own, *outputs)


def _facts(report: Path) -> dict[str, Any]:
    """Values of a command's report that the summary shows."""
    try:
        held = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    keys = ("error_percent", "bones", "rank", "frames", "vertices", "triangles", "output_bytes")
    source = held.get("input")
    values = {**source, **held} if isinstance(source, dict) else held  # `skin` and `rig` describe their input apart
    return {key: values[key] for key in keys if isinstance(values.get(key), (int, float))}


@contextmanager
def locked(folder: Path) -> Any:
    """Hold the lock of a batch folder; refuses if another process holds it. The system releases it with the process."""
    state = folder / STATE
    try:
        state.mkdir(parents=True, exist_ok=True)
        file = (state / "lock").open("a+")
    except OSError as error:
        raise FileFormatError(f"{folder}: cannot be written to ({error.strerror}); name another folder") from error
    with file:
        with suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                holder = file.read(40).strip()
                raise OptionError(
                    f"{folder}: another batch{f' (process {holder})' if holder else ''} works in this folder; "
                    "wait for its end, or name another folder"
                ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def save_plan(assets: Sequence[Asset], folder: Path, manifest: str) -> None:
    """Store the assets as they were read, for `osteon batch status` and `osteon batch asset`."""
    held = {
        "manifest": manifest,
        "assets": [
            {
                "name": asset.name,
                "command": asset.command,
                "inputs": asset.inputs,
                "output": asset.output,
                "arguments": asset.arguments,
                "folder": str(Path(asset.folder).absolute()),
            }
            for asset in assets
        ],
    }
    with atomic_file(folder / STATE / "batch.json") as temporary:
        temporary.write_text(json.dumps(held, indent=1), encoding="utf-8")


def load_plan(folder: Path) -> tuple[Asset, ...]:
    """The assets that `save_plan` stored."""
    path = folder / STATE / "batch.json"
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return tuple(
            Asset(a["name"], a["command"], tuple(a["inputs"]), a["output"], tuple(a["arguments"]), a["folder"])
            for a in held["assets"]
        )
    except FileNotFoundError as error:
        raise FileFormatError(
            f"{folder}: is not the folder of a batch; name the folder of 'osteon batch -o'"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path}: cannot be read; run 'osteon batch' with its manifest again") from error
