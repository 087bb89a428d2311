"""Who is let in, and what can be reached: nothing but the page, the packs, and that with the token."""

from __future__ import annotations

import socket

import pytest

from osteon.core.errors import OptionError
from osteon.io import save_model
from osteon.synth.baked import bake_cylinder
from osteon.view.server.requests import HEADERS, Guard
from osteon.view.server.serve import open_socket

from .serving import Served, served, use_small_page

SECRET = b"nobody should read this"


@pytest.fixture(scope="module")
def viewer(tmp_path_factory):
    """A server with a model, a secret beside its folder, and a link to it within."""
    base = tmp_path_factory.mktemp("guarded")
    (base / "secret.txt").write_bytes(SECRET)
    save_model(bake_cylinder(2).model, base / "tube.npz")
    patch = pytest.MonkeyPatch()
    use_small_page(base / "page", patch)
    with served(base / "view", str(base / "tube.npz")) as running:
        (base / "view" / "link.bin").symlink_to(base / "secret.txt")
        (base / "page" / "link.js").symlink_to(base / "secret.txt")
        yield running
    patch.undo()


def test_the_token_opens_the_door(viewer: Served):
    assert viewer.get("scene").status == 200
    assert len(viewer.token) >= 32
    assert Guard.new(1).token != Guard.new(1).token


@pytest.mark.parametrize(
    "path", ["/", "", "/scene", "//scene", "/x/scene", "/favicon.ico", "/../scene", "/%2e%2e/scene"]
)
def test_no_token_no_answer(viewer: Served, path):
    answer = viewer.raw("GET", path or "*")
    assert answer.status in (400, 403)
    assert SECRET not in answer.body


def test_a_wrong_token_is_403_everywhere(viewer: Served):
    right = viewer.token
    wrong = (right[:-1] + ("a" if right[-1] != "a" else "b"), right[:-1], right + "a", right.swapcase(), "é", "%00")
    for token in wrong:
        for path in ("", "scene", "app.js", "pack/m1", "alive"):
            shown = token.encode("ascii", "ignore").decode() or "%C3%A9"
            assert viewer.raw("GET", f"/{shown}/{path}").status == 403
        assert viewer.raw("POST", f"/{shown}/open", b"x").status == 403
        assert viewer.raw("POST", f"/{shown}/fit", b"{}").status == 403


def test_a_refused_upload_is_not_read(viewer: Served):
    line = viewer.connect()
    line.putrequest("POST", "/wrong/open")
    line.putheader("Content-Length", "2000000000")
    line.endheaders()
    assert line.getresponse().status == 403
    line.close()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost",
        "0.0.0.0:{port}",
        "[::1]:{port}",
        "",
    ],
)
def test_another_host_is_refused(viewer: Served, host):
    assert viewer.get("scene", Host=host.format(port=viewer.port)).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}"])
def test_this_host_is_let_in(viewer: Served, host):
    assert viewer.get("scene", Host=host.format(port=viewer.port)).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        "http://127.0.0.1:{port}.evil.example",
        "",
    ],
)
def test_another_origin_is_refused(viewer: Served, origin):
    shown = origin.format(port=viewer.port)
    assert viewer.get("scene", Origin=shown).status == 403
    assert viewer.post("fit", {"id": "m1"}, Origin=shown).status == 403


def test_its_own_origin_is_let_in(viewer: Served):
    for name in ("127.0.0.1", "localhost"):
        assert viewer.get("scene", Origin=f"http://{name}:{viewer.port}").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt", "%2e%2e/secret.txt", "%2e%2e%2fsecret.txt", "%252e%252e%252fsecret.txt", "..\\secret.txt",
        "..%5csecret.txt", "..%255csecret.txt", "pack/../../secret.txt", "pack/..%2f..%2fsecret.txt", "pack/link",
        "pack/link.bin", "link.js", "pack/%2fetc%2fpasswd", "pack//etc/passwd", "/etc/passwd", "//etc/passwd",
        "pack/m1%00", "pack/m1%2f..%2f..%2fsecret", "clusters/..%2flink", "file/..%2fm1.npz", "file/m1.bin",
        "static/app.js", "page/index.html", "index.html/../link.js", "m1.bin", "....//secret.txt",
        "%c0%ae%c0%ae/secret.txt",
    ],
)  # fmt: skip
def test_no_path_leads_out(viewer: Served, path):
    answer = viewer.get(path)
    assert answer.status in (400, 403, 404)
    assert SECRET not in answer.body
    assert b"root:" not in answer.body


def test_every_answer_has_the_headers(viewer: Served):
    for answer in (
        viewer.get(""),
        viewer.get("scene"),
        viewer.get("none"),
        viewer.raw("GET", "/"),
        viewer.get("pack/m1"),
    ):
        for name, value in HEADERS.items():
            assert answer.headers[name.lower()] == value
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_only_this_machine_can_connect(viewer: Served):
    assert viewer.server.socket.getsockname()[0] == "127.0.0.1"
    names = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for name in names - {"127.0.0.1"}:
        if not name.startswith("127."):
            with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
                socket.create_connection((name, viewer.port), timeout=1)


def test_a_port_that_is_taken_is_one_line(viewer: Served, refused):
    with refused(OptionError, "--port", viewer.port, "cannot be used"):
        open_socket(viewer.port)
    with refused(OptionError, "--port", "65535"):
        open_socket(70000)


def test_bad_json_is_refused_in_words(viewer: Served):
    for body in (b"", b"[]", b"{", b"\xff", b'{"id": 1}', b'{"id": "m1", "options": []}'):
        answer = viewer.post("fit", body)
        assert answer.status in (400, 404)
        assert answer.json()["error"]
    assert viewer.post("fit", b" " * 100_000).status == 413
