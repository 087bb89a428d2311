"""Run the loaders on one input: each reads it or raises an `OsteonError` of one line that names a file."""

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
from osteon_bench.fuzzing.readers import Loader

SLOWEST = 10.0  # seconds that a file may take
LONGEST_MESSAGE = 1000


@dataclass(frozen=True, slots=True)
class Failure:
    """How one input failed."""

    kind: str  # "crash" or "hang"
    what: str  # one line: the error and where it was raised


class _TooSlow(BaseException):
    """Derived from BaseException, so that readers do not catch it."""


def attempt_file(loaders: tuple[Loader, ...], path: Path) -> Failure | None:
    """Run all loaders on a file and return the first failure."""
    for loader in loaders:
        found = _attempt(loader, path)
        if found is not None:
            return found
    return None


def _attempt(loader: Loader, path: Path) -> Failure | None:
    started = time.monotonic()
    try:
        with _limited(SLOWEST), warnings.catch_warnings():
            warnings.simplefilter("error")  # a warning printed to the terminal is a failure too
            loader(path)
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
    """The fault of an error message; empty if it is one short printable line that names a file of the folder."""
    if len(message) > LONGEST_MESSAGE + 3 * len(str(path)):
        return "a message that is too long"
    if not message.isprintable():
        return "a message that is not printable on one line"
    return "" if str(path.parent) in message else "a message that names no file"


def _where(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "osteon" in f.filename]
    last = frames[-1] if frames else None
    place = f" at {Path(last.filename).name}:{last.lineno}" if last else ""
    message = str(error).strip().splitlines()[-1:]  # the last line of a child's traceback is the error itself
    return f"{type(error).__name__}{place}: {''.join(message)[:200]!r}"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Interrupt Python code that takes longer. Without interval timers, the parent process enforces the limit."""
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
