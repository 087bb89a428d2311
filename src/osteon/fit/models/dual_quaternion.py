"""Weights and bones for dual quaternion blending, started from a linear blend skin with rigid bones.

    minimise over w, q:   sum_v sum_f || y(sum_k w_vk s_k q_k^f; p_v) - x_v^f ||^2,   w >= 0, sum w = 1, at most k

y(b; p) = p + N(b; p) / D(b) is the image of p under the screw b, with D = r.r and, for b = (r, d), r = (u, w):
    N = 2 u x (u x p + w p) + 2 (w d_u - d_w u + u x d_u)
Both are quadratic in b, so the slope along a change c of b is (N'(b, c) - (y - p) D'(b, c)) / D.

Weights, vertex by vertex: y does not change when all weights grow alike, so sum_k w_k J_k = 0, and with e = y - x the
linearised error of other weights u is sum_k u_k (e + J_k): the same small problem on the simplex as for linear blending
(influences.py), G_kl = sum_f (e + J_k).(e + J_l). A step that does not lower the error is halved.
Bones, frame by frame: Gauss-Newton for a small screw (omega, tau) before each bone, 6 unknowns each.
A step that does not lower the error is rejected, and damping grows.

| symbol | name |
| --- | --- |
| q, b   | screws (f,b,8); blended (8), x y z w of the real part, then of the dual part |
| N', D' | slope_along |
| omega, tau | six unknowns of a bone: rotation about the origin, translation |

Based on: L. Kavan et al., Skinning with dual quaternions, 2007, for the blend. The fit is not from the paper.
Candidates are the bones of linear blending with one influence more; the smallest is then dropped.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int64
from osteon.core.character import Deformer, Skin
from osteon.core.kernels import kernel_as_met
from osteon.core.parallel import for_blocks
from osteon.core.progress import FitReport
from osteon.core.transforms import dual_quaternions_from_transforms, transforms_from_dual_quaternions
from osteon.deform.dual_quaternion import DualQuaternion, blend_screws
from osteon.fit.models.registry import ModelFit, ModelFitOptions
from osteon.fit.moments import squared_errors
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import MAX_INFLUENCES, select_influences
from osteon.fit.skin.nonnegative import MAX_UNKNOWNS, minimise_rows

#: Steps per vertex, and largest number of halvings of a step.
STEPS = 4
HALVINGS = 5
#: Iteration stops when a step lowers the error by less than this fraction.
WORTH_A_STEP = 1e-4
#: Least and largest damping of the bones' steps, relative to the diagonal of the normal equations.
DAMPING = (1e-4, 1e4)
BLOCK = 256
#: Candidates in addition to those kept.
SPARE = 1
#: Rounds of bones for fixed weights.
REFIT_ROUNDS = 6
#: Vertices in the rounds of bones.
SAMPLE = 2_000


@kernel_as_met
def _moved(point: Float64, b: Float64, out: Float64) -> float:
    """out (3) = y - p for the screw b; returns D."""
    D: float = b[0] * b[0] + b[1] * b[1] + b[2] * b[2] + b[3] * b[3]
    px, py, pz = point[0], point[1], point[2]
    x, y, z, w = b[0], b[1], b[2], b[3]
    cx = y * pz - z * py + w * px
    cy = z * px - x * pz + w * py
    cz = x * py - y * px + w * pz
    out[0] = 2 * (y * cz - z * cy + w * b[4] - b[7] * x + y * b[6] - z * b[5]) / D
    out[1] = 2 * (z * cx - x * cz + w * b[5] - b[7] * y + z * b[4] - x * b[6]) / D
    out[2] = 2 * (x * cy - y * cx + w * b[6] - b[7] * z + x * b[5] - y * b[4]) / D
    return D


@kernel_as_met
def _slope_along(point: Float64, b: Float64, c: Float64, moved: Float64, D: float, out: Float64) -> None:
    """out (3): how y changes when the screw b changes by c."""
    px, py, pz = point[0], point[1], point[2]
    x, y, z, w = b[0], b[1], b[2], b[3]
    u, v, t, s = c[0], c[1], c[2], c[3]
    ax = y * pz - z * py + w * px
    ay = z * px - x * pz + w * py
    az = x * py - y * px + w * pz
    bx = v * pz - t * py + s * px
    by = t * px - u * pz + s * py
    bz = u * py - v * px + s * pz
    change = 2 * (x * u + y * v + z * t + w * s)
    nx = v * az - t * ay + y * bz - z * by + s * b[4] + w * c[4] - c[7] * x - b[7] * u
    ny = t * ax - u * az + z * bx - x * bz + s * b[5] + w * c[5] - c[7] * y - b[7] * v
    nz = u * ay - v * ax + x * by - y * bx + s * b[6] + w * c[6] - c[7] * z - b[7] * t
    nx += v * b[6] - t * b[5] + y * c[6] - z * c[5]
    ny += t * b[4] - u * b[6] + z * c[4] - x * c[6]
    nz += u * b[5] - v * b[4] + x * c[5] - y * c[4]
    out[0] = (2 * nx - moved[0] * change) / D
    out[1] = (2 * ny - moved[1] * change) / D
    out[2] = (2 * nz - moved[2] * change) / D


@kernel_as_met
def _signed(screw: Float64, b: Float64, scale: float, out: Float64) -> None:
    """out (8): a bone's screw times `scale`, with the sign of the blend's hemisphere."""
    side = screw[0] * b[0] + screw[1] * b[1] + screw[2] * b[2] + screw[3] * b[3]
    for i in range(8):
        out[i] = -scale * screw[i] if side < 0 else scale * screw[i]


@kernel_as_met
def _error(point: Float64, target: Float32, screws: Float64, bones: Int64, w: Float64) -> float:
    """Squared error of one vertex over all frames; its bones and weights are (1,k)."""
    b = np.empty(8)
    moved = np.empty(3)
    total = 0.0
    for f in range(screws.shape[0]):
        blend_screws(bones, w, 0, screws[f], b)
        _moved(point, b, moved)
        for i in range(3):
            total += (point[i] + moved[i] - target[3 * f + i]) ** 2
    return total


@kernel_as_met
def _linearised(point: Float64, target: Float32, screws: Float64, bones: Int64, w: Float64, gram: Float64) -> None:
    """gram (k,k) = sum_f (e + J_k).(e + J_l) of one vertex."""
    n = bones.shape[1]
    b, c = np.empty(8), np.empty(8)
    moved = np.empty(3)
    rows = np.empty((n, 3))
    gram[:n, :n] = 0.0
    for f in range(screws.shape[0]):
        blend_screws(bones, w, 0, screws[f], b)
        D = _moved(point, b, moved)
        for k in range(n):
            _signed(screws[f, bones[0, k]], b, 1.0, c)
            _slope_along(point, b, c, moved, D, rows[k])
            for i in range(3):
                rows[k, i] += point[i] + moved[i] - target[3 * f + i]
        for k in range(n):
            for m in range(n):
                gram[k, m] += rows[k, 0] * rows[m, 0] + rows[k, 1] * rows[m, 1] + rows[k, 2] * rows[m, 2]


@kernel_as_met
def _weigh(
    points: Float64, targets: Float32, screws: Float64, bones: Int64, now: tuple[int, int, int], w: Float64, e: Float64
) -> None:
    """New weights of vertices start … stop in at most `steps` steps, in place, and their squared errors."""
    start, stop, steps = now
    n = bones.shape[1]
    gram, ones, best, step = np.zeros((1, n, n)), np.ones((1, n)), np.empty((1, n)), np.empty((1, n))
    count, work, marks = (
        np.full(1, n),
        np.empty((MAX_UNKNOWNS, MAX_UNKNOWNS + 1)),
        np.empty((2, MAX_UNKNOWNS), np.int64),
    )
    for v in range(start, stop):
        row, held = bones[v : v + 1], w[v : v + 1]
        error = _error(points[v], targets[v], screws, row, held)
        for _ in range(steps):
            before = error
            _linearised(points[v], targets[v], screws, row, held, gram[0])
            minimise_rows(gram, ones, count, best, work, marks)
            total = best.sum()
            part = 1.0
            for _ in range(HALVINGS):
                for k in range(n):
                    step[0, k] = held[0, k] + part * (best[0, k] / total - held[0, k])
                tried = _error(points[v], targets[v], screws, row, step)
                if tried < error:
                    error = tried
                    held[:] = step
                    break
                part *= 0.5
            if error > before * (1 - WORTH_A_STEP):
                break
        e[v] = error


@kernel_as_met
def _frame_equations(
    points: Float64, targets: Float32, screws: Float64, bones: Int64, weights: Float64, f: int, H: Float64, g: Float64
) -> float:
    """Normal equations of small screws before the bones of one frame; returns the squared error."""
    n = bones.shape[1]
    b, c, q = np.empty(8), np.empty(8), np.empty(8)
    moved, e = np.empty(3), np.empty(3)
    J = np.empty((n, 6, 3))
    total = 0.0
    for v in range(points.shape[0]):
        blend_screws(bones, weights, v, screws, b)
        D = _moved(points[v], b, moved)
        for i in range(3):
            e[i] = points[v, i] + moved[i] - targets[v, 3 * f + i]
            total += e[i] ** 2
        for k in range(n):
            if weights[v, k] == 0:
                continue
            _signed(screws[bones[v, k]], b, 0.5 * weights[v, k], q)
            for a in range(6):
                _small_screw(q, a, c)
                _slope_along(points[v], b, c, moved, D, J[k, a])
        for k in range(n):
            if weights[v, k] == 0:
                continue
            row = 6 * bones[v, k]
            for a in range(6):
                g[row + a] += J[k, a, 0] * e[0] + J[k, a, 1] * e[1] + J[k, a, 2] * e[2]
            for m in range(n):
                if weights[v, m] == 0:
                    continue
                column = 6 * bones[v, m]
                for a in range(6):
                    for d in range(6):
                        H[row + a, column + d] += (
                            J[k, a, 0] * J[m, d, 0] + J[k, a, 1] * J[m, d, 1] + J[k, a, 2] * J[m, d, 2]
                        )
    return total


@kernel_as_met
def _frame_error(points: Float64, targets: Float32, screws: Float64, bones: Int64, weights: Float64, f: int) -> float:
    """Squared error of one frame over all vertices."""
    b = np.empty(8)
    moved = np.empty(3)
    total = 0.0
    for v in range(points.shape[0]):
        blend_screws(bones, weights, v, screws, b)
        _moved(points[v], b, moved)
        for i in range(3):
            total += (points[v, i] + moved[i] - targets[v, 3 * f + i]) ** 2
    return total


@kernel_as_met
def _small_screw(q: Float64, axis: int, out: Float64) -> None:
    """out (8) = twice the change of q by a unit rotation (axis 0 … 2) or translation (axis 3 … 5) before it."""
    out[:] = 0.0
    i = axis % 3
    j, k = (i + 1) % 3, (i + 2) % 3
    first = 4 if axis >= 3 else 0  # a translation maps the real part into the dual part
    out[first + i] = q[3]
    out[first + j] = -q[k]
    out[first + k] = q[j]
    out[first + 3] = -q[i]
    if axis < 3:
        out[4 + i] = q[7]
        out[4 + j] = -q[4 + k]
        out[4 + k] = q[4 + j]
        out[7] = -q[4 + i]


@dataclass(slots=True)
class _State:
    """Current screws and influences."""

    screws: Float64  # (f,b,8)
    bones: Int64  # (v,k)
    weights: Float64  # (v,k)
    errors: Float64  # (v,)


def fit_dual_quaternion(problem: FitProblem, transforms: Float64, options: ModelFitOptions) -> ModelFit:
    """Refit a linear blend skin with rigid bones (f,b,3,4, in the problem's units) for dual quaternions."""
    begin = time.perf_counter()
    whole = _start(problem, transforms, options)
    history, stopped_by = _refine_bones(problem, whole, options)
    _solve_weights(problem, whole, STEPS, options.threads)
    _keep_largest(whole, options.influences)
    _solve_weights(problem, whole, STEPS, options.threads)
    history.append(problem.error_percent(whole.errors))
    report = FitReport(
        "model",
        time.perf_counter() - begin,
        iterations=len(history),
        converged=stopped_by == "tolerance",
        stopped_by=stopped_by,
        history=tuple(history),
    )
    skin = Skin(whole.bones.astype(np.int32), whole.weights.astype(np.float32))
    moved = transforms if options.keep_bones else transforms_from_dual_quaternions(whole.screws)
    return ModelFit(DualQuaternion(skin), moved, whole.errors, report)


def refit_dual_quaternion_bones(problem: FitProblem, deformer: Deformer, transforms: Float64, threads: int) -> Float64:
    """Rigid bones (f,b,3,4) for fixed weights."""
    skin = deformer.bone_weights()
    bones, weights = skin.bones.astype(np.int64), skin.weights.astype(np.float64)
    state = _State(dual_quaternions_from_transforms(transforms), bones, weights, np.empty(len(bones)))
    for _ in range(REFIT_ROUNDS):
        _solve_bones(problem, state, threads)
    return transforms_from_dual_quaternions(state.screws)


def _refine_bones(problem: FitProblem, whole: _State, options: ModelFitOptions) -> tuple[list[float], str]:
    """Alternating fit of bones and weights on a sample of the vertices; the new bones replace those of `whole`."""
    chosen = problem.sampled_vertices(SAMPLE, options.seed)
    few = problem if chosen is None else problem.subset(chosen)
    part = slice(None) if chosen is None else chosen
    state = _State(whole.screws, whole.bones[part].copy(), whole.weights[part].copy(), whole.errors[part].copy())
    _solve_weights(few, state, STEPS, options.threads)
    _keep_largest(state, options.influences)
    _solve_weights(few, state, 1, options.threads)
    history = [few.error_percent(state.errors)]
    for done in range(0 if options.keep_bones else options.rounds):
        _solve_bones(few, state, options.threads)
        _solve_weights(few, state, 1, options.threads)
        history.append(few.error_percent(state.errors))
        options.on_round((done + 1) / options.rounds, history[-1])
        if history[-1] > history[-2] * (1 - options.tolerance):
            return history, "tolerance"
    return history, "rounds"


def _start(problem: FitProblem, transforms: Float64, options: ModelFitOptions) -> _State:
    """SPARE candidates more than requested, with their linear weights."""
    n_candidates = min(MAX_INFLUENCES, options.influences + SPARE, transforms.shape[1])
    linear = select_influences(problem, transforms, n_candidates, thorough=True, threads=options.threads)
    dense = linear.dense(transforms.shape[1])
    # Slots that linear blending does not use get the bones of the least single-bone error.
    rank = np.where(dense > 0, -dense, squared_errors(problem, transforms, options.threads))
    chosen = np.argsort(rank, axis=1, kind="stable")[:, :n_candidates].astype(np.int64)
    found = np.ascontiguousarray(np.take_along_axis(dense, chosen, axis=1))
    screws, bones = dual_quaternions_from_transforms(transforms), np.ascontiguousarray(chosen)
    return _State(screws, bones, found, linear.errors.copy())


def _solve_weights(problem: FitProblem, state: _State, steps: int, threads: int) -> None:
    points, targets, screws, bones = problem.points, problem.targets, state.screws, state.bones

    def work(start: int, stop: int) -> None:
        _weigh(points, targets, screws, bones, (start, stop, steps), state.weights, state.errors)

    for_blocks(work, problem.n_vertices, BLOCK, threads)


def _keep_largest(state: _State, influences: int) -> None:
    """Keep the largest weights of each vertex, normalised."""
    order = np.argsort(-state.weights, axis=1, kind="stable")[:, :influences]
    state.bones = np.ascontiguousarray(np.take_along_axis(state.bones, order, axis=1))
    weights = np.take_along_axis(state.weights, order, axis=1)
    state.weights = weights / weights.sum(axis=1, keepdims=True)


def _solve_bones(problem: FitProblem, state: _State, threads: int) -> None:
    """One damped step of every bone in every frame; a frame whose error would grow gets a shorter step or none."""

    def work(start: int, stop: int) -> None:
        for f in range(start, stop):
            state.screws[f] = _solve_frame(problem, state, f)

    for_blocks(work, problem.n_frames, 1, threads)


def _solve_frame(problem: FitProblem, state: _State, f: int) -> Float64:
    screws: Float64 = state.screws[f]
    n = 6 * len(screws)
    H, g = np.zeros((n, n)), np.zeros(n)
    error = _frame_equations(problem.points, problem.targets, screws, state.bones, state.weights, f, H, g)
    diagonal = H.diagonal() + 1e-9 * H.trace() / n + 1e-300
    damping = DAMPING[0]
    while damping < DAMPING[1]:
        step: Float64 = np.asarray(np.linalg.solve(H + np.diag(damping * diagonal), -g), np.float64).reshape(-1, 6)
        moved = _stepped(screws, step)
        if _frame_error(problem.points, problem.targets, moved, state.bones, state.weights, f) < error:
            return moved
        damping *= 100
    return screws


def _stepped(screws: Float64, step: Float64) -> Float64:
    """(b,8) normalised screws after small screws (b,6)."""
    change = np.zeros_like(screws)
    column = np.empty(8)
    for b in range(len(screws)):
        for axis in range(6):
            _small_screw(screws[b], axis, column)
            change[b] += 0.5 * step[b, axis] * column
    return dual_quaternions_from_transforms(transforms_from_dual_quaternions(screws + change))


class _DualQuaternionFit:
    """`FamilyFit` of dual quaternions."""

    def fit(self, problem: FitProblem, transforms: Float64, options: ModelFitOptions) -> ModelFit:
        return fit_dual_quaternion(problem, transforms, options)

    def refit_bones(self, problem: FitProblem, deformer: Deformer, transforms: Float64, threads: int) -> Float64:
        return refit_dual_quaternion_bones(problem, deformer, transforms, threads)


DUAL_QUATERNION_FIT = _DualQuaternionFit()
