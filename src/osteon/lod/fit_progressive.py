"""Fit all levels of bones and blends of a model.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning for Character Animation, 2007, section 4.
Differs from the paper: no bind pose holds the defaults that most clips share (section 4.1.1). Defaults are constant
offsets of bones, so sharing them saves 12 numbers per bone and clip and no time; a level with a bind pose of its own is
what `bake.py` makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from osteon.core.model import SkinnedModel
from osteon.core.progress import FitReport, Progress, Stopwatch, report_progress
from osteon.lod.bone_order import BoneForm
from osteon.lod.progressive_skin import ProgressiveSkin
from osteon.lod.search.fade_reach import step_reaches
from osteon.lod.search.fit_blends import fit_blends
from osteon.lod.search.fit_orders import fit_orders, runs_of
from osteon.lod.search.level_errors import blend_moments, fit_curve, level_errors
from osteon.lod.search.skin_motion import read_skin_motion, visible_weights


@dataclass(frozen=True, slots=True)
class ProgressiveFit:
    """All levels, and the reports of the fit."""

    skin: ProgressiveSkin
    reports: tuple[FitReport, ...]


def fit_progressive(
    model: SkinnedModel, *, form: BoneForm = "advanced", by_area: bool = False, progress: Progress | None = None
) -> ProgressiveFit:
    """Orders of bones and blends for every clip of a model, and their curves.

    By area, the order of all clips is the best one for the visible surface, whose vertices are dense in some parts.
    """
    watch = Stopwatch()
    with watch.stage("blends"):
        report_progress(progress, "blends", 0.0)
        blends = fit_blends(read_skin_motion(model), model.skin)
    motion = read_skin_motion(model, blends.skin)
    with watch.stage("bones"):
        weights = visible_weights(model) if by_area else None
        *orders, all_clips = fit_orders(motion, form, progress, weights=weights)
    with watch.stage("curves"):
        report_progress(progress, "curves", 0.0)
        moments = blend_moments(motion, blends)
        grids = [level_errors(motion, moments, order, run) for order, run in zip(orders, runs_of(motion), strict=False)]
        reaches = [partial(step_reaches, model, blends, order, clip) for clip, order in enumerate(orders)]
        curves = tuple(
            fit_curve(grid, order.samples, reach) for grid, order, reach in zip(grids, orders, reaches, strict=True)
        )
    report_progress(progress, "curves", 1.0)
    reports = tuple(FitReport(stage, seconds, options={"form": form}) for stage, seconds in watch.seconds.items())
    return ProgressiveFit(ProgressiveSkin(tuple(orders), curves, all_clips, blends), reports)
