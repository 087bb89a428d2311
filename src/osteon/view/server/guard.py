"""Who may ask: only requests that carry the token, and only from the server's own page.

The token keeps other users and other programs out. `Host` must name this server, so that a foreign domain that resolves
to its address gets nothing; `Origin`, where a browser sends it, must be this page. Everything else is 403, before a
single byte of the body is read.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from osteon.view.bundle import POLICY
from osteon.view.server.request_bodies import App, Body, Message, Receive, Scope, Send

__all__ = ["BODY", "HEADERS", "Guard", "guarded"]

#: Where a route finds the `Body` of its request, among what is known of it.
BODY = "osteon.body"

#: Sent with every answer. The two Cross-Origin policies isolate the page, which also gives it exact clocks.
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


@dataclass(frozen=True, slots=True)
class Guard:
    """The secret of one server, and where it listens."""

    port: int
    token: str
    names: tuple[str, ...] = ("127.0.0.1", "localhost")  # what the machine is called in an address; the first is told

    @staticmethod
    def new(port: int) -> Guard:
        return Guard(port, secrets.token_urlsafe(24))

    @property
    def address(self) -> str:
        return f"http://{self.names[0]}:{self.port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        names = tuple(name.lower() for name in self.names)
        plain = names if self.port == 80 else ()  # browsers leave out the port of the scheme
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
            await _refuse(send)
            return
        body = Body(scope["headers"], receive)
        if not body.is_clear or not (body.complete or scope["method"] == "POST"):
            await _refuse(send, 400, b"This request has a body, or says in two ways how long it is.")
            return
        inner = scope["path"].removeprefix("/").partition("/")
        # A path that ends with the token lacks the slash that the page's relative addresses need.
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
            # Nobody wants what is left of the body: the line is closed, but not before the answer is heard.
            await send({**message, "more_body": True})
            await body.linger()
            message = {"type": "http.response.body", "body": b""}
        await send(message)

    return sending


async def _refuse(
    send: Send, status: int = 403, text: bytes = b"This address needs the token that `osteon` printed."
) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    headers += [(b"connection", b"close"), *_RAW_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
