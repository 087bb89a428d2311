"""Many poses of one body, computed by several processes.

    for done in pose_many(body, tasks, jobs=2): …            in the order in which they are done

The result of a pose does not depend on the process that computes it, or on their number.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import OsteonError
from osteon.core.parallel import available_threads, end_with, single_threaded_blas
from osteon.elastic.body import ElasticBody, PosedBody


@dataclass(frozen=True, slots=True)
class PoseTask:
    """A pose that is to be computed."""

    number: int
    joint_rotations: Mapping[int, Float64]  # (3,3) by joint
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
    for task in tasks:
        yield _pose(body, task)


def _pose(body: ElasticBody, task: PoseTask) -> DonePose:
    with single_threaded_blas():
        return DonePose(task.number, body.pose(task.joint_rotations, np.array(task.shift), load_steps=task.load_steps))


def _by_processes(body: ElasticBody, tasks: Sequence[PoseTask], count: int) -> Iterator[DonePose]:
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(count, context, _start_worker, (body, os.getpid()))
    try:
        done = as_completed([executor.submit(_pose_in_worker, task) for task in tasks])
        for future in done:
            yield future.result()
    except BrokenProcessPool as error:
        raise OsteonError(
            "a process that computed poses has ended, perhaps because the memory was too small; try --jobs 1"
        ) from error
    finally:
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()  # a pose takes minutes; unfinished ones are not needed
        executor.shutdown(cancel_futures=True)


_BODY: list[ElasticBody] = []  # in a worker: its body


def _start_worker(body: ElasticBody, parent: int) -> None:
    """Ctrl-C is handled by the parent process, and no worker outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    _BODY.append(body)


def _pose_in_worker(task: PoseTask) -> DonePose:
    return _pose(_BODY[0], task)
