"""HTTP requests of the page server: who may send them, how large and how slow their bodies may be, and event streams.

- `Guard` holds the access token and the host names of a server, `guarded` applies it to an application. The token keeps
  other users and other programs out. `Host` must name this server, so that a foreign domain that resolves to its
  address is refused; `Origin`, where a browser sends it, must be this page. Everything else is answered with 403 before
  a single byte of the body is read.
- `Body` counts and times the body of a request while it arrives, on every route, whatever its headers announce.
- `EventStream` sends server-sent events until the messages end, the reader disconnects or the server closes.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request

from osteon.core.errors import OptionError, OsteonError
from osteon.view.bundle import POLICY

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Messages = AsyncGenerator[dict[str, Any], None]

#: Bytes of a request body, unless its route allows more.
MAX_REQUEST = 65_536
#: Seconds without a single byte of an incomplete body.
SILENCE = 30.0
#: Seconds and bytes of a refused body that are still read and discarded, so that the client receives the refusal.
LINGER = 10.0
LINGER_BYTES = 8_000_000
#: Minimum bytes per second of a body after `SILENCE` seconds; slower than any connection that people upload over.
SLOWEST = 10_000
#: Seconds of silence after which a comment keeps an event stream open.
HEARTBEAT = 10.0
#: Key of the request scope that holds its `Body`.
BODY = "osteon.body"

#: Sent with every response. The two Cross-Origin policies isolate the page, which also enables precise timers.
HEADERS = {
    "Content-Security-Policy": POLICY + "; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class TooLarge(OsteonError):
    """The request has more bytes than the server accepts."""


class TooSlow(OsteonError):
    """The body of the request does not arrive in time."""


class Body:
    """The body of one request; `receive` replaces the receive function of the server."""

    def __init__(self, headers: list[tuple[bytes, bytes]], receive: Receive) -> None:
        lengths = [value for name, value in headers if name == b"content-length"]
        self.announced = int(lengths[0]) if lengths and lengths[0].isdigit() else 0
        self.complete = not (self.announced or any(name == b"transfer-encoding" for name, _ in headers))
        self.size = 0
        self.most: float = MAX_REQUEST
        self._receive = receive
        self._start = time.monotonic()

    def allow(self, n_bytes: float) -> None:
        """Set the largest size; a body that announces more is refused before any of it is read."""
        self.most = n_bytes
        self._check(self.announced)

    async def receive(self) -> Message:
        """The next message; waits without a limit only when the body is complete."""
        if self.complete:
            return await self._receive()
        spent = time.monotonic() - self._start
        try:
            message = await asyncio.wait_for(
                self._receive(), max(0.0, min(SILENCE, SILENCE + self.size / SLOWEST - spent))
            )
        except TimeoutError as error:
            raise TooSlow("the request does not arrive; the connection is too slow, or broke") from error
        if message["type"] == "http.request":
            self.size += len(message.get("body", b""))
            self.complete = not message.get("more_body", False)
            self._check(self.size)
        return message

    async def linger(self) -> None:
        """Discard some of the rest of a body that has been answered already."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                discarded = 0
                while not self.complete and discarded < LINGER_BYTES:
                    message = await self._receive()
                    discarded += len(message.get("body", b""))
                    self.complete = message["type"] != "http.request" or not message.get("more_body", False)

    def _check(self, n_bytes: int) -> None:
        if n_bytes > self.most:
            raise TooLarge(f"the request has more than {self.most:.0f} bytes")


