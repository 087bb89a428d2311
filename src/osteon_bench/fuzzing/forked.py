"""Child processes that parse USD and FBX, forked instead of spawned: a hundred times as many per second.

Client and child are those of `io/native`; only the start of the interpreter and its imports are skipped. Lines that
the child executes are added to the coverage of this process.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import IO, Any, ClassVar, NoReturn

from osteon.io.native import child, client
from osteon.io.native.client import NativeTask, Process
from osteon_bench.fuzzing.line_coverage import LineCoverage


@contextmanager
def children_by(start: Callable[[NativeTask, int], Process]) -> Iterator[None]:
    """Start parsing children by the given function inside the block, on systems with fork."""
    before = client.start_process
    client.start_process = start if hasattr(os, "fork") else before
    try:
        yield
    finally:
        client.start_process = before


def forked_children() -> AbstractContextManager[None]:
    """Fork parsing children inside the block."""
    return children_by(Fork)


class Fork:
    """A forked copy of this process, connected by two pipes."""

    deaths: ClassVar[int] = 0  # copies that a library crashed or that exceeded their time

    def __init__(self, task: NativeTask, memory: int) -> None:
        parser = import_module(task.module)  # before the fork, so that the copy has imported everything
        parser.prepare()
        self._counted = counting_lines()
        self._lines = tempfile.TemporaryFile() if self._counted is not None else None  # noqa: SIM115
        (their_in, my_out), (my_in, their_out) = os.pipe(), os.pipe()
        self._code: int | None = None
        self._killed = False
        self._waiting = threading.Lock()  # two threads may wait for the same process
        self._pid = os.fork()
        if not self._pid:
            os.close(my_out)
            os.close(my_in)
            self._be_child(task, memory, their_in, their_out)
        os.close(their_in)
        os.close(their_out)
        self.stdin: IO[bytes] | None = os.fdopen(my_out, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(my_in, "rb")

    def _be_child(self, task: NativeTask, memory: int, requests: int, answers: int) -> NoReturn:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            faulthandler.disable()  # crashes are expected
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            parser = import_module(task.module)
            sys.modules["fuzzed child"] = SimpleNamespace(answer=self._counting_answer(parser))  # type: ignore[assignment]
            pipes = os.fdopen(requests, "rb"), os.fdopen(answers, "wb")
            child.serve("fuzzed child", *pipes, memory, task.silence)
        finally:
            os._exit(70)

    def _counting_answer(self, parser: Any) -> Any:
        def answer(request: Any, outlet: Any) -> Any:
            try:
                return parser.answer(request, outlet)
            finally:
                if self._counted is not None and self._lines is not None:
                    self._lines.write(json.dumps(sorted(self._counted.seen)).encode() + b"\n")
                    self._lines.flush()

        return answer

    def poll(self) -> int | None:
        with self._waiting:
            if self._code is None:
                pid, status = os.waitpid(self._pid, os.WNOHANG)
                if pid:
                    self._ended(status)
            return self._code

    def kill(self) -> None:
        if self.poll() is None:
            self._killed = True
            os.kill(self._pid, signal.SIGKILL)

    def _ended(self, status: int) -> int:
        self._code = os.waitstatus_to_exitcode(status)
        Fork.deaths += self._code != 0 and not self._killed
        return self._code

    def wait(self) -> int:
        with self._waiting:
            code = self._ended(os.waitpid(self._pid, 0)[1]) if self._code is None else self._code
        if self._counted is not None and self._lines is not None:
            self._lines.seek(0)
            for line in self._lines:
                self._counted.seen |= {(file, number) for file, number in json.loads(line)}
            self._lines.close()
            self._lines = None
        return code


def counting_lines() -> LineCoverage | None:
    """The active line coverage of this process; None without one."""
    found = getattr(sys.gettrace(), "__self__", None)
    return found if isinstance(found, LineCoverage) else None
