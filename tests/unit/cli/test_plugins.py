"""Commands that other packages add, and the benchmarks, which are such a package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from osteon.cli import main as plugins
from osteon.core.errors import OptionError

MODULE = '''
import click

@click.command()
@click.argument("name")
def greet(name):
    """Say hello."""
    click.echo(f"hello {name}")

broken = 3
'''


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a tiny package as an installer leaves it: a module, and metadata with its entry points."""
    (tmp_path / "tiny_commands.py").write_text(MODULE)
    metadata = tmp_path / "tiny_commands-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-commands\nVersion: 1.0\n")
    lines = ["greet = tiny_commands:greet", "broken = tiny_commands:broken", "gone = no_such_module:run"]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{plugins.GROUP}]", *lines, ""]))
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = [str(folder), *([os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "osteon", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_package_adds_a_command(installed: Path) -> None:
    said = run(installed, "greet", "fox")
    assert (said.returncode, said.stdout) == (0, "hello fox\n")
    listed = run(installed, "--help").stdout
    assert "greet" in listed
    assert "Added by the package tiny-commands." in " ".join(listed.split())


@pytest.mark.parametrize(("name", "words"), [("broken", "is not a click command"), ("gone", "cannot be loaded")])
def test_a_command_that_does_not_work_is_one_line(installed: Path, name: str, words: str) -> None:
    said = run(installed, name)
    assert said.returncode == 2
    assert words in said.stderr
    assert len(said.stderr.splitlines()) == 1


def test_the_benchmarks_of_a_checkout_are_found() -> None:
    assert isinstance(plugins.plugin_command("bench"), click.Command)
    assert plugins.BENCH_SUMMARY in plugins.plugin_summaries().values()


def test_without_the_benchmarks_one_sentence_says_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    assert "bench" not in plugins.plugin_summaries()
    with pytest.raises(OptionError, match="clone Osteon's repository"):
        plugins.plugin_command("bench")


def test_an_unknown_command_is_none() -> None:
    assert plugins.plugin_command("no-such-command") is None
