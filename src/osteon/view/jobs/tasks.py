"""The tasks of the worker process, its limits, and its messages to the server.

The server sends a task and its arguments; the worker answers with JSON messages: one for each step of progress, and one
that ends the task: {"stage", "fraction", "error_percent"} … {"done": …} or {"error": one sentence}. JSON, because the
worker reads files from outside: the server accepts only text and numbers from it.

The worker is the leader of its own process group, so that one signal reaches its child processes too. It is killed
when the server ends, where the operating system supports that; cleanup_process.py kills its children. Each task has a
memory limit, beyond what the process already uses. On systems that lack one of these, the others still apply.
"""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from osteon.apply.edit.strokes import Strokes
from osteon.core.arrays import Float32
from osteon.core.errors import OsteonError
from osteon.core.parallel import end_group, end_with, leave_no_dump
from osteon.core.progress import Progress, ProgressEvent
from osteon.core.skin_options import SkinOptions
from osteon.io.load.source import LARGEST_RATIO, MEMORY
from osteon.pipeline.options import RigOptions

#: Seconds between two messages of progress within one stage.
PROGRESS_INTERVAL = 0.05

#: Runs in the worker: picklable arguments, then a progress callback. The result must fit into JSON.
Task = Callable[..., Any]
#: A task, its arguments, and its memory limit in bytes.
Command = tuple[Task, tuple[Any, ...], int]
#: Bytes of one message.
MAX_MESSAGE = 1_000_000
#: Rest poses that differ by less, of their size, are equal.
SAME_REST = 1e-3
#: Seconds that reading uploaded files may take.
READING_SECONDS = 300.0
#: Bytes of memory that reading an uploaded file may take, however small it is.
READING_BYTES = 4 << 30
#: Largest memory limit of a task, as a part of the memory of the machine.
LARGEST_SHARE = 0.75


def open_files(inputs: tuple[str, ...], pack: str, progress: Progress) -> dict[str, Any]:
    """Read uploaded files and write their pack."""
    from osteon.view.server.collection import prepare_item

    item = prepare_item("", inputs, Path(pack), progress=progress)
    return {"name": item.name, "kind": item.kind}


def fit_source(
    inputs: tuple[str, ...], options: SkinOptions, pack: str, model_file: str, progress: Progress
) -> dict[str, Any]:
    """Skin a sequence, as `osteon skin` does, and write the pack and the model."""
    from osteon.io import load_sequence, save_model
    from osteon.pipeline.skin import skin_sequence
    from osteon.view.pack.model_pack import Evidence, write_pack

    sequence = load_sequence(list(inputs), progress=progress)
    fit = skin_sequence(sequence, options=options, progress=progress)
    clusters = fit.labels if len(fit.labels) else None
    write_pack(Path(pack), fit.model, Evidence(sequence.source, fit.distortion, fit.report, clusters))
    save_model(fit.model, model_file)
    kind = f"{fit.model.n_bones} {fit.model.track.bone_type} bones"
    rank = f", rank {fit.model.rank}" if fit.model.rank else ""
    return {"name": f"{fit.model.name}: {kind}{rank}", "error_percent": _finite(fit.report.error_percent)}


@dataclass(frozen=True, slots=True)
class RefitFiles:
    """The files of a refit."""

    tree: str  # edited, as `osteon rig --tree` reads it
    before: str  # the model whose tree was edited
    pack: str
    model: str


def refit_tree(inputs: tuple[str, ...], files: RefitFiles, options: RigOptions, progress: Progress) -> dict[str, Any]:
    """Fit an edited tree to a sequence, as `osteon rig --tree` does, and write the pack and the model."""
    from osteon.core.sequence import MeshSequence
    from osteon.deform.pose import pose_frames
    from osteon.io import load_model, load_sequence, save_model
    from osteon.io.skeletons.section_tree import load_section_tree
    from osteon.measure.distortion import measure_distortion
    from osteon.pipeline.skeleton import rig_sequence
    from osteon.view.pack.model_pack import Evidence, write_pack
    from osteon.view.server.collection import check_source

    tree = load_section_tree(files.tree)
    model = load_model(files.before)
    sequence = load_sequence(list(inputs), progress=progress)
    check_source(sequence, inputs[0], model)
    if not same_rest(sequence.rest, model.rest):  # the tree is in the rest pose of its model
        sequence = MeshSequence(rest=model.rest, source=sequence.source, mesh=sequence.mesh, clips=sequence.clips)
    before = measure_distortion(sequence, sequence.faces, partial(pose_frames, model))
    found = rig_sequence(sequence, options=options, tree=tree, progress=progress)
    write_pack(Path(files.pack), found.model, Evidence(sequence.source, found.fit.distortion, found.fit.report))
    save_model(found.model, files.model)
    return {
        "name": found.model.name,
        "about": f"{len(tree.joints)} joints, {options.form}",
        "error_percent": _finite(found.fit.report.error_percent),
        "before_percent": _finite(before.error_percent),
    }


def same_rest(one: Float32, other: Float32) -> bool:
    """Whether two rest poses (v,3) are equal, up to what a file rounds."""
    return bool(abs(one - other).max(initial=0.0) <= SAME_REST * abs(one - one.mean(axis=0)).max(initial=0.0))


