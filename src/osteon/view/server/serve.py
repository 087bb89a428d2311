"""Running a server: a socket, on this machine only unless told otherwise, and an end that leaves nothing behind."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable

import uvicorn

from osteon.core.errors import OptionError
from osteon.view.server.app import view_app
from osteon.view.server.connections import IdleTimeoutProtocol
from osteon.view.server.guard import Guard, guarded
from osteon.view.server.request_bodies import App
from osteon.view.server.session import Session

__all__ = ["HOST", "PageServer", "ViewServer", "open_socket"]

HOST = "127.0.0.1"


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
        raise OptionError(
            f"--port: {port} cannot be used ({error.strerror}); leave it out to take a free one"
        ) from error
    return opened


class PageServer(uvicorn.Server):
    """An application on one socket. `run()` returns when it was told to end; Ctrl-C ends it too."""

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
        self.session.close()  # streams would otherwise keep their connections open
        await super().shutdown(sockets)
