"""Bones that turn, move and stretch along axes of their own, given the weights.

    minimise || Z T - X ||^2 + stiffness sum_b spread_b || S_b - 1 ||^2   with every A_b^f = R_b^f S_b^f Q_b

| symbol | name |
| --- | --- |
| Q | axes (b,3,3): rotations fixed in the rest pose, rows are the axes |
| S | scales (f,b,3), positive; R rotations (f,b,3,3) |
| P | second moments of a bone's weighted points about their centre (3,3); D = Q P Q' |
| C | what the other bones leave, against these points (3,3), per frame |

One bone on what the others leave: tr(A P A') - 2 tr(A C') with A = R S Q, hence with C' := C Q'
- R = the rotation closest to C' S,  s_i = (R'C')_ii / D_ii:  in turn, each in closed form;
- Q: with R and S of all frames fixed, tr(E Q P Q') - 2 tr(Q M), E = sum_f S^2, M = sum_f C' R S, a quadratic form on
  rotations. The bound tr(E Q P Q') <= ... + 2 <E Q0 P, Q> + l ||Q - Q0||^2, l = max E max eig P, gives steps that only
  fall: Q = the rotation closest to (M - P Q0'E + l Q0')'.

Based on: the block descent of rigid bones (`solve_bones.py`) with the scales that a node of a scene graph can carry.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.bone_axes import SMALLEST_SCALE, axes_of_bones, project_scaled, split_along_axes
from osteon.core.kernels import kernel
from osteon.core.parallel import for_blocks
from osteon.fit.skin.procrustes import rotation_to

__all__ = ["solve_scaled", "sweep_scaled"]

#: Turns of R and S against each other in each visit of a bone, and of its axes.
INNER, AXIS_STEPS = 2, 4


@kernel
def _others_leave(zz: Float64, zx: Float64, transforms: Float64, f: int, column: int, b: int, left: Float64) -> None:
    """left (4,3): Z'X of bone b in frame f without what the other bones explain; zx holds the frame at `column`."""
    for i in range(4):
        for j in range(3):
            left[i, j] = zx[4 * b + i, column + j]
    for c in range(transforms.shape[1]):
        if c == b or zz[4 * b + 3, 4 * c + 3] == 0:
            continue
        for i in range(4):
            for k in range(4):
                z = zz[4 * b + i, 4 * c + k]
                for j in range(3):
                    left[i, j] -= z * transforms[f, c, j, k]


@kernel
def _cross(zz: Float64, left: Float64, b: int, axes: Float64, C: Float64) -> None:
    """C (3,3) = what is left against the points about their centre, columns along the axes."""
    mass = zz[4 * b + 3, 4 * b + 3]
    for j in range(3):
        for k in range(3):
            total = 0.0
            for i in range(3):
                total += (left[i, j] - zz[4 * b + 3, 4 * b + i] * left[3, j] / mass) * axes[b, k, i]
            C[j, k] = total


@kernel
def _place(
    zz: Float64, left: Float64, b: int, R: Float64, s: Float64, axes: Float64, f: int, transforms: Float64
) -> None:
    """transforms[f,b] = [R S Q | t] with the best t."""
    mass = zz[4 * b + 3, 4 * b + 3]
    for j in range(3):
        t = left[3, j]
        for i in range(3):
            a = 0.0
            for k in range(3):
                a += R[j, k] * s[k] * axes[b, k, i]
            transforms[f, b, j, i] = a
            t -= a * zz[4 * b + 3, 4 * b + i]
        transforms[f, b, j, 3] = t / mass


@kernel
def _scaled_sweeps(
    zz: Float64,
    zx: Float64,
    transforms: Float64,
    axes: Float64,
    along: Float64,
    pull: Float64,
    start: int,
    stop: int,
    sweeps: int,
) -> None:
    """Bones of frames start … stop in turn, axes fixed; along (b,3) is D_ii, pull (b,) what holds scales at 1."""
    left = np.empty((4, 3))
    C = np.empty((3, 3))
    CS = np.empty((3, 3))
    R = np.empty((3, 3))
    s = np.empty(3)
    N = np.empty((4, 4))
    V = np.empty((4, 4))
    for f in range(start, stop):
        for _ in range(sweeps):
            for b in range(transforms.shape[1]):
                if zz[4 * b + 3, 4 * b + 3] < 1e-12:
                    continue
                _others_leave(zz, zx, transforms, f, 3 * f, b, left)
                _cross(zz, left, b, axes, C)
                for k in range(3):
                    total = 0.0
                    for j in range(3):
                        a = 0.0
                        for i in range(3):
                            a += transforms[f, b, j, i] * axes[b, k, i]
                        total += a * a
                    s[k] = np.sqrt(total)
                for _ in range(INNER):
                    for j in range(3):
                        for k in range(3):
                            CS[j, k] = C[j, k] * s[k]
                    rotation_to(CS, N, V, R)
                    for k in range(3):
                        projected = R[0, k] * C[0, k] + R[1, k] * C[1, k] + R[2, k] * C[2, k]
                        s[k] = max(SMALLEST_SCALE, (projected + pull[b]) / (along[b, k] + pull[b]))
                _place(zz, left, b, R, s, axes, f, transforms)


