"""Fits in the worker process: the same result as the command line, progress, cancel, and ends in words."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.skin_options import SkinOptions
from osteon.io import load_model, save_sequence
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import bake_cylinder
from osteon.view.jobs.worker import PageJob, TaskError, Worker, WorkerEnded
from osteon.view.server.app import fit_form, fit_options

from .serving import alive, served, wait_until
from .test_pack import read_pack

BAKED = bake_cylinder(2)


@pytest.fixture(scope="module")
def frames(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("subjects") / "frames.npz"
    save_sequence(BAKED.sequence, path)
    return path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, frames):
    """A server on which one fit was done, and the messages that came."""
    with served(tmp_path_factory.mktemp("served") / "view", str(frames)) as running:
        answer = running.post("fit", {"id": "m1", "options": {"bones": 3, "rank": 1, "rounds": 4}})
        assert answer.status == 200, answer.body
        yield running, list(running.events(f"jobs/{answer.json()['job']}"))


def test_a_fit_tells_its_stages_and_its_end(fitted):
    running, messages = fitted
    *progress, last = messages
    assert progress
    assert all(message.keys() == {"stage", "fraction", "error_percent"} for message in progress)
    assert {"refine", "measure"} <= {message["stage"] for message in progress}
    assert last["done"] == "m2"
    assert running.get("scene").json()["models"][1]["name"].endswith("3 scaled bones, rank 1")


def test_a_fit_equals_that_of_the_command_line(fitted):
    running, _ = fitted
    fit = skin_sequence(BAKED.sequence, options=SkinOptions(bones=3, rank=1, rounds=4))
    header, arrays = read_pack(running.get("pack/m2").body)
    np.testing.assert_array_equal(arrays["transforms"], fit.model.track.transforms)
    np.testing.assert_array_equal(arrays["displacement.corrections.coefficients"], fit.model.corrections.coefficients)
    np.testing.assert_array_equal(arrays["source"], BAKED.sequence.frames)
    assert header["report"]["error_percent"] == fit.report.error_percent
    assert header["error_percent_by_rank"] == fit.report.error_percent_by_rank
    assert header["distortion"]["worst"]["vertex"] == fit.distortion.worst.vertex


def test_a_fitted_model_can_be_kept(fitted, tmp_path):
    running, _ = fitted
    answer = running.get("file/m2.glb")
    assert answer.status == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    (tmp_path / "kept.glb").write_bytes(answer.body)
    assert load_model(tmp_path / "kept.glb").n_bones == 3
    assert running.get("file/m2.exe").status == 400


def test_a_result_can_be_fitted_again(fitted):
    running, _ = fitted
    job = running.post("fit", {"id": "m2", "options": {"bones": 2, "rounds": 1}}).json()["job"]
    item = running.session.collection.items[running.result(job)["done"]]
    assert item.name.endswith("2 scaled bones")
    # Results of one source are swapped for each other.
    told = [model for model in running.get("scene").json()["models"] if model["id"] in ("m2", item.id)]
    assert [model["group"] for model in told] == ["m1", "m1"]
    assert [model["label"] for model in told] == ["3 scaled bones, rank 1", "2 scaled bones"]


def test_near_rigid_triangles_are_found_when_asked_for(fitted):
    running, _ = fitted
    job = running.post("clusters", {"id": "m2"}).json()["job"]
    assert running.result(job) == {"done": "m2"}
    clusters = np.frombuffer(running.get("clusters/m2").body, "<u2")
    assert clusters.shape == (BAKED.sequence.n_triangles,)
    assert (clusters != 65535).any()


def test_a_bad_option_is_refused_and_a_bad_fit_says_why(fitted):
    running, _ = fitted
    for options, part in (
        ({"bones": -1}, "bones"),
        ({"bones": True}, "whole number"),
        ({"bones": 1.5}, "whole number"),
        ({"influences": 9}, "1 … 8"),
        ({"preset": "paper"}, "unknown"),
        ({"bone_type": "soft"}, "rigid, scaled or flexible"),
        ({"smooth_weights": "a"}, "a number"),
    ):
        answer = running.post("fit", {"id": "m1", "options": options})
        assert answer.status == 400
        assert part in answer.json()["error"]
    job = running.post("fit", {"id": "m1", "options": {"bones": 100_000}}).json()["job"]
    assert "only" in running.result(job)["error"]
    assert running.post("fit", {"id": "m77", "options": {}}).status == 404


def long_fit(running) -> str:
    """A job that takes longer than any test waits."""
    return running.post("fit", {"id": "m1", "options": {"bones": 20, "rank": 20, "rounds": 100_000}}).json()["job"]


def test_cancel_stops_a_fit_and_another_may_follow(fitted):
    running, _ = fitted
    job = long_fit(running)
    events = running.events(f"jobs/{job}")
    assert "stage" in next(events)
    assert running.post("fit", {"id": "m1", "options": {}}).status == 409
    worker = running.session.worker.pid
    started = time.monotonic()
    assert running.post(f"jobs/{job}/cancel").status == 200
    *_, last = events
    assert last == {"cancelled": True}
    assert time.monotonic() - started < 120  # the fit itself would take hours
    assert wait_until(lambda: not alive(worker))
    assert running.post(f"jobs/{job}/cancel").status == 200  # once more does no harm
    again = running.post("fit", {"id": "m1", "options": {"bones": 2, "rounds": 1}}).json()["job"]
    assert "done" in running.result(again)


def test_a_worker_that_dies_is_told_in_words(fitted):
    running, _ = fitted
    job = long_fit(running)
    events = running.events(f"jobs/{job}")
    next(events)
    os.kill(running.session.worker.pid, signal.SIGKILL)
    *_, last = events
    assert "ended with code -9" in last["error"]
    assert running.get("scene").status == 200
    again = running.post("fit", {"id": "m1", "options": {"bones": 2, "rounds": 1}}).json()["job"]
    assert "done" in running.result(again)


#: In a module of its own: the worker imports where a task comes from, and this file would bring half of Osteon along.
TASKS = """
import os
from osteon.core.progress import report_progress

