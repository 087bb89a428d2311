"""Corrections of a solution: together with its skin, or of the skin as it is."""

from __future__ import annotations

from dataclasses import asdict, replace

from osteon.core.fit_report import FitReport
from osteon.core.options import SkinOptions
from osteon.core.parallel import available_threads
from osteon.core.progress import report_progress
from osteon.fit.corrections.corrected_skin import JointRefinementOptions, refine_corrected_skin
from osteon.fit.corrections.fit_corrections import BLOCK_RANK, fit_corrections
from osteon.fit.corrections.flat_blends import without_flat_blends
from osteon.fit.skin.influences import Influences
from osteon.pipeline.task import SkinTask, Solution

__all__ = ["correct_solution", "correct_still_skin", "joint_options"]

#: Pull of flexible bones when corrections are refined with them, of the pull without.
JOINT_STIFFNESS = 0.2
#: Rounds of that refinement.
JOINT_ROUNDS = 16


def joint_options(options: SkinOptions) -> JointRefinementOptions:
    """How skin and corrections are refined together."""
    return JointRefinementOptions(
        rank=min(options.rank, BLOCK_RANK),
        bone_type=options.bone_type,
        stiffness=JOINT_STIFFNESS * options.stiffness,
        rounds=min(options.rounds, JOINT_ROUNDS),
        hold_weights=options.smooth_weights > 0,
        seed=options.seed,
        threads=available_threads(options.threads),
    )


def correct_solution(task: SkinTask, solution: Solution) -> Solution:
    """Add corrections of the asked rank, refined together with the skin as far as that is useful."""
    problem, options = task.problem.with_normals(solution.normals), task.options
    skin, errors = solution.skin_state(problem), solution.influences.errors
    rank, threads = min(options.rank, problem.n_frames), task.threads
    joint = joint_options(options)
    history: list[float] = []

    def on_error(error_percent: float) -> None:
        history.append(error_percent)
        report_progress(task.progress, "correct", min(1.0, len(history) / (joint.rounds + 4)), error_percent)

    report_progress(task.progress, "correct", 0.0)
    with task.watch.stage("correct"):
        if rank < problem.n_frames:
            fit = refine_corrected_skin(problem, skin, joint, on_error)
            skin, columns = fit.skin, fit.columns
            if rank > columns.rank:
                columns = fit_corrections(problem, skin, rank - columns.rank, fixed=columns, threads=threads)
        else:  # as many columns as frames are exact; the skin has nothing left to learn from them
            skin = without_flat_blends(skin)
            columns = fit_corrections(problem, skin, rank, threads=threads)
    report = FitReport(
        "correct",
        task.watch.seconds["correct"],
        iterations=len(history),
        stopped_by="rounds" if len(history) >= joint.rounds else "tolerance",
        history=tuple(history),
        options=asdict(joint),
        seed=options.seed,
    )
    return replace(
        solution,
        transforms=problem.to_input(skin.transforms),
        influences=Influences(skin.bones, skin.weights, errors),
        columns=columns,
        stages=(*solution.stages, report),
    )


def correct_still_skin(task: SkinTask, solution: Solution) -> Solution:
    """Add corrections of the asked rank to bones and weights that stay as they are."""
    with task.watch.stage("correct"):
        skin = solution.skin_state(task.problem)
        columns = fit_corrections(task.problem, skin, task.options.rank, threads=task.threads)
    return replace(solution, columns=columns)
