"""Requests that the child process answers: whether a stage has a model, the model, and the frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from osteon.io.archives.model_npz import pack_model
from osteon.io.formats.options import LoadOptions
from osteon.io.native.child import Arrays, Outlet
from osteon.io.native.client import pack_sequence
from osteon.io.usd.read.model import read_stage_model, stage_holds_model
from osteon.io.usd.read.sequence import send_stage_frames
from osteon.io.usd.stage import load_pxr


def prepare() -> None:
    """Load the library, before the limits of time and memory apply."""
    load_pxr(Path("stage.usd"))


def answer(request: dict[str, Any], outlet: Outlet) -> tuple[Any, Arrays]:
    """The answer to a request of `client.py`, as JSON and arrays."""
    path, question = Path(request["path"]), request["question"]
    if question == "holds":
        return stage_holds_model(path, outlet), {}
    options = LoadOptions(fps=request["fps"], clips=tuple(request["clips"]))
    if question == "model":
        arrays, header = pack_model(read_stage_model(path, options, outlet))
        return header, arrays
    mesh, clips = send_stage_frames(path, options, outlet)
    return pack_sequence(mesh, clips)
