"""The error of every number of bones with every number of blends, from moments (the paper's figure 7).

    x(n,k) - x = sum_b D_b z_b^k + sum_b T_b d_b,        d_b = z_b^k - z_b

    E(n,k) = <D A^kk, D> + 2 <D, T A^dk> + <T A^dd, T>

D is the used minus the exact matrix with n active bones, z^k the weighted points of a bone with k blends; A^kk, A^dk,
A^dd are their pair moments. The last term does not depend on n, and D is zero for active bones.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, figure 7.

**Curve.** A level 0 … 1 is a fraction of the full cost, spent on what lowers the error most per cost:

    cost(n,k) = 1/2 (n - 1) / (N - 1) + 1/2 (ops(k) - ops(1)) / (ops(K) - ops(1))

From one bone and one blend to all of both, each step adds bones, or one blend, whichever lowers the error most per unit
of cost. Bones and blends each contribute half of the full cost. Every bone on the way is a knot, so one fades at a
time.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4 ("a value representing the % of maximum
computation") and table 2.
Differs from the paper: it does not specify how the value is split.

**Choice.** `SkinErrors` is the grid of errors from which levels are chosen.

For a tolerance, the cheapest pair of bones and blends that keeps it in every clip is chosen, by the paper's count of
operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.core.parallel import single_threaded_blas
from osteon.lod.bone_order import BoneOrder
from osteon.lod.progressive_skin import BlendOrder, LevelCurve, ProgressiveSkin
from osteon.lod.search.fit_orders import FrameRun, in_units, left_out, runs_of
from osteon.lod.search.pair_moments import frame_factor, rows_of, stacked_holds
from osteon.lod.search.skin_motion import SkinMotion, read_skin_motion, visible_weights

#: Operations per vertex with 1 to 4 blends (table 2); every further blend costs as much as the fourth.
OPERATIONS = (20.0, 35.0, 43.0, 50.0)


def vertex_operations(n_blends: int) -> Float64:
    """(k,) operations per vertex with 1 … k blends."""
    beyond = OPERATIONS[-1] + (OPERATIONS[-1] - OPERATIONS[-2]) * np.arange(1, max(1, n_blends - 3))
    return np.concatenate([OPERATIONS, beyond])[:n_blends]


def fit_curve(errors: Float64, samples: int, reach_of: Callable[[list[tuple[int, int]]], Float64]) -> LevelCurve:
    """The curve of a clip from squared errors (n+1,k) with 0 … n bones and 1 … k blends, sums of so many samples.

    `reach_of` returns the reaches of the steps to all knots, which are pairs of bones and of blends less one.
    """
    n_bones, n_blends = len(errors) - 1, errors.shape[1]
    costs = _costs(n_bones, n_blends)
    here, knots = (1, 0), [(1, 0)]
    if (n_bones, n_blends) == (1, 1):
        return LevelCurve(
            np.array([0.0, 1.0]), np.ones(2), np.ones(2), np.sqrt(errors[[1, 1], 0] / samples), np.zeros(2)
        )
    while here != (n_bones, n_blends - 1):
        before, here = here, _next_knot(errors, costs, here)
        knots += [(n, here[1]) for n in range(before[0] + 1, here[0])] + [here]
    n, k = np.array(knots).T
    return LevelCurve(costs[n, k], n.astype(np.float64), k + 1.0, np.sqrt(errors[n, k] / samples), reach_of(knots))


def _costs(n_bones: int, n_blends: int) -> Float64:
    """(n+1,k) the fraction of the full cost, from 0 for one bone and one blend to 1."""
    bones = np.maximum(np.arange(n_bones + 1) - 1, 0) / max(1, n_bones - 1)
    operations = vertex_operations(n_blends)
    blends = (operations - operations[0]) / max(1.0, float(operations[-1] - operations[0]))
    shares = np.array([n_bones > 1, n_blends > 1], np.float64)
    shares /= max(1.0, shares.sum())
    whole: Float64 = shares[0] * bones[:, None] + shares[1] * blends
    return np.asarray(whole / max(whole[-1, -1], 1e-300))


def _next_knot(errors: Float64, costs: Float64, here: tuple[int, int]) -> tuple[int, int]:
    """The next count of bones, or one more blend, whichever lowers the error most per cost; of equals the cheaper."""
    n, k = here
    ahead = [(m, k) for m in range(n + 1, len(errors))] + ([(n, k + 1)] if k + 1 < errors.shape[1] else [])
    gains = [(errors[here] - errors[to]) / (costs[to] - costs[here]) for to in ahead]
    best = max(gains)
    return min((to for to, gain in zip(ahead, gains, strict=True) if gain >= best), key=lambda to: costs[to])


@dataclass(frozen=True, slots=True)
class BlendMoments:
    """Pair moments of a number of blends, as forms (4n,4n)."""

    kept: Float64  # A^kk
    crossed: Float64  # A^dk
    lost: Float64  # A^dd


def blend_moments(motion: SkinMotion, blends: BlendOrder) -> tuple[BlendMoments, ...]:
    """The moments of 1 … k blends; the motion's slots must be in the order of the blends."""
    whole = stacked_holds(motion.owners, motion.holds, motion.n_bones)
    own = blends.skin.weights.astype(np.float64)
    found = []
    for k in range(1, blends.n_blends + 1):
        parts = own @ blends.shares(k) / np.where(own != 0, own, 1)
        some = stacked_holds(motion.owners, parts[:, :, None] * motion.holds, motion.n_bones)
        change = some - whole
        forms = (some.T @ some, change.T @ some, change.T @ change)
        found.append(BlendMoments(*(form.toarray() for form in forms)))
    return tuple(found)


