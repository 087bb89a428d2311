"""Weights and helper bones for the joints of an existing rig.

    joints that move:   minimise over w, T_h:      sum || sum_j w_j T_j p + sum_h w_h T_h p - x ||^2,   T_j as given
    joints at rest:     the same over all T too, started from the rig's own weights

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 5 (transforms of a kinematic skeleton may be given);
helper bones as in Mohr and Gleicher, Building Efficient, Accurate Character Skins from Examples, 2003, but placed where
the error is instead of at the joints.

Helpers are added in waves, half of the missing ones at a time, each at the worst vertex of the group with the largest
error. A few rounds of weights and helper bones follow each wave; at the end the least useful helpers are replaced once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Float64
from osteon.fit.moments import blend_moments
from osteon.fit.problem import FitProblem
from osteon.fit.skin.bones import place_bones, removal_costs
from osteon.fit.skin.influences import Influences, select_influences
from osteon.fit.skin.solve_bones import solve_from_moments, stack_transforms

ROUNDS_A_WAVE = 4
FINAL_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class HelperOptions:
    """Options of the fit of weights and helper bones."""

    influences: int = 4
    helpers: int = 0
    bone_type: BoneType = "scaled"  # of the helpers
    stiffness: float = 5e-3
    threads: int = 1


def _solve_helpers(
    problem: FitProblem, influences: Influences, transforms: Float64, n_joints: int, options: HelperOptions
) -> Float64:
    """The transforms with refitted helpers: their block of the normal equations, with the joints on the right side."""
    if transforms.shape[1] == n_joints:
        return transforms
    n_bones = transforms.shape[1]
    zz, zx = blend_moments(problem, influences.bones, influences.weights, n_bones, options.threads)
    first = 4 * n_joints
    right = zx[first:] - zz[first:, :first] @ stack_transforms(transforms[:, :n_joints])
    solved = solve_from_moments(
        np.ascontiguousarray(zz[first:, first:]),
        np.ascontiguousarray(right),
        np.ascontiguousarray(transforms[:, n_joints:]),
        options.bone_type,
        stiffness=options.stiffness,
        threads=options.threads,
    )
    return np.concatenate([transforms[:, :n_joints], solved], axis=1)


def fit_helper_bones(
    problem: FitProblem, joints: Float64, options: HelperOptions, on_error: Callable[[float], None]
) -> tuple[Float64, Influences]:
    """Transforms (f,j+h,3,4) of the unchanged joints (f,j,3,4) and the helpers, and influences of all of them."""
    n_joints, transforms = joints.shape[1], joints

    def weigh(earlier: Influences | None, *, thorough: bool = False) -> Influences:
        return select_influences(
            problem, transforms, options.influences, earlier=earlier, thorough=thorough, threads=options.threads
        )

    influences = weigh(None, thorough=True)
    on_error(problem.error_percent(influences.errors))
    everywhere = np.ones(problem.n_vertices, np.bool_)
    while (missing := n_joints + options.helpers - transforms.shape[1]) > 0:
        added = place_bones(problem, influences, -(-missing // 2), everywhere, options.threads)
        transforms = np.concatenate([transforms, added], axis=1)
        influences = weigh(None)
        for _ in range(FINAL_ROUNDS if missing == added.shape[1] else ROUNDS_A_WAVE):
            transforms = _solve_helpers(problem, influences, transforms, n_joints, options)
            influences = weigh(influences)
            on_error(problem.error_percent(influences.errors))
    if options.helpers > 1:
        transforms, influences = _move_helpers(problem, transforms, influences, n_joints, options)
        on_error(problem.error_percent(influences.errors))
    return transforms, select_influences(
        problem, transforms, options.influences, earlier=influences, thorough=True, threads=options.threads
    )


def _move_helpers(
    problem: FitProblem, transforms: Float64, influences: Influences, n_joints: int, options: HelperOptions
) -> tuple[Float64, Influences]:
    """Replace the least useful tenth of the helpers, if that lowers the error."""
    costs = removal_costs(problem, transforms, influences, options.threads)[n_joints:]
    leaving = n_joints + np.argsort(costs, kind="stable")[: max(1, options.helpers // 10)]
    free = ~np.isin(influences.bones[:, 0], leaving)
    added = place_bones(problem, influences, len(leaving), free, options.threads)
    moved = transforms.copy()
    moved[:, leaving[: added.shape[1]]] = added
    tried = select_influences(problem, moved, options.influences, threads=options.threads)
    for _ in range(FINAL_ROUNDS):
        moved = _solve_helpers(problem, tried, moved, n_joints, options)
        tried = select_influences(problem, moved, options.influences, earlier=tried, threads=options.threads)
    return (moved, tried) if tried.squared_error < influences.squared_error else (transforms, influences)
