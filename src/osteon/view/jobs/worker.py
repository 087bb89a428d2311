"""The worker process of the page server, and jobs whose progress the page follows and which it can cancel.

The process and its pipes are those of `multiprocessing`. An executor does not fit: it cannot end a running task, and it
unpickles results, which must not happen with data of a process that reads files from elsewhere. Messages are JSON.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import shutil
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from osteon.core.errors import OsteonError
from osteon.core.parallel import end_group
from osteon.view.jobs.tasks import MAX_MESSAGE, Limits, Task, work
from osteon.view.server.cleanup_process import CleanupProcess

#: Seconds that a worker may take to exit by itself.
PATIENCE = 2.0
#: Limits of tasks that a person watches.
NO_DEADLINE = Limits()


class TaskError(OsteonError):
    """A task failed; the message is for people."""


class WorkerEnded(OsteonError):
    """The worker process ended before its task did."""


class WorkerBroke(WorkerEnded):
    """The worker crashed or exceeded its time limit, most likely because of its input."""


@dataclass(slots=True)
class _Connection:
    """A running worker process and the two pipes to it."""

    process: SpawnProcess
    commands: Connection
    answers: Connection
    overdue: bool = False  # ended because its task took too long
    stopped: bool = False  # ended because its result is not needed any more

    def close(self) -> None:
        self.commands.close()
        self.answers.close()


class Worker:
    """A process that runs one task at a time. It starts with the first task and may be ended at any moment.

    Its end also ends all processes that it started and removes its folder `scratch`; if this process is killed, the
    cleanup process does the same.
    """

    def __init__(self, scratch: Path | None = None, cleanup: CleanupProcess | None = None) -> None:
        self._scratch = scratch
        self._cleanup = cleanup
        self._connection: _Connection | None = None
        self._job: PageJob | None = None  # its current job, if the task belongs to one
        self._listening = False
        self._free = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self._connection is None else self._connection.process.pid

    async def run(self, task: Task, *arguments: Any, job: PageJob | None = None, limits: Limits = NO_DEADLINE) -> Any:
        """Run a task after those before it and return its result; its progress goes to `job`."""
        async with self._free:
            if job is not None and job.cancelled:
                raise WorkerEnded("cancelled before it began")
            if self._connection is not None and not self._connection.process.is_alive():  # it died while it was idle
                self.stop()
            self._job = job
            connection = self._connection = self._connection or self._start()
            self._listening = True
            clock = limits.seconds and asyncio.get_running_loop().call_later(limits.seconds, _end_overdue, connection)
            try:
                connection.commands.send((task, arguments, limits.memory))
                return await self._result(connection, job)
            except (EOFError, OSError) as error:
                self._connection = None
                connection.close()
                raise self._exit_error(connection, limits) from error
            finally:
                self._listening = False
                if clock:
                    clock.cancel()

    async def _result(self, connection: _Connection, job: PageJob | None) -> Any:
        """The result of the task; its progress messages go to the job."""
        while True:
            message = _parsed(await asyncio.to_thread(connection.answers.recv_bytes, MAX_MESSAGE))
            if "done" in message:
                return message["done"]
            if "error" in message:
                raise TaskError(message["error"])
            if job is not None:
                job.add(message)

    def stop(self, job: PageJob | None = None) -> None:
        """End the process, or only if it runs `job`; the next task starts another one."""
        connection = self._connection
        if connection is None or (job is not None and job is not self._job):
            return
        self._connection = None
        connection.stopped = True
        self._clear(connection.process)
        if not self._listening:  # otherwise `run` closes the connection
            connection.close()

    def _start(self) -> _Connection:
        """Start a worker; spawned, not forked, because the server has threads."""
        context = multiprocessing.get_context("spawn")
        commands_out, commands_in = context.Pipe(duplex=False)
        answers_out, answers_in = context.Pipe(duplex=False)
        scratch = None if self._scratch is None else str(self._scratch)
        arguments = (commands_out, answers_in, os.getpid(), scratch)
        process = context.Process(target=work, args=arguments, daemon=True, name="osteon-view-worker")
        process.start()
        self._report(process.pid or 0)
        commands_out.close()  # the worker holds its own copies; with these open, its exit would not close the pipes
        answers_in.close()
        return _Connection(process, commands_in, answers_out)

    def _exit_error(self, connection: _Connection, limits: Limits) -> WorkerEnded:
        """Wait for the exit of a worker that closed its pipe, and return the reason as an error."""
        connection.process.join(PATIENCE)
        self._clear(connection.process)
        if connection.stopped:
            return WorkerEnded("stopped")
        if connection.overdue:
            return WorkerBroke(f"took more than {limits.seconds:g} s")
        code = connection.process.exitcode
        why = " (was there enough memory?)" if code == -9 else ""
        return WorkerBroke(f"the worker process ended with code {code}{why}; try again, or with fewer frames")

    def _clear(self, process: SpawnProcess) -> None:
        """End a worker and its child processes, and remove its files."""
        _end(process)
        process.join()
        self._report(0)
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _report(self, group: int) -> None:
        """Report the process group of the worker to the cleanup process; 0 for none."""
        if self._cleanup is not None:
            self._cleanup.watch(group)


def _end(process: SpawnProcess) -> None:
    """Kill a worker and its process group, which has its number and outlives it if it crashed."""
    if process.pid is not None:
        end_group(process.pid)
    process.kill()  # it may not have a process group yet


def _end_overdue(connection: _Connection) -> None:
    connection.overdue = True
    _end(connection.process)


def _parsed(message: bytes) -> dict[str, Any]:
    """A message of the worker; an invalid one counts as its exit."""
    try:
        found = json.loads(message)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise EOFError
    return found


@dataclass(slots=True)
class PageJob:
    """Work that the page follows: all messages so far, and whether it has ended."""

    id: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False
    cancelled: bool = False
    followers: int = 0  # pages that follow it
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, message: dict[str, Any]) -> None:
        if not self.ended:
            self.ended = not message.keys().isdisjoint({"done", "error", "cancelled"})
            self.messages.append(message)
            self.news.set()
            self.news = asyncio.Event()

    async def follow(self) -> AsyncGenerator[dict[str, Any], None]:
        """The latest progress, then every message until the end."""
        seen = max(0, len(self.messages) - 1)
        while True:
            news = self.news
            for message in self.messages[seen:]:
                yield message
            seen = len(self.messages)
            if self.ended:
                return
            await news.wait()
