"""From a linear blend skin to another family: its own data, its bones, and the skin that stock players show instead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.parallel import available_threads
from osteon.core.progress import report_progress
from osteon.core.skin import Skin
from osteon.fit.models.model_fit import ModelFitOptions
from osteon.fit.models.registry import family_fit
from osteon.fit.skin.influences import select_influences
from osteon.pipeline.presets import Job, Solution

__all__ = ["fit_model"]


def fit_model(job: Job, solution: Solution) -> Solution:
    """The family that the options name, fitted from the linear blend skin of `solution`."""
    options, problem = job.options, job.problem
    threads = available_threads(options.threads)
    how = ModelFitOptions(
        influences=options.influences,
        rounds=min(options.rounds, ModelFitOptions().rounds),
        keep_bones=solution.given_bones,
        seed=options.seed,
        threads=threads,
        tell=lambda fraction, error: report_progress(job.progress, "model", fraction, error),
    )
    report_progress(job.progress, "model", 0.0)
    with job.watch.stage("model"):
        fit = family_fit(options.model).fit(problem, problem.from_world(solution.transforms), how)
        world = solution.transforms if solution.given_bones else problem.to_world(fit.transforms)
        # The bones have moved: stock players get the best linear weights for where they are now.
        shown = select_influences(problem, fit.transforms, options.influences, thorough=True, threads=threads)
    return replace(
        solution,
        transforms=world,
        deformer=fit.deformer,
        fallback=Skin(shown[0].astype(np.int32), shown[1].astype(np.float32)),
        stages=(*solution.stages, fit.report),
    )
