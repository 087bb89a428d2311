"""All levels of bones and blends of a model: the driver.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning for Character Animation, 2007, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.model import SkinnedModel
from osteon.core.progress import FitReport, Progress, Stopwatch, report_progress
from osteon.lod.bone_order import BoneForm
from osteon.lod.progressive_skin import ProgressiveSkin
from osteon.lod.search.fit_bind_pose import fit_bind_pose
from osteon.lod.search.fit_blends import fit_blends
from osteon.lod.search.fit_curve import fit_curve
from osteon.lod.search.fit_orders import fit_orders, runs_of
from osteon.lod.search.level_errors import blend_moments, level_errors
from osteon.lod.search.skin_motion import read_skin_motion

__all__ = ["ProgressiveFit", "fit_progressive"]


@dataclass(frozen=True, slots=True)
class ProgressiveFit:
    """All levels, and how they were found."""

    skin: ProgressiveSkin
    reports: tuple[FitReport, ...]


def fit_progressive(
    model: SkinnedModel, *, form: BoneForm = "advanced", progress: Progress | None = None
) -> ProgressiveFit:
    """Orders of bones and blends for every clip of a model, their curves, and the bind pose that clips share."""
    watch = Stopwatch()
    with watch.stage("blends"):
        report_progress(progress, "blends", 0.0)
        blends = fit_blends(read_skin_motion(model), model.skin)
    motion = read_skin_motion(model, blends.skin)
    with watch.stage("bones"):
        *found, all_clips = fit_orders(motion, form, progress)
    with watch.stage("bind pose"):
        report_progress(progress, "bind pose", 0.0)
        bind_pose, orders = fit_bind_pose(motion, found, all_clips, runs_of(motion)[:-1])
    with watch.stage("curves"):
        report_progress(progress, "curves", 0.0)
        moments = blend_moments(motion, blends)
        grids = [level_errors(motion, moments, order, run) for order, run in zip(orders, runs_of(motion), strict=False)]
        curves = tuple(fit_curve(grid, order.samples) for grid, order in zip(grids, orders, strict=True))
    report_progress(progress, "curves", 1.0)
    reports = tuple(FitReport(stage, seconds, options={"form": form}) for stage, seconds in watch.seconds.items())
    return ProgressiveFit(ProgressiveSkin(orders, curves, all_clips, blends, bind_pose), reports)
