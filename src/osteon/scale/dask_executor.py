"""Runs the tasks of a batch on the workers of a Dask cluster, which must share the folder of the batch.

A task is the path of an asset and its command, never its data. On a worker it runs in a process of its own
(`child.py`), with the limits of the batch. About two tasks per thread of a worker are in flight, so that the death of a
worker makes few tasks suspicious: the scheduler marks every task that the worker held, and refuses one that was marked
more often than its `allowed-failures` (distributed issue 5234). Such a task counts as one whose process died, and is
tried again alone.

A scheduler that ends loses its state (distributed issue 1072). What is finished is in the ledger; tasks in flight are
submitted again when a scheduler answers at the same address within a minute.

The scheduler may start a task again while a machine that it lost still runs it, so every attempt writes to a folder of
its own, and only that of the attempt that is reported counts.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from osteon import __version__
from osteon.core.errors import OptionError, OsteonError
from osteon.scale.child import Outcome, Task, WorkerProcess

#: Seconds within which a cluster must answer, and a scheduler must return.
ANSWER, RETURN = 10.0, 60.0
#: Tasks in flight per thread of a worker.
IN_FLIGHT = 2
#: Deaths of workers after which a scheduler of our own refuses a task; its default is 3.
ALLOWED_FAILURES = 1000


class DaskExecutor:
    """The workers of a cluster; `local:N` starts one with N workers on this machine."""

    def __init__(self, address: str) -> None:
        self._dask = _library()
        self._address, self._cluster = address, None
        if address.startswith("local:"):
            self._cluster = self._start_cluster(address)
        self._client = self._connect(ANSWER)
        self._done: queue.SimpleQueue[tuple[Task, Any]] = queue.SimpleQueue()
        self._flying: dict[str, tuple[Task, Any]] = {}
        self._check_versions()

    def _start_cluster(self, address: str) -> Any:
        count = address.removeprefix("local:")
        if not count.isdecimal() or int(count) < 1:
            raise OptionError(f"--cluster: expected local:N with a number of workers, got {address}")
        import_module("dask").config.set({"distributed.scheduler.allowed-failures": ALLOWED_FAILURES})
        return self._dask.LocalCluster(
            n_workers=int(count), threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )

    def _connect(self, seconds: float) -> Any:
        """The client; one line of error if no scheduler answers."""
        where = self._cluster.scheduler_address if self._cluster is not None else self._address
        try:
            client = self._dask.Client(where, timeout=seconds, set_as_default=False, direct_to_workers=False)
            client.wait_for_workers(1, timeout=seconds)
        except Exception as error:  # the library raises errors of several kinds
            raise OptionError(
                f"--cluster: no scheduler with workers answers at {self._address} within {seconds:g} s "
                f"({type(error).__name__}); start one, or correct the address"
            ) from error
        return client

    def _check_versions(self) -> None:
        """Refuse workers of another version: their outputs would differ."""
        expected = _versions()
        found = self._client.run(_versions)
        for worker, versions in sorted(found.items()):
            for name, version in expected.items():
                if versions.get(name) != version:
                    self.close()
                    raise OptionError(
                        f"--cluster: the worker {worker} has {name} {versions.get(name)}, this machine has {version}; "
                        "install the same version on both"
                    )

    @property
    def capacity(self) -> int:
        with suppress(Exception):
            threads = sum(worker["nthreads"] for worker in self._client.scheduler_info()["workers"].values())
            return max(1, IN_FLIGHT * int(threads))
        return 1

    def submit(self, task: Task) -> None:
        future = self._client.submit(run_on_worker, task.to_json(), pure=False, retries=0)
        self._flying[task.name] = (task, future)
        future.add_done_callback(lambda ended: self._done.put((task, ended)))

    def next_done(self, timeout: float) -> tuple[Task, Outcome] | None:
        try:
            task, future = self._done.get(timeout=timeout)
        except queue.Empty:
            if self._client.status != "running":
                self._return()
            return None
        held = self._flying.get(task.name)
        if held is None or held[1] is not future:
            return None  # of a scheduler that has ended
        if future.status in ("cancelled", "lost") or self._client.status != "running":
            self._return()
            return None
        del self._flying[task.name]
        if future.status == "finished":
            return task, Outcome(**future.result())
        error = future.exception()
        return task, Outcome("died", message=f"was lost with its worker ({type(error).__name__})")

    def _return(self) -> None:
        """Connect again after the scheduler has ended, and submit the tasks in flight again."""
        tasks = [task for task, _ in self._flying.values()]
        self._flying.clear()
        with suppress(Exception):
            self._client.close(timeout=1)
        until = time.monotonic() + RETURN
        while True:
            try:
                self._client = self._connect(ANSWER)
                break
            except OptionError:
                if time.monotonic() > until or self._cluster is not None:
                    raise OsteonError(
                        f"the scheduler at {self._address} has ended; finished assets are kept, "
                        "run the same command again when it answers"
                    ) from None
                time.sleep(1.0)
        for task in tasks:
            self.submit(task)

    def close(self) -> None:
        for _, future in self._flying.values():
            with suppress(Exception):
                future.cancel(force=True)
        with suppress(Exception):
            self._client.run(end_workers, wait=False)
        for held in (self._client, self._cluster):
            if held is not None:
                with suppress(Exception):
                    held.close(timeout=5)


def _library() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise OptionError(
            "--cluster: needs a package that is not installed; run: pip install 'osteon[cluster]'"
        ) from error


def _versions() -> dict[str, str]:
    """Versions on which outputs, and the talk with a worker, depend."""
    library = import_module("distributed")
    return {"Osteon": __version__, "distributed": str(library.__version__)}


# On a worker.

_HERE = threading.local()
_PROCESSES: list[WorkerProcess] = []


def run_on_worker(held: dict[str, Any]) -> dict[str, Any]:
    """Run a task in the process of this thread; its files are in a folder of this attempt."""
    task = Task.from_json(held)
    work = f"{task.work}-{secrets.token_hex(4)}"
    arguments = tuple(part.replace(task.work, work) for part in task.arguments)
    for part in ("", "reports"):
        Path(work, part).mkdir(parents=True, exist_ok=True)
    for entry in sorted(Path(task.work).rglob("*")):
        if entry.is_dir():
            Path(work, entry.relative_to(task.work)).mkdir(parents=True, exist_ok=True)
    outcome = _process().run(replace(task, arguments=arguments))
    return replace(outcome, work=work).to_json()


def _process() -> WorkerProcess:
    """The process of this thread, with the command that starts it here."""
    if not hasattr(_HERE, "process"):
        import os
        import sys

        command = (sys.executable, "-P", "-m", "osteon.cli.batch_worker", str(os.getpid()))
        _HERE.process = WorkerProcess(command)
        _PROCESSES.append(_HERE.process)
    return _HERE.process  # type: ignore[no-any-return]


def end_workers() -> None:
    """End the processes of this worker; their tasks count as stopped."""
    for process in _PROCESSES:
        process.stop()
    _PROCESSES.clear()
    _HERE.__dict__.pop("process", None)
