"""Compile the kernels that a command needs in parallel, before it needs them, and store them in the kernel cache.

numba compiles one kernel at a time per process, so child processes help: `python -m osteon.core.compile_kernels` reads
names of kernels, one per line, and echoes each when it is in the cache. A kernel is assigned when those that it calls
are compiled. Without a cache, with one core or a single kernel to compile, this process compiles alone.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from osteon.core.parallel import available_threads
from osteon.core.progress import Progress, report_progress

if TYPE_CHECKING:
    from osteon.core.kernels import Kernel


#: Modules whose kernels are being compiled, or are compiled.
_KNOWN: dict[tuple[str, ...], Compiling] = {}
_CHILDREN: set[subprocess.Popen[str]] = set()


@dataclass(slots=True)
class Wait:
    """One wait for kernels."""

    counts: bool = True


@dataclass(slots=True)
class Waited:
    """How long the main thread has waited for kernels to be compiled."""

    seconds: float = 0.0
    _inside: bool = False  # compiling a kernel may start to compile one that it calls

    @contextmanager
    def counting(self) -> Iterator[Wait]:
        """Count the time that this block takes."""
        began, wait = time.perf_counter(), Wait()
        if self._inside or threading.current_thread() is not threading.main_thread():
            yield wait
            return
        self._inside = True
        try:
            yield wait
        finally:
            self._inside = False
            self.seconds += time.perf_counter() - began if wait.counts else 0.0


WAITED = Waited()


class Compiling:
    """Kernels that are being compiled in the background."""

    def __init__(self, modules: Sequence[str], tasks: Sequence[str] = ()) -> None:
        self._modules, self._tasks = tuple(modules), tuple(tasks)
        self._changed = threading.Condition()
        self._waiting: list[str] = []
        self._callees: dict[str, set[str]] = {}
        self._done: set[str] = set()
        self._finished = False
        self.total = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, progress: Progress | None = None) -> int:
        """Wait until all are compiled; returns the number of kernels that were not in the cache."""
        with WAITED.counting() as waited:
            total = self._wait(progress)
            waited.counts = total > 0  # a cache hit takes no time
        return total

    def _wait(self, progress: Progress | None) -> int:
        seen = -1
        while True:
            with self._changed:
                if seen == len(self._done) and not self._finished:
                    self._changed.wait(0.2)
                seen, total, finished = len(self._done), self.total, self._finished
            if total:
                stage = f"compiling {min(seen + 1, total)} of {total}, once"
                report_progress(progress, stage, seen / total)
            if finished:
                return total

    def _run(self) -> None:
        try:
            kernels = _missing(self._modules)
            with self._changed:
                self._callees = {key: _callees(kernel) & set(kernels) for key, kernel in kernels.items()}
                self._waiting = [*sorted(kernels, key=lambda key: -_size(kernels[key])), *self._tasks]
                self.total = len(self._waiting)
            from osteon.core.kernel_cache import cache_folder  # imports numba, as the kernels have done by now

            workers = min(available_threads(), self.total)
            if workers < 2 or not sys.executable or cache_folder() is None:
                self._work_here()
            else:
                self._work_beside(workers)
        finally:
            with self._changed:
                self._finished = True
                self._changed.notify_all()

    def _take(self) -> str | None:
        """The largest kernel whose callees are done; None if there are no more."""
        with self._changed:
            while self._waiting:
                for key in self._waiting:
                    if self._callees.get(key, set()) <= self._done:
                        self._waiting.remove(key)
                        return key
                self._changed.wait()
        return None

    def _finish(self, key: str) -> None:
        with self._changed:
            self._done.add(key)
            self._changed.notify_all()

    def _work_here(self) -> None:
        while (key := self._take()) is not None:
            with suppress(Exception):  # the call of the kernel raises it again
                _do(key)
            self._finish(key)

    def _work_beside(self, workers: int) -> None:
        threads = [threading.Thread(target=self._feed, daemon=True) for _ in range(workers - 1)]
        for thread in threads:
            thread.start()
        self._work_here()  # this process has imported numba anyway
        for thread in threads:
            thread.join()

    def _feed(self) -> None:
        """Send kernels to one child process. If it fails, they are compiled when they are called."""
        child = _start_child()
        try:
            while (key := self._take()) is not None:
                if child is not None and not _request(child, key):
                    child = None
                self._finish(key)
        finally:
            if child is not None:
                _CHILDREN.discard(child)
                child.communicate()


def start_compiling(modules: Sequence[str]) -> Compiling:
    """Start to compile the kernels of these modules that are not in the cache."""
    key = tuple(modules)
    if key not in _KNOWN:
        _KNOWN[key] = Compiling(key)
    return _KNOWN[key]


def compile_kernels(modules: Sequence[str], progress: Progress | None = None) -> int:
    """Compile the kernels of these modules and wait for them; returns how many were not in the cache."""
    return start_compiling(modules).wait(progress)


def _missing(modules: Sequence[str]) -> dict[str, Kernel]:
    for module in modules:
        import_module(module)
    from osteon.core.kernels import KERNELS

    known = list(KERNELS.items())  # a copy: another thread may import more meanwhile
    return {key: kernel for key, kernel in known if key.partition(":")[0] in modules and not kernel.is_cached}


def _callees(kernel: Kernel) -> set[str]:
    """Keys of the kernels that it calls."""
    names = kernel.py_func.__globals__
    found = (names.get(name) for name in kernel.py_func.__code__.co_names)
    return {value.key for value in found if value is not None and getattr(value, "declared", None)}


def _size(kernel: Kernel) -> int:
    return len(kernel.py_func.__code__.co_code)


def _start_child() -> subprocess.Popen[str] | None:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "osteon.core.compile_kernels"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
    except OSError:
        return None
    _CHILDREN.add(child)
    return child


def _request(child: subprocess.Popen[str], key: str) -> bool:
    """Whether the child has compiled the kernel; a child that failed is not used again."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(key + "\n")
        child.stdin.flush()
        return child.stdout.readline().strip() == key
    except OSError:
        return False


@atexit.register
def _stop_children() -> None:
    for child in _CHILDREN:
        child.kill()


def _do(key: str) -> None:
    """Compile a kernel, or call a function that compiles kernels for the types it is called with."""
    module, _, name = key.partition(":")
    imported = import_module(module)
    from osteon.core.kernels import KERNELS

    if key in KERNELS:
        KERNELS[key].ready()
    else:
        getattr(imported, name)()


def _serve() -> None:
    for line in sys.stdin:
        _do(line.strip())
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
