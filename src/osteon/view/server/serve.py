"""Runs the page server: its socket, on this machine only by default, its connections, and the browser that opens."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path

import h11
import uvicorn

# Private to uvicorn and used only here; pyproject.toml bounds the version, tests/view/test_server_bodies.py checks it.
from uvicorn.protocols.http.h11_impl import H11Protocol

from osteon.core.errors import OptionError
from osteon.view.server.app import view_app
from osteon.view.server.requests import App, Guard, guarded
from osteon.view.server.session import Session

HOST = "127.0.0.1"
#: Seconds that the headers of a request may take, and that a connection may stay without a request.
HEADERS_IN = 10.0
_REDIRECT_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Osteon</title>
<a href="{address}">Osteon</a>
"""


class IdleTimeoutProtocol(H11Protocol):
    """A connection of uvicorn that is closed when no complete request header arrives within `HEADERS_IN` seconds.

    Any program on this machine can connect without the token; such connections must not stay open.
    """

    _due: asyncio.TimerHandle | None = None  # closes the connection; None while a request is being answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._due = self.loop.call_later(HEADERS_IN, self._give_up)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._due is None and not self.transport.is_closing():
            self._due = self.loop.call_later(HEADERS_IN, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _give_up(self) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self.transport.close()


def open_socket(port: int = 0, host: str = HOST) -> socket.socket:
    """A socket that only programs on this machine can reach, unless another host is named; port 0 takes a free one."""
    if not 0 <= port <= 65535:
        raise OptionError(f"--port: expected 0 … 65535, got {port}")
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise OptionError(f"--host: {host} is no address of this machine; name one that it has") from error
        raise OptionError(f"--port: {port} cannot be used ({error.strerror}); omit it to take a free one") from error
    return opened


class PageServer(uvicorn.Server):
    """An application on one socket. `run()` returns after `stop()`; Ctrl-C ends it too."""

    def __init__(
        self, app: App, opened: socket.socket, guard: Guard, ready: Callable[[str], None] | None = None
    ) -> None:
        self.socket = opened
        self.guard = guard
        self.ready = ready
        config = uvicorn.Config(
            guarded(app, guard),
            http=IdleTimeoutProtocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        super().__init__(config)

    @property
    def address(self) -> str:
        return self.guard.address

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the end."""
        super().run(sockets or [self.socket])

    def stop(self) -> None:
        """End soon; may be called from any thread."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.ready is not None:
            self.ready(self.address)


class ViewServer(PageServer):
    """One session of the page, for this machine only."""

    def __init__(self, session: Session, port: int = 0, ready: Callable[[str], None] | None = None) -> None:
        opened = open_socket(port)
        self.session = session
        super().__init__(view_app(session), opened, Guard.new(opened.getsockname()[1]), ready)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.session.close()  # event streams would otherwise keep their connections open
        await super().shutdown(sockets)


def write_redirect_page(address: str, folder: Path) -> Path:
    """Write a file into `folder` that redirects a browser to the address; only its owner can read it."""
    path = folder / "osteon.html"
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_REDIRECT_PAGE.format(address=escape(address)))
    return path


def open_browser(address: str, folder: Path) -> bool:
    """Start a browser that can show the page; returns whether there is one, text browsers do not count.

    All users of a machine can list the command lines of its programs, and the address holds the token: so the browser
    gets a private file that redirects to the address. A sandboxed browser that cannot read the file shows nothing; the
    printed address still opens the page.
    """
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(browser) is webbrowser.GenericBrowser and "BROWSER" not in os.environ:
        return False
    return browser.open(write_redirect_page(address, folder).resolve().as_uri())
