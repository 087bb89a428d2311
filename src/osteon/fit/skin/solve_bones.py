"""Bone transforms of all frames, given the weights.

    scaled:    `scaled_bones.py`
    flexible:  minimise || Z T - X ||^2 + stiffness sum_b spread_b || A_b - R_b ||^2   (R_b: rotation of the last A_b)
    rigid:     minimise || Z T - X ||^2   with every A_b a rotation

| symbol | name |
| --- | --- |
| Z      | blends (v,4b): w_vb p_v |
| T      | stacked transforms (4b,3f); A_b is the 3x3 part of bone b |
| spread_b | sum_v w_vb^2 || p_v - their centre ||^2 / 3: the weight of A_b in the data term |

Based on: the normal equations of James and Twigg, Skinning Mesh Animations, 2005, appendix A, for all bones at once;
rigid bones by block descent, each bone a weighted Procrustes problem on the residual of the others.

Flexible: one matrix serves all frames. It is factored by Gaussian elimination, because right sides take nearly all of
the time and SciPy's Cholesky takes 0.12 s to import, a tenth of the fit of the horse. The stiffness keeps
bones well conditioned: without it blends come close to singular (smallest singular value 1e-5) and cannot carry
corrections.
Rigid: with Z'Z and Z'X a sweep over the bones needs no vertices; it costs b^2 f small products.

Notes: E % and 1st percentile of the smallest singular value of the blends, by stiffness. A stiffness that ignores the
size of a bone (times mass instead of spread) makes many small bones rigid: the last column.
|                | horse, 30   | chicken, 22 | clothhorse, 6 | bent tube, 192 |
| 1e-3           | 0.99, 0.27  | 0.098, 0.10 | 4.02, 0.19    | 0.049, 0.80    |
| 3e-3           | 0.97, 0.34  | 0.098, 0.12 | 4.03, 0.23    | 0.063, 0.84    |
| 1e-2           | 0.99, 0.46  | 0.101, 0.38 | 4.10, 0.35    | 0.080, 0.88    |
| 1e-4, of mass  | 1.01, 0.70  | 0.102, 0.20 | 4.02, 0.24    | 0.090, 0.91    |
"""

from __future__ import annotations

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Float64
from osteon.core.kernels import kernel
from osteon.core.parallel import for_blocks
from osteon.fit.moments import blend_moments
from osteon.fit.problem import FitProblem
from osteon.fit.skin.procrustes import rotation_to, rotations_of
from osteon.fit.skin.scaled_bones import LIGHTEST, left_to_bone, project_scaled, solve_scaled

#: Regularisation towards the last transforms: bones without vertices do not move.
INERTIA = 1e-9
#: Least squared extent of a bone, in squared problem units.
SMALLEST_SPREAD = 1e-4


def stack_transforms(transforms: Float64) -> Float64:
    """(f,b,3,4) to (4b,3f)."""
    n_frames, n_bones = transforms.shape[:2]
    return np.ascontiguousarray(transforms.transpose(1, 3, 0, 2)).reshape(4 * n_bones, 3 * n_frames)


def unstack_transforms(stacked: Float64) -> Float64:
    """(4b,3f) to (f,b,3,4)."""
    n_bones, n_frames = stacked.shape[0] // 4, stacked.shape[1] // 3
    return np.ascontiguousarray(stacked.reshape(n_bones, 4, n_frames, 3).transpose(2, 0, 3, 1))


@kernel("f8.2r f8.2r f8.4 i8 i8 i8 f8.3 f8.3")
def _rigid_sweeps(
    zz: Float64, zx: Float64, transforms: Float64, start: int, stop: int, sweeps: int, three: Float64, four: Float64
) -> None:
    """Moves frames start … stop; three (2,3,3) and four (3,4,4) are scratch."""
    n_bones = transforms.shape[1]
    C, R = three[0], three[1]
    N, V, left = four[0], four[1], four[2]
    for f in range(start, stop):
        for _ in range(sweeps):
            for b in range(n_bones):
                mass = zz[4 * b + 3, 4 * b + 3]
                if mass < LIGHTEST:
                    continue
                left_to_bone(zz, zx, transforms, f, b, left)
                for i in range(3):
                    for j in range(3):
                        C[j, i] = left[i, j] - zz[4 * b + 3, 4 * b + i] * left[3, j] / mass
                rotation_to(C, N, V, R)
                for j in range(3):
                    t = left[3, j]
                    for i in range(3):
                        transforms[f, b, j, i] = R[j, i]
                        t -= R[j, i] * zz[4 * b + 3, 4 * b + i]
                    transforms[f, b, j, 3] = t / mass


