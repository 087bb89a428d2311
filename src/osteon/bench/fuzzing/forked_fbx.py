"""FBX read as `io/fbx/read.py` does, but with a fork instead of a new interpreter: a hundred times as many a second."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from osteon.core.sequence import MeshSequence
from osteon.io import load_sequence
from osteon.io.doors.options import ReadRequest
from osteon.io.doors.source import Source
from osteon.io.fbx import child, read

__all__ = ["read_fbx_forked"]

EVERYTHING: dict[str, Any] = {"fps": None, "clips": []}


def read_fbx_forked(path: Path) -> MeshSequence:
    """The sequence; the far side runs in a copy of this process, whose death is told like any other refusal."""
    started, read._run = read._run, _run_forked
    try:
        return load_sequence(path)
    finally:
        read._run = started


def _run_forked(data: bytes, folder: Path, request: ReadRequest, source: Source) -> dict[str, Any]:
    import ufbx  # noqa: F401  # before the fork, so that the copy has it

    pid = os.fork()
    if not pid:
        _far_side(data, folder)
    status = os.waitpid(pid, 0)[1]
    if status:
        raise source.format_error("cannot be read as FBX: the library failed on it; export it again")
    header: dict[str, Any] = json.loads((folder / "header.json").read_text())
    return header


def _far_side(data: bytes, folder: Path) -> None:
    """Never comes back."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        child.extract(data, folder, EVERYTHING)
    except BaseException:
        os._exit(child.REFUSED)
    os._exit(0)
