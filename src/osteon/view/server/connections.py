"""Lines to the server that are closed when no request comes over them.

Whoever runs a program on this machine can connect, token or not, and say nothing. Such lines are closed after some
seconds, and the oldest of them as soon as there are many, so that none is missing for the page.
"""

from __future__ import annotations

import asyncio
import time

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["IdleTimeoutProtocol"]

#: Seconds for all headers of a request.
HEADERS_IN = 10.0
#: Lines that may wait for the first request at a time; a browser has six.
MAX_WAITING = 100


class IdleTimeoutProtocol(H11Protocol):
    """One line, as uvicorn serves it, with an end to waiting."""

    _due: asyncio.TimerHandle | None = None  # closes the line; None while a request is being answered
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        waiting = [line for line in self.connections if isinstance(line, IdleTimeoutProtocol) and line._due is not None]
        if len(waiting) > MAX_WAITING:
            min(waiting, key=lambda line: line._since)._give_up()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._due is None and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._since = time.monotonic()
        self._due = self.loop.call_later(HEADERS_IN, self._give_up)

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _give_up(self) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self.transport.close()
