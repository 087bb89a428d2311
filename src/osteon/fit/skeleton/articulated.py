"""The articulated fit: constant bone lengths, rotations only, translation at the root.

    minimise over R, t, u, c, w:   sum_v sum_f || t^f + sum_b R_b^f y_vb + sum_j s_vj u_j^f - x_v^f ||^2
                                   + f sum_j h_j || c_j - o_j ||^2 + sum_j g_j sum_f || u_j^f ||^2,
    y_vb = w_vb p_v - s_vb c_b + sum_(k child of b) s_vk c_k

| symbol | name |
| --- | --- |
| R, t | rotations of the bones in the world (f,b,3,3); the rest pose's origin, moved as a child of the root (f,3) |
| c | joints (b,3) in the rest pose; bone b rotates about c_b, which moves with its parent; the root's has no effect |
| w, s | weights (v,b), and those of a bone with its descendants: s_vb = sum of w_vd over d in the subtree of b |
| u, g | translations of sliding joints (f,j,3), zero for all others, and a small regularisation towards zero |
| y | arms (v,3b): the part of a vertex that each bone rotates |
| o, h | places (b,3) of the joints of free sections, and the strength of the regularisation towards them |

A bone b takes rest points to T_b p = R_b (p - c_b) + x_b with x_b = x_parent + R_parent (c_b - c_parent). Expanded,
positions are linear in all R, and the rotation of a bone moves its descendants. A round has three steps, each an exact
minimiser:
- one bone after the other: R_b = the rotation closest to the residual of the others against its arms; t is the mean;
- all joints at once: positions are linear in c with s_vj (R_parent - R_j)^f; the sums over vertices and over frames
  separate, so the matrix is a product of two small ones, entry by entry;
- weights by `select_influences`.
Extrapolation as in `fit/skin/refine.py`.

Notes, E over that of free sections / joints within 5 % (precision, recall), by the regularisation of joints. Horse, 25
bones, and Fox: HOLD alone 1e-4 1.22 / 0.72, 0.81, one joint 0.7 diagonals outside the body; 1e-3 1.32 / 0.83, 0.88;
with a room of 2.5 % for all 1.30 / 0.83, 0.88; of 1 to 6 % by their slack 1.26 / 0.89, 0.94. The chicken, whose parts
stretch away from each other, has 1.33 with joints far outside its body, 2.1 to 2.5 with joints inside it (12 bones).
Horse, E by the tolerance of the stopping test: 1e-3 2.63 %, 3e-4 2.58 %.

Based on: Reid, Jacka, Gain and Merry, Mesh Approximation for Animated Characters, section 3.1; the block descent is
that of `fit/skin/solve_bones.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.kernels import kernel
from osteon.core.parallel import available_threads, for_blocks
from osteon.fit.problem import FitProblem
from osteon.fit.skeleton.joint_tree import JointTree
from osteon.fit.skin.influences import Influences, select_influences
from osteon.fit.skin.procrustes import rotation_to, rotations_of

#: Regularisation of joints towards their places in free sections, and its largest factor for precisely known joints.
HOLD, PRECISE = 1e-4, 100.0
#: Slack of an ordinary joint, in diagonals per radian.
ORDINARY_SLACK = 0.005
#: Ordinary joints that move farther than this fraction of the diagonal are regularised more strongly, at most TIGHTER
#: times per round; precise joints have a smaller range, slack ones a larger one.
FARTHEST, TIGHTER, REACHES = 0.02, 4, (0.5, 3.0)
#: Least number of vertices in the regularisation of a joint, which may have none in its subtree.
NOTHING = 1e-6
#: Regularisation of joints that do not move: sliding ones, whose place their translation would make up for; and of
#: these translations, of their own weight.
FIXED, SLIDE_HOLD = 1e6, 1e-3
#: Sweeps over the bones in a round.
SWEEPS = 3
#: Rounds on all vertices at the end.
FULL_ROUNDS = 6
#: Rounds of rotations for new poses of a finished skeleton.
REFIT_ROUNDS = 12
#: The largest extrapolation.
MAX_BETA = 1.0


@dataclass(frozen=True, slots=True)
class ArticulatedOptions:
    """Options of the articulated fit."""

    influences: int = 4
    rounds: int = 60
    tolerance: float = 3e-4  # stop when a round lowers the error by less than this fraction
    sample: int = 4_000  # vertices in the first rounds
    thorough: int = 1  # thorough searches for weights before the last rounds, on all vertices
    seed: int = 0
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Articulation:
    """A tree of joints and its motion, in problem units."""

    parents: Int64  # (b,) parents before children, -1 at the root, which is first
    joints: Float64  # (b,3) in the rest pose
    rotations: Float64  # (f,b,3,3) in the world
    shift: Float64  # (f,3) the rest pose's origin, moved as a child of the root
    slides: Float64 | None = None  # (f,b,3) translations of sliding joints in the world, zero for others; None: no such

    def transforms(self) -> Float64:
        """(f,b,3,4) posed_from_rest of every bone."""
        out = np.empty((*self.rotations.shape[:2], 3, 4))
        out[..., :3] = self.rotations
        places = np.empty((*self.rotations.shape[:2], 3))
        for b, parent in enumerate(self.parents.tolist()):
            if parent < 0:
                places[:, b] = self.shift + self.rotations[:, b] @ self.joints[b]
            else:
                arm = self.joints[b] - self.joints[parent]
                places[:, b] = places[:, parent] + self.rotations[:, parent] @ arm
                if self.slides is not None:
                    places[:, b] += self.slides[:, b]
            out[:, b, :, 3] = places[:, b] - self.rotations[:, b] @ self.joints[b]
        return out


@dataclass(frozen=True, slots=True)
class LocalWeights:
    """Costs and regularisation that keep weights near those of the free sections."""

    costs: Float64  # (v,b) of weights, by the distance from their bones along the surface
    wanted: Float64  # (v,b) weights of the free sections
    strength: float  # of the regularisation towards them

    def subset(self, vertices: Int32) -> LocalWeights:
        return LocalWeights(self.costs[vertices], self.wanted[vertices], self.strength)


@dataclass(frozen=True, slots=True)
class ArticulatedFit:
    """An articulation with the weights of its bones."""

    articulation: Articulation
    influences: Influences
    history: tuple[float, ...]  # E % after each round
    stopped_by: str


@kernel("f8.2r f8.2r f8.3 i8 i8 i8 i8 f8.3 f8.3")
def _rotate_in_turn(
    yy: Float64,
    yx: Float64,
    stacked: Float64,
    n_bones: int,
    start: int,
    stop: int,
    sweeps: int,
    three: Float64,
    four: Float64,
) -> None:
    """Rotations of frames start … stop, bone after bone, then translations; stacked (f,3b+s+1,3) holds R_b', u_j', t'.

    yy and yx (3b+s+1,3f) are products of the arms, of the s columns of sliding joints and of a last column of ones;
    three, four: scratch.
    """
    n_rows = stacked.shape[1]
    C, R = three[0], three[1]
    N, V = four[0], four[1]
    for f in range(start, stop):
        for _ in range(sweeps):
            for b in range(n_bones):
                size = yy[3 * b, 3 * b] + yy[3 * b + 1, 3 * b + 1] + yy[3 * b + 2, 3 * b + 2]
                if size < 1e-12:
                    continue
                for i in range(3):
                    row = 3 * b + i
                    for j in range(3):
                        left = yx[row, 3 * f + j]
                        for k in range(n_rows):
                            left -= yy[row, k] * stacked[f, k, j]
                        for k in range(3):
                            left += yy[row, 3 * b + k] * stacked[f, 3 * b + k, j]
                        C[j, i] = left
                rotation_to(C, N, V, R)
                for i in range(3):
                    for j in range(3):
                        stacked[f, 3 * b + i, j] = R[j, i]
            for row in range(3 * n_bones, n_rows):
                for j in range(3):
                    left = yx[row, 3 * f + j]
                    for k in range(n_rows):
                        left -= yy[row, k] * stacked[f, k, j]
                    stacked[f, row, j] += left / yy[row, row]


class _Descent:
    """Constants of the descent for one problem and one tree."""

    def __init__(
        self, problem: FitProblem, tree: JointTree, options: ArticulatedOptions, local: LocalWeights | None = None
    ) -> None:
        self.local = local
        self.problem, self.parents, self.places, self.options = problem, tree.parents, tree.places, options
        parents = tree.parents
        self.hold = HOLD * np.clip((ORDINARY_SLACK / np.maximum(tree.slack, 1e-12)) ** 2, 1, PRECISE)
        self.sliding = np.flatnonzero(tree.sliding)
        self.hold[self.sliding] = FIXED
        self.hold[tree.slack <= 0] = FIXED  # placed by the user, or moved inside the body
        self.threads = available_threads(options.threads)
        n_bones = len(parents)
        self.subtree = np.eye(n_bones)  # (b,b) 1 where the first is the second or its descendant
        for b in range(n_bones - 1, 0, -1):
            self.subtree[:, parents[b]] += self.subtree[:, b]
        self.targets = problem.targets.astype(np.float64)
        self.tightened = False  # whether the regularisation has grown since the last check
        reach = np.clip(tree.slack / ORDINARY_SLACK, *REACHES)
        self.farthest = FARTHEST * reach * float(np.linalg.norm(np.ptp(problem.points[:, :3], axis=0)))

    def arms(self, weights: Float64, joints: Float64) -> Float64:
        """(v,3b+s+1) y, the weights of the branches of sliding joints, and a column of ones."""
        n_vertices, n_bones = weights.shape
        carried_weights = weights @ self.subtree
        arms = weights[:, :, None] * self.problem.points[:, None, :3]
        carried = np.zeros((n_bones, n_bones, 3))  # change of every bone's arm per bone's subtree weight
        for b in range(1, n_bones):
            carried[b, b] -= joints[b]
            carried[b, self.parents[b]] += joints[b]
        arms += (carried_weights @ carried.reshape(n_bones, -1)).reshape(arms.shape)
        slides = carried_weights[:, self.sliding]
        return np.concatenate([arms.reshape(n_vertices, -1), slides, np.ones((n_vertices, 1))], axis=1)

    def solve_rotations(self, weights: Float64, state: Articulation) -> Articulation:
        """New rotations and translations for these weights and joints."""
        arms = self.arms(weights, state.joints)
        yy, yx = arms.T @ arms, arms.T @ self.targets
        n_frames, n_bones = state.rotations.shape[:2]
        n_rows = len(yy)
        held = np.arange(3 * n_bones, n_rows - 1)
        yy[held, held] *= 1 + SLIDE_HOLD
        stacked = np.zeros((n_frames, n_rows, 3))
        stacked[:, : 3 * n_bones] = state.rotations.swapaxes(2, 3).reshape(n_frames, -1, 3)
        if state.slides is not None:
            stacked[:, held] = state.slides[:, self.sliding]
        stacked[:, -1] = state.shift

        def work(start: int, stop: int) -> None:
            _rotate_in_turn(yy, yx, stacked, n_bones, start, stop, SWEEPS, np.empty((2, 3, 3)), np.empty((2, 4, 4)))

        for_blocks(work, n_frames, 8, self.threads)
        found = stacked[:, : 3 * n_bones].reshape(n_frames, n_bones, 3, 3).swapaxes(2, 3)
        slides = None
        if len(self.sliding):
            slides = np.zeros((n_frames, n_bones, 3))
            slides[:, self.sliding] = stacked[:, held]
        return replace(state, rotations=np.ascontiguousarray(found), shift=stacked[:, -1].copy(), slides=slides)

    def solve_joints(self, weights: Float64, state: Articulation) -> Float64:
        """Joints (b,3) for these weights, rotations and translations; those of the root and of sliders are fixed."""
        rotations, shift = state.rotations, state.shift
        n_frames, n_bones = rotations.shape[:2]
        points, parents = self.problem.points[:, :3], self.parents
        carried_weights = (weights @ self.subtree)[:, 1:]
        apart = rotations[:, parents[1:]] - rotations[:, 1:]  # (f,j,3,3)
        # sum_v s_vj (x_v - t - sum_k s_vk u_k - sum_b w_vb R_b p_v), for all frames
        weighed = (weights[:, :, None] * points[:, None]).reshape(len(points), -1)
        blended = (carried_weights.T @ weighed).reshape(-1, n_bones, 3)
        over_vertices = carried_weights.T @ carried_weights
        left = (carried_weights.T @ self.targets).reshape(-1, n_frames, 3)
        left -= carried_weights.sum(axis=0)[:, None, None] * shift
        if state.slides is not None:
            left -= np.einsum("jk,fki->jfi", over_vertices, state.slides[:, 1:], optimize=True)
        left -= np.einsum("fbki,jbi->jfk", rotations, blended, optimize=True)
        right = np.einsum("fjki,jfk->ji", apart, left, optimize=True)
        flat = np.ascontiguousarray(apart.transpose(1, 3, 0, 2)).reshape(3 * (n_bones - 1), -1)
        normal = flat @ flat.T * np.repeat(np.repeat(over_vertices, 3, axis=0), 3, axis=1)
        lighter = np.minimum(
            over_vertices.diagonal(), ((1 - carried_weights) ** 2).sum(axis=0)
        )  # of the two sides of the joint
        joints = self.places.copy()
        for _ in range(TIGHTER):
            hold = self.hold[1:] * n_frames * np.maximum(lighter, NOTHING)
            held = normal + np.diag(np.repeat(hold, 3))
            found = np.linalg.solve(held, (right + hold[:, None] * self.places[1:]).ravel())
            joints[1:] = found.reshape(-1, 3)
            strayed = np.linalg.norm(joints - self.places, axis=1) > self.farthest
            if not strayed.any():
                break
            self.hold[strayed] *= 4
            self.tightened = True
        return joints

    def solve_weights(
        self, articulation: Articulation, earlier: Influences | None, *, thorough: bool = False
    ) -> Influences:
        return select_influences(
            self.problem,
            articulation.transforms(),
            self.options.influences,
            earlier=earlier,
            thorough=thorough,
            strength=0.0 if self.local is None else self.local.strength,
            wanted=None if self.local is None else self.local.wanted,
            penalty=None if self.local is None else self.local.costs,
            threads=self.threads,
        )

    def round(self, state: Articulation, influences: Influences) -> Articulation:
        """Rotations and translations, then joints, for these weights."""
        weights = influences.dense(len(self.parents))
        found = self.solve_rotations(weights, state)
        return replace(found, joints=self.solve_joints(weights, found)) if len(self.parents) > 1 else found


def _step_ahead(now: Articulation, last: Articulation, beta: float) -> Articulation:
    rotations = rotations_of(now.rotations + beta * (now.rotations - last.rotations))
    joints, shift = (a + beta * (a - b) for a, b in ((now.joints, last.joints), (now.shift, last.shift)))
    slides = now.slides
    if now.slides is not None and last.slides is not None:
        slides = now.slides + beta * (now.slides - last.slides)
    return Articulation(now.parents, joints, rotations, shift, slides)


def fit_articulated(
    problem: FitProblem,
    tree: JointTree,
    start: Articulation,
    influences: Influences,
    *,
    local: LocalWeights | None = None,
    options: ArticulatedOptions | None = None,
    on_round: Callable[[float, float], None] = lambda fraction, error_percent: None,
) -> ArticulatedFit:
    """Rotations, joints and weights from a first guess; `on_round` receives the progress and E %."""
    options = options or ArticulatedOptions()
    descent = _Descent(problem, tree, options, local)
    chosen = problem.sampled_vertices(options.sample, options.seed)
    if chosen is None:
        fit = _descend(descent, start, influences, options.rounds, on_round)
    else:
        coarse = _Descent(problem.subset(chosen), tree, options, None if local is None else local.subset(chosen))
        some = Influences(influences.bones[chosen], influences.weights[chosen], influences.errors[chosen])
        fit = _descend(coarse, start, some, options.rounds, on_round)
        fit = replace(fit, influences=descent.solve_weights(fit.articulation, influences))
        descent.hold = coarse.hold
    for _ in range(options.thorough):
        weights = descent.solve_weights(fit.articulation, fit.influences, thorough=True)
        more = _descend(descent, fit.articulation, weights, FULL_ROUNDS, on_round)
        fit = replace(more, history=fit.history + more.history)
    weights = descent.solve_weights(fit.articulation, fit.influences, thorough=True)
    return replace(fit, influences=weights, history=(*fit.history, problem.error_percent(weights.errors)))


def fit_articulated_poses(
    problem: FitProblem, parents: Int64, joints: Float64, influences: Influences, start: Float64, *, threads: int = 1
) -> Articulation:
    """A finished skeleton in other poses: its rotations and shift, from initial transforms (f,b,3,4)."""
    none = np.zeros(len(parents))
    tree = JointTree(np.arange(len(parents)), parents, joints, joints, none, none, none > 0)
    descent = _Descent(problem, tree, ArticulatedOptions(threads=threads))
    weights = influences.dense(len(parents))
    state = Articulation(parents, joints, np.ascontiguousarray(start[..., :3]), start[:, 0, :, 3].copy())
    for _ in range(REFIT_ROUNDS):
        state = descent.solve_rotations(weights, state)
    return state


def _descend(
    descent: _Descent,
    start: Articulation,
    influences: Influences,
    rounds: int,
    on_round: Callable[[float, float], None],
) -> ArticulatedFit:
    """Up to `rounds` rounds from a start and its weights. The last one is not extrapolated."""
    options, problem = descent.options, descent.problem
    state = last = start
    errors, history, beta, stopped_by = [np.inf], [], MAX_BETA, "rounds"
    for done in range(rounds):
        solved = descent.round(state, influences)
        ahead = solved if done == 0 else _step_ahead(solved, last, beta)
        found = descent.solve_weights(ahead, influences)
        if ahead is not solved:
            beta = min(1.1 * beta, MAX_BETA)
            if found.squared_error > errors[-1] or done == rounds - 1:
                ahead, beta = solved, beta / 2
                found = descent.solve_weights(ahead, influences)
        state, last, influences = ahead, solved, found
        if descent.tightened:  # the error may rise with the regularisation
            errors, descent.tightened = [np.inf], False
        errors.append(influences.squared_error)
        history.append(problem.error_percent(influences.errors))
        on_round((done + 1) / rounds, history[-1])
        if len(errors) > 5 and errors[-1] > errors[-5] * (1 - options.tolerance) ** 8:
            stopped_by = "tolerance"
            break
    return ArticulatedFit(state, influences, tuple(history), stopped_by)
