"""The page as static files, and `osteon view` on the command line."""

from __future__ import annotations

import base64
import json
import re
import signal
import subprocess
import sys
import threading
from functools import partial
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from osteon.cli.main import main
from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.io import save_model, save_sequence
from osteon.synth.baked import bake_cylinder
from osteon.view.bundle import BUNDLE, STATIC
from osteon.view.export import check_export, export_view
from osteon.view.pack.model_pack import pack_model
from osteon.view.server.collection import Collection, prepare_item
from osteon.view.server.session import Session

from .serving import use_small_page, wait_until
from .test_pack import read_pack

BAKED = bake_cylinder(2)

needs_page = pytest.mark.skipif(not (STATIC / "app.js").is_file(), reason="the page was not built; run scripts/install")


@pytest.fixture(scope="module")
def subjects(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("subjects")
    save_model(BAKED.model, folder / "tube.npz")
    save_sequence(BAKED.sequence, folder / "frames.npz")
    save_sequence(BAKED.sequence, folder / "frames")
    save_sequence(BAKED.sequence.take_frames(range(3)), folder / "short.npz")
    save_sequence(bake_cylinder(3).sequence, folder / "other.npz")
    return folder


@pytest.fixture
def page(tmp_path, monkeypatch) -> None:
    use_small_page(tmp_path / "page", monkeypatch)


@pytest.fixture
def item(tmp_path, subjects):
    collection = Collection(tmp_path)
    return prepare_item(collection.new_id(), (str(subjects / "tube.npz"),), collection.pack_of("m1"))


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_export_is_a_page_without_a_server(page, item, tmp_path):
    out = tmp_path / "deep" / "out"
    export_view(out, [item])
    assert files_in(out) == ["app.css", "app.js", "index.html", "packs/m1.bin", "scene.json"]
    text = (out / "index.html").read_text()
    assert '<meta name="osteon-mode" content="static">' in text
    assert 'content="server"' not in text
    assert "Content-Security-Policy" in text
    scene = json.loads((out / "scene.json").read_text())
    assert scene["can_fit"] is False
    assert scene["models"][0] == {
        "id": "m1", "name": BAKED.model.name, "kind": "model", "has_source": False, "can_save": False,
    }  # fmt: skip
    assert (out / "packs" / "m1.bin").read_bytes() == pack_model(BAKED.model)


def test_an_export_can_be_served_by_anything(page, item, tmp_path):
    export_view(tmp_path / "out", [item])

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "out"))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = HTTPConnection("127.0.0.1", server.server_port, timeout=300)
        kinds = {"/": "text/html", "/app.js": "javascript", "/scene.json": "json", "/packs/m1.bin": "octet-stream"}
        for path, kind in kinds.items():
            line.request("GET", path)
            answer = line.getresponse()
            assert answer.status == 200
            assert kind in answer.headers["Content-Type"]
            answer.read()
        line.close()
        server.shutdown()


def test_an_earlier_export_is_replaced_and_anything_else_kept(page, item, tmp_path, refused):
    out = tmp_path / "out"
    export_view(out, [item])
    (out / "packs" / "m7.bin").write_bytes(b"old")
    export_view(out, [item])
    assert files_in(out) == ["app.css", "app.js", "index.html", "packs/m1.bin", "scene.json"]
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []
    (out / "packs" / "notes.txt").write_text("mine")
    with refused(FileFormatError, "packs/notes.txt", "not part of this output"):
        export_view(out, [item])
    (out / "packs" / "notes.txt").rename(out / "mine.txt")
    with refused(FileFormatError, "mine.txt"):
        check_export(out)
    assert (out / "mine.txt").read_text() == "mine"


def test_an_export_that_fails_leaves_the_earlier_one(page, item, tmp_path, refused):
    out = tmp_path / "out"
    export_view(out, [item])
    before = files_in(out)
    item.pack.unlink()
    with refused(FileFormatError, "cannot be written"):
        export_view(out, [item])
    assert files_in(out) == before
    with refused(FileFormatError, "cannot be written"):
        export_view(tmp_path / "new" / "out", [item])
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_replaced(page, tmp_path, monkeypatch, refused):
    (tmp_path / "file").write_text("")
    with refused(FileFormatError, "is a file"):
        check_export(tmp_path / "file")
    monkeypatch.chdir(tmp_path)
    with refused(FileFormatError, "current one"):
        check_export(".")


def test_sources_must_match(subjects, tmp_path, refused):
    model = (str(subjects / "tube.npz"),)
    for name, words in (("other.npz", "vertices"), ("short.npz", "3 frames")):
        with refused(GeometryError, name, words, BAKED.model.name):
            prepare_item("m1", model, tmp_path / "m1.bin", source=(str(subjects / name),))
    with refused(OptionError, "frames.npz", "name the model first"):
        prepare_item("m1", (str(subjects / "frames.npz"),), tmp_path / "m1.bin", source=model)
    assert not (tmp_path / "m1.bin").exists()