@dataclass(frozen=True, slots=True)
class Guard:
    """The access token of one server, and the addresses it listens on."""

    port: int
    token: str
    names: tuple[str, ...] = ("127.0.0.1", "localhost")  # host names of this machine; the first one is printed

    @staticmethod
    def new(port: int) -> Guard:
        return Guard(port, secrets.token_urlsafe(24))

    @property
    def address(self) -> str:
        return f"http://{self.names[0]}:{self.port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        names = tuple(name.lower() for name in self.names)
        plain = names if self.port == 80 else ()  # browsers omit the default port of the scheme
        return (*(f"{name}:{self.port}" for name in names), *plain)

    def allows_path(self, path: str) -> bool:
        """Whether the first part of the path is the token; takes the same time for any wrong one."""
        token = path.removeprefix("/").partition("/")[0]
        return secrets.compare_digest(token.encode(), self.token.encode())

    def allows_headers(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether the request names this server, and comes from its page if it comes from a page."""
        hosts = [value.decode("latin-1").lower() for name, value in headers if name.lower() == b"host"]
        origins = [value.decode("latin-1").lower() for name, value in headers if name.lower() == b"origin"]
        return (
            len(hosts) == 1
            and hosts[0] in self.hosts
            and all(o in [f"http://{h}" for h in self.hosts] for o in origins)
        )


def guarded(app: App, guard: Guard) -> App:
    """The same application for requests that the guard allows, without the token in their path."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if not (guard.allows_path(scope["path"]) and guard.allows_headers(scope["headers"])):
            await _refuse(send, 403, b"This address needs the token that `osteon` printed.")
            return
        body = Body(scope["headers"], receive)
        if not body.complete and scope["method"] != "POST":
            await _refuse(send, 400, b"This request must not have a body.")
            return
        inner = scope["path"].removeprefix("/").partition("/")
        # A path that ends with the token lacks the slash that the relative addresses of the page need.
        path = "/" + inner[2] if inner[1] else "/no-slash"
        known = {**scope, "path": path, "raw_path": path.encode(), "root_path": "", BODY: body}
        await app(known, body.receive, _with_headers(send, body))

    return checked


def _with_headers(send: Send, body: Body) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            close = [] if body.complete else [(b"connection", b"close")]
            message["headers"] = [*message.get("headers", []), *_RAW_HEADERS, *close]
        elif not body.complete and not message.get("more_body", False):
            # The rest of the body is not needed: close the connection, but only after the client got the response.
            await send({**message, "more_body": True})
            await body.linger()
            message = {"type": "http.response.body", "body": b""}
        await send(message)

    return sending


async def _refuse(send: Send, status: int, text: bytes) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    headers += [(b"connection", b"close"), *_RAW_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def body_of(request: Request) -> Body:
    body: Body = request.scope[BODY]
    return body


def whole_number(text: str) -> int:
    """A count in a header or a query."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise OptionError(f"expected a whole number, got '{text[:20]}'")
    return int(text)


async def read_json(request: Request, most: int = MAX_REQUEST) -> dict[str, Any]:
    """The body of a request as a JSON object of at most so many bytes."""
    body_of(request).allow(most)
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise OptionError("expected a JSON object")
    return found


async def while_wanted(request: Request, work: Coroutine[Any, Any, T], stop: Callable[[], None]) -> T:
    """The result of `work`; `stop` ends it when the page cancels its request or disconnects."""
    working = asyncio.create_task(work)
    gone = asyncio.create_task(_disconnected(request.receive))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            stop()
        return await working
    finally:
        gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


class EventStream:
    """A response of server-sent events: messages until they end, the reader disconnects, or the server closes."""

    def __init__(self, messages: Messages, closing: asyncio.Event) -> None:
        self.messages = messages
        self.closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        sending = asyncio.create_task(self._send_all(send))
        ends: set[asyncio.Task[Any]] = {
            asyncio.create_task(_disconnected(receive)),
            asyncio.create_task(self.closing.wait()),
        }
        try:
            await asyncio.wait({sending, *ends}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end({sending, *ends})
            await self.messages.aclose()
        await send({"type": "http.response.body", "body": b""})

    async def _send_all(self, send: Send) -> None:
        await send(_chunk(b": open\n\n"))  # shows the reader that the connection is open
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


async def _end(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait for their end; errors of a connection that is closed anyway are ignored."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, OSError):
            await task
