"""What comes with a request: counted and timed while it arrives, on every route, whatever its headers say.

A body without a length, or one that comes a byte at a time, is held to the same limits as any other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from osteon.core.errors import OsteonError

__all__ = ["MAX_REQUEST", "App", "Body", "Message", "Receive", "Scope", "Send", "TooLarge", "TooSlow"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Bytes of a request, unless its route takes more.
MAX_REQUEST = 65_536
#: Seconds without a single byte of a body that is not complete.
SILENCE = 30.0
#: Seconds and bytes of a refused body that are still taken and thrown away: who sends must get to hear the refusal.
LINGER = 1.0
LINGER_BYTES = 8_000_000
#: Bytes a second that a body must come with, after as many seconds; slower than any line people upload over.
SLOWEST = 10_000


class TooLarge(OsteonError):
    """More bytes than this server takes."""


class TooSlow(OsteonError):
    """A body that does not come."""


class Body:
    """The body of one request; `receive` takes the place of the server's own."""

    def __init__(self, headers: list[tuple[bytes, bytes]], receive: Receive) -> None:
        lengths = [value for name, value in headers if name == b"content-length"]
        self.chunked = any(name == b"transfer-encoding" for name, _ in headers)
        self.announced = int(lengths[0]) if lengths and lengths[0].isdigit() else 0
        self.is_clear = not (self.chunked and lengths)  # says in one way only how long it is
        self.complete = not (self.chunked or self.announced)
        self.size = 0
        self.most: float = MAX_REQUEST
        self._receive = receive
        self._start = time.monotonic()

    def allow(self, n_bytes: float) -> None:
        """Take so many bytes; refused before any is read if more are announced."""
        self.most = n_bytes
        self._check(self.announced)

    async def receive(self) -> Message:
        """The next message; waits without end only when nothing more can come but the end of the line."""
        if self.complete:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), self._patience())
        except TimeoutError as error:
            raise TooSlow("the request does not come; the line is too slow, or broke") from error
        if message["type"] == "http.request":
            self.size += len(message.get("body", b""))
            self.complete = not message.get("more_body", False)
            self._check(self.size)
        return message

    async def linger(self) -> None:
        """Throw away some of what is left of a body that was answered already."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                thrown = 0
                while not self.complete and thrown < LINGER_BYTES:
                    message = await self._receive()
                    thrown += len(message.get("body", b""))
                    self.complete = message["type"] != "http.request" or not message.get("more_body", False)

    def _patience(self) -> float:
        """Seconds to wait for the next bytes."""
        spent = time.monotonic() - self._start
        return max(0.0, min(SILENCE, SILENCE + self.size / SLOWEST - spent))

    def _check(self, n_bytes: int) -> None:
        if n_bytes > self.most:
            raise TooLarge(f"the request has more than {self.most:.0f} bytes")
