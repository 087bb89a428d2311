"""Edits that the page saves as JSON: displacements of some vertices of the rest pose.

    {"format": "osteon-edit", "version": 1, "name": "horns", "vertices": 8431, "moved": [12, 13],
     "displacements": [[0.0, 0.1, 0.0], [0.0, 0.05, 0.0]]}

`vertices` is the number of vertices of the model, `moved` lists those that the edit moves, and `displacements` are in
units of the rest pose.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.arrays import Float32, Int32, checked, checked_indices
from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.model import SkinnedModel
from osteon.io.load.source import Source, as_float32

FORMAT, VERSION = "osteon-edit", 1


@dataclass(frozen=True, slots=True)
class Strokes:
    """Displacements of some vertices of a rest pose."""

    name: str
    n_vertices: int
    moved: Int32  # (m,)
    displacements: Float32  # (m,3)

    def __post_init__(self) -> None:
        object.__setattr__(self, "moved", checked_indices("moved", self.moved, (None,), self.n_vertices))
        shape = (len(self.moved), 3)
        object.__setattr__(self, "displacements", checked("displacements", self.displacements, shape))
        if not self.name or "\0" in self.name:
            raise GeometryError("name: expected a word, got none")

    def on(self, model: SkinnedModel) -> Float32:
        """(v,3) the displacement of every vertex of a model."""
        if self.n_vertices != model.n_vertices:
            raise GeometryError(
                f"the strokes were made on a mesh of {self.n_vertices:,} vertices, the model has {model.n_vertices:,}; "
                "use the model that they were made on"
            )
        out = np.zeros((model.n_vertices, 3), np.float32)
        out[self.moved] = self.displacements
        return out

    def to_json(self) -> dict[str, Any]:
        """The inverse of `strokes_from_json`."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "vertices": self.n_vertices,
            "moved": self.moved.tolist(),
            "displacements": self.displacements.tolist(),
        }


def strokes_from_json(stored: Any) -> Strokes:
    """Strokes from parsed JSON; raises GeometryError for anything else."""
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise GeometryError(f'expected strokes of the page, JSON with "format": "{FORMAT}"')
    if stored.get("version") != VERSION:
        raise GeometryError(f"version: expected {VERSION}, got {str(stored.get('version'))[:20]!r}; use a newer Osteon")
    name, count = stored.get("name"), stored.get("vertices")
    if not isinstance(name, str) or type(count) is not int or not 0 <= count < 2**31:
        raise GeometryError("name, vertices: expected a name and the number of vertices of the model")
    try:
        moved = np.array(stored.get("moved"), np.int64).reshape(-1)
        displacements = np.array(stored.get("displacements"), np.float64).reshape(-1, 3)
    except (TypeError, ValueError, OverflowError) as error:
        raise GeometryError("moved, displacements: expected vertex numbers and a vector for each") from error
    return Strokes(name, count, checked_indices("moved", moved, (None,), count), as_float32(displacements))


def read_strokes(path: Path) -> Strokes:
    """The strokes in a file."""
    source = Source(path)
    try:
        stored = json.loads(source.read())
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: is not JSON ({error}); save the strokes again") from error
    try:
        return strokes_from_json(stored)
    except GeometryError as error:
        raise FileFormatError(f"{path}: {error}") from error
