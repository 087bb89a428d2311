"""A worker process that runs commands one after the other, limited in memory and time.

Imports and compiled kernels stay warm between two commands. A command that exceeds a limit is ended with its process
and all processes that it started; the next command gets a new process. A worker ends when the process that started it
ends, however that ends.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from osteon.core.parallel import end_group

#: Seconds between two looks at the memory and time of a command.
LOOK = 0.1


@dataclass(frozen=True, slots=True)
class Task:
    """One command with its folder, its log, and its limits."""

    name: str
    arguments: tuple[str, ...]  # of `osteon`
    folder: str  # that relative paths are relative to
    log: str  # file that takes the output of the command
    work: str = ""  # folder that the command writes to
    memory: int = 0  # bytes of all its processes; 0: no limit
    seconds: float = 0.0  # 0: no limit

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(held: dict[str, Any]) -> Task:
        return Task(**{**held, "arguments": tuple(held["arguments"])})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    kind: Literal["done", "died", "memory", "time", "stopped"]
    exit_code: int = 0
    message: str = ""  # the error of the command, or why it was ended
    seconds: float = 0.0
    peak: int = 0  # bytes of memory that were seen
    work: str = ""  # folder that the command has written to, if it is not that of the task

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class WorkerProcess:
    """A process that runs tasks; it is started by the thread that uses it, with which it ends."""

    def __init__(self, command: Sequence[str], cores: frozenset[int] | None = None) -> None:
        self._command, self._cores = tuple(command), cores
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    @property
    def pid(self) -> int | None:
        """The process, if it runs."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def run(self, task: Task) -> Outcome:
        """Run a task and wait for its end."""
        began = time.monotonic()
        process = self._running()
        assert process.stdin is not None
        with suppress(OSError):  # the end of the process is noticed below
            process.stdin.write(json.dumps(task.to_json()).encode() + b"\n")
            process.stdin.flush()
        outcome = self._wait(process, task, began)
        if outcome.kind != "done":
            self.end()
        return outcome

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.end()
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
            if self._cores is not None and hasattr(os, "sched_setaffinity"):
                with suppress(OSError):
                    os.sched_setaffinity(self._process.pid, self._cores)
        return self._process

    def _wait(self, process: subprocess.Popen[bytes], task: Task, began: float) -> Outcome:
        """The answer of the process, or the reason why there is none."""
        assert process.stdout is not None
        answer, peak = b"", 0
        while not answer.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], LOOK)
            spent = time.monotonic() - began
            piece = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
            if self._stopped:
                return Outcome("stopped", seconds=spent)
            if ready:
                if not piece:
                    return Outcome("died", message=_death(process), seconds=spent, peak=peak)
                answer += piece
                continue
            peak = max(peak, memory_of(process.pid))
            if task.memory and peak > task.memory:
                text = f"needed more than the limit of {task.memory / 1e9:.3g} GB of memory"
                return Outcome("memory", message=text, seconds=spent, peak=peak)
            if task.seconds and spent > task.seconds:
                text = f"did not end within the limit of {task.seconds:g} s"
                return Outcome("time", message=text, seconds=spent, peak=peak)
        held = json.loads(answer)
        return Outcome("done", int(held["exit_code"]), str(held["message"]), time.monotonic() - began, peak)

    def stop(self) -> None:
        """End the process now, from any thread; its task counts as stopped."""
        self._stopped = True
        if self._process is not None:
            end_group(self._process.pid)

    def end(self) -> None:
        """End the process and everything that it started."""
        process = self._process
        if process is None:
            return
        end_group(process.pid)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _death(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"ended its process ({how})"


def memory_of(pid: int) -> int:
    """Bytes of memory of a process and of all that it started; 0 where the system does not report it."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        with suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for thread in Path(f"/proc/{one}/task").iterdir():
                waiting += [int(word) for word in (thread / "children").read_text().split()]
    return total


def serve(run: Callable[[Sequence[str]], tuple[int, str]]) -> None:
    """The loop of a worker process: run the tasks that arrive; `run` returns the exit code and the error message."""
    answers = os.fdopen(os.dup(1), "wb")
    requests = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    for line in requests:
        task = Task.from_json(json.loads(line))
        log = os.open(task.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        os.chdir(task.folder)
        code, message = run(task.arguments)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        answers.write(json.dumps({"exit_code": code, "message": message}).encode() + b"\n")
        answers.flush()
