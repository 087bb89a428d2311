"""Figures and tables as files of their own: PNG for pictures, SVG for drawings, CSV for tables."""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_folder, check_folder
from osteon.papers.drawings import whole_svg
from osteon.papers.entries import Drawing, Made, Panels, Part, Table
from osteon.report.gallery import Picture
from osteon.report.picture import Image, panel_grid

#: Names of the files, for a folder that an earlier run has made.
NAMES = re.compile(r"(figure|table)-\d+[a-z]?\.(png|svg|csv)")
#: Colours of a picture file.
COLORS = 255


def write_single_files(folder: PathLike, made: Sequence[Made]) -> None:
    """Write all parts of all entries: `figure-5.svg`, or `figure-5a.png` and `figure-5b.svg` of one with two parts."""
    with atomic_folder(folder, lambda path: check_folder(path, NAMES)) as temporary:
        for one in made:
            for name, part in named_parts(one):
                _write(temporary, name, part)


def named_parts(made: Made) -> list[tuple[str, Part]]:
    """The parts of an entry with the names of their files, without suffix."""
    parts = made.shown.parts
    letters = [""] if len(parts) == 1 else "abcdefghijklmnopqrstuvwxyz"[: len(parts)]
    return [(f"{made.entry.key}{letter}", part) for letter, part in zip(letters, parts, strict=True)]


def _write(folder: Path, name: str, part: Part) -> None:
    if isinstance(part, Drawing):
        (folder / f"{name}.svg").write_text(whole_svg(part), encoding="utf-8")
    elif isinstance(part, Table):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([part.head, *part.rows])
        (folder / f"{name}.csv").write_text(text.getvalue(), encoding="utf-8")
    else:
        _write_panels(folder / f"{name}.png", part)


def _write_panels(path: Path, part: Panels) -> None:
    from PIL import Image as Canvas

    images, captions = [_pixels(p) for p in part.pictures], [p.caption for p in part.pictures]
    grid = panel_grid(images, captions, columns=part.columns, title=part.title, scale=part.scale)
    Canvas.fromarray(grid).quantize(COLORS, dither=Canvas.Dither.NONE).save(path, "PNG", optimize=True)


def _pixels(picture: Picture) -> Image:
    """The picture on the light background."""
    from PIL import Image as Canvas

    raw = base64.b64decode(picture.light.partition(",")[2])
    return np.asarray(Canvas.open(io.BytesIO(raw)).convert("RGB"))
