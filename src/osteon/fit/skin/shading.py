"""Refinement of the bones and weights of a finished fit towards the normals of the source.

    minimise over T, w, n:   sum_v sum_f |A p - x|^2 + h^2 sum_n sum_f |L n - m|^2,   E / E_start at most 1 + allowed

with A = [L | t] the blend of a vertex (symbols: `problem.py`). A suitable h is a fraction of the motion, not of the
body, so it is set from the residuals: h^2 is such that the term of normals is BALANCE times that of positions, and less
where E would exceed its bound. A round solves bones, weights, then rest normals, each with the others fixed; bones are
extrapolated. Meshes of many vertices are refined on a sample first. The result is the round of least normal error
within the bound, or the start.

Based on: alternating least squares as in `refine.py`; section 6 of James and Twigg, Skinning Mesh Animations, 2005, for
the normals that a player computes.

Notes, E relative to the start and mean degrees, by rounds on all vertices and extrapolation, 3 % allowed, balance 1:
| | 8, 0.8 | 16, 0.8 | 32, 0.8 | 16, 0.95 | 16, 0 |
| elasticcow 18 scaled | 1.007, 10.5 | 1.034, 9.8 | 1.029, 9.6 | 1.028, 9.8 | 1.036, 10.0 |
| elasticcow 18 rigid | 1.029, 9.6 | 1.029, 9.5 | 1.025, 9.3 | 1.024, 9.5 | 1.025, 9.6 |
| horse 30 scaled | 1.029, 2.60 | 1.027, 2.55 | 1.022, 2.52 | 1.024, 2.52 | 1.029, 2.61 |
| flag 32 flexible | 1.032, 12.0 | 1.034, 11.3 | 1.025, 11.7 | 1.033, 11.2 | 1.022, 13.1 |
Without a balance (the largest h that the bound allows) E of the horse grows by 3 % for 0.1 degrees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError
from osteon.fit.moments import moment_centers
from osteon.fit.problem import FitProblem, NormalRows
from osteon.fit.skin.influences import Influences, select_influences
from osteon.fit.skin.rest_normals import fit_rest_normals
from osteon.fit.skin.solve_bones import solve_bones, step_ahead

#: Largest weight of the normals' term, of that of the positions, per growth of E that is allowed.
BALANCE = 1 / 0.03
#: Factors by which h^2 rises at most in a round, and falls in one that breaks the bound.
RISE, FALL = 1.5, 0.7
#: Mean squared chord below this, about a tenth of a degree, is invisible.
UNSEEN = 3e-6
#: Extrapolation of bones.
BETA = 0.9
#: Iterations of the rest normals at the start, in a round, and at the end.
FIRST_ITERATIONS, ROUND_ITERATIONS, LAST_ITERATIONS = 1, 1, 4
#: Frames in the rest normals of a round.
ROUND_FRAMES = 32
#: Rounds on all vertices, after those on a sample.
FULL_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class ShadingOptions:
    """Options of the refinement."""

    allowed: float = 0.03  # growth of E, as a fraction
    rounds: int = 10  # on a sample; a larger allowed growth of E needs more rounds
    sample: int = 2_500  # vertices in the first rounds
    seed: int = 0
    bone_type: BoneType | None = None  # None: fixed bones
    stiffness: float = 5e-3
    influences: int = 4
    threads: int = 1


@dataclass(frozen=True, slots=True)
class ShadedSkin:
    """Bones, weights and rest normals that were fitted together."""

    transforms: Float64  # (f,b,3,4) in the problem's units
    influences: Influences  # errors are those of positions
    normals: Float64  # (n,3) unit rest normals
    error: float  # sum over normals and frames of |L n - m|^2
    weight: float = 0.0  # h^2 of the round of this result


def refine_shading(
    problem: FitProblem,
    transforms: Float64,
    influences: Influences,
    options: ShadingOptions,
    on_error: Callable[[float], None] = lambda _: None,
) -> ShadedSkin:
    """Refine a finished fit of positions towards the normals of the problem; E stays within its bound."""
    rows = _rows_of(problem)
    start = _with_rest_normals(ShadedSkin(transforms, influences, rows.rest, 0.0), rows, options, FIRST_ITERATIONS)
    seen = start.error > UNSEEN * problem.n_frames * len(rows.rest)
    if options.allowed <= 0 or options.rounds <= 0 or not seen or influences.squared_error <= 0:
        return _with_rest_normals(start, rows, options, LAST_ITERATIONS)
    chosen = problem.sampled_vertices(options.sample, options.seed)
    if chosen is None:
        best = _Rounds(problem, start, options, on_error).run(start, options.rounds)
    else:
        coarse, part = problem.subset(chosen), _part_of(start, rows, chosen)
        found = _Rounds(coarse, part, options, on_error).run(part, options.rounds)
        rounds = _Rounds(problem, start, options, on_error)
        best = rounds.run(replace(start, transforms=found.transforms, weight=found.weight), FULL_ROUNDS)
    return _with_rest_normals(best, rows, options, LAST_ITERATIONS)


def _part_of(skin: ShadedSkin, rows: NormalRows, vertices: Int32) -> ShadedSkin:
    """The skin of some vertices."""
    whole = skin.influences
    influences = Influences(whole.bones[vertices], whole.weights[vertices], whole.errors[vertices])
    of_vertices = np.isin(rows.vertex, vertices)
    part = replace(rows, rest=skin.normals).subset(vertices)
    error = skin.error * float(of_vertices.mean())
    return ShadedSkin(skin.transforms, influences, part.rest, error)


class _Rounds:
    """Rounds on one problem, within the bound that its finished fit sets."""

    def __init__(
        self, problem: FitProblem, before: ShadedSkin, options: ShadingOptions, on_error: Callable[[float], None]
    ) -> None:
        self.problem, self.before, self.options, self.on_error = problem, before, options, on_error
        self.bound = before.influences.squared_error * (1 + options.allowed) ** 2
        self.balance = BALANCE * options.allowed
        self.some_frames = np.unique(np.linspace(0, problem.n_frames - 1, ROUND_FRAMES).astype(np.int64))
        self.some_normals = _rows_of(problem).take_frames(self.some_frames)

    def run(self, state: ShadedSkin, count: int) -> ShadedSkin:
        """The best of some rounds, or the finished fit if none is better within the bound."""
        best, last = self.before, None
        weight = state.weight or self.wanted(state)
        for done in range(count):
            rows = replace(_rows_of(self.problem), rest=state.normals, weight=weight)
            weighed = self.problem.with_normals(rows)
            moved, last = _moved(weighed, state, self.options, last, final=done == count - 1)
            state = self.weighed(weighed, moved, state, weight)
            squared = state.influences.squared_error
            self.on_error(self.problem.error_percent(state.influences.errors))
            if squared <= self.bound and state.error < best.error:
                best = state
            weight = FALL * weight if squared > self.bound else min(self.wanted(state), RISE * weight)
        return best

    def wanted(self, state: ShadedSkin) -> float:
        """h^2 of the balance."""
        return self.balance * state.influences.squared_error / max(state.error, 1e-300)

    def weighed(self, problem: FitProblem, transforms: Float64, state: ShadedSkin, weight: float) -> ShadedSkin:
        """Weights and rest normals for these bones."""
        options = self.options
        found = select_influences(
            problem, transforms, options.influences, earlier=state.influences, threads=options.threads
        )
        normals, _ = fit_rest_normals(
            replace(self.some_normals, rest=state.normals),
            transforms[self.some_frames],
            found.bones,
            found.weights,
            iterations=ROUND_ITERATIONS,
            threads=options.threads,
        )
        error = 0.0 if found.normal_errors is None else float(found.normal_errors.sum())
        return ShadedSkin(transforms, found, normals, error, weight)


def _rows_of(problem: FitProblem) -> NormalRows:
    if problem.normals is None:
        raise OptionError("shading: the problem has no normals to follow")
    return problem.normals


def _moved(
    problem: FitProblem, state: ShadedSkin, options: ShadingOptions, last: Float64 | None, *, final: bool
) -> tuple[Float64, Float64]:
    """The extrapolated bones of a round, and those before extrapolation."""
    if options.bone_type is None:
        return state.transforms, state.transforms
    bones, weights = state.influences.bones, state.influences.weights
    sweeps = 3 if options.bone_type == "rigid" else 1
    solved = solve_bones(
        problem,
        bones,
        weights,
        state.transforms,
        options.bone_type,
        stiffness=options.stiffness,
        sweeps=sweeps,
        threads=options.threads,
    )
    if last is None or final:
        return solved, solved
    centers = moment_centers(problem.points, bones, weights, solved.shape[1])
    return step_ahead(solved, last, BETA, options.bone_type, centers), solved


def _with_rest_normals(skin: ShadedSkin, rows: NormalRows, options: ShadingOptions, iterations: int) -> ShadedSkin:
    """The same bones and weights with refined rest normals."""
    normals, errors = fit_rest_normals(
        replace(rows, rest=skin.normals),
        skin.transforms,
        skin.influences.bones,
        skin.influences.weights,
        iterations=iterations,
        threads=options.threads,
    )
    return replace(skin, normals=normals, error=float(errors[:, 1].sum()))
