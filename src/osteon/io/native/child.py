"""The process in which a third-party library parses a file: limited in memory and time, and ended with its parent.

Started by `client.py`. A module that parses (`io/usd/child.py`) has one function,

    answer(request, outlet) -> value, arrays

which may also send frames, and which reports to the outlet how many bytes it is about to read. It imports little of
Osteon, so that it starts quickly.

A request is a line of JSON. A message of the child is the length of its head in eight bytes, the head
`[kind, value, [[name, dtype, shape], …]]` as JSON, and the bytes of the arrays. Nothing is pickled, and arrays are read
directly into the memory where they stay.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import queue
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from osteon.core.errors import OsteonError
from osteon.core.parallel import end_with, leave_no_dump, limit_memory

#: Bytes per second that a library reads at least; text of USD is read ten times as fast.
SLOWEST = 1 << 20
#: Seconds that imports may take, and that a process waits for another request.
START, IDLE = 300.0, 30.0


class Outlet:
    """Sends messages to the client, and ends the process if it has sent none for too long."""

    def __init__(self, file: BinaryIO, silence: float) -> None:
        self._file = file
        self._silence = silence  # seconds between two messages that a small file may take
        self._nowhere = open(os.devnull, "w")  # noqa: SIM115  # the clock needs a file that stays open
        self._bytes = 0
        self.wait_for(START)

    def wait_for(self, seconds: float) -> None:
        """End the process after this time, even if a library does not return: the timer is not a Python thread."""
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._nowhere)

    def alive(self, n_bytes: int = 0) -> None:
        """Restart the timer; `n_bytes` more bytes are about to be read."""
        self._bytes += n_bytes
        self.wait_for(self._silence + self._bytes / SLOWEST)

    def frames(self, first: int, total: int, block: NDArray[Any]) -> None:
        """Frames (n,v,3) from `first` of `total` in all."""
        write_message(self._file, "frames", [first, total], {"frames": block})
        self.alive()

    def send(self, kind: str, value: Any = None, arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
        write_message(self._file, kind, value, arrays)


def main() -> None:
    """Entry point; arguments: a module, its memory limit in bytes, its timeout in seconds, the id of the parent."""
    module, memory, silence, parent = sys.argv[1:5]
    end_with(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the client ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of a library is not part of the answers
    serve(module, sys.stdin.buffer, answers, int(memory), float(silence))


def serve(module: str, requests: BinaryIO, answers: BinaryIO, memory: int, silence: float) -> NoReturn:
    """Answer requests until none arrives; exits without cleaning up after libraries."""
    outlet = Outlet(answers, silence)
    received: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(requests, received), daemon=True).start()
    reader = import_module(module)
    if hasattr(reader, "prepare"):
        reader.prepare()
    leave_no_dump()
    limit_memory(memory)
    outlet.send("ready")
    while True:
        outlet.wait_for(2 * IDLE)
        try:
            request = received.get(timeout=IDLE)
        except queue.Empty:
            os._exit(0)
        outlet.alive()
        _answer(reader, request, outlet)


def _answer(reader: Any, request: Any, outlet: Outlet) -> None:
    try:
        value, arrays = reader.answer(request, outlet)
    except OsteonError as error:
        outlet.send("error", [type(error).__name__, str(error)])
    except MemoryError:
        outlet.send("memory")
    except Exception:
        outlet.send("bug", traceback.format_exc())
    else:
        outlet.send("answer", value, arrays)


def _listen(requests: BinaryIO, received: queue.Queue[Any]) -> None:
    """A line of JSON is a request; the end of the file is the end of the client."""
    with suppress(OSError):
        for line in requests:
            received.put(json.loads(line))
    os._exit(0)


Arrays = dict[str, NDArray[Any]]

_LENGTH = struct.Struct("<Q")
#: Bytes of JSON; names of bones and materials take far less.
_LONGEST_HEAD = 1 << 30
#: Bytes that an array may claim.
_LARGEST_ARRAY = 1 << 42


class BrokenMessage(Exception):
    """The message ends early, or is malformed."""


@dataclass(frozen=True, slots=True)
class Message:
    """The head of a message; its arrays follow."""

    kind: str
    value: Any
    arrays: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]  # name, type and shape


def write_message(
    file: BinaryIO, kind: str, value: Any = None, arrays: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Write one message and flush it."""
    stored = {name: np.asarray(array, order="C") for name, array in (arrays or {}).items()}
    shapes = [[name, array.dtype.str, array.shape] for name, array in stored.items()]
    head = json.dumps([kind, value, shapes]).encode()
    file.write(_LENGTH.pack(len(head)) + head)
    for array in stored.values():
        file.write(array.reshape(-1).view(np.uint8).data)
    file.flush()


def read_message(file: BinaryIO) -> Message:
    """The head of the next message."""
    (length,) = _LENGTH.unpack(_exactly(file, _LENGTH.size))
    if length > _LONGEST_HEAD:
        raise BrokenMessage
    try:
        kind, value, shapes = json.loads(_exactly(file, length))
        arrays = tuple((str(name), np.dtype(dtype), tuple(map(int, shape))) for name, dtype, shape in shapes)
    except (ValueError, TypeError) as error:
        raise BrokenMessage from error
    for _, dtype, shape in arrays:
        if dtype.hasobject or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > _LARGEST_ARRAY:
            raise BrokenMessage
    return Message(str(kind), value, arrays)


def read_array(file: BinaryIO, into: NDArray[Any]) -> NDArray[Any]:
    """The next array of a message, into the contiguous memory of one of its type and shape."""
    view = into.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        n = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not n:
            raise BrokenMessage
        done += n
    return into


def _exactly(file: BinaryIO, n_bytes: int) -> bytes:
    data = file.read(n_bytes)
    if len(data) != n_bytes:
        raise BrokenMessage
    return data