def level_errors(motion: SkinMotion, moments: tuple[BlendMoments, ...], order: BoneOrder, run: FrameRun) -> Float64:
    """(n+1,k) squared errors with 0 … n bones allowed and 1 … k blends, in units of the model."""
    exact, chain = frame_factor(motion.transforms[run.start : run.stop]), in_units(motion, order)
    rows = rows_of(exact[:, :-1])
    errors = np.empty((order.n_ordered + 1, len(moments)))
    with single_threaded_blas():  # its products are small
        slopes = [rows @ m.crossed for m in moments]
        errors[:] = [float(np.einsum("ri,ri->", rows @ m.lost, rows)) for m in moments]
        for count in np.unique(order.active_counts):
            left, differences = left_out(chain, exact, int(count))
            columns = (4 * left[:, None] + np.arange(4)).reshape(-1)
            used = rows_of(differences)
            for k, m in enumerate(moments):
                slope = used @ m.kept[np.ix_(columns, columns)] + 2 * slopes[k][:, columns]
                errors[count, k] += float(np.einsum("ri,ri->", slope, used))
    return motion.squared_unit * np.maximum(errors[order.active_counts], 0)


@dataclass(frozen=True, slots=True)
class SkinErrors:
    """Errors by the numbers of bones and blends."""

    clips: tuple[str, ...]  # names; the last is "", one order for all clips
    squared: tuple[Float64, ...]  # (n+1,k) of each: sums over frames and vertices, in units of the model
    samples: tuple[int, ...]  # frames times vertices of each
    bases: tuple[float, ...]  # error of each with only the root active, and copied by all
    diagonal: float  # size of the posed body
    #: (n+1,k) root mean square distance of the worst clip where one order serves all clips, over vertices or over areas
    by_one_order: Float64

    @property
    def n_bones(self) -> int:
        return len(self.squared[0]) - 1

    @property
    def n_blends(self) -> int:
        return int(self.squared[0].shape[1])

    def rms(self, clip: int) -> Float64:
        """(n+1,k) root mean square distance of a clip, as a fraction of the body's size."""
        return np.asarray(np.sqrt(self.squared[clip] / self.samples[clip]) / (self.diagonal or 1.0))

    @property
    def worst_rms(self) -> Float64:
        """(n+1,k) the same of the worst clip, each clip by its own order."""
        return np.asarray(np.max([self.rms(clip) for clip in range(len(self.clips) - 1)], axis=0))

    def share(self, clip: int) -> Float64:
        """(n+1,k) squared error relative to that with only the root active (figure 7)."""
        base = self.bases[clip]
        return np.asarray(self.squared[clip] / base if base > 0 else np.zeros_like(self.squared[clip]))

    def cheapest(self, tolerance: float, most: tuple[int, int]) -> tuple[int, int]:
        """Bones and blends, no more than `most`, with an RMS of at most the tolerance in every clip; `most` if none.

        One order serves all clips, as in a file of one level.
        """
        bones, blends = most
        operations = vertex_operations(self.n_blends)
        spread = max(1.0, float(operations[-1] - operations[0]))
        cost = np.arange(self.n_bones + 1)[:, None] / max(1, self.n_bones) + (operations - operations[0]) / spread
        allowed = self.by_one_order <= tolerance
        allowed[0] = allowed[bones + 1 :] = False
        allowed[:, blends:] = False
        if not allowed.any():
            return most
        n, k = np.unravel_index(int(np.where(allowed, cost, np.inf).argmin()), cost.shape)
        return int(n), int(k) + 1

    def fewest_blends(self, tolerance: float) -> int:
        """The fewest blends that alone stay within a tolerance."""
        return int(np.flatnonzero(self.by_one_order[-1] <= tolerance)[0]) + 1 if tolerance >= 0 else self.n_blends

    def curve_of_all(self) -> LevelCurve:
        """The curve for the order of all clips; nothing plays it, so its steps have no reach."""
        return fit_curve(self.squared[-1], self.samples[-1], lambda knots: np.zeros(len(knots)))


def skin_errors(model: SkinnedModel, skin: ProgressiveSkin, *, by_area: bool = False) -> SkinErrors:
    """The errors of a model's orders, from moments; by area, those of one order weigh vertices by the area around."""
    motion = read_skin_motion(model, skin.blends.skin)
    moments, orders = blend_moments(motion, skin.blends), (*skin.orders, skin.all_clips)
    runs = runs_of(motion)
    grids = [level_errors(motion, moments, order, run) for order, run in zip(orders, runs, strict=True)]
    if by_area:
        motion = motion.weighed(visible_weights(model))
        moments = blend_moments(motion, skin.blends)
    known = len(runs) == 2 and not by_area
    shared = grids[-1:] if known else [level_errors(motion, moments, skin.all_clips, run) for run in runs[:-1]]
    samples = [order.samples for order in skin.orders] if len(runs) > 2 else [skin.all_clips.samples]
    squares = [grid / count for grid, count in zip(shared, samples, strict=True)]
    return SkinErrors(
        tuple(order.clip for order in orders),
        tuple(grids),
        tuple(order.samples for order in orders),
        tuple(order.base for order in orders),
        model.diagonal,
        np.sqrt(np.max(squares, axis=0)) / (model.diagonal or 1.0),
    )
