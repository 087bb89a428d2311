"""Which skips fail where CI=true, and the closing line about measured data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "test_player.py": "import pytest\n\ndef test_it():\n    pytest.skip('Chromium is not installed')\n",
    "test_extra.py": "import pytest\n\npytest.importorskip('no_such_extra')\n\ndef test_it():\n    pass\n",
    "test_page.py": "import pytest\n\n@pytest.mark.skipif(True, reason='no page')\ndef test_it():\n    pass\n",
    "test_fixture.py": (
        "import pytest\n\n@pytest.fixture\ndef player():\n    pytest.skip('none')\n\ndef test_it(player):\n    pass\n"
    ),
}
DATA = """
import pytest

pytestmark = pytest.mark.skipif(True, reason="no shared data beside the repository")

@pytest.mark.parametrize("name", "abc")
def test_it(name):
    pass
"""
EXPECTED = "import pytest\n\n@pytest.mark.xfail(strict=True, reason='known')\ndef test_it():\n    assert False\n"


def run_tests(folder: Path, *, ci: bool, options: tuple[str, ...] = ()) -> tuple[int, str]:
    """Exit code and output of pytest in a folder, by the rules of this one."""
    environment = {
        **os.environ,
        "CI": "true" if ci else "",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, "-m", "pytest", "-p", "tests.skip_rules", "-p", "no:cacheprovider", "-c", os.devnull]
    done = subprocess.run(
        [*command, *options, f"--rootdir={folder}", str(folder)], env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def test_what_is_not_installed_is_skipped_and_fails_where_it_must_be_there(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    code, said = run_tests(tmp_path, ci=False)
    assert code == 0, said
    assert f"{len(FILES)} skipped" in said
    assert "measured data" not in said
    code, said = run_tests(tmp_path, ci=True, options=("--continue-on-collection-errors",))
    assert code == 1, said
    assert "1 failed, 3 errors" in said.splitlines()[-1], said
    closing = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR ")) and "CI=true" in line]
    assert len(closing) == len(FILES), said


@pytest.mark.parametrize("options", [("-q",), ("-p", "xdist", "-n", "2")], ids=" ".join)
def test_measured_data_that_is_not_there_is_one_line(tmp_path, options):
    (tmp_path / "test_data.py").write_text(DATA)
    (tmp_path / "test_known.py").write_text(EXPECTED)
    code, said = run_tests(tmp_path, ci=True, options=options)
    assert code == 0, said
    lines = [line for line in said.splitlines() if "measured data is not there" in line]
    assert len(lines) == 1
    assert "3 checks were left out" in lines[0]


def test_every_test_that_lacks_data_says_it_alike():
    """A skip for another reason fails where CI=true, so data must be named by the one reason that does not."""
    others = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path.name != Path(__file__).name and '"shared"' in (text := path.read_text()) and "skipif" in text
        for line in text.splitlines()
        if "mark.skipif(" in line and "no shared data beside the repository" not in line and "NO_DATA" not in line
    ]
    assert others == []
