"""Long work for the page: one worker process, jobs with progress, cancel, and an end in words."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from osteon.core.errors import OsteonError
from osteon.view.tasks import Task, work

__all__ = ["PageJob", "TaskError", "Worker", "WorkerEnded"]

#: Seconds that a worker gets to end by itself.
PATIENCE = 2.0
#: Bytes of one message from it.
MAX_MESSAGE = 1_000_000


class TaskError(OsteonError):
    """A task ended with a complaint; the message is for people."""


class WorkerEnded(OsteonError):
    """The worker process ended before its task did."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A running worker process and the two ends of the line to it."""

    process: SpawnProcess
    commands: Connection
    answers: Connection

    def close(self) -> None:
        self.commands.close()
        self.answers.close()


class Worker:
    """A process that does one task at a time. It starts with the first task and may be ended at any moment."""

    def __init__(self) -> None:
        self._line: _Line | None = None
        self._job: PageJob | None = None  # what it is doing, if that has a name
        self._listening = False
        self._free = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self._line is None else self._line.process.pid

    async def run(self, task: Task, *arguments: Any, job: PageJob | None = None) -> Any:
        """Do a task when those before it are done; its progress goes to `job`, its result is returned."""
        async with self._free:
            if job is not None and job.cancelled:
                raise WorkerEnded("cancelled before it began")
            if self._line is not None and not self._line.process.is_alive():  # it died while it had nothing to do
                self.stop()
            self._job = job
            line = self._line = self._line or _start()
            self._listening = True
            try:
                line.commands.send((task, arguments))
                return await self._result(line, job)
            except (EOFError, OSError) as error:
                self._line = None
                line.close()
                raise WorkerEnded(_farewell(line.process)) from error
            finally:
                self._listening = False

    async def _result(self, line: _Line, job: PageJob | None) -> Any:
        """What the task ends with; what it says before goes to the job."""
        while True:
            message = json.loads(await asyncio.to_thread(line.answers.recv_bytes, MAX_MESSAGE))
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
        line.process.terminate()
        _farewell(line.process)
        if not self._listening:  # whoever listens closes the line when it hears the end
            line.close()


def _farewell(process: SpawnProcess) -> str:
    """Wait for the end of a process; tells in words how it came."""
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
    why = " (was there enough memory?)" if process.exitcode == -9 else ""
    return f"the worker process ended with code {process.exitcode}{why}; try again, or with fewer frames"


def _start() -> _Line:
    """Spawned, not forked: the server has threads."""
    context = multiprocessing.get_context("spawn")
    commands_out, commands_in = context.Pipe(duplex=False)
    answers_out, answers_in = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(commands_out, answers_in), daemon=True, name="osteon-view-worker")
    process.start()
    commands_out.close()  # the worker has its own; with ours open its end would never be noticed
    answers_in.close()
    return _Line(process, commands_in, answers_out)


@dataclass(slots=True)
class PageJob:
    """Work that the page follows: every message so far, and whether more will come."""

    id: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False
    cancelled: bool = False
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
