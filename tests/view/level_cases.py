"""Levels for the page's tests: any order, any offsets, so that every path of the arithmetic is taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.arrays import Float32, Float64
from osteon.core.character import Character, Skin
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.io.metadata.baked import baked_model
from osteon.lod.bone_order import BoneOrder
from osteon.lod.level_player import LevelPlayer, local_keys, plan_level
from osteon.lod.model_levels import CoarseMesh, Level, ModelLevels, model_at_level, with_slots
from osteon.lod.progressive_skin import BlendOrder, LevelCurve, LevelPoint, ProgressiveSkin

from ..leveled import cut_mesh


def made_levels(model: SkinnedModel, seed: int = 0, parts: tuple[float, ...] = ()) -> ModelLevels:
    """Levels of any kind, and coarse meshes with these parts of the triangles."""
    coarse = tuple(_coarse(cut_mesh(model, part), seed) for part in parts)
    skin = made_skin(model, seed)
    numbered = [Level(skin.n_ordered, skin.blends.n_blends, 0, len(model.faces))]
    for number, mesh in enumerate(coarse, 1):
        numbered.append(Level(2, 1, number, len(mesh.character.mesh.faces), rms_percent=1.0, pixels=600 / number))
    sorted_model = SkinnedModel(with_slots(model.character, skin.blends.skin), model.animation)
    return ModelLevels(sorted_model, skin, tuple(numbered), coarse)


def _coarse(character: Character, seed: int) -> CoarseMesh:
    blends = _blends(character.deformer.bone_weights(), np.random.default_rng(seed))
    return CoarseMesh(with_slots(character, blends.skin), blends)


def made_skin(model: SkinnedModel, seed: int = 0) -> ProgressiveSkin:
    """Orders at random in which the last bone never has its turn, and one bone has to wait for the next."""
    rng = np.random.default_rng(seed)
    orders = tuple(_order(model, clip.name, rng) for clip in model.clips)
    n, k = model.n_bones, model.skin.n_influences
    knots = np.linspace(0, 1, 5)
    curve = LevelCurve(knots, 1 + (n - 2) * knots, 1 + (k - 1) * knots**2, (1 - knots) ** 2, 0.2 * knots)
    return ProgressiveSkin(orders, (curve,) * len(orders), orders[0], _blends(model.skin, rng))


def _blends(skin: Skin, rng: np.random.Generator) -> BlendOrder:
    """Slots in any order, with any heirs."""
    k = skin.n_influences
    shuffled = np.argsort(rng.random(skin.weights.shape), axis=1)
    turned = Skin(*(np.take_along_axis(part, shuffled, axis=1) for part in (skin.bones, skin.weights)))
    return BlendOrder(turned, np.array([0, *(rng.integers(i) for i in range(1, k))]), np.linspace(1, 0, k))


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


def at_level(levels: ModelLevels, frame: int, bones: float, blends: float, mesh: int = 0) -> Float32:
    """(v,3) a frame with so many bones and blends, of the model's own mesh or a coarse one."""
    model, order = levels.mesh_model(mesh), levels.blends_of(mesh)
    clip = next(clip for clip in model.clips if clip.start <= frame < clip.stop)
    skin = replace(levels.skin, blends=order)
    posed = model_at_level(model, skin, clip.name, LevelPoint(bones, blends))
    return pose_frames(posed, frame - clip.start, frame - clip.start + 1)[0]


def played(levels: ModelLevels, clip: int, frame: float, bones: float, blends: float, mesh: int = 0) -> Float64:
    """(v,3) the same between two frames of a clip, by the run time that plays keys."""
    model, order, run = baked_model(levels.mesh_model(mesh)), levels.skin.orders[clip], levels.model.clips[clip]
    keys = local_keys(levels.model, order, run.start, run.stop)
    screws = model.deformer.bone_types == ("rigid",)
    matrices = LevelPlayer(keys, order, plan_level(order, bones), screws=screws).prepare([frame])
    sorted_blends = levels.blends_of(mesh)
    skin = Skin(sorted_blends.bones, sorted_blends.weights(blends))
    deformer = type(model.deformer).from_skin(skin)
    first = min(int(frame), run.n_frames - 2)
    blend = np.empty((len(model.rest), 3, 4))
    deformer.blend(deformer.palette(matrices)[0], np.arange(len(blend)), blend)
    rest = model.rest.astype(np.float64)
    if model.corrections is not None:
        q = model.corrections.coefficients[run.start + first : run.start + first + 2].astype(np.float64)
        rest = rest + np.tensordot((1 + first - frame) * q[0] + (frame - first) * q[1], model.corrections.basis, axes=1)
    posed: Float64 = np.einsum("vij,vj->vi", blend[..., :3], rest) + blend[..., 3]
    return posed