def _spreads(zz: Float64) -> Float64:
    """(b,) weighted sum of squared distances of the points of each bone to their centre."""
    n_bones = len(zz) // 4
    blocks = zz.reshape(n_bones, 4, n_bones, 4)[np.arange(n_bones), :, np.arange(n_bones)]
    mass = np.maximum(blocks[:, 3, 3], 1e-300)
    about_center = np.trace(blocks[:, :3, :3], axis1=1, axis2=2) - (blocks[:, 3, :3] ** 2).sum(axis=1) / mass
    # A tiny part of the mass keeps bones with one vertex solvable.
    return np.asarray(np.maximum(about_center, 0) / 3 + SMALLEST_SPREAD * mass)


def bone_strengths(zz: Float64, stiffness: float) -> Float64:
    """(4b,) strength of the regularisation of each row of the stacked transforms towards its rotation or last value."""
    strength = np.full((len(zz) // 4, 4), INERTIA)
    strength[:, :3] += stiffness * _spreads(zz)[:, None]
    return strength.ravel()


def _solve_flexible(zz: Float64, zx: Float64, transforms: Float64, strength: Float64) -> Float64:
    aim = transforms.copy()
    aim[..., :3] = rotations_of(transforms)
    right = zx + strength[:, None] * stack_transforms(aim)
    solved = np.linalg.solve(zz + np.diag(strength), right).astype(np.float64, copy=False)
    return unstack_transforms(solved)


def solve_frame_flexible(zz: Float64, zx: Float64, transforms: Float64, strength: Float64) -> Float64:
    """Transforms (b,3,4) of one frame from its own Z'Z (4b,4b) and Z'X (4b,3)."""
    return np.asarray(_solve_flexible(zz, zx, transforms[None], strength)[0])


def solve_frame_rigid(zz: Float64, zx: Float64, transforms: Float64, sweeps: int = 3) -> None:
    """Move transforms (1,b,3,4) of one frame by sweeps over its bones."""
    _sweep(zz, zx, transforms, 0, 1, sweeps)


def _sweep(zz: Float64, zx: Float64, transforms: Float64, start: int, stop: int, sweeps: int) -> None:
    _rigid_sweeps(zz, zx, transforms, start, stop, sweeps, np.empty((2, 3, 3)), np.empty((3, 4, 4)))


def solve_bones(
    problem: FitProblem,
    bones: np.ndarray,
    weights: Float64,
    transforms: Float64,
    bone_type: BoneType,
    *,
    stiffness: float = 5e-3,
    axes: Float64 | None = None,
    sweeps: int = 3,
    threads: int = 1,
) -> Float64:
    """New transforms (f,b,3,4), starting from the last ones; scaled bones keep axes (b,3,3) that are given."""
    zz, zx = blend_moments(problem, bones, weights, transforms.shape[1], threads)
    return solve_from_moments(
        zz, zx, transforms, bone_type, stiffness=stiffness, axes=axes, sweeps=sweeps, threads=threads
    )


def solve_from_moments(
    zz: Float64,
    zx: Float64,
    transforms: Float64,
    bone_type: BoneType,
    *,
    stiffness: float = 5e-3,
    axes: Float64 | None = None,
    sweeps: int = 3,
    threads: int = 1,
) -> Float64:
    """New transforms (f,b,3,4) from Z'Z (4b,4b) and Z'X (4b,3f)."""
    if bone_type == "flexible":
        return _solve_flexible(zz, zx, transforms, bone_strengths(zz, stiffness))
    if bone_type == "scaled":
        strength = stiffness * _spreads(zz)
        return solve_scaled(zz, zx, transforms, strength, axes=axes, sweeps=sweeps, threads=threads)
    out = transforms.copy()
    for_blocks(lambda a, b: _sweep(zz, zx, out, a, b, sweeps), len(out), 8, threads)
    return out


def step_ahead(transforms: Float64, last: Float64, beta: float, bone_type: BoneType, centers: Float64) -> Float64:
    """Transforms extrapolated by beta of their last step and projected to their bone type.

    The projection keeps the bones' centers (b,3) in place, not the origin, which may be far from a bone.
    """
    ahead = transforms + beta * (transforms - last)
    if bone_type == "scaled":
        return project_scaled(ahead, centers=centers)
    if bone_type == "rigid":
        out = ahead.copy()
        out[..., :3] = rotations_of(ahead)
        out[..., 3] += np.einsum("fbij,bj->fbi", ahead[..., :3] - out[..., :3], centers)
        return out
    return ahead
