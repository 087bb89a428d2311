"""The axes of scaled bones, optimised together with rotations and scales, for given weights.

    minimise over Q, and over R_f, S_f of all frames:   sum_f  tr(A P A') - 2 tr(A C_f') + strength || S_f - 1 ||^2,
    A = R_f S_f Q: one bone on the residual of the others

| symbol | name |
| --- | --- |
| Q | axes (3,3), rows; S scales (f,3), R rotations (f,3,3) |
| P | moments (3,3) of the bone's weighted points about their centre; D = Q P Q' |
| C | cross (3,f,3): residual of the others times these points |
| L | a small change of a frame: A = R (S + L) Q |

Rotating Q alone converges slowly: a bone that hardly stretches is R Q, so R keeps Q in place. A rotation w of Q with R
rotated back is a shear, L_pq = L_qp = (s_p - s_q) w_pq; with rotations O of the frame, L_pq = s_q O_pq, L_qp = -s_p
O_pq, and its scales, L_kk, that is a least squares problem of six unknowns per frame and three for all of them. The six
are eliminated frame by frame, which leaves a Gauss-Newton step for w. It, or part of it, is taken if it
lowers the sum.

Based on: Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
separate, 1973.

Notes, chicken, 22 bones, all frames, E %: Q rotated alone by bounded steps 0.149, this 0.144; with flexible rounds
first (`refine.py`) 0.132.
"""

from __future__ import annotations

import math

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kernels import kernel
from osteon.fit.skin.procrustes import rotation_to

#: Bones never become flatter than this.
SMALLEST_SCALE = 0.02
#: Largest rotation of axes per step, in radians.
WIDEST = 0.5
#: Number of times a step that does not lower the sum is shortened, each to a quarter.
SHORTER = 2
#: Damping, relative to the Hessian: bones that never stretch keep their axes.
DAMPING = 1e-9
#: Alternations of R and S per trial of axes.
INNER = 2


@kernel("f8.3r f8.2r f8.2r f8.3r f8.2r f8 f8.1 f8.2 f8.2 f8.2 f8.2 i8.2r")
def _step(
    cross: Float64,
    D: Float64,
    axes: Float64,
    rotations: Float64,
    scales: Float64,
    strength: float,
    w: Float64,
    normal: Float64,
    values: Float64,
    system: Float64,
    residual: Float64,
    places: np.ndarray,
) -> None:
    """w (3,), the Gauss-Newton step, at most WIDEST; the six unknowns of each frame are eliminated first.

    places (9,4) are row and column of the two entries of L that each unknown has; normal (3,4), values (9,2),
    system (9,10) and residual (3,3) are scratch.
    """
    size = D[0, 0] + D[1, 1] + D[2, 2]
    for a in range(3):
        w[a] = 0.0
        for b in range(4):
            normal[a, b] = 0.0
        normal[a, a] = DAMPING * size * len(rotations)
    for f in range(len(rotations)):
        for row in range(3):
            for k in range(3):
                total = -scales[f, row] * D[row, k]
                for j in range(3):
                    for i in range(3):
                        total += rotations[f, j, row] * cross[i, f, j] * axes[k, i]
                residual[row, k] = total
        for pair in range(3):
            p, q = places[pair, 0], places[pair, 1]
            values[pair, 0], values[pair, 1] = scales[f, q], -scales[f, p]
            values[3 + pair, 0], values[3 + pair, 1] = 1.0, 0.0
            values[6 + pair, 0] = scales[f, p] - scales[f, q]
            values[6 + pair, 1] = values[6 + pair, 0]
        for a in range(9):
            system[a, 9] = 0.0
            for i in range(2):
                system[a, 9] += values[a, i] * residual[places[a, 2 * i], places[a, 2 * i + 1]]
            for b in range(a, 9):
                total = 0.0
                for i in range(2):
                    for j in range(2):
                        if places[a, 2 * i] == places[b, 2 * j]:
                            along = D[places[a, 2 * i + 1], places[b, 2 * j + 1]]
                            total += values[a, i] * values[b, j] * along
                system[a, b] = total
        for k in range(3):
            system[3 + k, 3 + k] += strength
            system[3 + k, 9] -= strength * (scales[f, k] - 1)
        for a in range(6):
            pivot = system[a, a] + 1e-12 * size
            if pivot <= 0:
                continue
            for b in range(a + 1, 9):
                factor = system[a, b] / pivot
                for c in range(b, 10):
                    system[b, c] -= factor * system[a, c]
        for a in range(3):
            normal[a, 3] += system[6 + a, 9]
            for b in range(a, 3):
                normal[a, b] += system[6 + a, 6 + b]
    if size <= 0:
        return
    for a in range(3):
        for b in range(a + 1, 3):
            factor = normal[a, b] / normal[a, a]
            for c in range(b, 4):
                normal[b, c] -= factor * normal[a, c]
    for back in range(3):
        a = 2 - back
        total = normal[a, 3]
        for b in range(a + 1, 3):
            total -= normal[a, b] * w[b]
        w[a] = total / normal[a, a]
    wide = np.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if wide > WIDEST:
        for a in range(3):
            w[a] *= WIDEST / wide


