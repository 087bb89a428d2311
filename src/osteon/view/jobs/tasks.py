"""What the worker process does, and how it talks to the server.

The server sends a task and its arguments; the worker answers with JSON, one message a line of progress, and one that
ends the task: {"stage", "fraction", "error_percent"} … {"done": …} or {"error": one sentence}. JSON, because the worker
reads files that strangers made: the server takes nothing from it but text and numbers.
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
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from osteon.core.errors import OsteonError
from osteon.core.options import SkinOptions
from osteon.core.processes import end_group
from osteon.core.progress import Progress, ProgressEvent
from osteon.view.jobs.confinement import confine, limited_memory

__all__ = ["MAX_MESSAGE", "Command", "Task", "cluster_source", "fit_source", "open_files", "save_as", "work"]

#: Seconds between two messages of progress within one stage.
PROGRESS_INTERVAL = 0.05

#: Runs in the worker: arguments that can be sent, then where progress goes. The result must fit into JSON.
Task = Callable[..., Any]
#: A task, its arguments, and the bytes of memory that it may take.
Command = tuple[Task, tuple[Any, ...], int]
#: Bytes of one message.
MAX_MESSAGE = 1_000_000


def open_files(inputs: tuple[str, ...], pack: str, progress: Progress) -> dict[str, Any]:
    """Read dropped files and write their pack."""
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


def cluster_source(inputs: tuple[str, ...], out: str, progress: Progress) -> dict[str, Any]:
    """Find the near-rigid triangles of a sequence and write them as the pack would hold them."""
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
    """The worker's life: do one task after the other until the server closes the line.

    What it writes for itself goes to the folder `scratch`, which the server clears when it ends the worker.
    """
    confine(server)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends this process
    if scratch is not None:
        os.makedirs(scratch, 0o700, exist_ok=True)
        tempfile.tempdir = os.environ["TMPDIR"] = scratch
    tasks: queue.Queue[Command] = queue.Queue()
    threading.Thread(target=_listen, args=(commands, tasks), daemon=True).start()
    while True:
        task, arguments, memory = tasks.get()
        _answer(answers, _outcome(task, arguments, memory, _sender(answers)))


def _listen(commands: Connection, tasks: queue.Queue[Command]) -> None:
    """Take tasks; when the server is gone, go too, with all that was started here, even in the midst of a fit."""
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
        return {"error": f"this needs more than the {most} of memory that it may take here; use fewer frames"}
    except OSError as error:
        return {"error": f"cannot be read or written ({error.strerror or error})"}
    except Exception as error:  # a bug must end the task, not the worker
        return {"error": f"failed unexpectedly ({type(error).__name__}: {error})"}


def _sender(answers: Connection) -> Progress:
    """Progress as messages: every stage at once, then at most some every second."""
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
    """JSON has no infinity; the E of a source that does not move is one."""
    return None if number is None or not math.isfinite(number) else float(number)


def _answer(answers: Connection, message: dict[str, Any]) -> None:
    said = json.dumps(message, allow_nan=False).encode()
    if len(said) > MAX_MESSAGE:
        said = json.dumps({"error": "this has more names and joints than a page can show"}).encode()
    answers.send_bytes(said)
