"""Radial basis functions through what is known at the settings of a driver.

    (K + ridge I) l = a,      K_pq = phi(|s_p, s_q|) of one joint, or of two as `deform/joint_rbf.py` has it

For one joint its rest, where all is zero, is one of the settings, and has no ridge. The radius of phi and the ridge are
those that predict settings best which were left out, one at a time: with C = (K + ridge I)^-1 the prediction of a left
out setting misses it by (C a)_q / C_qq, so that nothing is solved twice.

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.4.
Differs from the paper: radius and ridge by leave-one-out; the paper's own is any radius and no ridge. Of joints that
turn freely settings between those that were seen are added (`fit_rbf.py`), unless a ridge says that there is
noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from osteon.core.arrays import Float64
from osteon.deform.joint_rbf import compare_rotations, driver_shapes, rotation_vectors

__all__ = ["RbfOptions", "SettingsFit", "count_ways", "fit_settings", "smooth_settings"]


# Settings between those that were seen, of joints that turn freely: what a smooth kernel foretells there.
#
# phi(r) = exp(-r / r0) has a kink at every centre. On a line, a hinge's settings, that does little harm: between two
# centres it is all but straight. In two or three axes it is a cone around each centre, and what one axis does fades
# while the joint turns about another. So numbers are first interpolated by
#
#     psi(x) = (1 + x + x^2 / 3) exp(-x),   x = r / r1,            (Matérn's kernel, twice differentiable)
#
# r1 chosen by leave-one-out, at a grid over the box around the settings; then those of the grid are settings too, and
# the kernel of players passes through all of them. What was seen is met as before.
#
# Notes, built-in hand, knuckles seen at twelve settings along both axes and at two of both at once, error at four
# others of both at once: phi alone 17 %, psi 6 %, phi through a grid of 2 x 2 or more 9 %; thumb, whose axes reach
# equally far, 7, 2, and with grids of 2 x 2, 5 x 3, 7 x 5 5.4, 3.4, 2.5 %. All joints, share of the skin's error
# removed in poses unseen, mean and worst: phi 93.1, 88.3; with 5 x 3 93.8, 92.1; with 7 x 5 93.9, 91.9.

#: Radii of psi that are tried, radians.
SMOOTH_RADII = (0.5, 1.0, 2.0, 4.0)
#: Points of the grid along the principal axes of the settings.
GRID = (5, 3, 3)
#: A joint goes along an axis if its settings do so by this root mean square, radians: 4.6 degrees. What a bend and a
#: spread make of each other stays below: 2.6 degrees, of 80 and 12.
WAY = 0.08
#: Points this near to a setting say nothing new; nothing is known of those that far. Radians.
NEAR, FAR = 0.07, 0.6
#: Of the diagonal, so that systems can be solved.
SMOOTH_DAMPING = 1e-9


def count_ways(turns: Float64) -> int:
    """Axes that a joint turns about in settings (q,4), 1 to 3."""
    along = np.linalg.svd(rotation_vectors(turns), compute_uv=False)
    return max(1, int((along > WAY * np.sqrt(len(turns))).sum()))


def smooth_settings(turns: Float64, values: Float64, sizes: Float64 | None = None) -> tuple[Float64, Float64]:
    """Settings (n,4) of a grid, and numbers (n,k) there, from those (q,k) at settings (q,4), rest among them."""
    grid = _grid(turns)
    known = values if sizes is None else values * sizes
    square = known @ known.T
    radius = min(SMOOTH_RADII, key=lambda r: _smooth_left_out(_kernel(turns, turns, r), square))
    system = _kernel(turns, turns, radius) + SMOOTH_DAMPING * np.eye(len(turns))
    return grid, np.asarray(_kernel(grid, turns, radius) @ np.linalg.solve(system, values))


def _kernel(turns: Float64, others: Float64, radius: float) -> Float64:
    x = compare_rotations(turns[:, None], others[None], np.zeros(3))[0] / radius
    return np.asarray((1 + x + x * x / 3) * np.exp(-x))


def _smooth_left_out(system: Float64, square: Float64) -> float:
    """By how much settings are missed that are left out, squared and summed."""
    inverse = np.linalg.inv(system + SMOOTH_DAMPING * np.eye(len(system)))
    missed = np.einsum("pq,qr,pr->p", inverse, square, inverse) / np.diag(inverse) ** 2
    return float(missed[1:].sum())


def _grid(turns: Float64) -> Float64:
    """(n,4) over the box around the settings, along their principal axes, where something is known and not all."""
    from scipy.spatial.transform import Rotation

    vectors = rotation_vectors(turns)
    axes = np.linalg.svd(vectors)[2]
    low, high = (vectors @ axes.T).min(axis=0), (vectors @ axes.T).max(axis=0)
    ways = count_ways(turns)
    lines = [np.linspace(low[i], high[i], GRID[i]) if i < ways else np.zeros(1) for i in range(3)]
    grid = Rotation.from_rotvec(np.array(list(product(*lines))) @ axes).as_quat()
    nearest = compare_rotations(grid[:, None], turns[None], np.zeros(3))[0].min(axis=1)
    return np.asarray(grid[(nearest > NEAR) & (nearest < FAR)])


#: Radians.
RADIUS, PAIR_RADIUS, SMOOTH_RADIUS = 1.0, 8.0, 4.0
RADII = (0.25, 0.5, 1.0, 2.0, 4.0)
RIDGES = (0.0, 1e-4, 1e-3, 1e-2)
#: A ridge must lower what is left out by this part, or settings that were seen are met exactly.
WORTH_A_RIDGE = 0.05
#: Fewer settings do not tell radii apart.
LEAST = 3


@dataclass(frozen=True, slots=True)
class RbfOptions:
    """Which radii and ridges are tried; the first radius is taken where there is too little to choose by."""

    radii: tuple[float, ...] = (RADIUS, *(r for r in RADII if r != RADIUS))
    ridges: tuple[float, ...] = RIDGES
    smooth: bool = True  # settings between those that were seen


@dataclass(frozen=True, slots=True)
class SettingsFit:
    """Numbers as functions of the settings of a driver."""

    centres: Float64  # (q,j,4)
    axes: Float64 = field(repr=False)  # (j,3)
    weights: Float64 = field(repr=False)  # (q,k) l
    radius: float = RADIUS
    ridge: float = 0.0

    def at(self, turns: Float64) -> Float64:
        """(p,k) at settings (p,j,4)."""
        return driver_shapes(turns[:, None], self.centres[None], self.axes, self.radius) @ self.weights


def fit_settings(
    turns: Float64, values: Float64, axes: Float64, options: RbfOptions, sizes: Float64 | None = None
) -> SettingsFit:
    """Numbers (q,k) that are known at settings (q,j,4) of a driver, between these settings.

    `sizes` (k,) tell how much each number counts where radius and ridge are chosen.
    """
    centres, known = turns, values
    if turns.shape[1] > 1:
        radius, ridge = PAIR_RADIUS, 0.0
    else:
        rest = np.array([[[0.0, 0.0, 0.0, 1.0]]])
        centres, known = np.concatenate([rest, turns]), np.concatenate([np.zeros((1, values.shape[1])), values])
        radius, ridge = _chosen(centres, known if sizes is None else known * sizes, axes, options)
        if options.smooth and not ridge and not axes.any() and len(centres) > LEAST:
            added, foretold = smooth_settings(centres[:, 0], known, sizes)
            centres, known = np.concatenate([centres, added[:, None]]), np.concatenate([known, foretold])
            radius = SMOOTH_RADIUS if len(added) else radius
    weights = np.linalg.solve(_system(centres, axes, radius, ridge), known)
    return SettingsFit(centres, axes, np.asarray(weights, np.float64), radius, ridge)


def _system(centres: Float64, axes: Float64, radius: float, ridge: float) -> Float64:
    """(q,q) K + ridge, at rest without a ridge."""
    shapes = driver_shapes(centres[:, None], centres[None], axes, radius)
    still = (np.abs(centres[..., 3]) == 1).all(axis=1)
    return np.asarray(shapes + np.diag(np.where(still, 0.0, ridge)))


def _chosen(centres: Float64, known: Float64, axes: Float64, options: RbfOptions) -> tuple[float, float]:
    """Radius and ridge that leave least where a setting is left out."""
    if len(options.radii) * len(options.ridges) == 1 or len(centres) <= LEAST:
        return options.radii[0], 0.0
    square = known @ known.T  # all that errors need of the numbers, which are many
    tried = [(radius, ridge) for radius in options.radii for ridge in options.ridges]
    left = {both: _left_out(_system(centres, axes, *both), square) for both in tried}
    plain = min((key for key in left if key[1] == 0.0), key=left.__getitem__)
    best = min(left, key=left.__getitem__)
    return best if left[best] < (1 - WORTH_A_RIDGE) * left[plain] else plain


def _left_out(system: Float64, square: Float64) -> float:
    """What settings but the first, the rest, are missed by, squared and summed."""
    inverse = np.linalg.inv(system)
    missed = np.einsum("pq,qr,pr->p", inverse, square, inverse) / np.diag(inverse) ** 2
    return float(missed[1:].sum())
