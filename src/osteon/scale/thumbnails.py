"""Small pictures of finished models for the page of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from osteon.core.errors import OsteonError
from osteon.core.progress import Progress, report_progress

#: Assets with the largest errors that have a picture: drawing one takes about a tenth of a second.
MOST = 60
WIDTH, HEIGHT = 192, 144  # pixels


def draw_thumbnails(folder: Path, rows: Sequence[dict[str, Any]], progress: Progress | None = None) -> dict[str, str]:
    """Data addresses of pictures by name, of the finished assets with the largest errors."""
    done = [row for row in rows if row["state"] == "finished"]
    done.sort(key=lambda row: -row.get("error_percent", -1.0))
    found: dict[str, str] = {}
    for number, row in enumerate(done[:MOST], 1):
        try:
            found[row["name"]] = _thumbnail(folder / row["output"])
        except OsteonError:
            continue  # an output that is no model, such as frames
        report_progress(progress, "pictures", number / min(len(done), MOST))
    return found


def _thumbnail(path: Path) -> str:
    """A model in the middle frame of its animation, as a data address."""
    from osteon.deform.pose import pose_frames
    from osteon.io import load_model
    from osteon.report.gallery import data_uri
    from osteon.report.raster import DrawOptions, draw_mesh

    model = load_model(path)
    frame = model.n_frames // 2
    options = DrawOptions(width=WIDTH, height=HEIGHT)
    return data_uri(draw_mesh(pose_frames(model, frame, frame + 1)[0], model.faces, options=options))
