"""A model as it plays at a level: one number in, matrices and weights out.

What comes out is a model again, of one clip, with as many bones: it can be posed, measured and saved like any other.
With fewer bones, displacements that follow joints (EigenSkin) play as with all of them: a bone that follows another
tells nothing of how its joint is turned. Their coefficients are a table of the clip then, as stored ones are.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4.1.2 and 4.2.
"""

from __future__ import annotations

import numpy as np

from osteon.core.animation import Animation, BoneTrack, Clip, bone_type_of
from osteon.core.character import Character, Deformer, Skin
from osteon.core.model import SkinnedModel
from osteon.deform.registry import restore_deformer
from osteon.io.metadata.baked import baked_model
from osteon.lod.level_curve import LevelPoint
from osteon.lod.level_pose import pose_at_count
from osteon.lod.progressive_skin import ProgressiveSkin

__all__ = ["deformer_with_blends", "model_at_level"]


def model_at_level(model: SkinnedModel, levels: ProgressiveSkin, clip: str, at: float | LevelPoint) -> SkinnedModel:
    """One clip of a model with the bones and blends of a level 0 … 1, or with those given."""
    number = levels.clip_number(clip)
    order, point = levels.orders[number], at if isinstance(at, LevelPoint) else levels.curves[number].at(at)
    run = model.clips[number]
    deformer = deformer_with_blends(model.deformer, levels, point.blends)
    screws = deformer.bone_types == ("rigid",)
    exact = model.animation.transforms[run.start : run.stop]
    posed = pose_at_count(order, exact, point.bones, screws=screws).astype(np.float32)
    if not np.array_equal(posed, exact):
        model = baked_model(model)
    kind = "rigid" if screws else bone_type_of(posed)
    coefficients = model.animation.coefficients
    animation = Animation(
        BoneTrack(posed, kind, model.track.names),
        (Clip(run.name, 0, run.n_frames, run.fps),),
        None if coefficients is None else coefficients[run.start : run.stop],
    )
    old = model.character
    return SkinnedModel(Character(old.mesh, deformer, old.displacements, old.skeleton, old.fallback), animation)


def deformer_with_blends(deformer: Deformer, levels: ProgressiveSkin, blends: float) -> Deformer:
    """The family of a deformer with so many blends a vertex; the deformer itself with all of them."""
    if blends == levels.blends.n_blends:
        return deformer
    skin = Skin(levels.blends.bones, levels.blends.weights(blends))
    return restore_deformer(deformer.kind, {"bones": skin.bones, "weights": skin.weights})
