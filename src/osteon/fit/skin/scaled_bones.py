"""Scaled bones, which rotate, translate and stretch along fixed axes, for given weights.

    minimise || Z T - X ||^2 + stiffness sum_b spread_b || S_b - 1 ||^2   with every A_b^f = R_b^f S_b^f Q_b

| symbol | name |
| --- | --- |
| Q | axes (b,3,3): rotations fixed in the rest pose, rows are the axes |
| S | scales (f,b,3), positive; R rotations (f,b,3,3) |
| P | second moments of a bone's weighted points about their centre (3,3); D = Q P Q' |
| C | residual of the other bones times these points (3,3), per frame |

One bone on the residual of the others: tr(A P A') - 2 tr(A C') with A = R S Q, hence with C' := C Q'
- R = the rotation closest to C' S,  s_i = (R'C')_ii / D_ii:  alternating, each in closed form;
- Q, together with R and S of all frames: `scaled_axes.py`.

Based on: the block descent of rigid bones (`solve_bones.py`) with the scales that a node of a scene graph can carry.

Notes: halfway between frames a bone's vertices should be no farther from either than these are apart. One bone of the
horse deviates by 0.25 % of the diagonal between two frames; elasticcow, clothhorse and chicken have none. A
regularisation of all bones towards the adjacent frames, of 0.02 of their own moments, prevents that (0.003 %; E 1.124
instead of 1.115), but known models are then no longer recovered exactly (a triangle: 1.7 %). The same regularisation
only in directions that the data hardly determines, by a bone's own moments or by those that remain when all others
move, does not affect that bone: the data determines its rotation.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.bone_axes import axes_of_bones
from osteon.core.kernels import kernel, part
from osteon.core.parallel import for_blocks
from osteon.fit.skin.procrustes import rotation_to, rotations_of
from osteon.fit.skin.scaled_axes import SMALLEST_SCALE, AxisSearch

__all__ = ["LIGHTEST", "SMALLEST_SCALE", "left_to_bone", "project_scaled", "solve_scaled", "sweep_scaled"]


# Residual of the other bones for one bone in one frame: part of every kernel that moves one bone after the other.

#: A bone with less weight than this does not move.
LIGHTEST = 1e-12


@part
def left_to_bone(zz: Float64, zx: Float64, transforms: Float64, f: int, b: int, left: Float64) -> None:
    """left (4,3) = Z_b'(X - sum of Z_c T_c over the other bones c), from Z'Z (4b,4b) and Z'X (4b,3f)."""
    for i in range(4):
        for j in range(3):
            left[i, j] = zx[4 * b + i, 3 * f + j]
    for c in range(transforms.shape[1]):
        if c == b or zz[4 * b + 3, 4 * c + 3] == 0:
            continue
        for i in range(4):
            for k in range(4):
                z = zz[4 * b + i, 4 * c + k]
                for j in range(3):
                    left[i, j] -= z * transforms[f, c, j, k]


#: Alternations of R and S per visit of a bone.
INNER = 2


@kernel("f8.2r f8.2r f8.4 f8.3r f8.2r f8.1r i8 i8 i8 f8.3 f8.3")
def _scaled_sweeps(
    zz: Float64,
    zx: Float64,
    transforms: Float64,
    axes: Float64,
    along: Float64,
    strength: Float64,
    start: int,
    stop: int,
    sweeps: int,
    three: Float64,
    four: Float64,
) -> None:
    """Update one bone after the other, frames start … stop, axes fixed; along (b,3) is D_ii, strength (b,) for S = 1.

    three (4,3,3) and four (3,4,4) are scratch.
    """
    n_bones = transforms.shape[1]
    C, CS, R, s = three[0], three[1], three[2], three[3, 0]
    N, V, left = four[0], four[1], four[2]
    for f in range(start, stop):
        for _ in range(sweeps):
            for b in range(n_bones):
                mass = zz[4 * b + 3, 4 * b + 3]
                if mass < LIGHTEST:
                    continue
                left_to_bone(zz, zx, transforms, f, b, left)
                for k in range(3):
                    squared = 0.0
                    for j in range(3):
                        crossed, column = 0.0, 0.0
                        for i in range(3):
                            crossed += (left[i, j] - zz[4 * b + 3, 4 * b + i] * left[3, j] / mass) * axes[b, k, i]
                            column += transforms[f, b, j, i] * axes[b, k, i]
                        C[j, k] = crossed
                        squared += column * column
                    s[k] = np.sqrt(squared)
                for _ in range(INNER):
                    for j in range(3):
                        for k in range(3):
                            CS[j, k] = C[j, k] * s[k]
                    rotation_to(CS, N, V, R)
                    for k in range(3):
                        projected = R[0, k] * C[0, k] + R[1, k] * C[1, k] + R[2, k] * C[2, k]
                        s[k] = max(SMALLEST_SCALE, (projected + strength[b]) / (along[b, k] + strength[b]))
                for j in range(3):
                    t = left[3, j]
                    for i in range(3):
                        a = 0.0
                        for k in range(3):
                            a += R[j, k] * s[k] * axes[b, k, i]
                        transforms[f, b, j, i] = a
                        t -= a * zz[4 * b + 3, 4 * b + i]
                    transforms[f, b, j, 3] = t / mass


