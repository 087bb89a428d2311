"""Many poses of one body, by several processes that each work on one at a time.

    for done in pose_many(body, tasks, jobs=2): …            in the order in which they are done

Which process works on a pose, and how many there are, changes nothing of it. A process ends with the one that began it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import OsteonError
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.processes import end_with
from osteon.elastic.body import ElasticBody, PosedBody

__all__ = ["DonePose", "PoseTask", "pose_many"]


@dataclass(frozen=True, slots=True)
class PoseTask:
    """A pose that is to be computed."""

    number: int
    turns: Mapping[int, Float64]  # (3,3) by joint
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)
    load_steps: int = 1


@dataclass(frozen=True, slots=True)
class DonePose:
    """A pose that was computed."""

    number: int
    posed: PosedBody


def pose_many(body: ElasticBody, tasks: Sequence[PoseTask], jobs: int = 0) -> Iterator[DonePose]:
    """All poses, as they are done; `jobs` processes, 0: one per core."""
    count = min(available_threads(jobs), len(tasks))
    if count > 1:
        yield from _by_processes(body, tasks, count)
        return
    with single_threaded_blas():
        for task in tasks:
            yield _work(body, task)


def _work(body: ElasticBody, task: PoseTask) -> DonePose:
    return DonePose(task.number, body.pose(task.turns, np.array(task.shift), load_steps=task.load_steps))


def _by_processes(body: ElasticBody, tasks: Sequence[PoseTask], count: int) -> Iterator[DonePose]:
    context = multiprocessing.get_context("spawn")
    left = list(tasks)[::-1]
    workers: list[_Worker] = []
    try:
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
            process.start()
            theirs.close()
            workers.append(_Worker(process, ours))
        for worker in workers:
            worker.connection.send(body)
            worker.give(left.pop())
        while any(worker.task for worker in workers):
            ready = wait([worker.connection for worker in workers if worker.task])
            for worker in workers:
                if worker.connection in ready:
                    yield worker.answer()
                    if left:
                        worker.give(left.pop())
    finally:
        for worker in workers:
            worker.end()


@dataclass(slots=True)
class _Worker:
    """A process, and what it is busy with."""

    process: BaseProcess
    connection: Connection
    task: PoseTask | None = None

    def give(self, task: PoseTask) -> None:
        self.task = task
        self.connection.send(task)

    def answer(self) -> DonePose:
        """What it says of its task; its errors are raised here."""
        number = -1 if self.task is None else self.task.number
        self.task = None
        try:
            said = self.connection.recv()
        except (EOFError, ConnectionError) as error:
            raise OsteonError(
                f"pose {number}: the process that worked on it has ended, for want of memory perhaps; try --jobs 1"
            ) from error
        if isinstance(said, OsteonError):
            raise said
        if not isinstance(said, DonePose):
            raise RuntimeError(str(said))
        return said

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(connection: Connection, parent: int) -> None:
    """A worker: a body, then tasks until the queue is closed. Ctrl-C is handled by the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    body: ElasticBody = connection.recv()
    with single_threaded_blas():
        while True:
            try:
                task: PoseTask = connection.recv()
            except EOFError:
                return
            try:
                connection.send(_work(body, task))
            except OsteonError as error:
                connection.send(error)
