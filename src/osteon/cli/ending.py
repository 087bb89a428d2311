"""How a command that serves ends, asked to or by a closed terminal; and files that only its owner may read."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["for_the_owner_only", "handling_signals", "leave"]


@contextmanager
def for_the_owner_only() -> Iterator[None]:
    """Files that are written meanwhile can be read by nobody else: the address holds the token."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def handling_signals(end: Callable[[int], None]) -> Iterator[list[int]]:
    """A request to end, or a closed terminal, calls `end`, so that it is cleaned up as after Ctrl-C; lists which."""
    got: list[int] = []

    def handle(number: int, frame: object) -> None:
        got.append(number)
        end(number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield got
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave(number: int) -> None:
    """End as a program does that was told to."""
    raise SystemExit(128 + number)
