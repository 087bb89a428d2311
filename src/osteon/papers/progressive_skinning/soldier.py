"""The character of the figures: a skinned one with several clips, its levels, and how it is posed at a level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack, Clip
from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.character import Character, Skeleton, Skin
from osteon.core.model import SkinnedModel
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton, project_on_segments
from osteon.deform.linear_blend import LinearBlend, linear_blend_model
from osteon.deform.pose import pose_character
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.level_player import LevelPlayer, local_keys, plan_level
from osteon.lod.progressive_skin import ProgressiveSkin
from osteon.papers.run import PaperRun
from osteon.simplex.segmentation.segment import segment_mesh

#: Bones per vertex of the built-in character, and frames per second.
SLOTS, FPS = 4, 30.0
#: Length of the drawn end of a last bone, over that of the bone before; shorter bones than this are not drawn.
TIP, LEAST = 0.6, 1e-5
#: Triangles of other bones are farther by this factor, so that heat flows from the bone of the segment.
OTHERS = 1.6
#: File of a measured character in the folder of data.
MEASURED = "characters/Soldier.glb"


@dataclass(frozen=True, slots=True)
class Soldier:
    """A skinned character with its levels."""

    name: str
    model: SkinnedModel
    levels: ProgressiveSkin
    measured: bool

    def transforms_at(self, clip: int, bones: float, frames: Float64) -> Float32:
        """(m,b,3,4) matrices of frames of a clip with so many active bones, by the run time."""
        return self.player(clip, bones).prepare(frames)

    def player(self, clip: int, bones: float) -> LevelPlayer:
        """A player of a clip with so many bones."""
        run, order = self.model.clips[clip], self.levels.orders[clip]
        return LevelPlayer(local_keys(self.model, order, run.start, run.stop), order, plan_level(order, bones))

    def with_blends(self, blends: int) -> Character:
        """The character with so many bones per vertex, and no slots beyond."""
        order = self.levels.blends
        weights = np.ascontiguousarray(order.weights(blends)[:, :blends])
        skin = Skin(np.ascontiguousarray(order.bones[:, :blends]), weights)
        return Character(self.model.mesh, LinearBlend(skin))

    def posed(self, clip: int, bones: float, blends: int, frame: float) -> Float64:
        """(v,3) a frame of a clip at a level."""
        matrices = self.transforms_at(clip, bones, np.array([frame]))
        points: Float64 = pose_character(self.with_blends(blends), matrices)[0].astype(np.float64)
        return points

    def posed_joints(self, clip: int, bones: float, frame: float) -> tuple[Float64, Int32]:
        """(j,3) places of the joints in a frame at a level, and (n,2) the segments between them."""
        skeleton = self.model.skeleton
        assert skeleton is not None
        matrices = self.transforms_at(clip, bones, np.array([frame]))[0].astype(np.float64)
        rest = skeleton.world_from_joint[..., 3].astype(np.float64)
        count = min(len(rest), len(matrices))
        parents = skeleton.parents[:count]
        away = np.linalg.norm(rest[:count] - rest[parents], axis=1)
        inner = np.flatnonzero((parents >= 0) & (away > LEAST * self.size))
        leaves = np.setdiff1d(inner, parents)
        tips = rest[leaves] + TIP * (rest[leaves] - rest[parents[leaves]])
        owner = np.concatenate([np.arange(count), leaves])
        ends = np.concatenate([rest[:count], tips])
        places = np.einsum("jik,jk->ji", matrices[owner, :, :3], ends) + matrices[owner, :, 3]
        pairs = [*zip(parents[inner], inner, strict=True), *zip(leaves, np.arange(count, len(owner)), strict=True)]
        return places, np.array(pairs, np.int32)

    @property
    def size(self) -> float:
        """Diagonal of the model."""
        return self.model.diagonal


def soldier(run: PaperRun) -> Soldier:
    """The character of a run: Soldier of the folder of data, or the built-in figure."""
    return run.once("soldier", lambda: _made(run))


def _made(run: PaperRun) -> Soldier:
    path = None if run.options.data is None else run.options.data / MEASURED
    if path is not None and path.is_file():
        from osteon.io import load_model

        model = load_model(path)
        return Soldier("Soldier", model, fit_progressive(model, progress=run.progress).skin, True)
    model = make_skinned_figure(run.size(80, 30), run.size(30, 6))
    return Soldier("figure", model, fit_progressive(model, progress=run.progress).skin, False)


def make_skinned_figure(cells: int, frames: int) -> SkinnedModel:
    """The built-in figure with a heat-diffusion skin of four bones per vertex, in a walk and four poses and back."""
    from osteon.synth.figure import POSES, figure_poses, make_figure

    vertices, faces, sticks = make_figure(cells)
    whole = figure_poses(sticks, frames)
    walk = next(clip for clip in whole.clips if clip.name not in POSES)
    tracks = {"walk": [whole.frame(f) for f in range(walk.start, walk.stop)]}
    for name, (angles, shift) in POSES.items():
        tracks[name] = _there_and_back(sticks, angles(), np.asarray(shift), frames)
    ends = sticks.joints[np.stack([sticks.tree.head, sticks.bones.sum(axis=1) - sticks.tree.head], axis=1)]
    transforms: list[Float64] = []
    clips: list[Clip] = []
    for name, poses in tracks.items():
        clips.append(Clip(name, len(transforms), len(transforms) + len(poses), FPS))
        transforms += [_bone_matrices(sticks, pose) for pose in poses]
    skin = _largest(_weights(vertices, faces, sticks, ends))
    names = tuple(sticks.names[b] for b in (sticks.bones.sum(axis=1) - sticks.tree.head).tolist())
    placed = np.concatenate([np.tile(np.eye(3), (len(names), 1, 1)), ends[:, 0, :, None]], axis=2)
    skeleton = Skeleton(names, sticks.tree.parent.astype(np.int32), placed.astype(np.float32))
    track = BoneTrack(np.stack(transforms).astype(np.float32), "rigid", names)
    return linear_blend_model(vertices, faces, skin, track, clips, skeleton=skeleton, name="figure")


def _there_and_back(
    sticks: StickSkeleton, angles: Mapping[str, Float64], shift: Float64, frames: int
) -> list[PoseTrack]:
    """From rest to a pose and back, by parts of the rotations of its joints."""
    from osteon.synth.posing import rotate_joints

    parts = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frames) / frames)
    vectors = {joint: Rotation.from_matrix(matrix[0]).as_rotvec() for joint, matrix in angles.items()}
    turned = {
        joint: np.asarray(Rotation.from_rotvec(parts[:, None] * vector).as_matrix())
        for joint, vector in vectors.items()
    }
    track = rotate_joints(sticks, turned, parts[:, None] * shift)
    return [track.frame(f) for f in range(frames)]


def _bone_matrices(sticks: StickSkeleton, pose: PoseTrack) -> Float64:
    """(b,3,4) posed_from_rest of all bones of one pose."""
    assert pose.rotations is not None
    turns, heads = pose.rotations[0], sticks.tree.head
    shift = pose.joints[0, heads] - np.einsum("bij,bj->bi", turns, sticks.joints[heads])
    return np.concatenate([turns, shift[..., None]], axis=2)


def _weights(vertices: Float64, faces: Int32, sticks: StickSkeleton, ends: Float64) -> Float64:
    """(v,b) weights by heat diffusion from the segments of the bones."""
    from osteon.fit.skin.bone_weights import heat_weights

    bone = segment_mesh(vertices, faces, sticks).bone
    own = np.zeros((len(vertices), sticks.n_bones), bool)
    own[faces.ravel(), np.repeat(bone, 3)] = True
    distance = project_on_segments(vertices[:, None], ends[:, 0], ends[:, 1] - ends[:, 0])[1]
    nearest = np.where(own, distance, np.inf).min(axis=1, keepdims=True)
    found: Float64 = heat_weights(vertices, faces, np.where(own, distance, np.maximum(distance, OTHERS * nearest)))
    return found


def _largest(weights: Float64) -> Skin:
    """The largest weights of every vertex, scaled to sum to 1."""
    bones = np.argsort(-weights, axis=1, kind="stable")[:, :SLOTS].astype(np.int32)
    kept = np.take_along_axis(weights, bones, axis=1)
    return Skin(bones, (kept / kept.sum(axis=1, keepdims=True)).astype(np.float32))