def edit_model(model_file: str, strokes: Strokes, pack: str, out: str, progress: Progress) -> dict[str, Any]:
    """Store strokes of the page in the rest pose of a model, and write the pack and the model."""
    from osteon.apply.edit.edit_rest import edit_rest
    from osteon.apply.edit.options import EditOptions
    from osteon.deform.edits import edits_of
    from osteon.io import load_model, save_model
    from osteon.view.pack.model_pack import Evidence, write_pack

    model = load_model(model_file)
    taken, name, count = set(edits_of(model.character).names), strokes.name, 1
    while name in taken:
        count += 1
        name = f"{strokes.name} {count}"
    found = edit_rest(model, strokes, options=EditOptions(name=name), progress=progress)
    write_pack(Path(pack), found.model, Evidence())
    save_model(found.model, out)
    return {"name": found.model.name}


def cluster_source(inputs: tuple[str, ...], out: str, progress: Progress) -> dict[str, Any]:
    """Find the near-rigid triangles of a sequence and write them as in a pack."""
    from osteon.io import load_sequence
    from osteon.view.pack.arrays import cluster_numbers
    from osteon.view.server.collection import find_clusters

    labels = find_clusters(load_sequence(list(inputs), progress=progress), progress)
    Path(out).write_bytes(cluster_numbers(labels).astype("<u2").tobytes())
    return {"outliers": int((labels < 0).sum())}


def save_as(model_file: str, out: str, progress: Progress) -> dict[str, Any]:
    """Write a fitted model in the format that the suffix of `out` names."""
    from osteon.io import load_model, save_model

    save_model(load_model(model_file), out)
    return {"bytes": Path(out).stat().st_size}


def work(commands: Connection, answers: Connection, server: int, scratch: str | None) -> None:
    """The main function of the worker: run one task after the other until the server closes the pipe.

    Its temporary files go to the folder `scratch`, which the server removes when it ends the worker.
    """
    confine(server)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which then ends this process
    if scratch is not None:
        os.makedirs(scratch, 0o700, exist_ok=True)
        tempfile.tempdir = os.environ["TMPDIR"] = scratch
    tasks: queue.Queue[Command] = queue.Queue()
    threading.Thread(target=_listen, args=(commands, tasks), daemon=True).start()
    while True:
        task, arguments, memory = tasks.get()
        _answer(answers, _outcome(task, arguments, memory, _sender(answers)))


def _listen(commands: Connection, tasks: queue.Queue[Command]) -> None:
    """Receive tasks; when the server has ended, exit at once with all child processes, even during a fit."""
    while True:
        try:
            tasks.put(commands.recv())
        except (EOFError, OSError):
            end_group(os.getpid())
            os._exit(0)


def _outcome(task: Task, arguments: tuple[Any, ...], memory: int, progress: Progress) -> dict[str, Any]:
    try:
        with limited_memory(memory):
            return {"done": task(*arguments, progress)}
    except OsteonError as error:
        return {"error": str(error)}
    except MemoryError:
        most = f"{memory / 1e9:.2g} GB"
        return {"error": f"this needs more than the {most} of memory that it may use here; use fewer frames"}
    except OSError as error:
        return {"error": f"cannot be read or written ({error.strerror or error})"}
    except Exception as error:  # a bug must end the task, not the worker
        return {"error": f"failed unexpectedly ({type(error).__name__}: {error})"}


def _sender(answers: Connection) -> Progress:
    """A progress callback that sends messages: each stage at once, then at most some per second."""
    last: tuple[str, float] = ("", 0.0)

    def send(event: ProgressEvent) -> None:
        nonlocal last
        now = time.monotonic()
        if event.stage == last[0] and event.fraction < 1 and now - last[1] < PROGRESS_INTERVAL:
            return
        last = (event.stage, now)
        error = _finite(event.error_percent)
        _answer(answers, {"stage": event.stage, "fraction": float(event.fraction), "error_percent": error})

    return send


def _finite(number: float | None) -> float | None:
    """None in place of infinity, which JSON lacks; the E of a source that does not move is infinite."""
    return None if number is None or not math.isfinite(number) else float(number)


def _answer(answers: Connection, message: dict[str, Any]) -> None:
    data = json.dumps(message, allow_nan=False).encode()
    if len(data) > MAX_MESSAGE:
        data = json.dumps({"error": "this has more names and joints than the page can show"}).encode()
    answers.send_bytes(data)


@dataclass(frozen=True, slots=True)
class Limits:
    """Memory and time limits of one task."""

    memory: int = int(LARGEST_SHARE * MEMORY)  # bytes beyond what the worker holds
    seconds: float | None = None  # None: no limit, a person watches and may cancel


def reading_limits(stored: int) -> Limits:
    """Limits for reading files of so many bytes: twice their largest unpacked size, plus the needs of the reader."""
    return Limits(min(Limits().memory, READING_BYTES + 2 * LARGEST_RATIO * stored), READING_SECONDS)


def confine(parent: int) -> None:
    """Make this process the leader of a group that is killed with `parent` and writes no core dump."""
    if hasattr(os, "setsid"):
        os.setsid()
    end_with(parent)
    leave_no_dump()


@contextmanager
def limited_memory(n_bytes: int) -> Iterator[None]:
    """Limit the additional memory of this process and of each process that it starts; beyond, allocations fail.

    The limit applies to data, not to addresses: threads reserve many addresses that they never use.
    """
    data = Path("/proc/self/statm")
    if not data.exists():
        yield
        return
    import resource

    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = int(data.read_text().split()[5]) * resource.getpagesize() + n_bytes
    known = [known for known in (limit, before, most) if known != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(known), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))
