"""Multi-Weight Enveloping, twelve weights per bone, for given bones.

    for each vertex and row i of its frame:
    minimise over dW   sum_f ( sum_kj (w_k + dW_kij) N_kij^f p~_j - y_i^f )^2 + lambda sum_kj (dW_kij / c_j)^2,
                       sum_k dW_kii = 0,    p~ = F_r^-1 p,    y^f = F_r^-1 (M_r^f)^-1 x^f

The bones are rigid, so a deviation is as long in the frame of the reference bone as in the world. There the three rows
are separate problems. r is the bone of the largest weight, F_r the centre and principal axes of its vertices: they
rotate with the scene, and the sign of an axis does not matter (deform/multi_weight.py). The sum is kept exactly
by subtracting the mean over the slots from the features, as in animation_space.py.

| symbol | name |
| --- | --- |
| N      | matrices (b,b,f,3,4): of each bone in the frame of each other |
| M, p, x | transforms (f,b,3,4), points, targets of the problem |
| c      | COLUMNS: scale of the change of a column's weights |

Based on: Reid and Jacka, Mesh Approximation for Animated Characters, section 2.1.3, eq. 2, and section 3.1.
Differs from the paper: reference bones; "world" is as printed. Regularised towards the skin, the rest pose is kept.

Notes. RMS on 14 unseen poses over that of the skin, as in ridge_fit.py, 1,200 vertices, c of the last column 3, 1, 0.3,
0.1, and 1 for the others: horse 0.825, 0.802, 0.769, 0.765; chicken -, 0.957, 0.936, 0.943; clothhorse -, 0.530,
0.528, 0.519. Axes of the world about the centre of the reference bone 0.805, as printed 0.790 (both with 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from osteon.core.arrays import Float64, Int64, IntArray
from osteon.core.character import Deformer
from osteon.core.transforms import apply, compose, identity, invert
from osteon.deform.multi_weight import WORLD, MultiWeight
from osteon.fit.models.registry import ModelFit, ModelFitOptions
from osteon.fit.models.ridge_fit import RidgeFit, RidgeOptions, fit_given_bones, fit_slots
from osteon.fit.moments import moment_centers
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import Influences

#: c: the last column is the position of a bone relative to the reference bone, which grows with the distance.
COLUMNS = np.array([1.0, 1.0, 1.0, 0.3])


def fit_multi_weight(
    problem: FitProblem,
    transforms: Float64,
    ssd: Influences,
    options: RidgeOptions | None = None,
    *,
    groups: IntArray | None = None,
) -> RidgeFit:
    """Fit Multi-Weight to rigid bones (f,b,3,4) in problem units, from a linear blend skin of the same bones."""
    return fit_slots(problem, transforms, ssd, _System.make, options or RidgeOptions(), groups)


def bone_frames(points: Float64, bones: Int64, weights: Float64, n_bones: int) -> Float64:
    """(b,3,4) rest_from_frame: centre and principal axes of the vertices of each bone, by squared weights."""
    frames = identity(n_bones)
    frames[..., 3] = moment_centers(points, bones, weights, n_bones)
    spread = np.zeros((n_bones, 3, 3))
    for k in range(bones.shape[1]):
        away = weights[:, k, None] * (points[:, :3] - frames[bones[:, k], :, 3])
        np.add.at(spread, bones[:, k], away[:, :, None] * away[:, None])
    _, axes = np.linalg.eigh(spread)
    axes[np.linalg.det(axes) < 0, :, 0] *= -1
    frames[..., :3] = axes
    return frames


@dataclass(frozen=True, slots=True)
class _System:
    """Equations of Multi-Weight: one system for each row of a vertex's frame."""

    rows_a_pose: ClassVar[int] = 1

    places: Float64  # (v,4) p~
    bones: Int64  # (v,k)
    reference: Int64  # (v,) index of a frame; the last one is the world
    matrices: Float64  # (b+1,b,f,3,4) N
    frame_from_world: Float64  # (b+1,f,3,4)
    centers: Float64  # (f,3) offset from problem positions to positions in those frames
    frames: Float64  # (b,3,4) F in the units of the input

    @classmethod
    def make(
        cls, problem: FitProblem, transforms: Float64, bones: Int64, weights: Float64, options: RidgeOptions
    ) -> _System:
        n_frames, n_bones = transforms.shape[:2]
        in_world = options.reference == "world"
        # World axes refer to the origin of the input, while the problem is centred in every frame.
        moves = problem.to_input(transforms).values if in_world else transforms
        moves = moves / [1.0, 1.0, 1.0, problem.posed_scale if in_world else 1.0]
        rest = problem.points[:, :3] + (problem.rest_center / problem.posed_scale if in_world else 0)
        centers = problem.frame_centers / problem.posed_scale if in_world else np.zeros((n_frames, 3))
        frames = np.concatenate([bone_frames(rest, bones, weights, n_bones), identity(1)])
        still = np.concatenate([moves, identity(n_frames, 1)], axis=1)
        frame_from_world = invert(compose(still, frames)).swapaxes(0, 1)
        seen = compose(moves.swapaxes(0, 1)[None], frames[:, None, None])
        matrices = compose(frame_from_world[:, None], seen)
        reference = np.full(len(bones), n_bones) if in_world else bones[:, 0]
        places = np.ones((len(bones), 4))
        places[:, :3] = apply(invert(frames)[reference], rest[:, None])[:, 0]
        stored = frames[:-1].copy()
        stored[..., 3] = problem.rest_scale * stored[..., 3] + (0 if in_world else problem.rest_center)
        return cls(places, bones, reference, matrices, frame_from_world, centers, stored)

    def features(self, vertices: Int64) -> Float64:
        entries = self._entries(vertices)
        entries *= COLUMNS
        for i in range(3):
            entries[:, :, :, i, i] -= entries[:, :, :, i, i].mean(axis=1, keepdims=True)
        # (n,k,f,i,j) to (n,i,f,(k,j))
        return entries.transpose(0, 3, 2, 1, 4).reshape(len(vertices), 3, entries.shape[2], -1)

    def _entries(self, vertices: Int64) -> Float64:
        """(n,k,f,3,4) N_kij p~_j."""
        found = self.matrices[self.reference[vertices, None], self.bones[vertices]]
        return np.asarray(found * self.places[vertices, None, None, None])

    def local(self, vertices: Int64, positions: Float64) -> Float64:
        frames = self.frame_from_world[self.reference[vertices]]
        moved = np.einsum("nfij,nfj->nif", frames[..., :3], positions + self.centers)
        return np.asarray(moved + frames[..., 3].swapaxes(1, 2))

    def zero(self, vertices: Int64) -> Float64:
        return np.asarray(np.einsum("nkfii->nif", self._entries(vertices)[..., :3]) / self.bones.shape[1])

    def deformer(self, weights: Float64 | None, coefficients: Float64) -> Deformer:
        n_vertices, n_slots = self.bones.shape
        twelve = coefficients.reshape(n_vertices, 3, n_slots, 4).transpose(0, 2, 1, 3) * COLUMNS
        for i in range(3):  # remove the rounding that a weak regularisation leaves
            twelve[:, :, i, i] -= twelve[:, :, i, i].mean(axis=1, keepdims=True)
        twelve += np.eye(3, 4) / n_slots if weights is None else weights[:, :, None, None]
        n_bones = len(self.frames)
        reference = np.where(self.reference < n_bones, self.reference, WORLD)
        return MultiWeight(
            self.bones.astype(np.int32),
            np.ascontiguousarray(twelve).reshape(n_vertices, n_slots, 12).astype(np.float32),
            reference.astype(np.int32),
            self.frames.astype(np.float32),
        )


class _MultiWeightFit:
    """`FamilyFit` of Multi-Weight Enveloping."""

    def fit(self, problem: FitProblem, transforms: Float64, options: ModelFitOptions) -> ModelFit:
        return fit_given_bones(fit_multi_weight, problem, transforms, options)

    def refit_bones(self, problem: FitProblem, deformer: Deformer, transforms: Float64, threads: int) -> Float64:
        """The bones of the linear blend skin, which the weights were fitted to, unchanged."""
        return transforms


MULTI_WEIGHT_FIT = _MultiWeightFit()
