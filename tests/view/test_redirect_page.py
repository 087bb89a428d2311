"""`osteon view` opens a browser: the token stands in no command line and in no file that others can read."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from osteon.io import save_model
from osteon.synth.baked import bake_cylinder
from osteon.view.server.serve import open_browser, write_redirect_page

from .serving import alive, use_small_page, wait_until

PROGRAM = """
import sys
from pathlib import Path

if __name__ == "__main__":
    from osteon.cli.main import main
    from osteon.view import bundle
    bundle.STATIC = Path(sys.argv.pop(1))
    main()
"""
#: Keeps what it was asked for and what it found there.
BROWSER = """
import os, sys, time
from pathlib import Path
from urllib.parse import unquote
seen = Path(__file__).with_name("seen.new")
file = Path(unquote(sys.argv[1].removeprefix("file://")))
seen.write_text(f"{sys.argv[1]}\\n{os.stat(file).st_mode}\\n{file.read_text()}")
seen.rename(seen.with_suffix(".txt"))
time.sleep(600)
"""


@pytest.fixture
def viewing(tmp_path, monkeypatch) -> Iterator[subprocess.Popen[str]]:
    """`osteon view` with a browser that tells what it was given."""
    use_small_page(tmp_path / "page", monkeypatch)
    save_model(bake_cylinder(2).model, tmp_path / "tube.npz")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "browser.py").write_text(BROWSER)
    (tmp_path / "temporary").mkdir()
    browser = f"{sys.executable} {tmp_path / 'browser.py'} %s"
    known = {"PYTHONPATH": os.pathsep.join(sys.path), "BROWSER": browser, "TMPDIR": str(tmp_path / "temporary")}
    program = [sys.executable, tmp_path / "program.py", tmp_path / "page"]
    started = subprocess.Popen(
        [*program, "view", tmp_path / "tube.npz", "-q", "--json", tmp_path / "facts.json"],
        env=os.environ | known,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield started
    started.kill()
    started.wait()
    assert started.stdout is not None
    started.stdout.close()


def command_lines() -> list[str]:
    """Of all processes, as every user can list them."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(process.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue  # it ended meanwhile
    assert len(found) > 1
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="command lines are listed from /proc")
def test_the_browser_is_led_to_the_page_by_a_file_of_its_owner(viewing, tmp_path):
    address = viewing.stdout.readline().strip()
    token = re.fullmatch(r"http://127\.0\.0\.1:\d+/([\w-]{32,})/", address)[1]
    assert wait_until((tmp_path / "seen.txt").exists)
    assert not [line for line in command_lines() if token in line]
    given, mode, page = (tmp_path / "seen.txt").read_text().split("\n", 2)
    assert given.startswith("file:///")
    assert token not in given
    assert stat.S_IMODE(int(mode)) == 0o600
    assert f'content="0; url={address}"' in page
    assert stat.S_IMODE((tmp_path / "facts.json").stat().st_mode) == 0o600
    assert token in (tmp_path / "facts.json").read_text()
    (folder,) = (tmp_path / "temporary").glob("osteon-view-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_folder_stays_however_it_ends(viewing, tmp_path, number):
    viewing.stdout.readline()
    assert list((tmp_path / "temporary").glob("osteon-view-*"))
    viewing.send_signal(number)
    viewing.wait(300)
    assert wait_until(lambda: not list((tmp_path / "temporary").glob("osteon-view-*")))
    assert not alive(viewing.pid)


def test_the_doorway_is_made_anew_and_never_through_a_link(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "osteon.html").symlink_to(tmp_path / "mine.txt")
    path = write_redirect_page('http://127.0.0.1:1/"><b>/', tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert "<b>" not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_browser_of_the_terminal_is_none(tmp_path, monkeypatch):
    import webbrowser

    monkeypatch.delenv("BROWSER", raising=False)
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("www-browser"))
    assert not open_browser("http://127.0.0.1:1/x/", tmp_path)

    def none() -> None:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "get", none)
    assert not open_browser("http://127.0.0.1:1/x/", tmp_path)
    assert not list(tmp_path.iterdir())
