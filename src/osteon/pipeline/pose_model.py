"""Poses of a stick skeleton applied to a skinned model.

The sticks are those of the model's joints (`sticks_of_model`), so any file of poses applies. Joint j of the model
gets the rotation of the bones to its children and the position of their common end. A joint that is not in the sticks,
such as a helper at the position of its parent, follows its nearest ancestor in the sticks. Joints without such an
ancestor (a handle on the ground, a loose joint) follow the root.

Rigs whose animation has another scale than their rest pose (centimetres in a scene of metres) keep it: a pose in which
all bones are longer by one factor scales the whole body.

Twist, cross scale, lines and pins do not apply to a skin and are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from osteon.core.animation import Animation, BoneTrack, bone_type_of
from osteon.core.arrays import Float64
from osteon.core.character import StoredDisplacement
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import nearest_rotation
from osteon.deform.pose_skeleton import transforms_of_places
from osteon.io.skeletons.files import sticks_of_model
from osteon.io.skeletons.rig import printable_names
from osteon.simplex.bone_transforms import bone_transforms
from osteon.simplex.options import BoneOptions, Turns

#: Relative tolerance of equal factors of bone length, because clips are float32.
ALIKE = 1e-3


@dataclass(frozen=True, slots=True)
class ModelSticks:
    """The sticks of a model, and the mapping from its joints to them."""

    sticks: StickSkeleton
    anchors: tuple[int, ...]  # (j,) the joint of the sticks that each joint follows
    carried: tuple[tuple[int, ...], ...]  # (j,) the bones of the sticks whose rotation it has

    def transforms(self, track: PoseTrack, turns: Turns = "passed-on") -> Float64:
        """(f,j,3,4) posed_from_rest of every joint of the model."""
        rotations = bone_transforms(self.sticks, track, options=BoneOptions(stretch="none", turns=turns))[..., :3]
        frames = np.stack([_common(rotations[:, list(bones)]) for bones in self.carried], axis=1)
        frames = frames * self._sizes(track)[:, None, None, None]
        anchors = list(self.anchors)
        return transforms_of_places(self.sticks.joints[anchors], track.joints[:, anchors], frames)

    def _sizes(self, track: PoseTrack) -> Float64:
        """(f,) scale of the body in each pose: the common factor of all bone lengths, if there is one."""
        ends = track.joints[:, self.sticks.bones]
        ratio = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2) / np.linalg.norm(self.sticks.vectors, axis=1)
        mean = ratio.mean(axis=1)
        alike = np.ptp(ratio, axis=1) <= ALIKE * mean
        return np.asarray(np.where(alike & (np.abs(mean - 1) > ALIKE), mean, 1.0))


def pose_model(
    model: SkinnedModel, track: PoseTrack, *, turns: Turns = "passed-on", sticks: ModelSticks | None = None
) -> SkinnedModel:
    """The same character animated by poses of its sticks, without displacements that have stored coefficients.

    Displacements that follow the bones stay. `turns` selects how a bone rotates about itself if a pose only places
    joints.
    """
    _refuse_other_means(track)
    transforms = (sticks or sticks_for(model)).transforms(track, turns)
    with np.errstate(over="ignore"):
        single = transforms.astype(np.float32)
    bones = BoneTrack(single, bone_type_of(single), model.track.names)
    live = tuple(one for one in model.character.displacements if one.kind != StoredDisplacement.kind)
    return SkinnedModel(replace(model.character, displacements=live), Animation(bones, track.clips))


def sticks_for(model: SkinnedModel, path: str | Path | None = None) -> ModelSticks:
    """The sticks by which a model is posed; `path` is the file that messages name."""
    source = Path(model.name if path is None else path)
    sticks, skeleton = sticks_of_model(model, source), model.skeleton
    assert skeleton is not None  # a model without skeleton has no sticks
    if len(skeleton.names) != model.n_bones:
        raise GeometryError(f"{source}: has {len(skeleton.names)} joints for {model.n_bones} bones; rig it anew")
    names, parents = printable_names(skeleton.names), skeleton.parents.tolist()
    number = {name: j for j, name in enumerate(sticks.names)}
    joint_of = {name: j for j, name in enumerate(names)}
    anchors = tuple(_anchor(j, names, parents, number, sticks.root) for j in range(len(names)))
    far_ends = [int(ends.sum()) - int(near) for ends, near in zip(sticks.bones, sticks.tree.head, strict=True)]
    carriers = [_carrier(sticks.names[far], joint_of, parents) for far in far_ends]
    carried = tuple(_carried(j, anchors[j], carriers, sticks) for j in range(len(names)))
    return ModelSticks(sticks, anchors, carried)


def _anchor(joint: int, names: Sequence[str], parents: Sequence[int], number: dict[str, int], root: int) -> int:
    while joint >= 0 and names[joint] not in number:
        joint = parents[joint]
    return number[names[joint]] if joint >= 0 else root


def _carrier(far: str, joint_of: dict[str, int], parents: Sequence[int]) -> int:
    """The model's joint that carries the bone to a joint: its parent, or for an added end the joint itself."""
    return parents[joint_of[far]] if far in joint_of else joint_of[far.rpartition(".")[0]]


def _carried(joint: int, anchor: int, carriers: list[int], sticks: StickSkeleton) -> tuple[int, ...]:
    """The bones that a joint carries, or else those that begin at its position, or else the one that ends there."""
    mine = [b for b, carrier in enumerate(carriers) if carrier == joint]
    mine = mine or np.flatnonzero(sticks.tree.head == anchor).tolist()
    return tuple(mine or sticks.bones_at(anchor).tolist())


def _common(rotations: Float64) -> Float64:
    """(f,3,3) the mean of the rotations (f,b,3,3) of one joint's bones, which differ only if a pose moves joints."""
    alike = rotations.shape[1] == 1 or (rotations == rotations[:, :1]).all()
    return rotations[:, 0] if alike else nearest_rotation(rotations.mean(axis=1))


def _refuse_other_means(track: PoseTrack) -> None:
    """Refuse operations that a skin of bones does not support."""
    for what, found in (
        ("'twist'", track.twist is not None and track.twist.any()),
        ("'cross_scale'", track.cross_scale is not None and (track.cross_scale != 1).any()),
        ("'lines'", bool(track.lines.lines)),
        ("'pins'", len(track.pins.vertices) > 0),
    ):
        if found:
            raise OptionError(
                f"poses: {what} is of the simplex method; a skinned model is moved by 'rotate', 'translate', 'joints' "
                "and 'stretch' alone"
            )
