"""Weights and offsets of Animation Space for given bones.

    for each vertex:   minimise over dw, d   sum_f || sum_k M_k^f ((w_k + dw_k) [p; 1] + u [d_k; 0]) - x^f ||^2
                                             + lambda (|dw|^2 + |d|^2),     sum_k dw_k = 0,  sum_k d_k = 0

Both sums are kept exactly: the mean over the slots is subtracted from the features. The ridge solution is a combination
of rows of features, so it has no component along the mean.

| symbol | name |
| --- | --- |
| M, p, x | transforms (f,b,3,4), points, targets of the problem |
| w       | weights of the linear blend skin (v,k) |
| u       | OFFSET, in RMS radii of the rest pose: the offset that is regularised as strongly as a weight of one |

Bones for a fixed deformer: as for linear blending (solve_bones.py), with Z = q instead of w [p; 1].

Based on: Reid and Jacka, Mesh Approximation for Animated Characters, sections 2.1.3 and 3.1.
Differs from the paper: regularised towards the skin (ridge_fit.py), the rest pose is kept.

Notes. RMS on 14 unseen poses over that of the skin, as in ridge_fit.py, 1,200 vertices, u of 0.3, 0.1 and
0.05: 0.796, 0.782, 0.778; of 0.3 without sum d = 0 0.777: the constraint is kept because bones at rest then reproduce
the rest pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from osteon.core.animation import bone_type_of
from osteon.core.arrays import Float64, Int64, IntArray
from osteon.core.bone_axes import axes_of_bones
from osteon.core.character import Deformer
from osteon.core.errors import OptionError
from osteon.deform.animation_space import AnimationSpace
from osteon.fit.models.registry import ModelFit, ModelFitOptions
from osteon.fit.models.ridge_fit import RidgeFit, RidgeOptions, fit_given_bones, fit_slots
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import Influences
from osteon.fit.skin.solve_bones import solve_from_moments

#: u, in problem units; the bounding box would depend on the orientation of the scene.
OFFSET = 0.1
#: Rounds of bones for a fixed deformer, and sweeps per round.
REFIT_ROUNDS = 8
SWEEPS = 10


def fit_animation_space(
    problem: FitProblem,
    transforms: Float64,
    ssd: Influences,
    options: RidgeOptions | None = None,
    *,
    groups: IntArray | None = None,
) -> RidgeFit:
    """Fit Animation Space to bones (f,b,3,4) in problem units, from a linear blend skin of the same bones."""
    options = options or RidgeOptions()
    if options.reference != "bone":
        raise OptionError("reference: Animation Space has no weights per matrix entry, so it has no axes; omit it")
    return fit_slots(problem, transforms, ssd, _System.make, options, groups)


@dataclass(frozen=True, slots=True)
class _System:
    """Equations of Animation Space: one system for all three coordinates of a vertex."""

    rows_a_pose: ClassVar[int] = 3

    points: Float64  # (v,4)
    linear: Float64  # (b,3f,3) L of every bone
    shifts: Float64  # (b,3f)
    bones: Int64  # (v,k)
    rest_scale: float

    @classmethod
    def make(
        cls, problem: FitProblem, transforms: Float64, bones: Int64, weights: Float64, options: RidgeOptions
    ) -> _System:
        stacked = np.ascontiguousarray(transforms.transpose(1, 0, 2, 3)).reshape(transforms.shape[1], -1, 4)
        linear, shifts = np.ascontiguousarray(stacked[..., :3]), np.ascontiguousarray(stacked[..., 3])
        return cls(problem.points, linear, shifts, bones, problem.rest_scale)

    def features(self, vertices: Int64) -> Float64:
        linear = self.linear[self.bones[vertices]]  # (n,k,3f,3)
        moved = np.einsum("nkmj,nj->nkm", linear, self.points[vertices, :3]) + self.shifts[self.bones[vertices]]
        out = np.concatenate([moved[..., None], OFFSET * linear], axis=3)
        out -= out.mean(axis=1, keepdims=True)
        return out.transpose(0, 2, 1, 3).reshape(len(vertices), 1, linear.shape[2], -1)

    def local(self, vertices: Int64, positions: Float64) -> Float64:
        return positions.reshape(len(vertices), 1, -1)

    def zero(self, vertices: Int64) -> Float64:
        bones = self.bones[vertices]
        moved = np.einsum("nkmj,nj->nkm", self.linear[bones], self.points[vertices, :3]) + self.shifts[bones]
        return np.asarray(moved.mean(axis=1)[:, None])

    def deformer(self, weights: Float64 | None, coefficients: Float64) -> Deformer:
        n_slots = self.bones.shape[1]
        slots = coefficients.reshape(len(coefficients), n_slots, 4)
        slots = slots - slots.mean(axis=1, keepdims=True)  # remove the rounding that a weak regularisation leaves
        start = 1 / n_slots if weights is None else weights
        offsets = self.rest_scale * OFFSET * slots[..., 1:]
        return AnimationSpace(
            self.bones.astype(np.int32), (start + slots[..., 0]).astype(np.float32), offsets.astype(np.float32)
        )


def refit_animation_space_bones(
    problem: FitProblem, deformer: AnimationSpace, transforms: Float64, threads: int
) -> Float64:
    """Bones (f,b,3,4) of the same type as `transforms` for fixed weights and offsets."""
    zz, zx = _moments(problem, deformer, transforms.shape[1])
    bone_type = bone_type_of(transforms)
    axes = axes_of_bones(transforms) if bone_type == "scaled" else None
    for _ in range(REFIT_ROUNDS):
        transforms = solve_from_moments(zz, zx, transforms, bone_type, axes=axes, sweeps=SWEEPS, threads=threads)
    return transforms


def _moments(problem: FitProblem, deformer: AnimationSpace, n_bones: int) -> tuple[Float64, Float64]:
    """Z'Z (4b,4b) and Z'X (4b,3f) of the blends' q in the problem's units."""
    q = deformer.weights[..., None].astype(np.float64) * problem.points[:, None]
    q[..., :3] += deformer.offsets / problem.rest_scale
    columns = 4 * deformer.bones[..., None].astype(np.int64) + np.arange(4)
    rows = np.arange(q.shape[0] + 1) * q[0].size
    z = csr_matrix((q.ravel(), columns.ravel(), rows), shape=(q.shape[0], 4 * n_bones))
    zz, zx = (z.T @ z).toarray(), z.T @ problem.targets.astype(np.float64)
    return np.ascontiguousarray(zz), np.ascontiguousarray(zx)


class _AnimationSpaceFit:
    """`FamilyFit` of Animation Space."""

    def fit(self, problem: FitProblem, transforms: Float64, options: ModelFitOptions) -> ModelFit:
        return fit_given_bones(fit_animation_space, problem, transforms, options)

    def refit_bones(self, problem: FitProblem, deformer: Deformer, transforms: Float64, threads: int) -> Float64:
        assert isinstance(deformer, AnimationSpace)
        return refit_animation_space_bones(problem, deformer, transforms, threads)


ANIMATION_SPACE_FIT = _AnimationSpaceFit()
