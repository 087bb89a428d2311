"""Worker processes: warm between tasks, limited in memory and time, ended with what they started."""

from __future__ import annotations

import os
import sys
import time

import pytest

from osteon.scale.child import Task, WorkerProcess, memory_of

#: A worker whose commands are a few words, and that imports nothing of Osteon but the protocol.
COMMAND = (
    sys.executable,
    "-c",
    """
import os, subprocess, sys, time
from osteon.scale.child import serve
def run(words):
    if words[0] == "print":
        print(words[1]); print("error", file=sys.stderr); return 0, ""
    if words[0] == "pid": return 0, str(os.getpid())
    if words[0] == "folder": return 0, os.getcwd()
    if words[0] == "die": os.kill(os.getpid(), 9)
    if words[0] == "fill": held = bytearray(300_000_000); time.sleep(60)
    if words[0] == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open(words[1], "w").write(str(child.pid)); time.sleep(600)
    if words[0] == "sleep": time.sleep(600)
    return 2, "unknown " + words[0]
serve(run)
""",
)


@pytest.fixture
def worker():
    held = WorkerProcess(COMMAND)
    yield held
    held.end()


def task(tmp_path, *words, **limits):
    return Task("a", words, str(tmp_path), str(tmp_path / "log.txt"), **limits)


def test_a_worker_stays_warm_and_writes_a_log(tmp_path, worker):
    first, again = (worker.run(task(tmp_path, "pid")) for _ in range(2))
    assert first.kind == "done"
    assert first.message == again.message == str(worker.pid)
    assert worker.run(task(tmp_path, "folder")).message == os.path.realpath(tmp_path)
    assert worker.run(task(tmp_path, "print", "hello")).exit_code == 0
    assert (tmp_path / "log.txt").read_text().split() == ["hello", "error"]
    unknown = worker.run(task(tmp_path, "nonsense"))
    assert (unknown.exit_code, unknown.message) == (2, "unknown nonsense")


def test_a_process_that_dies_is_replaced(tmp_path, worker):
    before = worker.run(task(tmp_path, "pid")).message
    dead = worker.run(task(tmp_path, "die"))
    assert (dead.kind, dead.message) == ("died", "ended its process (signal 9)")
    after = worker.run(task(tmp_path, "pid"))
    assert after.kind == "done"
    assert after.message != before


def test_memory_is_limited(tmp_path, worker):
    worker.run(task(tmp_path, "pid"))
    limit = memory_of(worker.pid) + 100_000_000
    ended = worker.run(task(tmp_path, "fill", memory=limit))
    assert ended.kind == "memory"
    assert ended.peak > limit
    assert "limit of 0.1" in ended.message
    assert worker.run(task(tmp_path, "pid", memory=limit)).kind == "done"


def test_time_is_limited_and_nothing_is_left(tmp_path, worker):
    worker.run(task(tmp_path, "pid"))
    ended = worker.run(task(tmp_path, "child", str(tmp_path / "pid"), seconds=3.0))
    assert ended.kind == "time"
    assert "3 s" in ended.message
    child = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 60
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(pid):
    """Whether a process runs; one that nobody waits for is a zombie, which does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
