"""The processes of this machine that run the tasks of a batch. `dask_executor.py` runs them on a cluster.

An executor never tries a task again: attempts are counted by the batch (`batch.py`).
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Sequence
from typing import Protocol

from osteon.core.parallel import available_threads
from osteon.scale.child import Outcome, Task, WorkerProcess


class Executor(Protocol):
    """Runs tasks."""

    @property
    def capacity(self) -> int:
        """Number of tasks that may be in flight."""

    def submit(self, task: Task) -> None:
        """Start a task, or queue it."""

    def next_done(self, timeout: float) -> tuple[Task, Outcome] | None:
        """A task that has ended; None after `timeout` seconds without one."""

    def close(self) -> None:
        """End all tasks and workers."""


class LocalExecutor:
    """Worker processes of this machine, each driven by one thread."""

    def __init__(self, workers: int, command: Sequence[str], threads: int) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Task, Outcome]] = queue.SimpleQueue()
        self._closing = False
        self.workers = [WorkerProcess(command, cores) for cores in _shares(workers, threads)]
        self._threads = [threading.Thread(target=self._drive, args=(one,), daemon=True) for one in self.workers]
        for thread in self._threads:
            thread.start()

    @property
    def capacity(self) -> int:
        return len(self.workers)

    def submit(self, task: Task) -> None:
        self._tasks.put(task)

    def next_done(self, timeout: float) -> tuple[Task, Outcome] | None:
        try:
            return self._done.get(timeout=timeout)
        except queue.Empty:
            return None

    def _drive(self, worker: WorkerProcess) -> None:
        """Run tasks until there are no more. The worker ends with this thread, so it runs as long as the batch."""
        while not self._closing:
            task = self._tasks.get()
            if task is None:
                break
            try:
                outcome = worker.run(task)
            except OSError as error:  # no process could be started
                outcome = Outcome("died", message=f"could not be started ({error.strerror})")
            self._done.put((task, outcome))
        worker.end()

    def close(self) -> None:
        self._closing = True
        for _ in self._threads:
            self._tasks.put(None)
        for worker in self.workers:
            worker.stop()
        for thread in self._threads:
            thread.join()


def _shares(workers: int, threads: int) -> list[frozenset[int] | None]:
    """The cores of every worker, so that workers do not compete for one; None where there are too few."""
    if not hasattr(os, "sched_getaffinity"):
        return [None] * workers
    cores = sorted(os.sched_getaffinity(0))
    if workers * threads > len(cores):
        return [None] * workers
    return [frozenset(cores[w * threads : (w + 1) * threads]) for w in range(workers)]


def threads_per_worker(workers: int) -> int:
    """Threads of every command, so that all workers together use all cores."""
    return max(1, available_threads() // workers)
