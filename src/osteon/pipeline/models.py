"""From a linear blend skin to another family: its own data, its bones, and the skin that stock players show instead."""

from __future__ import annotations

from dataclasses import replace

from osteon.core.progress import report_progress
from osteon.fit.models.model_fit import ModelFitOptions
from osteon.fit.models.registry import family_fit
from osteon.fit.skin.influences import select_influences
from osteon.pipeline.task import SkinTask, Solution

__all__ = ["fit_model"]


def fit_model(task: SkinTask, solution: Solution) -> Solution:
    """The family that the options name, fitted from the linear blend skin of `solution`."""
    options, problem = task.options, task.problem
    fit_options = ModelFitOptions(
        influences=options.influences,
        rounds=min(options.rounds, ModelFitOptions().rounds),
        keep_bones=solution.keeps_motion,
        seed=options.seed,
        threads=task.threads,
        on_round=lambda fraction, error: report_progress(task.progress, "model", fraction, error),
    )
    report_progress(task.progress, "model", 0.0)
    with task.watch.stage("model"):
        fit = family_fit(options.model).fit(problem, problem.from_world(solution.transforms), fit_options)
        world = solution.transforms if solution.keeps_motion else problem.to_world(fit.transforms)
        # The bones have moved: stock players get the best linear weights for where they are now.
        shown = select_influences(problem, fit.transforms, options.influences, thorough=True, threads=task.threads)
    return replace(
        solution,
        transforms=world,
        deformer=fit.deformer,
        fallback=shown.to_skin(),
        stages=(*solution.stages, fit.report),
    )
