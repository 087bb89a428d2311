"""Runs third-party libraries in a child process, so that a crash or an endless loop of one is one line of error.

A child has a limit on its memory and on the time between two messages; both grow with the file. Frames are received
one after the other into the array where they stay, and errors of Osteon are raised again here. Messages go through a
pipe, so no file is left behind, whichever process is killed. A child ends with the request, with an error or Ctrl-C
here, with its parent, and by itself when no request arrives.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from osteon.core import errors
from osteon.core.animation import Clip
from osteon.core.arrays import Float32
from osteon.core.errors import OsteonError
from osteon.core.mesh import Mesh
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.io.archives.archive import HeldArrays
from osteon.io.formats.options import ReadRequest
from osteon.io.load.source import LARGEST_RATIO, MEMORY, Claims, Source
from osteon.io.metadata.asset import damage_named, pack_asset, pack_clips, unpack_asset, unpack_clips
from osteon.io.native.child import IDLE, Arrays, BrokenMessage, Message, read_array, read_message

#: Bytes that a library may take for a file of any size, and per core: its threads reserve memory that they never use.
LEAST_MEMORY, CORE_MEMORY = 4 << 30, 128 << 20
#: Bytes that a pipe holds at once, where that can be set.
PIPE = 1 << 20
#: Seconds that a child may take to exit after its last message.
GRACE = 2.0

_START = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop())
from osteon.io.native.child import main
main()
"""


@dataclass(frozen=True, slots=True)
class NativeTask:
    """A kind of file, and the module that reads it in a child process."""

    kind: str  # name in messages
    module: str
    silence: float = 6.0  # seconds between two messages that a small file may take


class Process(Protocol):
    """Interface of a child process, however it was started."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def poll(self) -> int | None: ...
    def kill(self) -> None: ...
    def wait(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a request."""

    value: Any
    arrays: Arrays


@dataclass(slots=True)
class FrameRoom:
    """The array that receives frames, allocated with the first ones; children that pose parts of them share it."""

    source: Source
    progress: Progress | None = None
    frames: Float32 | None = None  # (f,v,3)
    done: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: int = field(default_factory=threading.get_ident)  # that receives progress

    def place(self, first: int, total: int, shape: tuple[int, ...]) -> Float32:
        """The part of the array for frames (n,v,3)."""
        with self._lock:
            if self.frames is None:
                what = f"its {total} frames of {shape[1]} vertices"
                Claims(self.source, self.source.path.stat().st_size).sample(12 * total * shape[1], what)
                self.frames = np.empty((total, *shape[1:]), np.float32)
            if len(shape) != 3 or shape[1:] != self.frames.shape[1:] or not 0 <= first <= total - shape[0]:
                raise BrokenMessage
            return self.frames[first : first + shape[0]]

    def count(self, n: int) -> None:
        """Report `n` more frames as progress."""
        with self._lock:
            self.done += n
            total = self.done if self.frames is None else len(self.frames)
        if threading.get_ident() == self._thread:
            report_progress(self.progress, "load", self.done / max(1, total))


