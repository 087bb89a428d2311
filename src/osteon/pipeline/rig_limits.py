"""Weights for meshes of a character that list only some of its joints, or hang on a node."""

from __future__ import annotations

import numpy as np

from osteon.core.bone_limits import BoneLimits
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.skin import Skin
from osteon.fit.skin.influences import select_influences
from osteon.pipeline.task import SkinTask

__all__ = ["limit_bones"]


def limit_bones(model: SkinnedModel, task: SkinTask, limits: BoneLimits) -> SkinnedModel:
    """The model with new weights where a vertex follows a bone that its mesh does not list; the bones stay."""
    bones, weights = model.skin.bones.copy(), model.skin.weights.copy()
    n_joints = 1 + max(max(listed) for listed in limits.bones)
    if all(limits.fixed) and model.n_bones > n_joints:
        raise OptionError("helpers: no mesh of the rig has a skin that they could be joints of; omit it")
    changed = False
    for group, listed in enumerate(limits.bones):
        added = () if limits.fixed[group] else range(n_joints, model.n_bones)
        allowed = np.array([*listed, *added], np.int64)
        mine = limits.group == group
        wrong = np.flatnonzero(mine & (~np.isin(bones, allowed) & (weights > 0)).any(axis=1))
        if not len(wrong):
            continue
        changed = True
        transforms = task.problem.from_world(model.track.transforms[:, allowed].astype(np.float64))
        found = select_influences(task.problem, transforms, bones.shape[1], threads=task.threads)
        rows = task.welded_of_vertex[wrong]
        bones[wrong], weights[wrong] = 0, 0
        width = found.bones.shape[1]
        bones[wrong, :width], weights[wrong, :width] = allowed[found.bones[rows]], found.weights[rows]
    return model.with_parts(skin=Skin(bones, weights)) if changed else model
