"""The axes along which scaled bones stretch, turned together with the motion along them, given the weights.

    minimise over Q, and over R_f, S_f of all frames:   sum_f  tr(A P A') - 2 tr(A C_f') + pull || S_f - 1 ||^2,
    A = R_f S_f Q: one bone on what the others leave

| symbol | name |
| --- | --- |
| Q | axes (3,3), rows; S scales (f,3), R turns (f,3,3) |
| P | moments (3,3) of the bone's weighted points about their centre; D = Q P Q' |
| C | cross (3,f,3): what the others leave, against these points |
| L | a small change of a frame: A = R (S + L) Q |

Turning Q alone is slow: a bone that hardly stretches is R Q, so R holds Q where it is. A turn w of Q with R turned back
is a shear, L_pq = L_qp = (s_p - s_q) w_pq; with the turns O of the frame, L_pq = s_q O_pq, L_qp = -s_p O_pq, and its
scales, L_kk, that is a least squares problem of six unknowns a frame and three for all of them. The six are eliminated
frame by frame, and what is left is a step of Gauss and Newton for w. It, or part of it, is taken if it lowers the sum.

Based on: Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
separate, 1973.

Notes, chicken, 22 bones, all frames, E %: Q turned alone by bounded steps 0.149, this 0.144; with flexible rounds first
(`refine.py`) 0.132.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kernels import kernel
from osteon.fit.skin.procrustes import rotation_to

__all__ = ["SMALLEST_SCALE", "turn_axes"]

#: Bones never become flatter than this.
SMALLEST_SCALE = 0.02
#: The widest turn of axes in a step, in radians.
WIDEST = 0.5
#: Times that a step that does not help is shortened, each time to a quarter.
SHORTER = 2
#: Part of the Hessian's size added to its diagonal: bones that never stretch keep their axes.
DAMPING = 1e-9
#: Turns of R and S against each other when axes are tried.
INNER = 2


@kernel("f8.3r f8.2r f8.2r f8.3r f8.2r f8 f8.2 f8.1 f8.2 f8.2 f8.2 i8.2r")
def _reduce(
    cross: Float64,
    D: Float64,
    axes: Float64,
    turns: Float64,
    scales: Float64,
    pull: float,
    hessian: Float64,
    gradient: Float64,
    values: Float64,
    system: Float64,
    residual: Float64,
    places: np.ndarray,
) -> None:
    """Add to hessian (3,3) and gradient (3,) of w what each frame leaves when its own six unknowns are eliminated.

    places (9,4) are row and column of the two entries of L that each unknown has; values (9,2), system (9,10) and
    residual (3,3) are scratch.
    """
    for f in range(len(turns)):
        for row in range(3):
            for k in range(3):
                total = -scales[f, row] * D[row, k]
                for j in range(3):
                    for i in range(3):
                        total += turns[f, j, row] * cross[i, f, j] * axes[k, i]
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
            system[3 + k, 3 + k] += pull
            system[3 + k, 9] -= pull * (scales[f, k] - 1)
        floor = 1e-12 * (D[0, 0] + D[1, 1] + D[2, 2])
        for a in range(6):
            pivot = system[a, a] + floor
            if pivot <= 0:
                continue
            for b in range(a + 1, 9):
                factor = system[a, b] / pivot
                for c in range(b, 10):
                    system[b, c] -= factor * system[a, c]
        for a in range(3):
            gradient[a] += system[6 + a, 9]
            for b in range(a, 3):
                hessian[a, b] += system[6 + a, 6 + b]


@kernel("f8.3r f8.2r f8.2r f8 i8 f8.3 f8.2 f8.3 f8.3 f8.1")
def _follow(
    cross: Float64,
    D: Float64,
    axes: Float64,
    pull: float,
    inner: int,
    turns: Float64,
    scales: Float64,
    three: Float64,
    four: Float64,
    value: Float64,
) -> None:
    """Turns and scales of all frames for these axes, in place, and the sum that they reach; three, four: scratch."""
    C, CS, R = three[0], three[1], three[2]
    N, V = four[0], four[1]
    for f in range(len(turns)):
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
                scales[f, k] = max(SMALLEST_SCALE, (projected + pull) / (D[k, k] + pull))
        for k in range(3):
            s = scales[f, k]
            projected = R[0, k] * C[0, k] + R[1, k] * C[1, k] + R[2, k] * C[2, k]
            value[0] += s * s * D[k, k] - 2 * s * projected + pull * (s - 1) * (s - 1)
            for j in range(3):
                turns[f, j, k] = R[j, k]


#: Where the unknowns of a frame and of the axes stand in L: turns, scales, turns of the axes.
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


class _Scratch:
    """Room for the kernels."""

    def __init__(self) -> None:
        self.three, self.four = np.empty((3, 3, 3)), np.empty((2, 4, 4))
        self.values, self.system, self.residual = np.empty((9, 2)), np.empty((9, 10)), np.empty((3, 3))


def _turned(axes: Float64, w: Float64) -> Float64:
    """exp(w^) axes, by the formula of Rodrigues; w are its entries 01, 02, 12."""
    angle = max(float(np.linalg.norm(w)), 1e-300)
    W = np.array([[0.0, w[0], w[1]], [-w[0], 0.0, w[2]], [-w[1], -w[2], 0.0]]) / angle
    turn = np.eye(3) + np.sin(angle) * W + (1 - np.cos(angle)) * (W @ W)
    out: Float64 = turn @ axes
    return out


def turn_axes(
    cross: Float64, moments: Float64, axes: Float64, turns: Float64, scales: Float64, pull: float
) -> tuple[Float64, Float64, Float64]:
    """Axes (3,3), turns (f,3,3) and scales (f,3) of one bone after a step; the sum never rises."""
    scratch = _Scratch()

    def follow(tried: Float64, turns: Float64, scales: Float64) -> tuple[float, Float64, Float64, Float64]:
        turns, scales, value = turns.copy(), scales.copy(), np.zeros(1)
        D = tried @ moments @ tried.T
        _follow(cross, D, tried, pull, INNER, turns, scales, scratch.three, scratch.four, value)
        return float(value[0]), tried, turns, scales

    best = follow(axes, turns, scales)
    w = _step(cross, moments, *best[1:], pull, scratch)
    for _ in range(1 + SHORTER):
        if not w.any():
            break
        tried = follow(_turned(axes, w), best[2], best[3])
        if tried[0] < best[0]:
            best = tried
            break
        w = w / 4
    return best[1:]


def _step(
    cross: Float64, moments: Float64, axes: Float64, turns: Float64, scales: Float64, pull: float, scratch: _Scratch
) -> Float64:
    """(3,) the step of Gauss and Newton, no wider than WIDEST."""
    hessian, gradient = np.zeros((3, 3)), np.zeros(3)
    D = axes @ moments @ axes.T
    _reduce(
        cross,
        D,
        axes,
        turns,
        scales,
        pull,
        hessian,
        gradient,
        scratch.values,
        scratch.system,
        scratch.residual,
        _PLACES,
    )
    hessian += np.triu(hessian, 1).T
    size = DAMPING * np.trace(D) * len(turns)
    if size <= 0:
        return np.zeros(3)
    w = np.linalg.solve(hessian + size * np.eye(3), gradient)
    wide = float(np.linalg.norm(w))
    out: Float64 = w * min(1.0, WIDEST / wide) if wide > 0 else w
    return out