class NativeChild:
    """A process that answers requests about one file."""

    def __init__(self, task: NativeTask, source: Source, n_bytes: int) -> None:
        self.task, self.source = task, source
        self.born = time.monotonic()
        allowed = min(MEMORY, max(LEAST_MEMORY, LARGEST_RATIO * n_bytes)) + CORE_MEMORY * (os.cpu_count() or 1)
        self._process = start_process(task, allowed)
        self._ready = False

    def query(self, request: dict[str, Any], room: FrameRoom | None = None) -> Answer:
        """Send a request and return the answer; raises errors of the child, and an error if it ended."""
        try:
            self.send(request)
            return self.receive(room)
        except BaseException:
            self.end()
            raise

    def send(self, request: dict[str, Any]) -> None:
        """Send a request, whose answer is received later."""
        assert self._process.stdin is not None
        with suppress(OSError):  # the end of a child is noticed when its answer is read
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self, room: FrameRoom | None = None) -> Answer:
        """The answer to a request; frames are stored in `room`."""
        file: Any = self._process.stdout
        try:
            while True:
                message = read_message(file)
                if message.kind == "frames" and room is not None:
                    ((_, _, shape),) = message.arrays
                    first, total = message.value
                    read_array(file, room.place(int(first), int(total), shape))
                    room.count(shape[0])
                elif message.kind == "answer":
                    return Answer(message.value, {n: read_array(file, np.empty(s, t)) for n, t, s in message.arrays})
                else:
                    self._take(message)
        except (BrokenMessage, OSError, TypeError, ValueError) as error:
            raise self._death() from error

    def _take(self, message: Message) -> None:
        if message.kind == "ready":
            self._ready = True
        elif message.kind == "error":
            name, text = message.value
            raise _error_class(str(name))(str(text))
        elif message.kind == "memory":
            raise self.source.format_error(f"cannot be read as {self.task.kind}: it needs more memory than it may take")
        elif message.kind == "bug":
            raise RuntimeError(f"{self.source}: reading it as {self.task.kind} failed\n{message.value}")

    def _death(self) -> OsteonError:
        """The error for a missing answer, by the exit of the process."""
        until = time.monotonic() + GRACE
        while self._process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        self._process.kill()
        code = self._process.wait()
        what = f"cannot be read as {self.task.kind}: the library"
        if not self._ready:
            return self.source.format_error(f"cannot be read as {self.task.kind}: its reader did not start")
        if code == 1:  # the timer of the child
            return self.source.format_error(f"{what} does not come to an end with it; export it again")
        return self.source.format_error(f"{what} failed on it; export it again")

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """End the process and wait for its exit."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _error_class(name: str) -> type[OsteonError]:
    found = getattr(errors, name) if name in errors.__all__ else OsteonError
    return found if isinstance(found, type) and issubclass(found, OsteonError) else OsteonError


def _start_interpreter(task: NativeTask, memory: int) -> Process:
    """A new Python that finds the modules this one finds, but none in the current folder."""
    path = json.dumps([entry for entry in sys.path if entry])
    request_fields = [task.module, str(memory), str(task.silence), str(os.getpid()), path]
    command = [sys.executable, "-P", "-c", _START, *request_fields]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if sys.platform == "linux" and process.stdout is not None:
        import fcntl

        with suppress(OSError, AttributeError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE)
    return process


#: The function that starts a child; fuzzing replaces it by a faster one.
start_process: Callable[[NativeTask, int], Process] = _start_interpreter


@dataclass(slots=True)
class _Kept:
    """A child that answered, and may soon get another request about the same file from the same thread."""

    child: NativeChild
    path: Path
    thread: threading.Thread  # its end is the end of the child, and numbers of threads are used again
    since: float


_KEPT: list[_Kept] = []
_KEPT_LOCK = threading.Lock()


def query_child(
    task: NativeTask,
    source: Source,
    request: dict[str, Any],
    *,
    keep: bool = False,
    progress: Progress | None = None,
) -> Answer:
    """Send one request about a file to a child; `keep` it if the next request is likely about the same file.

    Frames that the child sends are the array `frames` of the answer.
    """
    size = source.path.stat().st_size if source.path.exists() else 0
    child = _kept(task, source.path) or NativeChild(task, source, size)
    room = FrameRoom(source, progress)
    answer = child.query(request | {"path": str(source.path)}, room)
    if keep:
        with _KEPT_LOCK:
            _KEPT.append(_Kept(child, source.path, threading.current_thread(), time.monotonic()))
    else:
        child.end()
    frames: dict[str, NDArray[Any]] = {} if room.frames is None else {"frames": room.frames}
    return Answer(answer.value, answer.arrays | frames)


def _kept(task: NativeTask, path: Path) -> NativeChild | None:
    """The child that has this file open, if it still runs; the others are ended."""
    now, mine = time.monotonic(), threading.current_thread()
    with _KEPT_LOCK:
        known = [kept for kept in _KEPT if kept.thread is mine or now - kept.since > IDLE]
        _KEPT[:] = [kept for kept in _KEPT if kept not in known]
    found = None
    for kept in known:
        fresh = kept.path == path and kept.child.task == task and now - kept.since < IDLE / 2
        if fresh and found is None and kept.child.is_alive:
            found = kept.child
        else:
            kept.child.end()
    return found


@atexit.register
def _end_kept() -> None:
    with _KEPT_LOCK:
        for kept in _KEPT:
            kept.child.end()
        _KEPT.clear()


def pack_sequence(mesh: Mesh, clips: tuple[Clip, ...]) -> tuple[Any, Arrays]:
    """The answer of a child that has sent its frames."""
    arrays, header = pack_asset(mesh.asset)
    return header | {"name": mesh.name, "clips": pack_clips(clips)}, arrays | {"rest": mesh.rest, "faces": mesh.faces}


def read_sequence_in_child(task: NativeTask, source: Source, request: ReadRequest) -> MeshSequence:
    """The sequence in a file, read by a child."""
    request_fields = {"question": "sequence", "fps": request.options.fps, "clips": list(request.options.clips)}
    found = query_child(task, source, request_fields, progress=request.progress)
    held, header = HeldArrays(source, found.arrays), found.value
    with damage_named(source):
        return MeshSequence(
            held.array("frames"),
            held.array("faces"),
            held.array("rest"),
            unpack_clips(header["clips"]),
            unpack_asset(held, header),
            header["name"],
        )
