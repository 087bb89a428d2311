"""One input: read, or refused with an error of ours, in one line, that names a file. Anything else is a failure."""

from __future__ import annotations

import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from osteon.core.errors import OsteonError
from osteon_bench.fuzzing.readers import Door

__all__ = ["SLOWEST", "Failure", "attempt_file"]

SLOWEST = 10.0  # seconds that a file may take
LONGEST_MESSAGE = 1000


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with an input."""

    kind: str  # "crash" or "hang"
    what: str  # one line: the error and where it was raised


class _TooSlow(BaseException):
    """Not an Exception, so that no reader takes it for one of its own."""


def attempt_file(doors: tuple[Door, ...], path: Path) -> Failure | None:
    """Send a file through all doors; the first thing that is wrong."""
    for door in doors:
        found = _attempt(door, path)
        if found is not None:
            return found
    return None


def _attempt(door: Door, path: Path) -> Failure | None:
    started = time.monotonic()
    try:
        with _limited(SLOWEST), warnings.catch_warnings():
            warnings.simplefilter("error")  # what would reach a person's terminal is a failure too
            door(path)
    except OsteonError as error:
        found = _message_fault(str(error), path)
        if found:
            return Failure("crash", f"{found}: {str(error)[:200]!r}")
    except _TooSlow:
        return Failure("hang", f"takes more than {SLOWEST:g} s")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return Failure("crash", _where(error))
    return Failure("hang", "takes too long") if time.monotonic() - started > SLOWEST else None


def _message_fault(message: str, path: Path) -> str:
    """What is wrong with a refusal; nothing if it names a file of the folder on one short line that can be shown."""
    if len(message) > LONGEST_MESSAGE + 3 * len(str(path)):
        return "a message that is too long"
    if not message.isprintable():
        return "a message that cannot be shown on one line"
    return "" if str(path.parent) in message else "a message that names no file"


def _where(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "osteon" in f.filename]
    last = frames[-1] if frames else None
    place = f" at {Path(last.filename).name}:{last.lineno}" if last else ""
    said = str(error).strip().splitlines()[-1:]  # of what went wrong in a child, the error itself
    return f"{type(error).__name__}{place}: {''.join(said)[:200]!r}"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Stop Python code that takes longer; where there is no such clock, whoever started this process watches it."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    before: Callable[..., object] | int | None = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
