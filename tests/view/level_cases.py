"""Levels for the page's tests: any order, any offsets, so that every path of the arithmetic is taken."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float32
from osteon.core.model import SkinnedModel
from osteon.core.skin import Skin
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.pose import pose_frames
from osteon.lod.bind_pose import BindPose
from osteon.lod.blend_order import BlendOrder
from osteon.lod.bone_order import BoneOrder
from osteon.lod.level_curve import LevelCurve
from osteon.lod.level_pose import pose_at_count
from osteon.lod.progressive_skin import ProgressiveSkin


def made_levels(model: SkinnedModel, seed: int = 0) -> ProgressiveSkin:
    """Orders at random in which the last bone never has its turn, and one bone has to wait for the next."""
    rng = np.random.default_rng(seed)
    orders = tuple(_order(model, clip.name, rng) for clip in model.clips)
    n, k = model.n_bones, model.skin.n_influences
    knots = np.linspace(0, 1, 5)
    curve = LevelCurve(knots, 1 + (n - 2) * knots, 1 + (k - 1) * knots**2, (1 - knots) ** 2)
    shuffled = np.argsort(rng.random(model.skin.weights.shape), axis=1)
    skin = Skin(*(np.take_along_axis(part, shuffled, axis=1) for part in (model.skin.bones, model.skin.weights)))
    blends = BlendOrder(skin, np.array([0, *(rng.integers(i) for i in range(1, k))]), np.linspace(1, 0, k))
    bind = BindPose(np.tile(np.eye(3, 4, dtype=np.float32), (n, 1, 1)), np.zeros((len(orders), n), bool))
    return ProgressiveSkin(orders, (curve,) * len(orders), orders[0], blends, bind)


def _order(model: SkinnedModel, clip: str, rng: np.random.Generator) -> BoneOrder:
    n, size = model.n_bones, model.diagonal
    order = rng.permutation(n - 1).astype(np.int32)
    parents = np.full(n, order[0], np.int32)
    for i, bone in enumerate(order):
        parents[bone] = -1 if i == 0 or rng.random() < 0.2 else order[rng.integers(i)]
    offsets = np.zeros((n, 3, 4))
    offsets[..., :3] = Rotation.from_rotvec(rng.normal(0, 0.3, (n, 3))).as_matrix()
    offsets[..., 3] = rng.normal(0, 0.05 * size, (n, 3))
    errors = np.linspace(9.0, 0, len(order) + 1)
    errors[2] = errors[1] + 1
    return BoneOrder(order, parents, offsets, errors, base=18.0, samples=100, clip=clip)


def at_level(model: SkinnedModel, levels: ProgressiveSkin, frame: int, bones: float, blends: float) -> Float32:
    """(v,3) a frame with so many bones and blends."""
    clip = next(i for i, clip in enumerate(model.clips) if clip.start <= frame < clip.stop)
    dual = model.deformer.kind == "dual_quaternion"
    exact = model.track.transforms[frame : frame + 1]
    track = BoneTrack(
        pose_at_count(levels.orders[clip], exact, bones, screws=dual).astype(np.float32),
        "rigid" if dual else "flexible",
    )
    skin = Skin(levels.blends.bones, levels.blends.weights(blends))
    corrections = model.corrections
    if corrections is not None:
        corrections = type(corrections)(corrections.basis, corrections.coefficients[frame : frame + 1])
    family = {"deformer": DualQuaternion(skin), "fallback": skin} if dual else {}
    posed = SkinnedModel(model.rest, model.faces, skin, track, corrections=corrections).with_parts(**family)
    return pose_frames(posed)[0]
