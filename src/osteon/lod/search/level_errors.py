"""The error of every number of bones with every number of blends, from moments alone (the paper's figure 7).

    x(n,k) - x = sum_b D_b z_b^k + sum_b T_b d_b,        d_b = z_b^k - z_b

    E(n,k) = <D A^kk, D> + 2 <D, T A^dk> + <T A^dd, T>

D is used minus true matrix with n active bones, z^k what hangs on a bone with k blends; A^kk, A^dk, A^dd are the pair
moments of these. The last term does not depend on n, and D is zero for active bones.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, figure 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.parallel import single_threaded_blas
from osteon.lod.blend_order import BlendOrder
from osteon.lod.bone_order import BoneOrder
from osteon.lod.level_pose import Fade, pose_chain
from osteon.lod.search.fit_orders import FrameRun, in_units
from osteon.lod.search.pair_moments import rows_of, stacked_holds
from osteon.lod.search.skin_motion import SkinMotion

__all__ = ["BlendMoments", "blend_moments", "level_errors"]


@dataclass(frozen=True, slots=True)
class BlendMoments:
    """Pair moments of some number of blends, as forms (4n,4n)."""

    kept: Float64  # A^kk
    crossed: Float64  # A^dk
    lost: Float64  # A^dd


def blend_moments(motion: SkinMotion, blends: BlendOrder) -> tuple[BlendMoments, ...]:
    """Those of 1 … k blends; the motion's slots are in the order of the blends."""
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
    exact = motion.transforms[run.start : run.stop]
    within, rows = in_units(motion, order), rows_of(exact)
    errors = np.empty((order.n_ordered + 1, len(moments)))
    with single_threaded_blas():  # its products are small
        slopes = [rows @ m.crossed for m in moments]
        errors[:] = [float(np.einsum("ri,ri->", rows @ m.lost, rows)) for m in moments]
        for count in np.unique(order.active_counts):
            left = within.order[count:]
            columns = (4 * left[:, None] + np.arange(4)).reshape(-1)
            fade = Fade(int(count), int(count), 0.0)
            used = rows_of(pose_chain(within, exact, fade)[:, left] - exact[:, left])
            for k, m in enumerate(moments):
                slope = used @ m.kept[np.ix_(columns, columns)] + 2 * slopes[k][:, columns]
                errors[count, k] += float(np.einsum("ri,ri->", slope, used))
    return motion.squared_unit * np.maximum(errors[order.active_counts], 0)
