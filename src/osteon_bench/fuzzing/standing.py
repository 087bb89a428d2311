"""Children that parse, kept from one input to the next: what a fork costs is paid once for some hundred inputs.

The product takes a new child for each file. Here one is lent to every `NativeChild` in turn, and says all that it
always says; it is replaced when it died, when it is old, or when it was left in the middle of an answer. Where lines
are counted, a child is a fork of its own.
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
from osteon_bench.fuzzing.readers import Door

__all__ = ["standing", "standing_children"]

#: Files that a child reads before it is replaced: it keeps what libraries leave behind.
OLD = 400
#: Bytes that it may take. The product allows gigabytes; to fill them takes seconds, and small files need none of them.
MEMORY = 256 << 20
_NUMBERS = count()


def standing(door: Door) -> Door:
    """The same door with children that stay. Each file gets a name of its own: libraries know files by name."""

    def through(path: Path) -> object:
        own = path.with_stem(f"{path.stem}-{next(_NUMBERS)}")
        own.write_bytes(path.read_bytes())
        try:
            with standing_children():
                return door(own)
        finally:
            own.unlink()

    return through


def standing_children() -> AbstractContextManager[None]:
    """Inside the block children are lent."""
    return children_by(_lend)


class _FarSide:
    """A child, and how often it was lent."""

    def __init__(self, task: NativeTask, memory: int) -> None:
        self.process, self.lent = Fork(task, memory), 0

    def end(self) -> int:
        """How it ended; the pipes are gone too, whatever is still in them."""
        self.process.kill()
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                cast(IO[bytes], pipe).close()
        return code


_IDLE: dict[NativeTask, list[_FarSide]] = {}


@atexit.register
def _end_idle() -> None:
    client._end_kept()  # gives back those that wait for another question
    for idle in _IDLE.values():
        while idle:
            idle.pop().end()


def _lend(task: NativeTask, allowed: int) -> Process:
    memory = min(allowed, MEMORY)
    if counting_lines() is not None:
        return Fork(task, memory)
    idle = _IDLE.setdefault(task, [])
    far = idle.pop() if idle else _FarSide(task, memory)
    if far.process.poll() is not None:  # nobody asked for too long
        far.end()
        far = _FarSide(task, memory)
    return cast(Process, _Lent(far, idle))


class _Lent:
    """A child as one file sees it: a process that was started for it and ends with it."""

    def __init__(self, far: _FarSide, idle: list[_FarSide]) -> None:
        self._far, self._idle = far, idle
        self._code: int | None = None
        self.stdin = _Questions(cast(IO[bytes], far.process.stdin))
        self.stdout = _Answers(cast(IO[bytes], far.process.stdout), is_new=not far.lent)
        far.lent += 1

    def poll(self) -> int | None:
        return self._far.process.poll() if self._code is None else self._code

    def kill(self) -> None:
        """Back to where it stands, if it is still fit to be lent."""
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


class _Questions:
    """The way in; counts what is asked."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.asked = file, 0

    def write(self, line: bytes) -> int:
        self.asked += 1
        return self._file.write(line)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """It stays open for the next file."""


class _Answers:
    """The way out: begins with the word that the child is ready, and counts what was answered to the end."""

    def __init__(self, file: IO[bytes], *, is_new: bool) -> None:
        self._file, self.answered = file, 0
        self.waiting = 0  # bytes of the message that were not read yet
        self._ready = io.BytesIO()
        if not is_new:
            write_message(self._ready, "ready")
            self._ready.seek(0)
        self._is_head = False

    def read(self, n_bytes: int) -> bytes:
        """The length of a head, then the head itself."""
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
        """It stays open for the next file."""
