"""The process in which a library of others parses a file: limited in memory and time, and gone when its parent is.

Started by `client.py`. A module that parses (`io/usd/child.py`) has one function,

    answer(request, outlet) -> value, arrays

which may also send frames, and tells the outlet how many bytes it is about to read. Imports little of Osteon, so that
it starts quickly.
"""

from __future__ import annotations

import faulthandler
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO, NoReturn

from numpy.typing import NDArray

from osteon.core.errors import OsteonError
from osteon.core.parallel import end_with, leave_no_dump, limit_memory
from osteon.io.native.messages import write_message

__all__ = ["IDLE", "Outlet", "main", "serve"]

#: Bytes that a library reads in a second at the least; text of USD comes at ten times that.
SLOWEST = 1 << 20
#: Seconds that imports may take, and that a process waits for another question.
START, IDLE = 300.0, 30.0


class Outlet:
    """The way out of the process, and the clock that ends it when nothing has come out for too long."""

    def __init__(self, file: BinaryIO, silence: float) -> None:
        self._file = file
        self._silence = silence  # seconds that a small file may take between two signs of life
        self._nowhere = open(os.devnull, "w")  # noqa: SIM115  # the clock needs a file that stays open
        self._bytes = 0
        self.wait_for(START)

    def wait_for(self, seconds: float) -> None:
        """End the process after this time, even if a library never comes back: the clock is no part of Python."""
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._nowhere)

    def alive(self, n_bytes: int = 0) -> None:
        """A sign of life; as many more bytes are about to be read."""
        self._bytes += n_bytes
        self.wait_for(self._silence + self._bytes / SLOWEST)

    def frames(self, first: int, total: int, block: NDArray[Any]) -> None:
        """Frames (n,v,3) from `first` of `total` in all."""
        write_message(self._file, "frames", [first, total], {"frames": block})
        self.alive()

    def say(self, kind: str, value: Any = None, arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
        write_message(self._file, kind, value, arrays)


def main() -> None:
    """What the process runs: a module's name, the bytes it may take, the silence it may keep, and its parent."""
    module, memory, silence, parent = sys.argv[1:5]
    end_with(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    serve(module, sys.stdin.buffer, answers, int(memory), float(silence))


def serve(module: str, requests: BinaryIO, answers: BinaryIO, memory: int, silence: float) -> NoReturn:
    """Answer until nobody asks; leaves without cleaning up after libraries."""
    outlet = Outlet(answers, silence)
    asked: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(requests, asked), daemon=True).start()
    far = import_module(module)
    if hasattr(far, "prepare"):
        far.prepare()
    leave_no_dump()
    limit_memory(memory)
    outlet.say("ready")
    while True:
        outlet.wait_for(2 * IDLE)
        try:
            request = asked.get(timeout=IDLE)
        except queue.Empty:
            os._exit(0)
        outlet.alive()
        _answer(far, request, outlet)


def _answer(far: Any, request: Any, outlet: Outlet) -> None:
    try:
        value, arrays = far.answer(request, outlet)
    except OsteonError as error:
        outlet.say("error", [type(error).__name__, str(error)])
    except MemoryError:
        outlet.say("memory")
    except Exception:
        outlet.say("bug", traceback.format_exc())
    else:
        outlet.say("answer", value, arrays)


def _listen(requests: BinaryIO, asked: queue.Queue[Any]) -> None:
    """A line of JSON is a request; the end of the file is the end of whoever asked."""
    with suppress(OSError):
        for line in requests:
            asked.put(json.loads(line))
    os._exit(0)
