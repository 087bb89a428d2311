"""When, where and of what a run was."""

from __future__ import annotations

import re
import socket
import subprocess

import pytest

from osteon import __version__
from osteon_bench.stamp import find_commit, processor_name, stamp_run


@pytest.fixture
def repository(tmp_path):
    """A repository with one commit."""

    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True, capture_output=True)

    git("init")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1")
    (tmp_path / ".gitignore").write_text("ignored/\n")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-m", "first")
    return tmp_path


def test_a_commit_and_whether_the_tree_was_changed(repository):
    commit = find_commit(repository / "src")
    assert re.fullmatch(r"[0-9a-f]{7,}", commit)
    records = repository / "benchmarks" / "results"
    records.mkdir(parents=True)
    (records / "x.csv").write_text("another bench was recorded")
    assert find_commit(repository / "src") == commit
    (repository / "src" / "a.py").write_text("2")
    assert find_commit(repository / "src") == f"{commit}+"


def test_no_commit_without_a_repository_or_where_it_ignores_the_folder(repository, tmp_path_factory):
    assert find_commit(tmp_path_factory.mktemp("plain")) == ""
    (repository / "ignored").mkdir()
    (repository / "ignored" / "package.py").write_text("1")
    assert find_commit(repository / "ignored") == ""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\nflags: a", "Xeon Gold 6338"),
        ("model name : AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
    ],
)
def test_processors_without_trade_marks(line, name):
    assert processor_name(line) == name


def test_a_processor_without_a_name_is_its_architecture():
    assert processor_name("BogoMIPS: 50")


def test_a_stamp_names_no_host():
    stamp = stamp_run()
    assert stamp.version == __version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", stamp.date)
    assert re.search(r", \d+ cores, Python 3\.\d+$", stamp.machine)
    assert "/" not in stamp.machine
    assert socket.gethostname() not in stamp.machine