def _rotate_axes(
    zz: Float64, zx: Float64, transforms: Float64, axes: Float64, strength: Float64
) -> tuple[Float64, Float64]:
    """Axes and transforms after a step of each bone's axes, with its motion in all frames."""
    n_frames, n_bones = transforms.shape[:2]
    rotations, scales = _split(transforms, axes)
    stacked = np.ascontiguousarray(transforms.transpose(1, 3, 0, 2)).reshape(n_bones, 4, 3 * n_frames)
    axes, moments, search = axes.copy(), _moments(zz), AxisSearch()
    for b in range(n_bones):
        row, own = zz[4 * b : 4 * b + 4], zz[4 * b : 4 * b + 4, 4 * b : 4 * b + 4]
        mass, center = own[3, 3], own[3, :3]
        if mass < LIGHTEST:
            continue
        others = row @ stacked.reshape(4 * n_bones, -1) - own @ stacked[b]
        left = (zx[4 * b : 4 * b + 4] - others).reshape(4, n_frames, 3)
        cross = left[:3] - (center / mass)[:, None, None] * left[3]
        axes[b], rotations[:, b], scales[:, b] = search.rotate_axes(
            np.ascontiguousarray(cross), moments[b], axes[b], rotations[:, b], scales[:, b], strength[b]
        )
        linear = (rotations[:, b] * scales[:, b, None, :]) @ axes[b]
        stacked[b, :3] = linear.transpose(2, 0, 1).reshape(3, -1)
        stacked[b, 3] = ((left[3] - linear @ center) / mass).ravel()
    unstacked = stacked.reshape(n_bones, 4, n_frames, 3).transpose(2, 0, 3, 1)
    return axes, np.ascontiguousarray(unstacked)


def _split(transforms: Float64, axes: Float64) -> tuple[Float64, Float64]:
    """(f,b,3,3) rotations and (f,b,3) scales of scaled bones."""
    product = transforms[..., :3] @ np.swapaxes(axes, -1, -2)
    scales = np.linalg.norm(product, axis=-2)
    return product / scales[..., None, :], scales


def project_scaled(transforms: Float64, axes: Float64 | None = None, centers: Float64 | None = None) -> Float64:
    """The scaled bones closest to any (f,b,3,4), about their own axes or those given; centers (b,3) stay in place."""
    axes = axes_of_bones(transforms) if axes is None else axes
    product = transforms[..., :3] @ np.swapaxes(axes, -1, -2)
    lengths = np.maximum(np.linalg.norm(product, axis=-2, keepdims=True), 1e-300)
    rotations = rotations_of(product / lengths)
    scales = np.maximum(np.einsum("fbij,fbij->fbj", rotations, product), SMALLEST_SCALE)
    out = transforms.copy()
    out[..., :3] = (rotations * scales[..., None, :]) @ axes
    if centers is not None:
        out[..., 3] += np.einsum("fbij,bj->fbi", transforms[..., :3] - out[..., :3], centers)
    return out


def _moments(zz: Float64) -> Float64:
    """(b,3,3) P of each bone."""
    n_bones = len(zz) // 4
    blocks = zz.reshape(n_bones, 4, n_bones, 4)[np.arange(n_bones), :, np.arange(n_bones)]
    mass = np.maximum(blocks[:, 3, 3], 1e-300)[:, None, None]
    return np.asarray(blocks[:, :3, :3] - blocks[:, :3, 3:] * blocks[:, 3:, :3] / mass)


def sweep_scaled(
    zz: Float64, zx: Float64, transforms: Float64, axes: Float64, strength: Float64, sweeps: int = 3, threads: int = 1
) -> None:
    """Move transforms (f,b,3,4) by sweeps over the bones, along fixed axes; strength (b,) regularises scales to 1."""
    along = np.einsum("bki,bij,bkj->bk", axes, _moments(zz), axes)

    def work(start: int, stop: int) -> None:
        scratch = np.empty((4, 3, 3)), np.empty((3, 4, 4))
        _scaled_sweeps(zz, zx, transforms, axes, along, strength, start, stop, sweeps, *scratch)

    for_blocks(work, len(transforms), 8, threads)


def solve_scaled(
    zz: Float64,
    zx: Float64,
    transforms: Float64,
    strength: Float64,
    *,
    axes: Float64 | None = None,
    sweeps: int = 3,
    threads: int = 1,
) -> Float64:
    """New scaled bones (f,b,3,4) from the last ones, along given axes, or along their own, which are updated."""
    found = axes_of_bones(transforms) if axes is None else axes
    out = transforms.copy()
    light = np.flatnonzero(zz.diagonal()[3::4] < LIGHTEST)  # not updated below
    if len(light):
        out[:, light] = project_scaled(transforms[:, light], found[light])
    if axes is None:
        found, out = _rotate_axes(zz, zx, out, found, strength)
    sweep_scaled(zz, zx, out, found, strength, sweeps, threads)
    return out