@kernel
def _turn_axes(
    zz: Float64, zx: Float64, transforms: Float64, axes: Float64, moments: Float64, rotations: Float64, scales: Float64
) -> None:
    """New axes for each bone in turn, R and S of all frames kept; moments (b,3,3) is P."""
    n_frames, n_bones = transforms.shape[:2]
    lefts = np.empty((n_frames, 4, 3))
    C = np.empty((3, 3))
    M = np.empty((3, 3))
    G = np.empty((3, 3))
    R = np.empty((3, 3))
    E = np.empty(3)
    N = np.empty((4, 4))
    V = np.empty((4, 4))
    rest = np.zeros((n_bones, 3, 3))
    for b in range(n_bones):
        for i in range(3):
            rest[b, i, i] = 1.0
    for b in range(n_bones):
        if zz[4 * b + 3, 4 * b + 3] < 1e-12:
            continue
        M[:] = 0.0
        E[:] = 0.0
        for f in range(n_frames):
            _others_leave(zz, zx, transforms, f, 3 * f, b, lefts[f])
            _cross(zz, lefts[f], b, rest, C)
            for k in range(3):
                E[k] += scales[f, b, k] ** 2
                for i in range(3):
                    total = 0.0
                    for j in range(3):
                        total += rotations[f, b, j, k] * C[j, i]
                    M[k, i] += scales[f, b, k] * total
        bound = max(E[0], E[1], E[2]) * (moments[b, 0, 0] + moments[b, 1, 1] + moments[b, 2, 2])
        for _ in range(AXIS_STEPS):
            for k in range(3):
                for i in range(3):
                    total = 0.0
                    for j in range(3):
                        total += axes[b, k, j] * moments[b, j, i]
                    G[k, i] = M[k, i] - E[k] * total + bound * axes[b, k, i]
            rotation_to(G, N, V, R)
            axes[b] = R
        for f in range(n_frames):
            _place(zz, lefts[f], b, rotations[f, b], scales[f, b], axes, f, transforms)


def _moments(zz: Float64) -> Float64:
    """(b,3,3) P of each bone."""
    n_bones = len(zz) // 4
    blocks = zz.reshape(n_bones, 4, n_bones, 4)[np.arange(n_bones), :, np.arange(n_bones)]
    mass = np.maximum(blocks[:, 3, 3], 1e-300)[:, None, None]
    moments: Float64 = blocks[:, :3, :3] - blocks[:, :3, 3:] * blocks[:, 3:, :3] / mass
    return moments


def sweep_scaled(zz: Float64, zx: Float64, transforms: Float64, axes: Float64, pull: Float64, sweeps: int) -> None:
    """Move transforms (f,b,3,4) by sweeps over the bones, along fixed axes; pull (b,) holds scales at 1."""
    along = np.einsum("bki,bij,bkj->bk", axes, _moments(zz), axes)
    _scaled_sweeps(zz, zx, transforms, axes, along, pull, 0, len(transforms), sweeps)


def solve_scaled(
    zz: Float64,
    zx: Float64,
    transforms: Float64,
    pull: Float64,
    *,
    axes: Float64 | None = None,
    sweeps: int = 3,
    threads: int = 1,
) -> Float64:
    """New scaled bones (f,b,3,4) from the last ones, along the axes given, or along their own, turned where it helps."""
    moments = _moments(zz)
    kept = axes is not None
    axes = axes_of_bones(transforms) if axes is None else axes
    out = project_scaled(transforms, axes)
    if not kept:
        rotations, scales = split_along_axes(out[..., :3], axes)
        _turn_axes(zz, zx, out, axes, moments, rotations, scales)
    along = np.einsum("bki,bij,bkj->bk", axes, moments, axes)
    for_blocks(lambda a, b: _scaled_sweeps(zz, zx, out, axes, along, pull, a, b, sweeps), len(out), 8, threads)
    return out