@kernel("f8.3r f8.2r f8.2r f8 i8 f8.3 f8.2 f8.3 f8.3 f8.1")
def _follow(
    cross: Float64,
    D: Float64,
    axes: Float64,
    strength: float,
    inner: int,
    rotations: Float64,
    scales: Float64,
    three: Float64,
    four: Float64,
    value: Float64,
) -> None:
    """Update rotations and scales of all frames for these axes, and value (1,), their sum; three, four: scratch."""
    C, CS, R = three[0], three[1], three[2]
    N, V = four[0], four[1]
    for f in range(len(rotations)):
        for j in range(3):
            for k in range(3):
                C[j, k] = cross[0, f, j] * axes[k, 0] + cross[1, f, j] * axes[k, 1] + cross[2, f, j] * axes[k, 2]
        for _ in range(inner):
            for j in range(3):
                for k in range(3):
                    CS[j, k] = C[j, k] * scales[f, k]
            rotation_to(CS, N, V, R)
            for k in range(3):
                projected = R[0, k] * C[0, k] + R[1, k] * C[1, k] + R[2, k] * C[2, k]
                scales[f, k] = max(SMALLEST_SCALE, (projected + strength) / (D[k, k] + strength))
        for k in range(3):
            s = scales[f, k]
            projected = R[0, k] * C[0, k] + R[1, k] * C[1, k] + R[2, k] * C[2, k]
            value[0] += s * s * D[k, k] - 2 * s * projected + strength * (s - 1) * (s - 1)
            for j in range(3):
                rotations[f, j, k] = R[j, k]


#: Entries of L of the unknowns of a frame and of the axes: rotations, scales, rotations of the axes.
_PLACES = np.array(
    [
        [0, 1, 1, 0],
        [0, 2, 2, 0],
        [1, 2, 2, 1],
        [0, 0, 0, 0],
        [1, 1, 1, 1],
        [2, 2, 2, 2],
        [0, 1, 1, 0],
        [0, 2, 2, 0],
        [1, 2, 2, 1],
    ]
)


class AxisSearch:
    """One step for the axes of a bone at a time, with shared scratch arrays."""

    def __init__(self) -> None:
        self._three, self._four, self._normal = np.empty((3, 3, 3)), np.empty((2, 4, 4)), np.empty((3, 4))
        self._values, self._system, self._residual = np.empty((9, 2)), np.empty((9, 10)), np.empty((3, 3))

    def rotate_axes(
        self, cross: Float64, moments: Float64, axes: Float64, rotations: Float64, scales: Float64, strength: float
    ) -> tuple[Float64, Float64, Float64]:
        """Axes (3,3), rotations (f,3,3) and scales (f,3) of one bone after a step; the sum never rises."""
        rotations, scales = rotations.copy(), scales.copy()
        D = axes @ moments @ axes.T
        least = self._follow(cross, D, axes, rotations, scales, strength)
        w = np.empty(3)
        scratch = (self._normal, self._values, self._system, self._residual)
        _step(cross, D, axes, rotations, scales, strength, w, *scratch, _PLACES)
        for _ in range(1 + SHORTER):
            if not w.any():
                break
            tried = _turned(axes, w)
            new_rotations, new_scales = rotations.copy(), scales.copy()
            if self._follow(cross, tried @ moments @ tried.T, tried, new_rotations, new_scales, strength) < least:
                return tried, new_rotations, new_scales
            w = w / 4
        return axes, rotations, scales

    def _follow(
        self, cross: Float64, D: Float64, axes: Float64, rotations: Float64, scales: Float64, strength: float
    ) -> float:
        """Update rotations and scales of all frames for these axes; returns their sum."""
        value = np.zeros(1)
        _follow(cross, D, axes, strength, INNER, rotations, scales, self._three, self._four, value)
        return float(value[0])


def _turned(axes: Float64, w: Float64) -> Float64:
    """exp(w^) axes, by the formula of Rodrigues; w are its entries 01, 02, 12."""
    x, y, z = w.tolist()
    angle = math.sqrt(x * x + y * y + z * z)
    W = np.array([[0.0, x, y], [-x, 0.0, z], [-y, -z, 0.0]])
    once = W @ axes
    return np.asarray(axes + math.sin(angle) / angle * once + (1 - math.cos(angle)) / angle**2 * (W @ once))
