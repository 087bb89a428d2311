"""Runs osteon commands in forks of one process that has imported them, and kills them at a chosen call or time.

Requests and answers are lines of JSON on standard input and output. A fork takes a tenth of the time of a new process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

#: Imported before the first fork. None of them starts a thread.
_MODULES = (
    *(f"osteon.cli.{name}" for name in ("skin", "play", "pose", "lod", "simulate", "study")),
    *("osteon.pipeline.skin", "osteon.pipeline.simulate", "osteon.pipeline.levels", "osteon.deform.pose"),
    *("osteon.simplex.poser", "osteon.io.save.overwriting", "osteon.report.html", "osteon.study.server"),
)
#: Seconds after which a command that neither ended nor was killed is an error.
PATIENCE = 120.0


class FaultServer:
    """The process, as its client sees it."""

    def __enter__(self) -> FaultServer:
        command = [sys.executable, "-m", "osteon_bench.fault_server"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # its input ends

    def run(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        *,
        call: int | None = None,
        seconds: float | None = None,
        until: str | None = None,
    ) -> dict[str, Any]:
        """Run a command in a folder; the answer has its exit `code`, its `seconds`, and its number of `calls`.

        It is killed before its `call`-th fsync or rename, or after `seconds`; it gets SIGTERM when the file `until`
        is written. Temporary files are in the folder `tmp` beside it.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"arguments": arguments, "folder": str(folder), "call": call, "seconds": seconds, "until": until}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def _serve() -> None:
    for name in _MODULES:
        import_module(name)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    began = time.perf_counter()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _run_command(request, writing)
    os.close(writing)
    code = _wait(pid, request, began)
    with os.fdopen(reading, "rb") as calls:
        return {"code": code, "seconds": time.perf_counter() - began, "calls": len(calls.read())}


def _wait(pid: int, request: dict[str, Any], began: float) -> int:
    """Wait for a command, or end it as requested; returns its exit code, negative for a signal."""
    limit = PATIENCE if request["seconds"] is None else request["seconds"]
    until = None if request["until"] is None else Path(request["folder"], request["until"])
    before = _identity(until)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.perf_counter() - began > limit:
            os.kill(pid, signal.SIGKILL)
        elif _identity(until) not in (None, before):
            os.kill(pid, signal.SIGTERM)
            until = None
        time.sleep(0.002)


def _identity(path: Path | None) -> tuple[int, int] | None:
    """The properties that change when a file is replaced; None for no file."""
    try:
        about = None if path is None else path.stat()
    except FileNotFoundError:
        return None
    return None if about is None else (about.st_ino, about.st_mtime_ns)


def _run_command(request: dict[str, Any], calls: int) -> NoReturn:
    """In the fork: run the main function of the command line with counted calls."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(nowhere, handle)
        os.chdir(request["folder"])
        os.environ["TMPDIR"], tempfile.tempdir = f"{request['folder']}-tmp", None
        os.makedirs(os.environ["TMPDIR"], exist_ok=True)
        _patch_calls(calls, request["call"])
        from osteon.cli.main import main

        sys.argv = ["osteon", *request["arguments"]]
        main()
        os._exit(0)
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 0)
    finally:
        os._exit(70)


def _patch_calls(calls: int, last: int | None) -> None:
    """Count each fsync, rename and exchange in a pipe, and kill this process before the `last` one."""
    from osteon.io.save import atomic

    lock, count = threading.Lock(), 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal count
            with lock:
                count += 1
                os.write(calls, b".")
                if count == last:
                    os.kill(os.getpid(), signal.SIGKILL)
            return function(*given, **named)

        return call

    for name in ("fsync", "rename", "replace"):
        setattr(os, name, counted(getattr(os, name)))
    atomic._swap_names = counted(atomic._swap_names)


if __name__ == "__main__":
    _serve()
