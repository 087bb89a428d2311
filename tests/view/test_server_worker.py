"""Files that break what reads them, and the end of the worker: one sentence, and nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from osteon.io import save_sequence
from osteon.synth.baked import bake_cylinder
from osteon.view.jobs import tasks
from osteon.view.jobs.tasks import Limits, reading_limits

from .serving import Served, alive, served, wait_until

#: Tasks that take the place of reading, as a hostile file would have it. In a module of its own, for the worker.
TASKS = """
import ctypes, os, subprocess, sys, tempfile, time
from pathlib import Path

def crash(inputs, pack, progress):
    ctypes.string_at(0)

def fill_memory(inputs, pack, progress):
    import numpy as np
    return [np.ones(100_000_000) for _ in range(100)]

def fill_memory_of_a_child(inputs, pack, progress):
    done = subprocess.run([sys.executable, "-c", "bytearray(10**10)"], capture_output=True, text=True)
    return {"kind": "sequence", "name": done.stderr.splitlines()[-1]}

def start_child(inputs, pack, progress):
    rest = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", rest], stdout=subprocess.PIPE)
    child.stdout.readline()
    tempfile.mkdtemp(prefix="left-")
    note = Path(__file__).with_name("pids")
    note.with_suffix(".new").write_text(f"{os.getpid()} {child.pid} {tempfile.gettempdir()}")
    note.with_suffix(".new").rename(note)
    ctypes.PyDLL(None).sleep(600)  # as a native reader may: no other thread of the worker runs

def write_half(inputs, out, progress):
    Path(out).write_bytes(b"half")
    os._exit(3)

def say_much(inputs, pack, progress):
    return {"kind": "sequence", "name": "n" * 5_000_000}

def say_nonsense(inputs, pack, progress):
    return [1, 2]
