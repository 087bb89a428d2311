"""Radial basis functions through what is known at the settings of a driver.

    (K + ridge I) l = a,      K_pq = phi(|s_p, s_q|) of one joint, or of two as `deform/joint_rbf.py` has it

For one joint its rest, where all is zero, is one of the settings, and has no ridge. The radius of phi and the ridge are
those that predict settings best which were left out, one at a time: with C = (K + ridge I)^-1 the prediction of a left
out setting misses it by (C a)_q / C_qq, so that nothing is solved twice.

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.4.
Differs from the paper: radius and ridge by leave-one-out; the paper's own is any radius and no ridge. Of joints that
turn freely settings between those that were seen are added (`smooth_settings.py`), unless a ridge says that there is
noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from osteon.core.arrays import Float64
from osteon.deform.joint_rbf import driver_shapes
from osteon.fit.eigenskin.smooth_settings import smooth_settings

__all__ = ["RbfOptions", "SettingsFit", "fit_settings"]

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
