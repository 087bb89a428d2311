"""Parsing children that are reused for several hundred inputs, to pay for a fork only once.

The product starts a new child for each file. Here a pool lends a child to one `NativeChild` after another. The child is
replaced when it crashed, when it has read `OLD` files, or when a response was not read to its end. Where line coverage
is recorded, every child is a new fork.
"""

from __future__ import annotations

import atexit
import io
import json
import math
from contextlib import AbstractContextManager, suppress
from itertools import count
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from osteon.io.native import client
from osteon.io.native.child import write_message
from osteon.io.native.client import NativeTask, Process
from osteon_bench.fuzzing.forked import Fork, children_by, counting_lines
from osteon_bench.fuzzing.readers import Loader

#: Files that a child reads before it is replaced, because libraries leak memory.
OLD = 400
#: Bytes that a child may allocate. The product allows gigabytes, which take seconds to fill.
MEMORY = 256 << 20
_NUMBERS = count()


def reuse_child(loader: Loader) -> Loader:
    """The same loader with reused children. Each file gets a unique name, because libraries cache files by name."""

    def through(path: Path) -> object:
        own = path.with_stem(f"{path.stem}-{next(_NUMBERS)}")
        own.write_bytes(path.read_bytes())
        try:
            with reused_children():
                return loader(own)
        finally:
            own.unlink()

    return through


def reused_children() -> AbstractContextManager[None]:
    """Reuse parsing children inside the block."""
    return children_by(_borrow)


class _PooledChild:
    """A child, and how often it was borrowed."""

    def __init__(self, task: NativeTask, memory: int) -> None:
        self.process, self.lent = Fork(task, memory), 0

    def end(self) -> int:
        """End the process, close its pipes and return its exit code."""
        self.process.kill()
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                cast(IO[bytes], pipe).close()
        return code


_IDLE: dict[NativeTask, list[_PooledChild]] = {}


@atexit.register
def _end_idle() -> None:
    client._end_kept()  # returns children that are kept for another request
    for idle in _IDLE.values():
        while idle:
            idle.pop().end()


def _borrow(task: NativeTask, allowed: int) -> Process:
    memory = min(allowed, MEMORY)
    if counting_lines() is not None:
        return Fork(task, memory)
    idle = _IDLE.setdefault(task, [])
    child = idle.pop() if idle else _PooledChild(task, memory)
    if child.process.poll() is not None:  # its idle time is over
        child.end()
        child = _PooledChild(task, memory)
    return cast(Process, _BorrowedChild(child, idle))


class _BorrowedChild:
    """A pooled child with the interface of a process that was started for one file."""

    def __init__(self, child: _PooledChild, idle: list[_PooledChild]) -> None:
        self._far, self._idle = child, idle
        self._code: int | None = None
        self.stdin = _Requests(cast(IO[bytes], child.process.stdin))
        self.stdout = _Responses(cast(IO[bytes], child.process.stdout), is_new=not child.lent)
        child.lent += 1

    def poll(self) -> int | None:
        return self._far.process.poll() if self._code is None else self._code

    def kill(self) -> None:
        """Return the child to the pool if it is still usable."""
        if self._code is not None:
            return
        answered = self.stdin.asked == self.stdout.answered and not self.stdout.waiting
        if answered and self._far.lent < OLD and self._far.process.poll() is None:
            self._idle.append(self._far)
            self._code = 0
        else:
            self._code = self._far.end()

    def wait(self) -> int:
        if self._code is None:
            self._code = self._far.end()
        return self._code


class _Requests:
    """The input pipe; counts requests."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.asked = file, 0

    def write(self, line: bytes) -> int:
        self.asked += 1
        return self._file.write(line)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """The pipe stays open for the next file."""


class _Responses:
    """The output pipe: starts with the message `ready` and counts complete responses."""

    def __init__(self, file: IO[bytes], *, is_new: bool) -> None:
        self._file, self.answered = file, 0
        self.waiting = 0  # bytes of the message that are not read yet
        self._ready = io.BytesIO()
        if not is_new:
            write_message(self._ready, "ready")
            self._ready.seek(0)
        self._is_head = False

    def read(self, n_bytes: int) -> bytes:
        """Read the length of a header, then the header itself."""
        data = self._ready.read(n_bytes) or self._file.read(n_bytes)
        if self._is_head and len(data) == n_bytes:
            kind, _, shapes = json.loads(data)
            self.answered += kind not in ("ready", "frames")
            self.waiting = sum(math.prod(shape) * np.dtype(dtype).itemsize for _, dtype, shape in shapes)
        else:
            self.waiting = 1
        self._is_head = not self._is_head
        return data

    def readinto(self, view: memoryview) -> int:
        n = int(cast(Any, self._file).readinto(view))
        self.waiting -= n
        return n

    def close(self) -> None:
        """The pipe stays open for the next file."""
