"""What the child is asked about an Alembic file: all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from osteon.io.alembic.read import read_alembic_sequence
from osteon.io.formats.optional_packages import load_extra
from osteon.io.formats.options import LoadOptions, ReadRequest
from osteon.io.native.child import Outlet
from osteon.io.native.messages import Arrays
from osteon.io.native.sequence import pack_sequence

__all__ = ["answer", "prepare"]


def prepare() -> None:
    """Loads the library, before the clock and the limits begin."""
    load_extra("alembic3d", "alembic", Path("scene.abc"))


def answer(request: dict[str, Any], outlet: Outlet) -> tuple[Any, Arrays]:
    """The sequence, every frame that is sampled a sign of life."""
    path = Path(request["path"])
    outlet.alive(path.stat().st_size)
    options = LoadOptions(fps=request["fps"], clips=tuple(request["clips"]))
    sequence = read_alembic_sequence(path, ReadRequest(options, progress=lambda event: outlet.alive()))
    for f, frame in enumerate(sequence.frames):
        outlet.frames(f, sequence.n_frames, frame[None])
    return pack_sequence(sequence.mesh, sequence.clips)
