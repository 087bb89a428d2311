"""EigenSkin as a contestant of `osteon compare`: the linear blend skin, and displacements that follow its joints.

Training poses move all joints at once, so what each has to do with them is split (`fit/eigenskin/additive_poses.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.character import Character
from osteon.core.eigenskin_options import EigenSkinOptions
from osteon.core.errors import OptionError
from osteon.core.mesh import Mesh
from osteon.core.skeleton import Skeleton
from osteon.deform.linear_blend import LinearBlend
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses, fit_eigenskin
from osteon.fit.models.contestants import ContestantFit
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import Influences

__all__ = ["SkeletonOptions", "contest_eigenskin"]


@dataclass(frozen=True, slots=True)
class SkeletonOptions:
    """Options of a contestant that needs the skeleton of the bones."""

    seed: int = 0
    threads: int = 1
    skeleton: Skeleton | None = None  # of the bones, in units of the input


def contest_eigenskin(
    problem: FitProblem, transforms: Float64, influences: Influences, options: SkeletonOptions
) -> ContestantFit:
    """The skin that came with the bones, and its EigenSkin."""
    if options.skeleton is None:
        raise OptionError("eigenskin: follows joints, and these bones hang in no skeleton")
    rest = problem.rest_to_input(problem.points[:, :3])
    frames = problem.targets.reshape(len(rest), -1, 3).swapaxes(0, 1).astype(np.float64)
    frames = problem.posed_scale * frames + problem.frame_centers[:, None]
    mesh = Mesh(rest.astype(np.float32), np.zeros((0, 3), np.int32), name="poses")  # without faces, no normals
    skin = LinearBlend(influences.to_skin())
    names = tuple(f"pose {f}" for f in range(len(frames)))
    hinges = np.zeros((len(options.skeleton.names), 3))
    poses = KnownPoses(frames.astype(np.float32), problem.to_input(transforms).values, names, hinges)
    character = Character(mesh, skin, (), options.skeleton)
    fit = fit_eigenskin(character, poses, options=EigenSkinOptions(threads=options.threads))
    return ContestantFit(skin, displacement=fit.displacement)
