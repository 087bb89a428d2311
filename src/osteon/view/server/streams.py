"""Server-sent events that notice when the reader goes away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

from osteon.view.server.request_bodies import Message, Receive, Scope, Send

__all__ = ["EventStream"]

#: Seconds of silence after which a comment keeps the line open.
HEARTBEAT = 10.0

Messages = AsyncGenerator[dict[str, Any], None]


class EventStream:
    """A response that sends messages as they come, until they end, the reader goes, or the server closes."""

    def __init__(self, messages: Messages, closing: asyncio.Event) -> None:
        self.messages = messages
        self.closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        sending = asyncio.create_task(self._send_all(send))
        ends = {asyncio.create_task(_disconnected(receive)), asyncio.create_task(_set(self.closing))}
        try:
            await asyncio.wait({sending, *ends}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end({sending, *ends})
            await self.messages.aclose()
        await send({"type": "http.response.body", "body": b""})

    async def _send_all(self, send: Send) -> None:
        await send(_chunk(b": open\n\n"))  # tells the reader that the connection is open
        beating = asyncio.create_task(_beat(send))
        try:
            async for message in self.messages:
                await send(_chunk(b"data: " + json.dumps(message, allow_nan=False).encode() + b"\n\n"))
        finally:
            await _end({beating})


def _chunk(text: bytes) -> Message:
    return {"type": "http.response.body", "body": text, "more_body": True}


async def _beat(send: Send) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT)
        await send(_chunk(b": still here\n\n"))


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _set(event: asyncio.Event) -> None:
    await event.wait()


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until they are gone; an error of a line that is closed anyway is no news."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, OSError):
            await task
