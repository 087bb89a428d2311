"""Models for the tests of USD, one for each thing a file must carry, and USD's own skinning to play them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.character import Corrections, Skeleton
from osteon.core.mesh import Asset, Image, Material
from osteon.core.model import SkinnedModel
from osteon.synth.baked import BakeOptions, RandomOptions, bake_cylinder, bake_random_model

pytest.importorskip("pxr")

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef"
    "0000000049454e44ae426082"
)


def rigid() -> SkinnedModel:
    return bake_random_model(0, options=RandomOptions(frames=8, vertices=200)).model


def flexible() -> SkinnedModel:
    return bake_random_model(1, options=RandomOptions(frames=8, vertices=200, bone_type="flexible")).model


def corrected() -> SkinnedModel:
    """Flexible bones and corrections of rank 5 with normals."""
    model, rng = flexible(), np.random.default_rng(4)
    shape = (5, model.n_vertices, 3)
    coefficients = rng.normal(size=(model.n_frames, 5))
    return model.with_corrections(
        Corrections(0.03 * rng.normal(size=shape), coefficients, 0.1 * rng.normal(size=shape))
    )


def two_clips() -> SkinnedModel:
    """Of different rates, with a name that no prim may have."""
    return (
        corrected()
        .with_mesh(name="2 clips/a")
        .with_animation(clips=(Clip("walk", 0, 3, 30.0), Clip("run", 3, 8, 24.0)))
    )


def eight_influences() -> SkinnedModel:
    options = RandomOptions(bones=12, frames=6, vertices=200, influences=8, bone_type="flexible")
    return bake_random_model(2, options=options).model


def painted() -> SkinnedModel:
    """UVs, colours, two materials, polygons and two primitives."""
    model, rng = flexible(), np.random.default_rng(5)
    n = len(model.faces)
    half = np.where(np.arange(n) < n // 3, 1, 0).astype(np.int32)
    asset = Asset(
        uvs=rng.random((n, 3, 2)),
        colors=rng.random((model.n_vertices, 4)),
        materials=(Material("a b", double_sided=True), Material("c", (1.0, 0.5, 0.25, 0.5), 0.75, 0.125)),
        triangle_material=half,
        primitive_of_triangle=1 - half,
        primitive_names=("body", "hat"),
    )
    return model.with_mesh(asset=asset)


def textured() -> SkinnedModel:
    model = painted()
    image = Image("dots", "image/png", PNG)
    roles = ("base_color", "metallic_roughness", "normal", "occlusion", "emissive")
    materials = (
        replace(model.asset.materials[0], textures=tuple((role, image) for role in roles), emissive=(0.5, 0.5, 1.0)),
        replace(model.asset.materials[1], alpha_mode="MASK", alpha_cutoff=0.25),
    )
    return model.with_mesh(asset=replace(model.asset, materials=materials))


def quads() -> SkinnedModel:
    """A tube whose triangles are pairs of one quad each where they form one."""
    model = bake_cylinder(1, options=BakeOptions(frames=4)).model
    return model.with_mesh(asset=Asset(polygon_of_triangle=np.arange(len(model.faces)) // 2))


def tree() -> SkinnedModel:
    """Rigid bones in a tree whose first joint is a leaf."""
    model = bake_cylinder(3, options=BakeOptions(frames=6)).model
    rng = np.random.default_rng(6)
    places = np.concatenate([np.broadcast_to(np.eye(3), (4, 3, 3)), rng.normal(size=(4, 3, 1))], axis=2)
    return model.with_character(skeleton=Skeleton(("tip", "root", "arm 1", "arm 2"), np.array([2, -1, 3, 1]), places))


MODELS = {
    "rigid": rigid,
    "flexible": flexible,
    "flexible, rank 5": corrected,
    "two clips": two_clips,
    "8 influences": eight_influences,
    "two materials": painted,
    "pictures": textured,
    "quads": quads,
    "tree": tree,
}


def played(path: Path, codes: list[float] | None = None) -> np.ndarray:
    """(f,v,3) what UsdSkel computes: blend shapes, then the skin."""
    from pxr import Usd, UsdGeom, UsdSkel, Vt

    stage = Usd.Stage.Open(str(path))
    root, cache = UsdSkel.Root(stage.GetDefaultPrim()), UsdSkel.Cache()
    cache.Populate(root, Usd.PrimDefaultPredicate)
    (binding,) = cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)
    skeleton = cache.GetSkelQuery(binding.GetSkeleton())
    (skin,) = binding.GetSkinningTargets()
    animation = skeleton.GetAnimQuery()
    frames = []
    for code in codes or animation.GetJointTransformTimeSamples():
        points = Vt.Vec3fArray(UsdGeom.Mesh(skin.GetPrim()).GetPointsAttr().Get())
        if skin.HasBlendShapes():
            shapes = UsdSkel.BlendShapeQuery(UsdSkel.BindingAPI(skin.GetPrim()))
            weights = shapes.ComputeSubShapeWeights(animation.ComputeBlendShapeWeights(code))
            indices, offsets = shapes.ComputeBlendShapePointIndices(), shapes.ComputeSubShapePointOffsets()
            assert shapes.ComputeDeformedPoints(*weights, indices, offsets, points)
        assert skin.ComputeSkinnedPoints(skeleton.ComputeSkinningTransforms(code), points, code)
        frames.append(np.array(points))
    return np.array(frames)
