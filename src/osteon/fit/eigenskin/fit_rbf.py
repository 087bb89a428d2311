"""Radial basis functions that interpolate values at the settings of a driver.

    (K + ridge I) l = a,      K_pq = phi(|s_p, s_q|) of one joint, or of two as `deform/joint_rbf.py` has it

For one joint the rest pose, where all values are zero, is one of the settings and has no ridge. The radius of phi and
the ridge minimise the leave-one-out error: with C = (K + ridge I)^-1 the error at a held-out setting is
(C a)_q / C_qq, so that no system is solved again.

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.4.
Differs from the paper: radius and ridge by leave-one-out; the paper has a fixed radius and no ridge. Free joints get
additional settings between the observed ones (below), unless a ridge indicates noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from osteon.core.arrays import Float64
from osteon.deform.joint_rbf import compare_rotations, driver_shapes, rotation_vectors

# Additional settings of free joints between the observed ones, with values predicted by a smooth kernel.
#
# phi(r) = exp(-r / r0) has a kink at every centre. On a line, a hinge's settings, that does little harm: between two
# centres it is nearly linear. In two or three axes it is a cone around each centre, and the effect of one axis fades
# while the joint rotates about another. So values are first interpolated by
#
#     psi(x) = (1 + x + x^2 / 3) exp(-x),   x = r / r1,            (Matérn's kernel, twice differentiable)
#
# with r1 by leave-one-out, on a grid over the box around the settings; the grid points are then settings too, and the
# kernel of players interpolates all of them. Values at the observed settings are met as before.
#
# Notes, built-in hand, knuckles observed at twelve settings along both axes and at two of both at once, error at four
# others of both at once: phi alone 17 %, psi 6 %, phi through a grid of 2 x 2 or more 9 %; thumb, whose axes reach
# equally far, 7, 2, and with grids of 2 x 2, 5 x 3, 7 x 5 5.4, 3.4, 2.5 %. All joints, share of the skin's error
# removed in unseen poses, mean and worst: phi 93.1, 88.3; with 5 x 3 93.8, 92.1; with 7 x 5 93.9, 91.9.

#: Radii of psi that are tried, radians.
SMOOTH_RADII = (0.5, 1.0, 2.0, 4.0)
#: Grid points along the principal axes of the settings.
GRID = (5, 3, 3)
#: A joint has an axis if the root mean square of its settings along it exceeds this, radians (4.6 degrees). The cross
#: term of a bend of 80 and a spread of 12 degrees stays below: 2.6 degrees.
WAY = 0.08
#: Grid points closer than NEAR to a setting are redundant, those farther than FAR are extrapolation. Radians.
NEAR, FAR = 0.07, 0.6
#: Damping, relative to the diagonal.
SMOOTH_DAMPING = 1e-9


def count_axes(rotations: Float64) -> int:
    """Number of axes that a joint rotates about in settings (q,4), 1 to 3."""
    along = np.linalg.svd(rotation_vectors(rotations), compute_uv=False)
    return max(1, int((along > WAY * np.sqrt(len(rotations))).sum()))


def smooth_settings(rotations: Float64, values: Float64, sizes: Float64 | None = None) -> tuple[Float64, Float64]:
    """Grid settings (n,4) and predicted values (n,k), from values (q,k) at settings (q,4), the first of them rest."""
    grid = _grid(rotations)
    known = values if sizes is None else values * sizes
    square = known @ known.T
    radius = min(
        SMOOTH_RADII,
        key=lambda r: _leave_one_out(
            _kernel(rotations, rotations, r) + SMOOTH_DAMPING * np.eye(len(rotations)), square
        ),
    )
    system = _kernel(rotations, rotations, radius) + SMOOTH_DAMPING * np.eye(len(rotations))
    return grid, np.asarray(_kernel(grid, rotations, radius) @ np.linalg.solve(system, values))


def _kernel(rotations: Float64, others: Float64, radius: float) -> Float64:
    x = compare_rotations(rotations[:, None], others[None], np.zeros(3))[0] / radius
    return np.asarray((1 + x + x * x / 3) * np.exp(-x))


def _grid(rotations: Float64) -> Float64:
    """(n,4) grid over the box around the settings along their principal axes, between NEAR and FAR of a setting."""
    from scipy.spatial.transform import Rotation

    vectors = rotation_vectors(rotations)
    axes = np.linalg.svd(vectors)[2]
    low, high = (vectors @ axes.T).min(axis=0), (vectors @ axes.T).max(axis=0)
    ways = count_axes(rotations)
    lines = [np.linspace(low[i], high[i], GRID[i]) if i < ways else np.zeros(1) for i in range(3)]
    grid = Rotation.from_rotvec(np.array(list(product(*lines))) @ axes).as_quat()
    nearest = compare_rotations(grid[:, None], rotations[None], np.zeros(3))[0].min(axis=1)
    return np.asarray(grid[(nearest > NEAR) & (nearest < FAR)])


#: Radians.
RADIUS, PAIR_RADIUS, SMOOTH_RADIUS = 1.0, 8.0, 4.0
RADII = (0.25, 0.5, 1.0, 2.0, 4.0)
RIDGES = (0.0, 1e-4, 1e-3, 1e-2)
#: A ridge is used only if it lowers the leave-one-out error by this fraction; else settings are met exactly.
WORTH_A_RIDGE = 0.05
#: Fewer settings do not determine a radius.
LEAST = 3


@dataclass(frozen=True, slots=True)
class RbfOptions:
    """Candidate radii and ridges; the first radius is the default for few settings."""

    radii: tuple[float, ...] = (RADIUS, *(r for r in RADII if r != RADIUS))
    ridges: tuple[float, ...] = RIDGES
    smooth: bool = True  # add settings between the observed ones


@dataclass(frozen=True, slots=True)
class SettingsFit:
    """Values as functions of the settings of a driver."""

    centres: Float64  # (q,j,4)
    axes: Float64 = field(repr=False)  # (j,3)
    weights: Float64 = field(repr=False)  # (q,k) l
    radius: float = RADIUS
    ridge: float = 0.0

    def at(self, rotations: Float64) -> Float64:
        """(p,k) at settings (p,j,4)."""
        return driver_shapes(rotations[:, None], self.centres[None], self.axes, self.radius) @ self.weights


def fit_settings(
    rotations: Float64, values: Float64, axes: Float64, options: RbfOptions, sizes: Float64 | None = None
) -> SettingsFit:
    """Interpolate values (q,k) at settings (q,j,4) of a driver.

    `sizes` (k,) weight the values in the choice of radius and ridge.
    """
    centres, known = rotations, values
    if rotations.shape[1] > 1:
        radius, ridge = PAIR_RADIUS, 0.0
    else:
        rest = np.array([[[0.0, 0.0, 0.0, 1.0]]])
        centres, known = np.concatenate([rest, rotations]), np.concatenate([np.zeros((1, values.shape[1])), values])
        radius, ridge = _chosen(centres, known if sizes is None else known * sizes, axes, options)
        if options.smooth and not ridge and not axes.any() and len(centres) > LEAST:
            added, foretold = smooth_settings(centres[:, 0], known, sizes)
            centres, known = np.concatenate([centres, added[:, None]]), np.concatenate([known, foretold])
            radius = SMOOTH_RADIUS if len(added) else radius
    weights = np.linalg.solve(_system(centres, axes, radius, ridge), known)
    return SettingsFit(centres, axes, np.asarray(weights, np.float64), radius, ridge)


def _system(centres: Float64, axes: Float64, radius: float, ridge: float) -> Float64:
    """(q,q) K + ridge; the rest pose has no ridge."""
    shapes = driver_shapes(centres[:, None], centres[None], axes, radius)
    still = (np.abs(centres[..., 3]) == 1).all(axis=1)
    return np.asarray(shapes + np.diag(np.where(still, 0.0, ridge)))


def _chosen(centres: Float64, known: Float64, axes: Float64, options: RbfOptions) -> tuple[float, float]:
    """Radius and ridge of the least leave-one-out error."""
    if len(options.radii) * len(options.ridges) == 1 or len(centres) <= LEAST:
        return options.radii[0], 0.0
    square = known @ known.T  # errors depend on the values only through this
    tried = [(radius, ridge) for radius in options.radii for ridge in options.ridges]
    left = {both: _leave_one_out(_system(centres, axes, *both), square) for both in tried}
    plain = min((key for key in left if key[1] == 0.0), key=left.__getitem__)
    best = min(left, key=left.__getitem__)
    return best if left[best] < (1 - WORTH_A_RIDGE) * left[plain] else plain


def _leave_one_out(system: Float64, square: Float64) -> float:
    """Sum of squared leave-one-out errors over all settings but the first, rest."""
    inverse = np.linalg.inv(system)
    errors = np.einsum("pq,qr,pr->p", inverse, square, inverse) / np.diag(inverse) ** 2
    return float(errors[1:].sum())
