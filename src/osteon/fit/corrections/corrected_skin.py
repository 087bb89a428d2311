"""Bones, weights and corrections refined together, for a rank that is requested.

    minimise over T, w, U, q:   e_r + lambda e_0 + stiffness,
    e_r = sum_v sum_f || sum_b w_vb T_b^f (p_v + U_v q^f) - x_v^f ||^2,   e_0 the same without U

Based on: James and Twigg, Skinning Mesh Animations, 2005, sections 5 and 6, whose stages come one after another. A skin
that is refined alone leaves a residual of high rank, so here each stage takes the others into account. A round is
- a pass over the frames: bones (for flexible ones the normal equations of this frame; for rigid ones sweeps of
  Procrustes problems), then the coefficients;
- a pass over the vertices: weights of the bones chosen before (exact on the simplex), then the basis.
Each half lowers the sum. Bones and coefficients are extrapolated by beta = n / (n + 3) of their last step (Nesterov); a
round that would raise the sum is repeated without extrapolation, and n restarts at 0.

lambda = KEEP e_r / e_0 protects the model that remains when all corrections are truncated: it balances the relative
change of both errors, so a rank that gains much may cost a little at rank 0. Normal rows (`problem.normals`) are a term
of e_0, because corrections move no normal.

Notes, E % at rank 10 and of the same model truncated to rank 0, compared with corrections of the finished skin.
Measured in a prototype on all vertices in 15 to 20 rounds; with a sample first, as here: horse 0.343, 1.07, chicken
0.039, 0.110, elasticcow 0.373, 0.558, clothhorse 0.395, 4.09.
| | alone        | together, lambda 0.5 | lambda fixed at 0.1 |
| horse      | 0.390, 0.994 | 0.324, 1.08 | 0.309, 1.14 at 0.05 |
| elasticcow | 0.396, 0.544 | 0.370, 0.560 | 0.362, 0.610 |
| clothhorse | 0.418, 3.93  | 0.401, 3.98 | 0.408, 4.01 |
Choosing the influences anew in every round gained nothing on clothhorse (0.4041 either way). With the stiffness of the
plain refinement (5e-3) clothhorse remains at 0.408 and every extrapolation is rejected; 1e-3 leaves the smallest
singular values where they were (1st percentile 0.31 to 0.42), because corrections take over what bones would stretch
for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Float32, Float64, Int64
from osteon.core.bone_axes import axes_of_bones
from osteon.core.kernels import kernel
from osteon.core.parallel import for_blocks
from osteon.fit.corrections.columns import (
    VERTICES_A_BLOCK,
    ColumnFit,
    SkinState,
    basis_of_block,
    corrected_points,
    no_columns,
    order_columns,
    pair_products,
    solve_basis,
    solve_coefficients,
)
from osteon.fit.corrections.fit_corrections import fit_corrections, never_rising
from osteon.fit.moments import add_blend_moments, blend_moments, moment_centers
from osteon.fit.problem import FitProblem
from osteon.fit.skin.nonnegative import minimise_on_simplex
from osteon.fit.skin.scaled_bones import sweep_scaled
from osteon.fit.skin.solve_bones import bone_strengths, solve_frame_flexible, solve_frame_rigid, step_ahead

#: Weight of a relative change of the error without corrections against one with them.
KEEP = 0.55
#: Rounds on all vertices, after those on a sample.
FULL_ROUNDS = 4
LOOK_BACK = 3
#: Rounds for held-out frames.
FRAME_ROUNDS = 6
#: Least and largest number of sampled vertices.
SAMPLE_VERTICES = (1_500, 4_000)


@dataclass(frozen=True, slots=True)
class JointRefinementOptions:
    """Options of the joint refinement of skin and corrections."""

    rank: int
    bone_type: BoneType = "scaled"
    rounds: int = 16
    tolerance: float = 1e-3  # stop when a round lowers the error by less than this fraction
    stiffness: float = 1e-3  # regularisation of flexible bones towards their rotation
    sample: int = 400_000  # pairs of vertex and frame in the first rounds
    hold_weights: bool = False  # keep the weights fixed
    seed: int = 0
    threads: int = 1


@dataclass(frozen=True, slots=True)
class CorrectedSkin:
    """A skin, its corrections, and the history of the error."""

    skin: SkinState
    columns: ColumnFit
    history: tuple[float, ...] = ()  # E % after every round


@kernel("f8.2r f8.3r f4.2r f8.4r i8.2r i8.2r i8.1r f8.3 f8.3 f8.3")
def _slot_grams(
    points: Float64,
    corrected: Float64,
    targets: Float32,
    transforms: Float64,
    bones: Int64,
    chosen: Int64,
    counts: Int64,
    errors: Float64,
    plain: Float64,
    gram: Float64,
) -> None:
    """Adds the Gram matrices (k,k) of the chosen slots' errors T_b p - x over all frames: without corrections and with.

    Rest points (n,4), corrected ones (n,f,3); errors (2,k,3) is scratch.
    """
    for v in range(points.shape[0]):
        n = counts[v]
        for f in range(transforms.shape[0]):
            for a in range(n):
                b = bones[v, chosen[v, a]]
                for i in range(3):
                    x, y, z = transforms[f, b, i, 0], transforms[f, b, i, 1], transforms[f, b, i, 2]
                    left = transforms[f, b, i, 3] - targets[v, 3 * f + i]
                    errors[0, a, i] = x * points[v, 0] + y * points[v, 1] + z * points[v, 2] + left
                    errors[1, a, i] = x * corrected[v, f, 0] + y * corrected[v, f, 1] + z * corrected[v, f, 2] + left
            for a in range(n):
                for c in range(n):
                    for i in range(3):
                        plain[v, a, c] += errors[0, a, i] * errors[0, c, i]
                        gram[v, a, c] += errors[1, a, i] * errors[1, c, i]


@kernel("f8.2r f4.2r i8.1r i8 i8 i8 f8 f8.4r i8.2r i8.2r i8.1r f8.2 f8.3")
def _add_normal_grams(
    rest: Float64,
    targets: Float32,
    vertex: Int64,
    first: int,
    begin: int,
    end: int,
    weight: float,
    transforms: Float64,
    bones: Int64,
    chosen: Int64,
    counts: Int64,
    errors: Float64,
    gram: Float64,
) -> None:
    """Adds to the Gram matrices (n,k,k) of vertices from `first` on those of their normals, rows begin … end.

    Errors are L_b n - m, times the weight; errors (k,3) is scratch.
    """
    for r in range(begin, end):
        v = vertex[r] - first
        for f in range(transforms.shape[0]):
            for a in range(counts[v]):
                b = bones[v, chosen[v, a]]
                for i in range(3):
                    errors[a, i] = -targets[r, 3 * f + i]
                    for j in range(3):
                        errors[a, i] += transforms[f, b, i, j] * rest[r, j]
            for a in range(counts[v]):
                for c in range(counts[v]):
                    for i in range(3):
                        gram[v, a, c] += weight * errors[a, i] * errors[c, i]


class _Joint:
    """One problem, its options, and the weight of the error without corrections."""

    def __init__(self, problem: FitProblem, options: JointRefinementOptions, on_error: Callable[[float], None]) -> None:
        self.problem, self.options, self.on_error = problem, options, on_error
        self.keep = 0.0
        self.axes: Float64 | None = None  # (b,3,3) fixed axes of scaled bones; None: current ones
        self.nothing = no_columns(problem)

    def weigh_errors(self, state: CorrectedSkin) -> None:
        """Set lambda from the errors with and without corrections."""
        _, e_r = solve_basis(self.problem, state.skin, state.columns.coefficients, self.nothing, self.options.threads)
        empty = np.zeros((self.problem.n_frames, 0))
        _, e_0 = solve_basis(self.problem, state.skin, empty, self.nothing, self.options.threads)
        self.keep = KEEP * float(e_r.sum() / max(e_0.sum(), 1e-300))

    def frame_pass(self, state: CorrectedSkin) -> tuple[Float64, Float64]:
        """Bones, then coefficients, frame by frame."""
        problem, options, skin = self.problem, self.options, state.skin
        n_bones = skin.transforms.shape[1]
        plain, plain_x = blend_moments(problem, skin.bones, skin.weights, n_bones, options.threads)
        strength = (1 + self.keep) * bone_strengths(plain, options.stiffness)
        transforms = skin.transforms.copy()
        axes = self.axes
        if axes is None and options.bone_type == "scaled":
            axes = axes_of_bones(transforms)

        def work(start: int, stop: int) -> None:
            for f in range(start, stop):
                zz, zx = self.keep * plain, np.ascontiguousarray(self.keep * plain_x[:, 3 * f : 3 * f + 3])
                points = problem.points.copy()
                points[:, :3] += np.einsum("r,vri->vi", state.columns.coefficients[f], state.columns.basis)
                targets = np.ascontiguousarray(problem.targets[:, 3 * f : 3 * f + 3])
                add_blend_moments(points, targets, skin.bones, skin.weights, 0, len(points), zz, zx)
                if options.bone_type == "flexible":
                    transforms[f] = solve_frame_flexible(zz, zx, transforms[f], strength)
                elif axes is not None:
                    sweep_scaled(zz, zx, transforms[f : f + 1], axes, np.ascontiguousarray(strength[::4]))
                else:
                    solve_frame_rigid(zz, zx, transforms[f : f + 1])

        for_blocks(work, problem.n_frames, 2, options.threads)
        moved = SkinState(transforms, skin.bones, skin.weights)
        q = solve_coefficients(problem, moved, state.columns.basis, self.nothing, options.threads)
        return transforms, q

    def vertex_pass(self, state: CorrectedSkin, transforms: Float64, q: Float64) -> tuple[CorrectedSkin, float]:
        """Weights, then basis, vertex by vertex; and the sum that is minimised, without stiffness."""
        problem, bones = self.problem, state.skin.bones
        weights, basis = state.skin.weights.copy(), state.columns.basis.copy()
        e_r, e_0 = np.empty(problem.n_vertices), np.empty(problem.n_vertices)
        qq = pair_products(q)

        def work(start: int, stop: int) -> None:
            block = slice(start, stop)
            weights[block], e_0[block] = self._weigh(state, transforms, q, block)
            skin = SkinState(transforms, bones, weights)
            basis[block], e_r[block] = basis_of_block(problem, skin, q, qq, self.nothing, start, stop)

        for_blocks(work, problem.n_vertices, VERTICES_A_BLOCK, self.options.threads)
        history = (*state.history, problem.error_percent(e_r))
        done = CorrectedSkin(SkinState(transforms, bones, weights), ColumnFit(basis, q), history)
        return done, float(e_r.sum() + self.keep * e_0.sum())

    def _weigh(self, state: CorrectedSkin, transforms: Float64, q: Float64, block: slice) -> tuple[Float64, Float64]:
        """New weights (n,k) of some vertices for the current basis, and their squared errors without it."""
        problem, bones, weights = self.problem, state.skin.bones[block], state.skin.weights[block]
        used = weights > 0
        chosen, counts = np.argsort(~used, axis=1, kind="stable"), used.sum(axis=1)
        corrected = corrected_points(problem.points, ColumnFit(state.columns.basis, q), block)
        count, slots = weights.shape
        plain, gram, errors = np.zeros((count, slots, slots)), np.zeros((count, slots, slots)), np.empty((2, slots, 3))
        points, targets = problem.points[block], problem.targets[block]
        _slot_grams(points, corrected, targets, transforms, bones, chosen, counts, errors, plain, gram)
        rows = problem.normals
        if rows is not None and rows.weight > 0:
            begin, end = np.searchsorted(rows.vertex, [block.start, block.start + count])
            of_rows = rows.rest, rows.targets, rows.vertex, block.start, int(begin), int(end), rows.weight
            _add_normal_grams(*of_rows, transforms, bones, chosen, counts, errors[0], plain)
        if self.options.hold_weights:
            found = np.take_along_axis(np.where(used, weights, 0.0), chosen, axis=1)
        else:
            found = minimise_on_simplex(gram + self.keep * plain, counts)
        out = np.zeros_like(weights)
        np.put_along_axis(out, chosen, found, axis=1)
        return out, np.einsum("va,vb,vab->v", found, found, plain)

    def run(self, state: CorrectedSkin, rounds: int) -> CorrectedSkin:
        """Up to `rounds` rounds; the last one without extrapolation."""
        last, steps, sums = None, 0, [np.inf]
        for done in range(rounds):
            transforms, q = self.frame_pass(state)
            beta = steps / (steps + 3) if last is not None and done < rounds - 1 else 0.0
            ahead = (transforms, q)
            if beta > 0 and last is not None:
                centers = moment_centers(self.problem.points, state.skin.bones, state.skin.weights, transforms.shape[1])
                bones_ahead = step_ahead(transforms, last[0], beta, self.options.bone_type, centers)
                ahead = (bones_ahead, q + beta * (q - last[1]))
            tried, total = self.vertex_pass(state, *ahead)
            steps += 1
            if total > sums[-1] and beta > 0:
                tried, total = self.vertex_pass(state, transforms, q)
                steps = 0
            last = (transforms, q)
            state = tried
            sums.append(total)
            self.on_error(state.history[-1])
            if done >= LOOK_BACK and sums[-1] > sums[-1 - LOOK_BACK] * (1 - self.options.tolerance) ** (2 * LOOK_BACK):
                break
        return state


def refine_corrected_skin(
    problem: FitProblem, skin: SkinState, options: JointRefinementOptions, on_error: Callable[[float], None]
) -> CorrectedSkin:
    """Refine a skin and at most BLOCK_RANK corrections together, on a sample of the vertices and then on all."""
    count = int(np.clip(options.sample // problem.n_frames, *SAMPLE_VERTICES))
    chosen = problem.sampled_vertices(count, options.seed)
    coarse = problem if chosen is None else problem.subset(chosen)
    start = skin if chosen is None else SkinState(skin.transforms, skin.bones[chosen], skin.weights[chosen])
    state = CorrectedSkin(start, fit_corrections(coarse, start, options.rank, threads=options.threads))
    joint = _Joint(coarse, options, on_error)
    joint.weigh_errors(state)
    state = joint.run(state, options.rounds)
    if chosen is not None:
        full = _Joint(problem, options, on_error)
        full.keep = joint.keep
        q = state.columns.coefficients
        whole = SkinState(state.skin.transforms, skin.bones, skin.weights)
        basis, _ = solve_basis(problem, whole, q, full.nothing, options.threads)
        state = full.run(CorrectedSkin(whole, ColumnFit(basis, q), state.history), min(FULL_ROUNDS, options.rounds))
    columns = never_rising(problem, state.skin, order_columns(state.columns), no_columns(problem), options.threads)
    return CorrectedSkin(state.skin, columns, state.history)


def fit_frames(
    problem: FitProblem, state: CorrectedSkin, options: JointRefinementOptions, axes: Float64 | None = None
) -> CorrectedSkin:
    """Bones and coefficients of other frames for fixed weights, basis and axes, from a first guess."""
    joint = _Joint(problem, options, lambda _: None)
    joint.axes = axes
    for _ in range(FRAME_ROUNDS):
        transforms, q = joint.frame_pass(state)
        skin = SkinState(transforms, state.skin.bones, state.skin.weights)
        state = CorrectedSkin(skin, ColumnFit(state.columns.basis, q))
    return state
