"""Bodies and lines as an attacker sends them: without a length, without an end, a byte at a time, not at all."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import osteon
from osteon.io import save_model
from osteon.synth.baked import bake_cylinder
from osteon.view.server import app, requests, serve

from .serving import RawLine, Served, served, wait_until

SOURCES = Path(osteon.__file__).parent
CHUNK = b"10000\r\n" + bytes(0x10000) + b"\r\n"
#: Every route that is posted to; the last ones do not look at what comes.
POSTED = ("open", "fit", "clusters", "pose/m1", "pose/m1/mesh.obj", "pose/m1/pose.json", "pose/m1/skeleton",
          "pose/m1/start", "jobs/j1/cancel", "nothing", "scene")  # fmt: skip
GOT = ("", "app.js", "scene", "pack/m1", "jobs/j1", "clusters/m1", "file/m1.glb", "alive", "nothing")
#: What the kernel may hold of a body that nobody reads, on both sides.
IN_THE_WIRE = 16_000_000


@pytest.fixture(scope="module")
def viewer(tmp_path_factory) -> Iterator[Served]:
    """A server that takes files of 1 MB and skeletons of 0.1 MB."""
    folder = tmp_path_factory.mktemp("bodies")
    save_model(bake_cylinder(2).model, folder / "tube.npz")
    patch = pytest.MonkeyPatch()
    patch.setattr(app, "SKELETON_BYTES", 100_000)
    patch.setattr(requests, "LINGER", 1.0)
    # Long enough to be told apart from the limits of single tests, on a busy machine too.
    patch.setattr(requests, "SILENCE", 900.0)
    patch.setattr(serve, "HEADERS_IN", 900.0)
    with served(folder / "view", str(folder / "tube.npz")) as running:
        running.session.uploads.limit = 1_000_000
        yield running
    patch.undo()


@pytest.fixture
def raw(viewer: Served) -> Iterator[RawLine]:
    line = RawLine(viewer.port)
    yield line
    line.close()


def name_of(path: str) -> str:
    return "X-Name: endless.tgf" if path.endswith("skeleton") else "X-Name: endless.glb"


@pytest.mark.parametrize("path", POSTED)
def test_an_endless_body_is_cut_off_everywhere(viewer: Served, raw: RawLine, path):
    raw.begin("POST", f"/{viewer.token}/{path}", name_of(path), "Transfer-Encoding: chunked")
    assert raw.pour(CHUNK, 4 * IN_THE_WIRE) < 2 * IN_THE_WIRE
    assert viewer.get("scene").status == 200
    assert wait_until(lambda: viewer.session.uploads.size == 0)


@pytest.mark.parametrize("path", ["open", "fit", "pose/m1", "pose/m1/skeleton"])
def test_a_body_that_is_announced_too_long_is_not_read(viewer: Served, raw: RawLine, path):
    raw.begin("POST", f"/{viewer.token}/{path}", name_of(path), "Content-Length: 5000000")
    answer = raw.rest()
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in answer.lower()


def test_a_skeleton_without_a_length_has_the_same_limit(viewer: Served, raw: RawLine):
    raw.begin("POST", f"/{viewer.token}/pose/m1/skeleton", "X-Name: long.tgf", "Transfer-Encoding: chunked")
    raw.socket.sendall(2 * CHUNK + b"0\r\n\r\n")  # 131 kB of 100
    assert raw.rest().startswith(b"HTTP/1.1 413")
    assert viewer.session.uploads.size == 0


@pytest.mark.parametrize("path", GOT)
def test_what_is_only_got_takes_no_body(viewer: Served, raw: RawLine, path):
    raw.begin("GET", f"/{viewer.token}/{path}", "Transfer-Encoding: chunked")
    assert raw.rest().startswith(b"HTTP/1.1 400")


def test_a_body_with_a_length_and_in_chunks_ends_with_its_chunks(viewer: Served, raw: RawLine):
    raw.begin("POST", f"/{viewer.token}/fit", "Transfer-Encoding: chunked", "Content-Length: 99", "Connection: close")
    raw.socket.sendall(b"2\r\n[]\r\n0\r\n\r\n")
    assert b"expected a JSON object" in raw.rest()


@pytest.mark.parametrize("path", ["open", "fit", "pose/m1", "pose/m1/skeleton"])
@pytest.mark.parametrize("length", ["Content-Length: 60000", "Transfer-Encoding: chunked"])
def test_a_body_that_does_not_come_is_given_up(viewer: Served, raw: RawLine, monkeypatch, path, length):
    monkeypatch.setattr(requests, "SILENCE", 0.3)
    raw.begin("POST", f"/{viewer.token}/{path}", name_of(path), length)
    started = time.monotonic()
    assert raw.rest().startswith(b"HTTP/1.1 408")
    assert time.monotonic() - started < 300  # well before the 900 s of other tests
    assert viewer.session.uploads.arriving == 0


def test_a_body_that_comes_a_byte_at_a_time_is_given_up(viewer: Served, raw: RawLine, monkeypatch):
    monkeypatch.setattr(requests, "SILENCE", 1.0)
    raw.begin("POST", f"/{viewer.token}/open", "X-Name: slow.glb", "Content-Length: 60000")
    assert raw.drip(b"x")
    assert viewer.session.uploads.size == 0


def test_a_line_on_which_no_request_comes_is_closed(viewer: Served, monkeypatch):
    monkeypatch.setattr(serve, "HEADERS_IN", 0.4)
    silent, slow = RawLine(viewer.port), RawLine(viewer.port)
    assert silent.rest() == b""
    assert slow.drip(b"G")
    for line in (silent, slow):
        line.close()


def test_the_next_request_of_a_line_must_come_whole_too(viewer: Served, raw: RawLine, monkeypatch):
    monkeypatch.setattr(serve, "HEADERS_IN", 0.4)
    raw.begin("GET", f"/{viewer.token}/scene")
    assert b"200 OK" in raw.socket.recv(100)
    started = time.monotonic()
    raw.socket.sendall(b"GET /")
    raw.rest()
    assert time.monotonic() - started < 300  # well before the 900 s of other tests


def test_many_silent_connections_leave_room_for_the_page(viewer: Served):
    silent = [RawLine(viewer.port) for _ in range(200)]
    assert viewer.get("scene").status == 200
    for line in silent:
        line.close()


def test_uvicorn_has_the_private_protocol_that_closes_idle_connections():
    protocol = serve.H11Protocol
    assert issubclass(serve.IdleTimeoutProtocol, protocol)
    for name in ("connection_made", "data_received", "connection_lost"):
        assert callable(getattr(protocol, name))
    made = inspect.getsource(protocol.__init__)
    assert "self.conn = h11.Connection" in made
    assert "self.loop = " in made
    assert "self.transport" in made
    users = [path for path in SOURCES.rglob("*.py") if "h11_impl" in path.read_text()]
    assert users == [SOURCES / "view" / "server" / "serve.py"]


def test_a_short_body_that_nobody_reads_does_no_harm(viewer: Served):
    assert viewer.post("pose/m9/start", b"x" * 1000).status == 404
    assert viewer.post("fit", {"id": "m9"}).status == 404


@pytest.mark.parametrize(
    "text",
    [
        b"GET", b"\r\n\r\n", b"\x00" * 100, b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n",
        b"POST /x/open HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", b"GET /" + b"a" * 200_000,
        b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 50_000,
        b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(viewer: Served, raw: RawLine, monkeypatch, text):
    monkeypatch.setattr(serve, "HEADERS_IN", 0.5)
    line = RawLine(viewer.port)
    line.pour(text, 1)
    answer = line.rest()
    assert answer[9:12] in (b"", b"400", b"403", b"426")
    line.close()
    assert viewer.get("scene").status == 200


@pytest.mark.parametrize("size", [b"-1", b"fffffffffffffffffffff", b"zz", b" 5", b"5 5"])
def test_sizes_of_chunks_that_are_none(viewer: Served, raw: RawLine, size):
    raw.begin("POST", f"/{viewer.token}/open", "X-Name: odd.glb", "Transfer-Encoding: chunked")
    raw.socket.sendall(size + b"\r\nhello\r\n0\r\n\r\n")
    assert raw.rest()[9:12] in (b"", b"400")
    assert wait_until(lambda: viewer.session.uploads.size == 0)
