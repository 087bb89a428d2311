"""Alternating refinement of bones and weights.

    minimise over T, w:   sum_v sum_f || sum_b w_vb T_b^f p_v - x_v^f ||^2,   w >= 0, sum w = 1, at most k per vertex

A round is `solve_bones`, then `select_influences` from the influences of the previous round. Both are exact minimisers
of their half, so the error falls in every round, but slowly.

Three remedies:
- **Several starts.** Each is refined for a few rounds, and the best one continues.
- **Extrapolation.** Bones are extrapolated by beta of their last step. A round that would raise the error is repeated
  without extrapolation, and beta is halved; otherwise beta grows a little, up to one.
- **Moving bones.** After a few rounds the least useful bones restart where the error is largest. Both variants are
  refined for a few rounds, and the better one is kept.
Scaled bones start as flexible ones, which are faster and reach better optima; starts and moves are tried with these.
Meshes of more than `sample` vertices are refined on a random sample first.

Based on: alternating least squares for linear blend skinning as in Le and Deng, Smooth Skinning Decomposition with
Rigid Bones, 2012; the extrapolation is a safeguarded form of Nesterov's.

Notes, E % after 30 rounds without / with extrapolation: horse, 30 bones, flexible 1.33 / 1.15, rigid 1.75 / 1.52;
elasticcow, 18, flexible 0.563 / 0.541; clothhorse, 6, flexible 4.21 / 3.95. Moving bones, on top of that, took the
horse from 1.13 to 0.99 (flexible) and from 1.47 to 1.36 (rigid) at about 40 rounds, and was rejected on the other two.
A largest beta of 2 or more changes nothing: the safeguard keeps it near one. Anderson's mixing of 2, 5 or 10 rounds
instead: horse, flexible, 1.32, rigid 1.75. Moving a fifth of the bones at once loses more than it gains; a tenth is
right. Horse on a sample of 4,000 with 10 full rounds: 1.07 in 1.9 s; on all vertices in all rounds: 0.97 in 2.9 s.
Rounds and tries to move, horse, rigid: 30 and 2: 1.38 in 2.3 s; 30 and 1: 1.47 in 2.0 s; 24 and 1: 1.48 in 1.6 s; other
sequences differ by less than 2 %. Steps ahead that keep the bones' centres, not the origin: rigid horse 1.426 to 1.325,
clothhorse 5.76 to 5.63, elasticcow 0.932 to 0.926, chicken unchanged. Scaled bones, E % of horse, elasticcow,
clothhorse, chicken by flexible rounds before: 0: 1.13, 0.673, 4.20, 0.144; 12: 1.115, 0.676, 4.28, 0.132; 20: 1.104,
0.680, 4.20, 0.135 (with four rounds less after them). Twelve, and 6 or 12 rounds less after them: 1.123, 0.678, 4.27,
0.133; 1.126, 0.687, 4.26, 0.142. They end within 1 % of where 150 rounds end. One sweep per round is as good as ten
(chicken 0.1443, 0.1437), stiffness 3e-4 to 5e-3 moves them by 6 % either way, from one local minimum to another.

The number of bones that a motion needs, from quick fits on few vertices and frames.

Mean shift counts the near-rigid parts, which are too few for some motions (a bird, cloth, a walk whose limbs share a
cluster). Quick fits with growing numbers of bones are made until E is small, or until more bones gain too little. With
few frames the size of bones is negligible compared with that of the mesh, and bones are added to a smaller E.

Notes, E of the quick fit over that of the whole fit with as many bones, from splitting alone: horse 29: 1.30; flag 32:
1.11; clothhorse 20: 1.72.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Float64
from osteon.core.errors import OptionError
from osteon.core.parallel import available_threads
from osteon.core.progress import FitReport, Progress, report_progress
from osteon.fit.moments import moment_centers
from osteon.fit.problem import FitProblem
from osteon.fit.skin.bones import complete_bones, relocate_bones, seed_bones
from osteon.fit.skin.influences import Influences, select_influences
from osteon.fit.skin.scaled_bones import project_scaled
from osteon.fit.skin.solve_bones import solve_bones, step_ahead

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: Rounds after which two variants are compared.
TRIAL_ROUNDS = 6
#: The longest extrapolation, in steps.
MAX_BETA = 1.0
#: The stopping test compares with the error this many rounds earlier.
LOOK_BACK = 3
#: While a round still lowers the error by this fraction, up to EXTENSION times as many rounds are done.
FAST = 0.01
EXTENSION = 8
#: Vertices times bones up to which every round searches thoroughly: known models are then recovered exactly.
SMALL = 40_000
#: Rounds on all vertices that follow the rounds on a sample.
FULL_ROUNDS = 10
#: Sweeps over the bones per round; scaled bones have another one, which rotates their axes.
SWEEPS: dict[BoneType, int] = {"rigid": 3, "scaled": 1, "flexible": 1}
#: Rounds of flexible bones that scaled ones start from, beyond those of the trials, and rounds that follow the
#: conversion.
FLEXIBLE_ROUNDS, REFIT_ROUNDS = 12, 3
#: Rounds of scaled bones that these replace.
SPARED_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class RefineOptions:
    """Options of the refinement."""

    bone_type: BoneType = "scaled"
    influences: int = 4  # bones per vertex, 1 … 8
    rounds: int = 24
    tolerance: float = 1e-3  # stop when a round lowers the error by less than this fraction
    stiffness: float = (
        5e-3  # regularisation of scaled and flexible bones towards their rotation, of the data's own weight
    )
    smooth: float = 0.0  # regularisation of weights towards their neighbours', 0 … 1
    moves: int = 1  # tries to move the least useful bones
    sample: int = 4_000  # vertices in the first rounds
    full_rounds: int = FULL_ROUNDS  # on all vertices, after those on a sample
    seed: int = 0
    threads: int = 0  # 0: all

    def __post_init__(self) -> None:
        if self.rounds < 0:
            raise OptionError(f"rounds: expected 0 or more, got {self.rounds}")
        if self.smooth < 0:
            raise OptionError(f"smooth: expected 0 or more, got {self.smooth}")


@dataclass(frozen=True, slots=True)
class RefineFit:
    """Refined bones and weights of a problem."""

    transforms: Float64  # (f,b,3,4), in the problem's units
    influences: Influences
    reports: tuple[FitReport, ...]  # of the rounds on a sample, if there was one, and on all vertices

    @property
    def report(self) -> FitReport:
        """The report of the rounds on all vertices."""
        return self.reports[-1]


@dataclass(frozen=True, slots=True)
class _State:
    transforms: Float64
    influences: Influences
    last: Float64  # transforms before extrapolation
    history: tuple[float, ...] = ()  # E % of the rounds that led here, without discarded variants

    @property
    def error(self) -> float:
        return self.influences.squared_error


def _falls(squared_errors: list[float], rate: float) -> bool:
    """Whether the last rounds lowered the error by more than the fraction `rate` each."""
    before = squared_errors[max(0, len(squared_errors) - 1 - LOOK_BACK)]
    return squared_errors[-1] < before * (1 - rate) ** (2 * LOOK_BACK)


class _Descent:
    """One problem, its options, and the rounds done so far."""

    def __init__(
        self, problem: FitProblem, options: RefineOptions, graph: csr_array | None, on_error: Callable[[float], None]
    ) -> None:
        self.problem, self.options, self.on_error = problem, options, on_error
        self.bone_type = options.bone_type
        self.threads = available_threads(options.threads)
        self.stopped_by = "rounds"  # why the last run ended
        self.rounds = 0  # done so far, including discarded variants
        self.final = False  # whether the next run is the last one
        self.graph = graph if options.smooth > 0 else None
        self.strength = options.smooth * problem.motion**2 / problem.n_vertices

    def solve_weights(self, transforms: Float64, earlier: Influences | None, *, thorough: bool = False) -> Influences:
        """Weights for these bones; the search is always thorough where that is cheap."""
        small = self.problem.n_vertices * transforms.shape[1] <= SMALL
        wanted = None
        if self.graph is not None and earlier is not None:
            wanted = self.graph @ earlier.dense(transforms.shape[1])
        return select_influences(
            self.problem,
            transforms,
            self.options.influences,
            earlier=earlier,
            thorough=small or thorough,
            strength=0.0 if wanted is None else self.strength,
            wanted=wanted,
            threads=self.threads,
        )

    def start(self, transforms: Float64, history: tuple[float, ...] = ()) -> _State:
        return _State(transforms, self.solve_weights(transforms, None), transforms, history)

    def run(self, state: _State, rounds: int, *, extend: bool = False) -> _State:
        """Up to `rounds` rounds, or more with `extend` while the error falls fast. The last one is not extrapolated."""
        options, errors, beta = self.options, [state.error], MAX_BETA
        self.stopped_by = "rounds"
        limit = EXTENSION * rounds if extend else rounds
        for done in range(limit):
            last = done >= rounds - 1 and (done == limit - 1 or not _falls(errors, FAST))
            solved = solve_bones(
                self.problem,
                state.influences.bones,
                state.influences.weights,
                state.transforms,
                self.bone_type,
                stiffness=options.stiffness,
                sweeps=SWEEPS[self.bone_type],
                threads=self.threads,
            )
            ahead = solved if done == 0 or last else self.step_ahead(solved, state, beta)
            influences = self.solve_weights(ahead, state.influences, thorough=last and self.final)
            if ahead is not solved:
                beta = min(1.1 * beta, MAX_BETA)
                if influences.squared_error > errors[-1]:
                    ahead, beta = solved, beta / 2
                    influences = self.solve_weights(ahead, state.influences)
            error_percent = self.problem.error_percent(influences.errors)
            state = _State(ahead, influences, solved, (*state.history, error_percent))
            errors.append(state.error)
            self.rounds += 1
            self.on_error(error_percent)
            if len(errors) > LOOK_BACK and not _falls(errors, options.tolerance):
                self.stopped_by = "tolerance"
                break
            if last:
                break
        return state

    def step_ahead(self, solved: Float64, state: _State, beta: float) -> Float64:
        """Bones extrapolated beyond their new position."""
        bones, weights = state.influences.bones, state.influences.weights
        centers = moment_centers(self.problem.points, bones, weights, solved.shape[1])
        return step_ahead(solved, state.last, beta, self.bone_type, centers)

    def best_start(self, states: list[_State], rounds: int) -> _State:
        """The start with the least error after a few rounds."""
        return min((self.run(state, rounds) for state in states), key=lambda s: s.error)

    def convert_to_scaled(self, state: _State) -> _State:
        """Refine flexible bones further, then convert them to scaled bones.

        The history restarts, because errors of flexible bones are not comparable.
        """
        state = self.run(state, min(FLEXIBLE_ROUNDS, self.options.rounds))
        self.bone_type = "scaled"
        transforms = project_scaled(state.transforms)
        for _ in range(REFIT_ROUNDS):
            transforms = solve_bones(
                self.problem,
                state.influences.bones,
                state.influences.weights,
                transforms,
                "scaled",
                stiffness=self.options.stiffness,
                threads=self.threads,
            )
        influences = self.solve_weights(transforms, state.influences)
        error_percent = self.problem.error_percent(influences.errors)
        self.on_error(error_percent)
        return _State(transforms, influences, transforms, (error_percent,))

    def move_bones(self, state: _State) -> _State:
        """Replace a tenth of the bones, if that lowers the error."""
        count = state.transforms.shape[1] // 10
        for _ in range(self.options.moves if count else 0):
            moved = relocate_bones(self.problem, state.transforms, state.influences, count, self.threads)
            tried = self.run(self.start(moved, state.history), TRIAL_ROUNDS)
            stayed = self.run(state, TRIAL_ROUNDS)
            if stayed.error <= tried.error:
                return stayed
            state = tried
        return state


def refine_skin(
    problem: FitProblem,
    starts: Sequence[Float64],
    *,
    options: RefineOptions | None = None,
    graph: csr_array | None = None,
    progress: Progress | None = None,
) -> RefineFit:
    """Refine bones (f,b,3,4), from the best of several starts with the same number of bones, and find their weights.

    `smooth` uses `graph` (v,v), whose rows sum to one.
    """
    options = options or RefineOptions()
    begin = time.perf_counter()
    coarse = problem.sampled(options.sample, options.seed)
    expected = options.rounds + TRIAL_ROUNDS * (len(starts) - 1 + 2 * options.moves) + FULL_ROUNDS
    expected += FLEXIBLE_ROUNDS - SPARED_ROUNDS if options.bone_type == "scaled" else 0
    count = 0

    def on_error(error_percent: float) -> None:
        nonlocal count
        count += 1
        report_progress(progress, "refine", count / expected, error_percent)

    sampled = coarse is not problem
    descent = _Descent(coarse, options, None if sampled else graph, on_error)
    states = [descent.start(transforms) for transforms in starts]
    if options.rounds:
        tried = min(TRIAL_ROUNDS, options.rounds)
        scaled = options.bone_type == "scaled"
        descent.bone_type = "flexible" if scaled else options.bone_type
        state = descent.best_start(states, tried)
        state = descent.move_bones(state)
        state = descent.convert_to_scaled(state) if scaled else state
        descent.final = not sampled
        left = options.rounds - tried - (SPARED_ROUNDS if scaled else 0)
        state = descent.run(state, max(0, left), extend=True)
    else:
        state = min(states, key=lambda s: s.error)
    reports = [_report(descent, state.history, begin, full_problem=not sampled)]
    if sampled:
        begin = time.perf_counter()
        full = _Descent(problem, options, graph, on_error)
        full.final = True
        rounds = min(options.full_rounds, options.rounds)
        state = full.run(full.start(state.transforms, state.history), rounds, extend=True)
        reports.append(_report(full, state.history, begin, full_problem=True))
    return RefineFit(state.transforms, state.influences, tuple(reports))


def _report(descent: _Descent, history: tuple[float, ...], begin: float, *, full_problem: bool) -> FitReport:
    """The report of a descent; `stopped_by` is that of its last run."""
    return FitReport(
        "refine" if full_problem else "refine a sample",
        time.perf_counter() - begin,
        iterations=descent.rounds,
        converged=descent.stopped_by == "tolerance",
        stopped_by=descent.stopped_by,
        history=history,
        options=asdict(descent.options),
        seed=descent.options.seed,
        full_problem=full_problem,
    )


#: Sufficient E % of a quick fit, and the smaller one where bones are cheap: their keys take at most the fraction CHEAP
#: of the bytes of the vertices.
CLOSE, CLOSE_IF_CHEAP, CHEAP = 2.2, 0.4, 0.05
#: Bytes of a bone in a frame, and of a vertex, in a plain file.
BONE_BYTES, VERTEX_BYTES = 40, 52
#: Growth of the number of bones, and the least relative gain of E per step.
GROWTH, WORTH = 1.5, 0.12
#: Largest automatic number of bones, which every engine supports.
MOST = 64
#: Vertices, frames and rounds of a quick fit.
VERTICES, FRAMES, ROUNDS = 1_000, 32, 6
#: Least number of vertices per bone.
VERTICES_PER_BONE = 8


def choose_bone_count(
    problem: FitProblem,
    found: int,
    bone_type: BoneType,
    core: Float64 | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
) -> int:
    """At least `found` bones, and more until E is small; `core (f,b,3,4)` are the bones of the clusters."""
    most = max(found, min(MOST, problem.n_vertices // VERTICES_PER_BONE))
    if found >= most:
        return found
    frames = np.unique(np.linspace(0, problem.n_frames - 1, FRAMES).astype(np.int64))
    few = problem.with_normals(None).sampled(VERTICES, seed).take_frames(frames)
    quick = RefineOptions(bone_type=bone_type, rounds=ROUNDS, moves=0, seed=seed, threads=threads)

    def error(bones: int) -> float:
        starts = [seed_bones(few, bones, threads)]
        if core is not None:
            starts.append(complete_bones(few, np.ascontiguousarray(core[frames]), bones, threads))
        fit = refine_skin(few, starts, options=quick)
        return few.error_percent(fit.influences.errors)

    bones, now = found, error(found)
    while bones < most:
        more = min(most, max(bones + 1, round(GROWTH * bones)))
        cheap = BONE_BYTES * problem.n_frames * more <= CHEAP * VERTEX_BYTES * problem.n_vertices
        if now <= (CLOSE_IF_CHEAP if cheap else CLOSE):
            break
        then = error(more)
        if then > (1 - WORTH) * now and bones >= 4:
            break
        bones, now = more, then
    return bones
