"""Running the server: a socket on this machine only, and an end that leaves nothing behind."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from osteon.core.errors import OptionError
from osteon.view.guard import Guard
from osteon.view.lines import PatientProtocol
from osteon.view.server import view_app
from osteon.view.session import Session

__all__ = ["HOST", "ViewServer", "open_socket"]

HOST = "127.0.0.1"


def open_socket(port: int = 0) -> socket.socket:
    """A socket that only programs on this machine can reach; port 0 takes any that is free."""
    if not 0 <= port <= 65535:
        raise OptionError(f"--port: expected 0 … 65535, got {port}")
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((HOST, port))
    except OSError as error:
        opened.close()
        raise OptionError(
            f"--port: {port} cannot be used ({error.strerror}); leave it out to take a free one"
        ) from error
    return opened


class ViewServer(uvicorn.Server):
    """One session on one socket. `run()` returns when it was told to end; Ctrl-C ends it too."""

    def __init__(self, session: Session, port: int = 0, ready: Callable[[str], None] | None = None) -> None:
        self.socket = open_socket(port)
        self.guard = Guard.new(self.socket.getsockname()[1])
        self.session = session
        self.ready = ready
        config = uvicorn.Config(
            view_app(session, self.guard),
            http=PatientProtocol,
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

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.session.close()  # streams would otherwise keep their connections open
        await super().shutdown(sockets)