"""


@pytest.fixture
def hostile(tmp_path, monkeypatch) -> Iterator[ModuleType]:
    (tmp_path / "hostile_tasks.py").write_text(TASKS)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("hostile_tasks", None)
    yield import_module("hostile_tasks")
    sys.modules.pop("hostile_tasks", None)


@pytest.fixture
def frames(tmp_path) -> Path:
    save_sequence(bake_cylinder(2).sequence, tmp_path / "frames.npz")
    return tmp_path / "frames.npz"


@pytest.fixture
def running(tmp_path) -> Iterator[Served]:
    with served(tmp_path / "view") as started:
        yield started


def pids_in(folder: Path) -> tuple[int, int, Path]:
    """The worker, its child and its folder for temporary files, once the task has told them."""
    assert wait_until((folder / "pids").exists)
    worker, child, scratch = (folder / "pids").read_text().split(" ", 2)
    return int(worker), int(child), Path(scratch)


def test_a_file_that_crashes_its_reader_is_refused_in_words(running: Served, hostile, frames, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "open_files", hostile.crash)
        answer = running.drop(frames, name="bad.usdc")
    assert answer.status == 400
    sentence = answer.json()["error"]
    assert sentence.startswith("bad.usdc: cannot be read")
    assert "damaged" in sentence
    assert "code -11" in sentence
    assert not list((running.folder / "dropped").rglob("bad.usdc"))
    assert running.session.uploads.size == 0
    assert running.drop(frames).status == 200  # the next one has a new worker


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_a_file_cannot_take_all_memory(running: Served, hostile, frames, monkeypatch):
    monkeypatch.setattr(tasks, "READING_BYTES", 500_000_000)
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "open_files", hostile.fill_memory)
        answer = running.drop(frames)
        assert answer.status == 400
        assert "more than the 0.5" in answer.json()["error"]
        worker = running.session.worker.pid
        patch.setattr(tasks, "open_files", hostile.fill_memory_of_a_child)
        assert running.drop(frames).json()["name"] == "MemoryError"
    assert running.drop(frames).status == 200
    assert running.session.worker.pid == worker  # it lives on, with its memory given back


def test_a_file_cannot_take_all_time(running: Served, hostile, frames, monkeypatch, tmp_path):
    monkeypatch.setattr(tasks, "open_files", hostile.start_child)
    monkeypatch.setattr(tasks, "READING_SECONDS", 4.0)
    answer = running.drop(frames, name="slow.abc")
    assert answer.status == 400
    assert answer.json()["error"].startswith("slow.abc: cannot be read")
    assert "took more than 4 s" in answer.json()["error"]
    if (tmp_path / "pids").exists():  # not on a machine too busy to come so far in time
        worker, child, scratch = pids_in(tmp_path)
        assert wait_until(lambda: not alive(worker) and not alive(child))
        assert not scratch.exists()


@pytest.mark.parametrize("task", ["say_much", "say_nonsense"])
def test_an_answer_that_makes_no_sense_is_an_error(running: Served, hostile, frames, monkeypatch, task):
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "open_files", getattr(hostile, task))
        answer = running.drop(frames)
        assert answer.status == 400
        assert answer.json()["error"]
    assert running.drop(frames).status == 200


def test_a_file_gets_memory_by_its_size():
    assert reading_limits(0).memory == min(4 << 30, Limits().memory)
    assert reading_limits(10**15) == Limits(Limits().memory, tasks.READING_SECONDS)


def test_stopping_the_worker_stops_its_children(running: Served, hostile, frames, monkeypatch, tmp_path):
    monkeypatch.setattr(tasks, "cluster_source", hostile.start_child)
    item = running.drop(frames).json()
    job = running.post("clusters", {"id": item["id"]}).json()["job"]
    worker, child, scratch = pids_in(tmp_path)
    assert scratch == running.folder / "scratch"  # not where it would stay
    assert list(scratch.glob("left-*"))
    assert alive(child)
    assert running.post(f"jobs/{job}/cancel").status == 200
    assert wait_until(lambda: not alive(worker) and not alive(child))
    assert not scratch.exists()


def test_a_worker_that_breaks_takes_its_children_along(running: Served, hostile, frames, monkeypatch, tmp_path):
    monkeypatch.setattr(tasks, "cluster_source", hostile.start_child)
    item = running.drop(frames).json()
    job = running.post("clusters", {"id": item["id"]}).json()["job"]
    worker, child, _ = pids_in(tmp_path)
    os.kill(worker, signal.SIGSEGV)
    assert "code -11" in running.result(job)["error"]
    assert wait_until(lambda: not alive(child))


def test_what_a_worker_began_to_write_is_never_shown(running: Served, hostile, frames, monkeypatch):
    item = running.drop(frames).json()
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "cluster_source", hostile.write_half)
        job = running.post("clusters", {"id": item["id"]}).json()["job"]
        assert "code 3" in running.result(job)["error"]
        patch.setattr(tasks, "open_files", hostile.write_half)
        assert running.drop(frames).status == 400
    assert running.get(f"clusters/{item['id']}").status == 404
    assert [file.name for file in running.folder.glob("m*")] == [f"{item['id']}.bin"]


def test_a_job_that_no_page_follows_any_more_ends(tmp_path, hostile, frames, monkeypatch):
    monkeypatch.setattr(tasks, "cluster_source", hostile.start_child)
    with served(tmp_path / "view", str(frames), patience=0.5) as running:
        job = running.post("clusters", {"id": "m1"}).json()["job"]
        line = running.connect()
        line.request("GET", f"/{running.token}/jobs/{job}")
        line.getresponse()
        worker, child, _ = pids_in(tmp_path)
        line.close()  # without a word, as a page that is gone
        assert wait_until(lambda: running.session.running is None)
        assert wait_until(lambda: not alive(worker) and not alive(child))
        assert running.session.jobs[job].messages[-1] == {"cancelled": True}


#: What `osteon view` does between its start and its end.
SERVER = """
import asyncio, signal, sys
from pathlib import Path
from tempfile import TemporaryDirectory
import hostile_tasks
from osteon.view.jobs.worker import Worker
from osteon.view.server.cleanup_process import CleanupProcess

async def main(folder, cleanup):
    worker = Worker(folder / "scratch", cleanup)
    task = asyncio.create_task(worker.run(hostile_tasks.start_child, (), ""))
    try:
        await asyncio.sleep(600)
    finally:
        worker.stop()

if __name__ == "__main__":
    # A shell that runs the tests in the background makes its children ignore Ctrl-C; `osteon view` handles it anyhow.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with TemporaryDirectory(prefix="osteon-view-", dir=sys.argv[1]) as folder, CleanupProcess(Path(folder)) as cleanup:
        asyncio.run(main(Path(folder), cleanup))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_server_that_is_killed_leaves_nothing(hostile, tmp_path, number):
    (tmp_path / "kept").mkdir()
    (tmp_path / "server.py").write_text(SERVER)
    command = [sys.executable, str(tmp_path / "server.py"), str(tmp_path / "kept")]
    known = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    server = subprocess.Popen(command, env=known, stderr=subprocess.DEVNULL)
    worker, child, scratch = pids_in(tmp_path)
    assert alive(child)
    assert list(scratch.glob("left-*"))
    server.send_signal(number)
    server.wait(300)
    assert wait_until(lambda: not alive(worker) and not alive(child))
    assert wait_until(lambda: not list((tmp_path / "kept").iterdir()))