@needs_page
def test_the_bundle_is_small_and_asks_nobody_else():
    import gzip

    page = {name: (STATIC / name).read_bytes() for name in BUNDLE}
    assert sum(len(gzip.compress(data, 9)) for data in page.values()) <= 350_000
    asked = re.findall(rb'(?:src|href)="([^"]+)"', page["index.html"])
    assert {b"app.js", b"app.css"} <= set(asked)
    assert not [address for address in asked if b"//" in address]
    assert b"@import" not in page["app.css"]
    assert not re.search(rb"url\(\s*['\"]?(https?:)?//", page["app.css"])


def test_packages_are_locked_to_exact_versions_and_no_address():
    page = STATIC.parent / "page"
    named = json.loads((page / "package.json").read_text())
    versions = named["dependencies"] | named["devDependencies"]
    assert named["dependencies"].keys() == {"three", "esbuild"}  # what a build installs
    assert named["devDependencies"].keys() == {"typescript", "@types/three"}  # checks the types
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions.values())
    lock = json.loads((page / "package-lock.json").read_text())["packages"]
    assert len(lock) > 2
    assert all("integrity" in package for name, package in lock.items() if name)
    assert "resolved" not in (page / "package-lock.json").read_text()


def osteon(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the command in this process; gives its exit code."""
    monkeypatch.setattr(sys, "argv", ["osteon", "view", *map(str, arguments)])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@needs_page
def test_the_command_exports_with_near_rigid_triangles(subjects, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert osteon(monkeypatch, subjects / "tube.npz", subjects / "frames", "--export", "out", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["folder"] == "out"
    header, arrays = read_pack((tmp_path / "out" / "packs" / "m1.bin").read_bytes())
    assert header["kind"] == "model"
    assert {"source", "triangle_cluster"} <= arrays.keys()


def test_the_command_replaces_an_export_with_force(page, subjects, tmp_path, monkeypatch, capsys):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    for more in ([], ["--force"]):
        assert osteon(monkeypatch, subjects / "tube.npz", "--export", "out", "-q", *more) == 0
    before = files_in(work)
    assert osteon(monkeypatch, subjects / "tube.npz", "--export", "out") == 2
    assert "out exists already" in capsys.readouterr().err
    (work / "out" / "packs" / "mine.txt").write_text("somebody's own")
    assert osteon(monkeypatch, subjects / "tube.npz", "--export", "out", "--force") == 2
    assert "packs/mine.txt" in capsys.readouterr().err
    assert files_in(work) == sorted([*before, "out/packs/mine.txt"])


@needs_page
def test_the_command_exports_one_file(subjects, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--force"]):
        assert osteon(monkeypatch, subjects / "tube.npz", subjects / "frames", "--export", "tube.html", *more) == 0
    said = capsys.readouterr().out
    page = (tmp_path / "tube.html").read_bytes()
    assert files_in(tmp_path) == ["tube.html"]
    assert re.search(rf"written to tube\.html, {len(page) / 1e3:,.0f} kB; open it in a browser", said)
    assert not re.search(rb'(?:src|href)="(?!data:)', page)  # it asks nobody for anything
    assert page.count(b"</script>") == page.count(b"<script")
    assert re.search(rb"default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'", page)
    pack = b"".join(base64.b64decode(piece) for piece in re.findall(rb'data-pack="m1">([^<]+)<', page))
    header, arrays = read_pack(pack)
    assert header["kind"] == "model"
    assert {"source", "triangle_cluster"} <= arrays.keys()
    assert osteon(monkeypatch, subjects / "tube.npz", "--export", "other.htm", "--json", "-") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["file"] == "other.htm"
    assert facts["bytes"] == (tmp_path / "other.htm").stat().st_size


@needs_page
def test_one_file_takes_nobodys_work(subjects, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine.html"
    mine.write_text("<!doctype html><p>mine")
    assert osteon(monkeypatch, subjects / "tube.npz", "--export", "mine.html") == 2
    said = capsys.readouterr().err
    assert "--export: mine.html exists already; name another output, or add --force" in said
    assert mine.read_text() == "<!doctype html><p>mine"
    assert osteon(monkeypatch, subjects / "tube.npz", "--export", "mine.html", "--force", "-q") == 0
    before = mine.read_bytes()
    assert osteon(monkeypatch, subjects / "tube.npz", "--export", "mine.html", "--json", "mine.html") == 2
    (tmp_path / "folder.html").mkdir()
    assert osteon(monkeypatch, subjects / "tube.npz", "--export", "folder.html") == 2
    assert "is a folder" in capsys.readouterr().err
    monkeypatch.setattr("osteon.view.export.MOST_BYTES", 100_000)
    assert osteon(monkeypatch, subjects / "tube.npz", "--export", "mine.html", "--force") == 2
    said = capsys.readouterr().err
    assert "mine.html would have" in said
    assert "name a folder instead" in said
    assert said.count("\n") == 1
    monkeypatch.setattr("osteon.view.export.MOST_BYTES", 10**9)
    monkeypatch.setattr("osteon.view.export.SLOW_BYTES", 100_000)
    assert mine.read_bytes() == before
    assert osteon(monkeypatch, subjects / "tube.npz", "--export", "slow.html") == 0
    assert "needs some time" in capsys.readouterr().out


def test_a_page_that_is_not_the_bundled_one_is_no_file(page, item, tmp_path, refused):
    with refused(FileFormatError, "index.html", "install Osteon again"):
        export_view(tmp_path / "out.html", [item])
    assert not (tmp_path / "out.html").exists()


@needs_page
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["none.glb"], "there is no such file"),
        (["{s}/tube.npz", "{s}/other.npz"], "vertices"),
        (["{s}/tube.npz", "{s}/short.npz"], "3 frames"),
        (["{s}/tube.npz", "--port", "99999"], "--port"),
        (["{s}/tube.npz", "--export", "{s}"], "not part of this output"),
        (["{s}/tube.npz", "--export", "x", "--no-browser"], "omit --port and --no-browser"),
        (["{s}/tube.npz", "--export", "x.html", "--skeleton", "a.tgf"], "omit --skeleton"),
        (["{s}/tube.npz", "--export", "{s}/tube.npz/x.html"], "is not a folder"),
    ],
)
def test_bad_arguments_are_one_line(subjects, tmp_path, monkeypatch, capsys, arguments, part):
    monkeypatch.chdir(tmp_path)
    assert osteon(monkeypatch, *(argument.format(s=subjects) for argument in arguments)) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert part in said.err
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


def _hear_signals() -> None:
    """A shell that runs the tests in the background has made us, and so our children, deaf to these."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@needs_page
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_command_serves_until_it_is_told_to_end(subjects, tmp_path, monkeypatch, number, code):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    command = [sys.executable, "-m", "osteon", "view", str(subjects / "tube.npz"), "--no-browser", "--json", "-"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_hear_signals
    ) as server:
        facts = ""
        while not facts.endswith("\n}\n"):
            line = server.stdout.readline()
            assert line, server.stderr.read()
            facts += line
        address = json.loads(facts)["address"]
        port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/", address).groups()
        line = HTTPConnection("127.0.0.1", int(port), timeout=300)
        line.request("GET", f"/{token}/alive")  # a tab looks on
        assert line.getresponse().status == 200
        other = HTTPConnection("127.0.0.1", int(port), timeout=300)
        if number == signal.SIGINT:  # a worker runs
            other.request("POST", f"/{token}/open", (subjects / "tube.npz").read_bytes(), {"X-Name": "tube.npz"})
            assert other.getresponse().status == 200
        server.send_signal(number)
        try:
            ended = server.wait(300)
        finally:
            server.kill()
        assert ended == code
        assert "Traceback" not in server.stderr.read()
        line.close()
        other.close()
    assert wait_until(lambda: not list((tmp_path / "tmp").iterdir()))


@needs_page
def test_the_command_ends_with_the_tab_it_opened(subjects, monkeypatch, capsys):
    class Browser:
        """A browser that follows the private file, and is closed again at once."""

        def open(self, doorway: str) -> bool:
            page = Path(url2pathname(urlsplit(doorway).path)).read_text()
            host, token = re.search(r'href="http://([^/]+)/([\w-]+)/"', page).groups()
            line = HTTPConnection(host, timeout=300)
            line.request("GET", f"/{token}/alive")
            threading.Timer(0.3, line.close).start()
            return line.getresponse().status == 200

    monkeypatch.setattr("webbrowser.get", Browser)
    monkeypatch.setattr(Session, "of", staticmethod(partial(Session.of, patience=0.2)))
    assert osteon(monkeypatch, subjects / "tube.npz") == 0
    assert "Ctrl-C to end" in capsys.readouterr().out


def test_help_does_not_load_the_server():
    program = (
        "import sys; sys.argv = ['osteon', 'view', '--help']\n"
        "from osteon.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: ...\n"
        "print(*sorted({'starlette', 'uvicorn', 'numba', 'numpy'} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "SOURCE" in done.stdout
    assert "starlette" not in done.stderr
    assert "numba" not in done.stderr
