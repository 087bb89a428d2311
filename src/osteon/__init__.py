"""Osteon turns any deforming mesh into a skinned character that every engine can play.

The names below are imported when they are first used, so that `import osteon` is quick.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "BodyOptions": "osteon.apply.collide.bodies_options",
    "BoneTrack": "osteon.core.animation",
    "Clip": "osteon.core.animation",
    "Collider": "osteon.apply.collide.collider",
    "CompareOptions": "osteon.pipeline.options",
    "EditOptions": "osteon.apply.edit.options",
    "EigenSkinOptions": "osteon.fit.eigenskin.options",
    "LightOptions": "osteon.apply.light.options",
    "LoadOptions": "osteon.io",
    "LodOptions": "osteon.lod.options",
    "MeshSequence": "osteon.core.sequence",
    "OsteonError": "osteon.core.errors",
    "PoseSet": "osteon.io.poses",
    "PoseTrack": "osteon.core.pose_track",
    "Poser": "osteon.simplex.poser",
    "PoserOptions": "osteon.simplex.poser",
    "ProgressiveSkin": "osteon.lod.progressive_skin",
    "RigFit": "osteon.pipeline.skeleton",
    "RigOptions": "osteon.pipeline.options",
    "RigidBody": "osteon.apply.collide.scene",
    "Scene": "osteon.apply.collide.scene",
    "Skin": "osteon.core.character",
    "SkinFit": "osteon.pipeline.skin",
    "SkinOptions": "osteon.core.skin_options",
    "SkinnedModel": "osteon.core.model",
    "StickSkeleton": "osteon.core.sticks",
    "compare_models": "osteon.pipeline.compare",
    "edit_rest": "osteon.apply.edit.edit_rest",
    "fit_bones": "osteon.fit.skin.bones",
    "fit_levels": "osteon.pipeline.levels",
    "fit_light": "osteon.pipeline.light",
    "fit_progressive": "osteon.lod.fit_progressive",
    "fit_weights": "osteon.fit.skin.weights",
    "join_clips": "osteon.core.sequence",
    "light_colors": "osteon.apply.light.shade",
    "linear_blend_model": "osteon.deform.linear_blend",
    "learn_eigenskin": "osteon.pipeline.eigenskin",
    "load_environment": "osteon.apply.light.environment",
    "load_levels": "osteon.lod.model_levels",
    "load_light": "osteon.pipeline.light_files",
    "load_model": "osteon.io",
    "load_pose_set": "osteon.io.poses",
    "load_poses": "osteon.io.poses",
    "load_scene": "osteon.apply.collide.scene",
    "load_sequence": "osteon.io",
    "load_skeleton": "osteon.io.skeletons",
    "load_section_tree": "osteon.io.skeletons.section_tree",
    "save_section_tree": "osteon.io.skeletons.section_tree",
    "SectionTree": "osteon.io.skeletons.section_tree",
    "measure_deviation": "osteon.measure.deviation",
    "measure_distortion": "osteon.measure.distortion",
    "model_at_level": "osteon.lod.model_levels",
    "pose_character": "osteon.deform.pose",
    "pose_frames": "osteon.deform.pose",
    "pose_model": "osteon.pipeline.pose_model",
    "pose_vertices": "osteon.deform.pose",
    "rig_of_mesh": "osteon.pipeline.eigenskin",
    "rig_sequence": "osteon.pipeline.skeleton",
    "save_levels": "osteon.lod.model_levels",
    "save_light": "osteon.pipeline.light_files",
    "save_model": "osteon.io",
    "save_pose_set": "osteon.io.poses",
    "save_scene": "osteon.apply.collide.scene_files",
    "save_sequence": "osteon.io",
    "save_skeleton": "osteon.io.skeletons",
    "simulate_bodies": "osteon.apply.collide.bodies",
    "skin_sequence": "osteon.pipeline.skin",
    "sticks_for": "osteon.pipeline.pose_model",
    "transforms_of_joint_rotations": "osteon.deform.pose_skeleton",
    "joint_rotations_of_transforms": "osteon.deform.pose_skeleton",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from osteon.apply.collide.bodies import simulate_bodies
    from osteon.apply.collide.bodies_options import BodyOptions
    from osteon.apply.collide.collider import Collider
    from osteon.apply.collide.scene import RigidBody, Scene, load_scene
    from osteon.apply.collide.scene_files import save_scene
    from osteon.apply.edit.edit_rest import edit_rest
    from osteon.apply.edit.options import EditOptions
    from osteon.apply.light.environment import load_environment
    from osteon.apply.light.options import LightOptions
    from osteon.apply.light.shade import light_colors
    from osteon.core.animation import BoneTrack, Clip
    from osteon.core.character import Skin
    from osteon.core.errors import OsteonError
    from osteon.core.model import SkinnedModel
    from osteon.core.pose_track import PoseTrack
    from osteon.core.sequence import MeshSequence, join_clips
    from osteon.core.skin_options import SkinOptions
    from osteon.core.sticks import StickSkeleton
    from osteon.deform.linear_blend import linear_blend_model
    from osteon.deform.pose import pose_character, pose_frames, pose_vertices
    from osteon.deform.pose_skeleton import joint_rotations_of_transforms, transforms_of_joint_rotations
    from osteon.fit.eigenskin.options import EigenSkinOptions
    from osteon.fit.skin.bones import fit_bones
    from osteon.fit.skin.weights import fit_weights
    from osteon.io import LoadOptions, load_model, load_sequence, save_model, save_sequence
    from osteon.io.poses import PoseSet, load_pose_set, load_poses, save_pose_set
    from osteon.io.skeletons import load_skeleton, save_skeleton
    from osteon.io.skeletons.section_tree import SectionTree, load_section_tree, save_section_tree
    from osteon.lod.fit_progressive import fit_progressive
    from osteon.lod.model_levels import load_levels, model_at_level, save_levels
    from osteon.lod.options import LodOptions
    from osteon.lod.progressive_skin import ProgressiveSkin
    from osteon.measure.deviation import measure_deviation
    from osteon.measure.distortion import measure_distortion
    from osteon.pipeline.compare import compare_models
    from osteon.pipeline.eigenskin import learn_eigenskin, rig_of_mesh
    from osteon.pipeline.levels import fit_levels
    from osteon.pipeline.light import fit_light
    from osteon.pipeline.light_files import load_light, save_light
    from osteon.pipeline.options import CompareOptions, RigOptions
    from osteon.pipeline.pose_model import pose_model, sticks_for
    from osteon.pipeline.skeleton import RigFit, rig_sequence
    from osteon.pipeline.skin import SkinFit, skin_sequence
    from osteon.simplex.poser import Poser, PoserOptions


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    from osteon.deprecated import RENAMED

    if name in RENAMED:
        warnings.warn(f"osteon.{name} is now osteon.{RENAMED[name]}", DeprecationWarning, stacklevel=2)
        return __getattr__(RENAMED[name])
    raise AttributeError(f"module 'osteon' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
