"""Animation Space and Multi-Weight Enveloping as the paper prints them: all bones, no constraint, pulled to zero.

    Animation Space     minimise over p   sum_f || sum_i T_i^f p_i - v^f ||^2 + lambda sum_i || p_i ||^2
    Multi-Weight        for each row r:   minimise over w
                        sum_f ( sum_i sum_j w_i,rj m_i,rj^f v^_j - v_r^f )^2 + lambda sum_ij w_i,rj^2        (eq. 2)

The sums run over all bones of the skeleton. p_i is any 4-vector in the coordinates of bone i: its last entry is the
bone's weight, and these weights need not sum to one. Positions, matrices and the rest position v^ are in the axes and
about the origin of the input, so the result depends on both, and bones at rest need not keep the rest pose. With
lambda to infinity every vertex moves to the origin.

| paper | name |
| --- | --- |
| T_i | transforms times the rest frames of the joints: from bone coordinates to the scene |
| M_i = T_i T^_i^-1, entries m | transforms (f,b,3,4), posed_from_rest |
| v^, v | rest and posed positions, in units of the problem's posed scale |

Based on: Reid and Jacka, Mesh Approximation for Animated Characters, sections 2.1.3, eq. 2, 3.1 and 4, figure 3.
The paper sets lambda by the deviation over a range of values; as in `ridge_fit.py` it is that of held-out training
poses. Our own forms, in `animation_space.py` and `multi_weight.py`, start from the linear blend skin instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from osteon.core.arrays import Float64, Int64, IntArray
from osteon.core.character import Deformer
from osteon.core.transforms import compose, identity
from osteon.deform.animation_space import AnimationSpace
from osteon.deform.multi_weight import WORLD, MultiWeight
from osteon.fit.models.ridge_fit import RidgeFit, RidgeOptions, fit_slots
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import Influences


def fit_printed_animation_space(
    problem: FitProblem,
    transforms: Float64,
    ssd: Influences,
    options: RidgeOptions | None = None,
    *,
    groups: IntArray | None = None,
) -> RidgeFit:
    """Fit p_i of all bones (f,b,3,4), in problem units; the frames of bones are those of the skeleton's joints."""
    return fit_slots(problem, transforms, ssd, _AnimationSpace.make, _literal(options), groups)


def fit_printed_multi_weight(
    problem: FitProblem,
    transforms: Float64,
    ssd: Influences,
    options: RidgeOptions | None = None,
    *,
    groups: IntArray | None = None,
) -> RidgeFit:
    """Fit twelve weights of all bones (f,b,3,4), in problem units."""
    return fit_slots(problem, transforms, ssd, _MultiWeight.make, _literal(options), groups)


def _literal(options: RidgeOptions | None) -> RidgeOptions:
    return replace(options or RidgeOptions(), towards="zero", all_bones=True, reference="world")


@dataclass(frozen=True, slots=True)
class _AnimationSpace:
    """One system for the three coordinates of a vertex; the same equations for all vertices."""

    rows_a_pose: ClassVar[int] = 3

    columns: Float64  # (3f,4b) T of all bones
    frames: Float64  # (b,3,4) T^ in input units
    rest: Float64  # (v,3) in input units
    centers: Float64  # (f,3) offset from problem positions to positions about the origin of the input
    scale: float  # input units in one unit of the posed positions

    @classmethod
    def make(
        cls, problem: FitProblem, transforms: Float64, bones: Int64, weights: Float64, options: RidgeOptions
    ) -> _AnimationSpace:
        frames = identity(transforms.shape[1])
        if options.skeleton is not None:
            frames = options.skeleton.world_from_joint.astype(np.float64)
        posed = compose(problem.to_input(transforms).values, frames)
        posed[..., 3] /= problem.posed_scale  # lengths of p_i in the same unit
        columns = posed.transpose(0, 2, 1, 3).reshape(3 * problem.n_frames, -1)
        return cls(
            columns,
            frames,
            problem.rest_to_input(problem.points[:, :3]),
            problem.frame_centers / problem.posed_scale,
            problem.posed_scale,
        )

    def features(self, vertices: Int64) -> Float64:
        return np.broadcast_to(self.columns, (len(vertices), 1, *self.columns.shape))

    def local(self, vertices: Int64, positions: Float64) -> Float64:
        return (positions + self.centers).reshape(len(vertices), 1, -1)

    def zero(self, vertices: Int64) -> Float64:
        return np.zeros((len(vertices), 1, len(self.columns)))

    def deformer(self, weights: Float64 | None, coefficients: Float64) -> Deformer:
        n_vertices, n_bones = len(coefficients), len(self.frames)
        p = coefficients.reshape(n_vertices, n_bones, 4)
        q = np.einsum("bij,vbj->vbi", self.frames[..., :3], self.scale * p[..., :3])
        q += self.frames[..., 3] * p[..., 3:]
        offsets = q - p[..., 3:] * self.rest[:, None]
        return AnimationSpace(
            _all_bones(n_vertices, n_bones), p[..., 3].astype(np.float32), offsets.astype(np.float32), free=True
        )


@dataclass(frozen=True, slots=True)
class _MultiWeight:
    """One system for each row of a vertex's matrix."""

    rows_a_pose: ClassVar[int] = 1

    places: Float64  # (v,4) v^
    matrices: Float64  # (b,f,3,4) M
    centers: Float64  # (f,3) as above

    @classmethod
    def make(
        cls, problem: FitProblem, transforms: Float64, bones: Int64, weights: Float64, options: RidgeOptions
    ) -> _MultiWeight:
        matrices = problem.to_input(transforms).values.swapaxes(0, 1) / [1.0, 1.0, 1.0, problem.posed_scale]
        places = np.ones((problem.n_vertices, 4))
        places[:, :3] = problem.rest_to_input(problem.points[:, :3]) / problem.posed_scale
        return cls(places, np.ascontiguousarray(matrices), problem.frame_centers / problem.posed_scale)

    def features(self, vertices: Int64) -> Float64:
        entries = self.matrices * self.places[vertices, None, None, None]  # (n,b,f,3,4) m v^
        return entries.transpose(0, 3, 2, 1, 4).reshape(len(vertices), 3, self.matrices.shape[1], -1)

    def local(self, vertices: Int64, positions: Float64) -> Float64:
        return np.ascontiguousarray((positions + self.centers).swapaxes(1, 2))

    def zero(self, vertices: Int64) -> Float64:
        return np.zeros((len(vertices), 3, self.matrices.shape[1]))

    def deformer(self, weights: Float64 | None, coefficients: Float64) -> Deformer:
        n_vertices, n_bones = len(coefficients), len(self.matrices)
        twelve = coefficients.reshape(n_vertices, 3, n_bones, 4).transpose(0, 2, 1, 3).reshape(n_vertices, n_bones, 12)
        return MultiWeight(
            _all_bones(n_vertices, n_bones),
            np.ascontiguousarray(twelve, np.float32),
            np.full(n_vertices, WORLD, np.int32),
            identity(n_bones).astype(np.float32),
        )


def _all_bones(n_vertices: int, n_bones: int) -> IntArray:
    return np.tile(np.arange(n_bones, dtype=np.int32), (n_vertices, 1))
