"""The picture of docs/seen.md: `python -m osteon_bench.seen_sheet FILE.png` (scripts/draw-seen).

One row per sequence, in one frame and view: the source, and the compared pictures, each with its FLIP map (black where
they are equal).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.errors import OsteonError
from osteon_bench.run import BenchRun, find_sequence
from osteon_bench.seen import SeenSubject, look_at, replace_name
from osteon_bench.seen_pictures import GREY, SIZE, Picture, flip_map, on_grey

ROWS = ("flag", "clothhorse", "horse", "cow")
COLUMNS = {"ours": "osteon skin", "Dem Bones": "Dem Bones", "texture x 2": "vertex texture, twice the bytes"}
#: Pixels of a picture's side, and of a line of text.
CELL, LINE = 190, 22
#: Number of colours of the file, enough for a picture of greys.
COLORS = 160
#: The picture of each sequence, as a fraction of all its pictures.
SHOT = 0.25


def draw_sheet(subjects: Mapping[str, SeenSubject], path: Path) -> None:
    """Write the picture."""
    from PIL import Image, ImageDraw

    width, height = CELL * (1 + 2 * len(COLUMNS)), (CELL + LINE) * len(subjects) + LINE
    sheet = Image.new("RGB", (width, height), "white")
    write = ImageDraw.Draw(sheet)
    for i, title in enumerate(("source", *COLUMNS.values())):
        write.text((CELL * max(0, 2 * i - 1) + 4, 5), title, "black")
    for j, (name, subject) in enumerate(subjects.items()):
        top = LINE + j * (CELL + LINE)
        shot = int(SHOT * len(subject.pictures["source"]))
        source = subject.pictures["source"][shot]
        sheet.paste(_cell(on_grey(source)), (0, top))
        write.text((4, top + CELL + 4), f"{name}, {subject.bones} bones, {subject.nbytes / 1000:.0f} kB", "black")
        for i, kind in enumerate(kind for kind in COLUMNS if kind in subject.pictures):
            left = CELL * (1 + 2 * i)
            other = subject.pictures[kind][shot]
            sheet.paste(_cell(on_grey(other)), (left, top))
            sheet.paste(_cell(_colored(source, other)), (left + CELL, top))
            write.text((left + 4, top + CELL + 4), _words(subject, kind), "black")
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)


def _words(subject: SeenSubject, kind: str) -> str:
    score = subject.scores[kind]
    kept = f", {len(subject.textures[kind].keys)} frames" if kind in subject.textures else ""
    return f"FLIP {score.mean:.3f}, 99 %: {score.p99:.2f}{kept}"


def _colored(source: Picture, other: Picture) -> NDArray[Any]:
    """(SIZE,SIZE,3) FLIP from black over red to white; grey where no pixel counts."""
    found, counted = flip_map(source, other)
    heat = np.clip(np.stack([2 * found, 2 * found - 0.6, 3 * found - 2], axis=-1), 0, 1)
    return np.where(counted[..., None], heat, GREY)


def _cell(colors: NDArray[Any]) -> Any:
    from PIL import Image

    whole = Image.fromarray((255 * colors).round().astype(np.uint8))
    assert whole.size == (SIZE, SIZE)
    return whole.resize((CELL, CELL), Image.Resampling.LANCZOS)


def _draw(path: Path, data: Path) -> None:
    run = BenchRun(data, 2)
    found = {name: find_sequence(run, name) for name in ROWS}
    if run.missing or find_spec("py_dem_bones") is None:
        raise OsteonError(f"the picture needs Dem Bones and {', '.join(ROWS)} in '{data}'")
    draw_sheet({name: look_at(run, replace_name(s, name)) for name, s in found.items() if s is not None}, path)


if __name__ == "__main__":
    _draw(Path(sys.argv[1]), Path(sys.argv[2]))