def say_hello(name, progress):
    report_progress(progress, "hello", 0.5)
    return f"hello {name}"

def fall_over(progress):
    raise ZeroDivisionError("no reason")

def die(progress):
    os._exit(7)
"""


def test_a_worker_by_itself(tmp_path, monkeypatch):
    (tmp_path / "plain_tasks.py").write_text(TASKS)
    monkeypatch.syspath_prepend(tmp_path)
    tasks = import_module("plain_tasks")

    async def scene() -> None:
        worker = Worker()
        assert worker.pid is None
        job = PageJob("j1")
        assert await worker.run(tasks.say_hello, "you", job=job) == "hello you"
        assert job.messages == [{"stage": "hello", "fraction": 0.5, "error_percent": None}]
        first = worker.pid
        with pytest.raises(TaskError, match=r"unexpectedly \(ZeroDivisionError: no reason\)"):
            await worker.run(tasks.fall_over)
        assert worker.pid == first  # a bug in a task does not end the worker
        with pytest.raises(WorkerEnded, match="code 7"):
            await worker.run(tasks.die)
        assert worker.pid is None
        await worker.run(tasks.say_hello, "again")
        second = worker.pid
        os.kill(second, signal.SIGKILL)  # while it has nothing to do
        assert wait_until(lambda: second not in [child.pid for child in multiprocessing.active_children()])
        assert await worker.run(tasks.say_hello, "once more") == "hello once more"
        worker.stop()
        job.cancelled = True
        with pytest.raises(WorkerEnded):
            await worker.run(tasks.say_hello, "you", job=job)
        assert worker.pid is None  # what was cancelled before it began starts nothing

    asyncio.run(scene())


def test_a_worker_does_not_outlive_its_server(tmp_path):
    """Also when the server is killed and cannot say goodbye."""
    program = tmp_path / "server.py"
    program.write_text(
        "import asyncio, time\n"
        "from osteon.view.jobs.worker import Worker\n"
        "def rest(progress): time.sleep(600)\n"
        "async def main():\n"
        "    worker = Worker()\n"
        "    asyncio.create_task(worker.run(rest))\n"
        "    while worker.pid is None: await asyncio.sleep(0.05)\n"
        "    print(worker.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "if __name__ == '__main__': asyncio.run(main())\n"
    )
    server = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    worker = int(server.stdout.readline())
    assert alive(worker)
    server.kill()
    server.wait()
    server.stdout.close()
    assert wait_until(lambda: not alive(worker))


def test_options_come_from_the_page_and_defaults_from_the_library(refused):
    assert fit_options({}) == SkinOptions()
    assert fit_options({field["name"]: field["default"] for field in fit_form()}) == SkinOptions()
    assert fit_options({"bones": None, "smooth_weights": 1}) == SkinOptions(smooth_weights=1)
    with refused(OptionError, "expected an object"):
        fit_options(None)
