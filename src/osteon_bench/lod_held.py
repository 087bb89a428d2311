"""Rows about what a level promises: the error that its table prints, and that it looks like the model at its size.

Both are measured on the file of the level alone, written and read back, in all clips.

- Distances: from the vertices of the level to the surface of the model and back, in FRAMES frames of every clip; the
  root mean square of the worst clip, and the largest, over the printed figures.
- Small parts: the largest distance at the size that the table prints, in pixels; printed or measured, the larger one.
  The printed one counts vertices that slide along the surface, too.
- Pictures: three.js draws the file of the model and that of the level, textured and lit, from VIEWS sides in other
  frames than those in which `osteon lod` looks, at the size that the table prints. FLIP is that of its authors
  (`flip-evaluator`); the 95th percentile over all pixels that either picture covers, of the worst clip.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames, pose_vertices
from osteon.io import load_model, save_model
from osteon.measure.closest_point import SurfaceBoxes, closest_points
from osteon.measure.shading import stock_shown
from osteon.measure.textured_picture import view_axes
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun
from osteon_bench.seen_pictures import SIZE, Picture, Studio, View, flip_map, lacking_tools, open_studio

if TYPE_CHECKING:
    from osteon.lod.model_levels import Level
    from osteon.pipeline.levels import LevelsFit

#: Measured over printed distances, and the 95th percentile of FLIP.
PRINTED, FLIP = 1.05, 0.1
#: Frames of a clip in which surfaces are compared; views of a clip.
FRAMES, VIEWS = 24, 8
#: The largest distance of a vertex at the size that a level is for, in pixels.
FARTHEST = 3.0
#: A distance below this part of the body's size is rounding.
ROUNDING = 1e-5


def held_rows(case: str, found: LevelsFit) -> list[Row]:
    """The largest ratios of measured and printed distances of all levels."""
    rms, worst, rows, source = 0.0, 0.0, list[Row](), stock_shown(found.levels.model)
    with TemporaryDirectory(prefix="osteon-bench-") as folder:
        for number, level in enumerate(found.levels.levels):
            path = Path(folder) / f"{number}.glb"
            save_model(found.levels.baked(level), path)
            measured = _distances(source, stock_shown(load_model(path)))
            printed = np.maximum(np.array([level.rms_percent, level.worst_percent]) / 100, ROUNDING)
            rms, worst = np.maximum((rms, worst), np.maximum(measured - ROUNDING, 0.0) / printed)
            if number and level.pixels:
                far = level.pixels * max(float(measured[1]), level.worst_percent / 100)
                rows.append(at_most(_label(case, number, level), "farthest vertex at its size, pixels", far, FARTHEST))
    return [
        *rows,
        at_most(case, "RMS of a level's file / printed, worst level and clip", float(rms), PRINTED),
        at_most(case, "worst vertex of a level's file / printed, worst level and clip", float(worst), PRINTED),
    ]


def _distances(source: SkinnedModel, shown: SkinnedModel) -> Float64:
    """(2,) RMS distance of the worst clip, and the largest distance, as parts of the body's size."""
    rms, worst = [], 0.0
    for clip in source.clips:
        frames = np.unique(np.linspace(clip.start, clip.stop - 1, min(FRAMES, clip.n_frames)).round().astype(np.int32))
        posed = [pose_frames(model.take_frames(frames)).astype(np.float64) for model in (source, shown)]
        squares = []
        for here, there in ((0, 1), (1, 0)):
            used, faces = np.unique((source, shown)[here].faces), (source, shown)[there].faces
            boxes = SurfaceBoxes.of(posed[there][0], faces)
            apart = [
                closest_points(boxes.moved(surface), points[used]).distances
                for surface, points in zip(posed[there], posed[here], strict=True)
            ]
            squares.append(float(np.mean(np.square(apart))))
            worst = max(worst, float(np.max(apart)))
        rms.append(np.sqrt(np.mean(squares)))
    return np.array([max(rms), worst]) / (source.diagonal or 1.0)


def _label(case: str, number: int, level: Level) -> str:
    return f"{case}, level {number} at {level.pixels:.0f} px"


def look_rows(run: BenchRun, fits: dict[str, LevelsFit]) -> list[Row]:
    """FLIP of every level of every textured character, at its size."""
    reason = lacking_tools()
    if reason:
        run.report_missing(f"pictures of levels: omitted, {reason}")
        return []
    rows: list[Row] = []
    with TemporaryDirectory(prefix="osteon-bench-") as folder, open_studio() as studio:
        for case, found in fits.items():
            run.report(f"{case}: pictures of levels")
            rows += _look_rows(studio, Path(folder), case, found)
    return rows


def is_textured(model: SkinnedModel) -> bool:
    """Whether a material of the model has a picture."""
    return any(material.texture("base_color") is not None for material in model.asset.materials)


def _look_rows(studio: Studio, folder: Path, case: str, found: LevelsFit) -> list[Row]:
    rows, model = [], found.levels.model
    save_model(model, folder / "source.glb")
    for number, level in enumerate(found.levels.levels):
        if number == 0 or level.pixels == 0:
            continue
        views = _views(model, level.pixels)
        save_model(found.levels.baked(level), folder / f"level-{number}.glb")
        pictures = [_pictures(studio, folder / name, views) for name in ("source.glb", f"level-{number}.glb")]
        values = [_p95(*pair) for pair in zip(*pictures, strict=True)]
        label = _label(case, number, level)
        rows.append(at_most(label, "95th percentile of FLIP, three.js, worst clip", max(values), FLIP))
        rows.append(figure(label, "triangles", level.triangles))
        rows.append(figure(label, "bones", level.bones))
    return rows


def _views(model: SkinnedModel, pixels: float) -> list[list[tuple[int, float, View]]]:
    """By clip: the clip, seconds in it and the camera of every picture."""
    half = 0.5 * SIZE * model.diagonal / min(pixels, 0.94 * SIZE)
    out = []
    for number, clip in enumerate(model.clips):
        shots = []
        for i, axes in enumerate(view_axes(VIEWS)):
            frame = int((i + 0.25) / VIEWS * clip.n_frames)
            points = pose_vertices(model, clip.start + frame).astype(np.float64)
            middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
            shots.append((number, frame / clip.fps, View(axes, middle, half)))
        out.append(shots)
    return out


def _pictures(studio: Studio, path: Path, views: list[list[tuple[int, float, View]]]) -> list[list[Picture]]:
    studio.open_file(path)
    return [[studio.file_picture(*shot) for shot in shots] for shots in views]


def _p95(source: list[Picture], level: list[Picture]) -> float:
    """Of the covered pixels of all views of a clip."""
    values = [found[counted] for found, counted in map(flip_map, source, level)]
    return float(np.percentile(np.concatenate(values), 95))
