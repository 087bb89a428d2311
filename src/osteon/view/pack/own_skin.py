"""A model that the page poses through its own skin, and the part of its sticks that other methods know.

The page turns the joints of all sticks (`sticks_for`), short ends included, so that every joint can be turned. Files of
skeletons have no short ends; they come last, and what poses by such a file sees the sticks and the pose without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.errors import OsteonError
from osteon.core.model import SkinnedModel
from osteon.core.pose_track import LineTrack, PinTrack, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.io import holds_model, load_model
from osteon.io.skeletons import load_skeleton
from osteon.pipeline.pose_model import ModelSticks, sticks_for

__all__ = ["OwnSkin", "cut_track", "own_skin"]


@dataclass(frozen=True, slots=True)
class OwnSkin:
    """What poses a model by itself."""

    model: SkinnedModel
    sticks: ModelSticks
    file_sticks: StickSkeleton | None  # as the file gives them to other methods; None if these differ
    strongest: Int64  # (t,) the joint that moves each triangle most

    def pose(self, track: PoseTrack) -> Float64:
        """(v,3) the first pose of a track."""
        from osteon.deform.pose import pose_character  # imports numba

        posed: Float64 = pose_character(self.model.character, self._transforms(track))[0].astype(np.float64)
        return posed

    def ideal(self, track: PoseTrack) -> Float64:
        """(t,3,4) what moves each triangle most."""
        moved: Float64 = self._transforms(track)[0, self.strongest]
        return moved

    def _transforms(self, track: PoseTrack) -> Float64:
        return self.sticks.transforms(bones_alone(track).frame(0))

    def pose_json(self, track: PoseTrack) -> dict[str, object]:
        """The pose as turns, which `osteon pose MODEL POSE` reads."""
        from osteon.io.poses.write import poses_as_json

        return poses_as_json(bones_alone(track), self.sticks.sticks)


def own_skin(file: str) -> OwnSkin | None:
    """The skin of a model with a skeleton, if the file has both."""
    try:
        if not holds_model(file):
            return None
        model = load_model(file)
        sticks = sticks_for(model, file)
    except OsteonError:  # no skeleton, or one that makes no sticks: the mesh can still be posed otherwise
        return None
    return OwnSkin(model, sticks, _file_sticks(Path(file), sticks.sticks), _strongest(model))


def bones_alone(track: PoseTrack) -> PoseTrack:
    """The pose without what a skin does not know."""
    return replace(track, twist=None, cross_scale=None, lines=LineTrack(), pins=PinTrack())


def cut_track(track: PoseTrack, sticks: StickSkeleton) -> PoseTrack:
    """The pose of the first joints and bones, those that these sticks have."""
    j, b = sticks.n_joints, sticks.n_bones

    def first(array: Float64 | None) -> Float64 | None:
        return None if array is None else array[:, :b]

    return replace(
        track,
        joints=track.joints[:, :j],
        cross_scale=first(track.cross_scale),
        twist=first(track.twist),
        rotations=first(track.rotations),
    )


def _file_sticks(file: Path, all_sticks: StickSkeleton) -> StickSkeleton | None:
    """The sticks of the file, if they are the first ones of all."""
    try:
        found = load_skeleton(file)
    except OsteonError:
        return None
    j, b = found.n_joints, found.n_bones
    same = found.names == all_sticks.names[:j] and np.array_equal(found.bones, all_sticks.bones[:b])
    near = same and np.allclose(found.joints, all_sticks.joints[:j], rtol=0, atol=1e-5 * np.ptp(all_sticks.joints))
    return found if near and found.root == all_sticks.root else None


def _strongest(model: SkinnedModel) -> Int64:
    """(t,) the joint with the largest weight over the corners of each triangle."""
    skin, faces = model.skin, model.faces
    bones, weights = skin.bones[faces].reshape(len(faces), -1), skin.weights[faces].reshape(len(faces), -1)
    same = bones[:, :, None] == bones[:, None, :]
    total = np.einsum("tij,tj->ti", same, weights)
    out: Int64 = np.take_along_axis(bones, total.argmax(axis=1)[:, None], axis=1)[:, 0].astype(np.int64)
    return out
