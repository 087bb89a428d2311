"""A real server on a port of its own, and a client that sends exactly what it is told to."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from osteon.view import bundle
from osteon.view.server.collection import Collection, prepare_item, prepare_models
from osteon.view.server.model_files import find_models
from osteon.view.server.serve import ViewServer
from osteon.view.server.session import Session

#: Seconds after which something that a test waits for is said to be wrong, not slow: machines may do much else.
PATIENCE = 300.0
PAGE = '<!doctype html><meta name="osteon-mode" content="server"><title>page</title>'


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A running server."""

    server: ViewServer
    session: Session
    folder: Path

    @property
    def token(self) -> str:
        return self.server.guard.token

    @property
    def port(self) -> int:
        return self.server.guard.port

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def raw(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Ask for a path as it is, token or not."""
        line = self.connect()
        try:
            line.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = line.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            line.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.raw("GET", f"/{self.token}/{path}", **headers)

    def post(self, path: str, body: object = b"", **headers: str) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.raw("POST", f"/{self.token}/{path}", data, **headers)

    def drop(self, file: Path, query: str = "", name: str | None = None) -> Answer:
        return self.post(f"open{query}", file.read_bytes(), X_Name=quote(name or file.name))

    def events(self, path: str) -> Iterator[dict[str, Any]]:
        """The messages of a stream, as they come."""
        line = self.connect()
        try:
            line.request("GET", f"/{self.token}/{path}")
            answer = line.getresponse()
            assert answer.headers["content-type"].startswith("text/event-stream")
            while text := answer.readline():
                if text.startswith(b"data: "):
                    yield json.loads(text[6:])
        finally:
            line.close()

    def result(self, job: str) -> dict[str, Any]:
        """The last message of a job."""
        *_, last = self.events(f"jobs/{job}")
        return last


@contextmanager
def served(
    folder: Path,
    *inputs: str,
    source: str | None = None,
    skeleton: str | None = None,
    models: tuple[str, ...] = (),
    **options: Any,
) -> Iterator[Served]:
    """Serve what the inputs name, or models as a command line names them."""
    folder.mkdir()
    collection = Collection(folder)
    if models:
        prepare_models(collection, find_models(models))
    elif inputs:
        item_id = collection.new_id()
        compared = () if source is None else (source,)
        pack = collection.pack_of(item_id)
        collection.add(prepare_item(item_id, inputs, pack, source=compared, skeleton=skeleton))
    session = Session.of(collection, **options)
    ready = threading.Event()
    server = ViewServer(session, ready=lambda _: ready.set())
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield Served(server, session, folder)
    finally:
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def use_small_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a few bytes in place of the bundle, which other tests look at."""
    folder.mkdir()
    for name in bundle.BUNDLE:
        (folder / name).write_text(PAGE if name == "index.html" else f"/* {name} */")
    monkeypatch.setattr(bundle, "STATIC", folder)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended but not been waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(true: Any, seconds: float = PATIENCE) -> bool:
    """Whether something becomes true in time, also on a machine that does much else."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():  # asked once: a moment later it may be false again
            return True
        time.sleep(0.02)
    return False


class RawLine:
    """A line to a server over which exactly these bytes go."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.port = port

    def begin(self, method: str, path: str, *headers: str) -> None:
        """The head of a request; its body may follow."""
        head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *headers, "", ""]
        self.socket.sendall("\r\n".join(head).encode())

    def pour(self, data: bytes, most: int) -> int:
        """Send the same bytes again and again; how many the other side let through before it closed the line."""
        sent = 0
        try:
            while sent < most:
                self.socket.sendall(data)
                sent += len(data)
        except OSError:
            pass
        return sent

    def drip(self, byte: bytes, seconds: float = PATIENCE) -> bool:
        """Send a byte at a time; whether the other side closed the line before so many seconds."""
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                self.socket.sendall(byte)
                time.sleep(0.05)
        except OSError:
            return True
        return False

    def rest(self) -> bytes:
        """All that comes until the line is closed."""
        found = b""
        try:
            while data := self.socket.recv(65_536):
                found += data
        except ConnectionError:
            pass
        return found

    def rest_of_answer(self) -> bytes:
        """The head and the body of one answer, whose connection may stay open."""
        answer = http.client.HTTPResponse(self.socket)
        answer.begin()
        return f"HTTP/1.1 {answer.status}\n".encode() + answer.read()

    def close(self) -> None:
        self.socket.close()
