"""Long work for the page: one worker process, jobs with progress, cancel, and an end in words."""

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
from osteon.core.processes import end_group
from osteon.view.jobs.confinement import Limits
from osteon.view.jobs.tasks import MAX_MESSAGE, Task, work
from osteon.view.server.cleanup_process import Keeper

__all__ = ["PageJob", "TaskError", "Worker", "WorkerBroke", "WorkerEnded"]

#: Seconds that a worker gets to end by itself.
PATIENCE = 2.0
#: For tasks that a person watches.
AT_LEISURE = Limits()


class TaskError(OsteonError):
    """A task ended with a complaint; the message is for people."""


class WorkerEnded(OsteonError):
    """The worker process ended before its task did."""


class WorkerBroke(WorkerEnded):
    """It ended by itself, or took too long: the fault of what it worked on."""


@dataclass(slots=True)
class _Line:
    """A running worker process and the two ends of the line to it."""

    process: SpawnProcess
    commands: Connection
    answers: Connection
    overdue: bool = False  # ended because its task took too long
    stopped: bool = False  # ended because nobody wants its result

    def close(self) -> None:
        self.commands.close()
        self.answers.close()


class Worker:
    """A process that does one task at a time. It starts with the first task and may be ended at any moment.

    With it ends all that it started, and what it left in the folder `scratch` goes; a keeper sees to the same if this
    process is killed.
    """

    def __init__(self, scratch: Path | None = None, keeper: Keeper | None = None) -> None:
        self._scratch = scratch
        self._keeper = keeper
        self._line: _Line | None = None
        self._job: PageJob | None = None  # what it is doing, if that has a name
        self._listening = False
        self._free = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self._line is None else self._line.process.pid

    async def run(self, task: Task, *arguments: Any, job: PageJob | None = None, limits: Limits = AT_LEISURE) -> Any:
        """Do a task when those before it are done; its progress goes to `job`, its result is returned."""
        async with self._free:
            if job is not None and job.cancelled:
                raise WorkerEnded("cancelled before it began")
            if self._line is not None and not self._line.process.is_alive():  # it died while it had nothing to do
                self.stop()
            self._job = job
            line = self._line = self._line or self._start()
            self._listening = True
            clock = limits.seconds and asyncio.get_running_loop().call_later(limits.seconds, _end_overdue, line)
            try:
                line.commands.send((task, arguments, limits.memory))
                return await self._result(line, job)
            except (EOFError, OSError) as error:
                self._line = None
                line.close()
                raise self._farewell(line, limits) from error
            finally:
                self._listening = False
                if clock:
                    clock.cancel()

    async def _result(self, line: _Line, job: PageJob | None) -> Any:
        """What the task ends with; what it says before goes to the job."""
        while True:
            message = _understood(await asyncio.to_thread(line.answers.recv_bytes, MAX_MESSAGE))
            if "done" in message:
                return message["done"]
            if "error" in message:
                raise TaskError(message["error"])
            if job is not None:
                job.add(message)

    def stop(self, job: PageJob | None = None) -> None:
        """End the process, whatever it is doing, or only if it does `job`; the next task starts another one."""
        line = self._line
        if line is None or (job is not None and job is not self._job):
            return
        self._line = None
        line.stopped = True
        self._clear(line.process)
        if not self._listening:  # the listener closes the connection at the end
            line.close()

    def _start(self) -> _Line:
        """Spawned, not forked: the server has threads."""
        context = multiprocessing.get_context("spawn")
        commands_out, commands_in = context.Pipe(duplex=False)
        answers_out, answers_in = context.Pipe(duplex=False)
        scratch = None if self._scratch is None else str(self._scratch)
        arguments = (commands_out, answers_in, os.getpid(), scratch)
        process = context.Process(target=work, args=arguments, daemon=True, name="osteon-view-worker")
        process.start()
        self._watch(process.pid or 0)
        commands_out.close()  # the worker has its own; with ours open its end would never be noticed
        answers_in.close()
        return _Line(process, commands_in, answers_out)

    def _farewell(self, line: _Line, limits: Limits) -> WorkerEnded:
        """Wait for the end of a worker that closed its line; tells in words how it came."""
        line.process.join(PATIENCE)
        self._clear(line.process)
        if line.stopped:
            return WorkerEnded("stopped")
        if line.overdue:
            return WorkerBroke(f"took more than {limits.seconds:g} s")
        code = line.process.exitcode
        why = " (was there enough memory?)" if code == -9 else ""
        return WorkerBroke(f"the worker process ended with code {code}{why}; try again, or with fewer frames")

    def _clear(self, process: SpawnProcess) -> None:
        """End a worker, with all that it started and left behind."""
        _end(process)
        process.join()
        self._watch(0)
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _watch(self, group: int) -> None:
        if self._keeper is not None:
            self._keeper.watch(group)


def _end(process: SpawnProcess) -> None:
    """At once: a worker has nothing to save. Its children outlive it if it broke, but their group has its number."""
    if process.pid is not None:
        end_group(process.pid)
    process.kill()  # it may lead no group yet


def _end_overdue(line: _Line) -> None:
    line.overdue = True
    _end(line.process)


def _understood(message: bytes) -> dict[str, Any]:
    """A message of the worker; an invalid one counts as its exit."""
    try:
        said = json.loads(message)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise EOFError
    return said


@dataclass(slots=True)
class PageJob:
    """Work that the page follows: every message so far, and whether more will come."""

    id: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False
    cancelled: bool = False
    followers: int = 0  # pages that hear how it goes
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, message: dict[str, Any]) -> None:
        if not self.ended:
            self.ended = not message.keys().isdisjoint({"done", "error", "cancelled"})
            self.messages.append(message)
            self.news.set()
            self.news = asyncio.Event()

    async def follow(self) -> AsyncGenerator[dict[str, Any], None]:
        """The newest progress, then every message until the end."""
        seen = max(0, len(self.messages) - 1)
        while True:
            news = self.news
            for message in self.messages[seen:]:
                yield message
            seen = len(self.messages)
            if self.ended:
                return
            await news.wait()
