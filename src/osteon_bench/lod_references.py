"""References for progressive hierarchies: the paper's basic form as printed, all sets of bones, and direct posing.

The basic form keeps the parents of the rig, and its kinematics is used literally: an active bone has its own local
transformation, an inactive one the identity (copy) or the mean over the clip, and each is multiplied with its parent's
matrix, exact or not. At each step the bone is added that lowers the error most.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.kernels import kernel_as_met
from osteon.core.kinematics import parents_first
from osteon.core.parallel import single_threaded_blas
from osteon.core.transforms import compose, identity, invert, nearest_rotation
from osteon.lod.search.fit_orders import FrameRun, mean_transform
from osteon.lod.search.forward_search import start_following
from osteon.lod.search.merge_search import MergeProblem
from osteon.lod.search.pair_moments import error_of_matrices
from osteon.lod.search.skin_motion import SkinMotion

#: Sweeps over the bones of a set, in which each takes its best parent and offset.
SWEEPS = 3


def literal_basic_error(motion: SkinMotion, pairs: Float64, run: FrameRun, count: int, *, mean: bool) -> float:
    """The squared error of the basic form with so many active bones, in units of the body."""
    exact = motion.transforms[run.start : run.stop]
    local, default = exact.copy(), identity(motion.n_bones)
    for b, above in enumerate(motion.parents.tolist()):
        if above >= 0:
            local[:, b] = compose(invert(exact[:, above]), exact[:, b])
        if mean:
            default[b] = mean_transform(local[:, b], motion.pivots[b])
    order = parents_first(motion.parents.tolist())

    def error(active: set[int]) -> float:
        posed = np.empty_like(exact)
        for b in order:
            own, above = local[:, b] if b in active else default[b], int(motion.parents[b])
            posed[:, b] = own if above < 0 else compose(posed[:, above], own)
        return error_of_matrices(pairs, posed - exact)

    with single_threaded_blas():  # its products are small
        active = {min(motion.roots.tolist(), key=lambda root: error({root}))}
        while len(active) < count:
            active.add(min(set(range(motion.n_bones)) - active, key=lambda b: error(active | {b})))
        return error(active)


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The errors of all sets of active bones, a lower bound of all orders."""

    sets: Float64  # (n,) the least error of 0 … n-1 active bones, in units of the body
    orders: float  # of the order that is closest to these at some counts: the largest ratio of errors


def exhaust(problem: MergeProblem, counts: set[int]) -> Exhausted:
    """All sets of bones, and from these all orders, compared at some counts."""
    n = problem.n_bones
    errors = {s: _set_error(problem, s) for count in range(n) for s in map(frozenset, combinations(range(n), count))}
    least = np.array([min(e for s, e in errors.items() if len(s) == count) for count in range(n)])
    worst = {frozenset[int](): 1.0}
    for count in range(1, n):
        for s in map(frozenset, combinations(range(n), count)):
            over = errors[s] / max(least[count], 1e-300) if count in counts else 1.0
            worst[s] = max(over, min(worst[s - {b}] for b in s))
    return Exhausted(least, min((w for s, w in worst.items() if len(s) == n - 1), default=1.0))


def _set_error(problem: MergeProblem, active: frozenset[int]) -> float:
    """The error of a set of active bones, every other bone with the best parent and offset."""
    n = problem.n_bones
    state, parents = start_following(problem), np.array([*sorted(active), n])
    for _ in range(SWEEPS):
        for b in sorted(set(range(n)) - active):
            offsets, costs = state.trials(np.full(len(parents), b), parents)
            best = int(costs.argmin())
            if state.leaders[b] == b or costs[best] < state.prices(np.array([b]))[0]:
                state.follow(b, int(parents[best]), offsets[best])
    return max(state.error, 0.0)


@kernel_as_met
def _sum_pairs(transforms: Float64, owners: Int64, holds: Float64, wrong: Float64, parent: int, out: Float64) -> None:
    """out (b,3,4): the sums over vertices and frames to which the offset of every bone on a parent is fitted."""
    out[:] = 0.0
    aim = np.empty(3)
    for v in range(owners.shape[0]):
        for k in range(owners.shape[1]):
            b, z = owners[v, k], holds[v, k]
            if z[3] == 0.0 or b == parent:
                continue
            for f in range(transforms.shape[0]):
                for i in range(3):
                    aim[i] = transforms[f, b, i, 3] * z[3] - transforms[f, parent, i, 3] * z[3] - wrong[f, v, i]
                    for j in range(3):
                        aim[i] += transforms[f, b, i, j] * z[j]
                for i in range(3):
                    held = 0.0
                    for j in range(3):
                        held += transforms[f, parent, j, i] * aim[j]
                    for j in range(4):
                        out[b, i, j] += held * z[j]


@kernel_as_met
def _pose_pairs(
    transforms: Float64, owners: Int64, holds: Float64, wrong: Float64, parent: int, offsets: Float64, out: Float64
) -> None:
    """out (b): the change of the squared error if a bone alone followed the parent by its offset, by posing."""
    out[:] = 0.0
    carried = np.empty(3)
    for v in range(owners.shape[0]):
        for k in range(owners.shape[1]):
            b, z = owners[v, k], holds[v, k]
            if z[3] == 0.0 or b == parent:
                continue
            for i in range(3):
                carried[i] = offsets[b, i, 3] * z[3]
                for j in range(3):
                    carried[i] += offsets[b, i, j] * z[j]
            for f in range(transforms.shape[0]):
                for i in range(3):
                    moved = wrong[f, v, i] + (transforms[f, parent, i, 3] - transforms[f, b, i, 3]) * z[3]
                    for j in range(3):
                        moved += transforms[f, parent, i, j] * carried[j] - transforms[f, b, i, j] * z[j]
                    out[b] += moved * moved - wrong[f, v, i] * wrong[f, v, i]


def direct_search_seconds(motion: SkinMotion, parents: int) -> float:
    """The estimated time of a backward search that sums over vertices and frames for each pair of bones.

    Its first step is timed for some of the parents. Step k has n - k of them, and each processes all slots of all
    vertices once to fit the offsets and once to pose. Clips are searched one after the other, so frames add up.
    """
    n = motion.n_bones
    wrong = np.zeros((len(motion.transforms), motion.n_vertices, 3))
    _direct_step(motion, motion.transforms[:1], wrong[:1], 0)  # compiles
    start = time.perf_counter()
    for parent in range(parents):
        _direct_step(motion, motion.transforms, wrong, parent)
    return (time.perf_counter() - start) / parents * n * (n + 1) / 2


def _direct_step(motion: SkinMotion, transforms: Float64, wrong: Float64, parent: int) -> Float64:
    """(b,) the increase of the error if each bone follows one parent."""
    sums, costs, offsets = np.empty((motion.n_bones, 3, 4)), np.empty(motion.n_bones), identity(motion.n_bones)
    _sum_pairs(transforms, motion.owners, motion.holds, wrong, parent, sums)
    offsets[..., :3] = nearest_rotation(sums[..., :3])
    _pose_pairs(transforms, motion.owners, motion.holds, wrong, parent, offsets, costs)
    return costs
