"""Joints: their rest placement, hierarchy, names and motion, as one node each or two.

A bone's transform T takes the rest pose to a frame. Its joint is at B in the rest pose and at T B in the frame, so the
inverse bind matrix is the inverse of B. B translates to the weighted centre of the bone's vertices (tracks then rotate
about the centre of what they move), or is the placement that the skeleton defines; its axes are chosen so that one node
suffices where possible (`io/two_nodes.py`).

A joint that stretches has no children: they would be sheared, which one node cannot represent, and engines that store
translation, rotation and scale differ in how they inherit scale. Such a joint's children become children of the nearest
ancestor that only rotates. Flexible bones are two nodes anyway; for engines that compose matrices they keep the
hierarchy of the skeleton, except for children of joints that flatten.

Every node that moves is a joint of the skin, because importers discard the motion of others; parents come before their
children. Vertices follow the lower of two nodes.

Node names are unique, and different from those of clips and corrections, because importers identify objects by name:
the node of a track, the object of an action, a joint. The model's own names
are in the file's extras, where they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from osteon.core.animation import RIGID
from osteon.core.arrays import Float64, FloatArray
from osteon.core.character import Skeleton
from osteon.core.errors import GeometryError
from osteon.core.kinematics import parents_first
from osteon.core.model import SkinnedModel
from osteon.core.transforms import compose, identity, invert, matrices_from_quaternions, nearest_rotation
from osteon.io.gltf import JsonObject
from osteon.io.gltf.channels import Channel, ChannelPath
from osteon.io.two_nodes import (
    ALONG_AXES,
    BoolArray,
    NodeTracks,
    are_rotations,
    orient_joints,
    orthogonal_columns,
    split_transforms,
)


@dataclass(frozen=True, slots=True)
class NodeNames:
    """The names of the nodes of a file."""

    joints: tuple[str, ...]  # (b,)
    movers: tuple[str, ...]  # (b,) of the parent node of a joint that needs two
    mesh: str  # and its node
    armature: str
    coarse: tuple[str, ...] = ()  # of coarse meshes


def name_nodes(model: SkinnedModel, joints: Sequence[str], targets: Sequence[str] = (), n_coarse: int = 0) -> NodeNames:
    """Unique names, as those of the model where possible; joints first, because clips of other files refer to them."""
    taken = {clip.name for clip in model.clips} | set(targets)
    names = tuple(_free_name(name or f"bone_{b}", "joint", taken) for b, name in enumerate(joints))
    movers = tuple(_free_name(f"{name}_affine", "joint", taken) for name in names)
    mesh, armature = _free_name(model.name or "mesh", "mesh", taken), _free_name("armature", "root", taken)
    coarse = tuple(_free_name(f"{mesh}_LOD{number}", "mesh", taken) for number in range(1, n_coarse + 1))
    return NodeNames(names, movers, mesh, armature, coarse)


def _free_name(name: str, ending: str, taken: set[str]) -> str:
    """The name, or the first of `name_ending`, `name_ending_2`, … that is not in `taken`; it is added there."""
    others = (f"{name}_{ending}" + (f"_{n}" if n > 1 else "") for n in count(1))
    found = name if name not in taken else next(other for other in others if other not in taken)
    taken.add(found)
    return found


#: Rotations that are rounded to float32 are off by less than this, which moves vertices by < 1e-6 of the diagonal.
ROUNDED = 5e-6
#: The largest condition number of a parent in any frame: the numbers of its children lose that much precision.
FLATTEST = 30.0


@dataclass(frozen=True, slots=True)
class Joints:
    """The placement of the joints in each frame, as written."""

    names: tuple[str, ...]
    parents: tuple[int, ...]  # -1 for the armature
    local: Float64  # (f+1,b,3,4) parent_from_joint; the last one is the rest pose
    world: Float64  # (f+1,b,3,4) world_from_joint, likewise
    joint_from_rest: Float64  # (b,3,4) inverse bind
    one_node: BoolArray  # (b,) joints that rotate and scale along their axes, to the precision of float32


def bone_centres(model: SkinnedModel) -> Float64:
    """(b,3) weighted mean of each bone's vertices; that of all vertices for a bone without any."""
    total, sums = np.zeros(model.n_bones), np.zeros((model.n_bones, 3))
    np.add.at(total, model.skin.bones, model.skin.weights)
    np.add.at(sums, model.skin.bones, model.skin.weights[..., None] * model.rest[:, None, :].astype(np.float64))
    unused = total <= 0
    return np.where(unused[:, None], model.rest.mean(axis=0), sums / np.where(unused, 1, total)[:, None])


def place_joints(model: SkinnedModel, *, scale_inherited: bool = True) -> Joints:
    """Joints in the hierarchy of the skeleton, or all as children of the armature.

    `scale_inherited`: whether engines place the child of a joint that scales as the file does.
    """
    skeleton = model.skeleton
    if skeleton is not None and len(skeleton.names) != model.n_bones:
        raise GeometryError(
            f"skeleton: {len(skeleton.names)} joints for {model.n_bones} bones; glTF needs one joint for each bone"
        )
    transforms = model.track.transforms.astype(np.float64)
    rest, along_axes = orient_joints(_rest_placements(model), transforms)
    posed = compose(transforms, rest)
    noise = model.track.bone_type == "rigid" and not orthogonal_columns(posed[..., :3], ALONG_AXES).all()
    # Rotations that were rounded become exact again, so that no scale has a track.
    rotations = are_rotations(posed[..., :3], RIGID if noise else ROUNDED)
    posed[:, rotations, :, :3] = nearest_rotation(posed[:, rotations, :, :3])
    world = np.concatenate([posed, rest[None]])
    if np.abs(world).max() > np.finfo(np.float32).max:
        raise GeometryError("the bones move beyond the range of float32; scale the model down")
    names = model.track.names if skeleton is None else skeleton.names
    inherit = scale_inherited and model.track.bone_type == "flexible"
    allowed = _well_conditioned(world).all(axis=0) if inherit else are_rotations(world[:-1, ..., :3]) & ~along_axes
    parents = _parents(skeleton, np.asarray(allowed), model.n_bones)
    parent_world = [identity(len(world)) if p < 0 else world[:, p] for p in parents]
    local = compose(invert(np.stack(parent_world, axis=1)), world)
    return Joints(tuple(names), parents, local, world, invert(rest), orthogonal_columns(local[..., :3], ALONG_AXES))


def _rest_placements(model: SkinnedModel) -> Float64:
    """(b,3,4) the joints as the skeleton places them, or unrotated at the centre of their vertices."""
    rest = identity(model.n_bones)
    rest[..., 3] = bone_centres(model)
    if model.skeleton is None:
        return rest
    placed = model.skeleton.world_from_joint.astype(np.float64)
    return np.where(_well_conditioned(placed)[:, None, None], placed, rest)


def _well_conditioned(matrices: FloatArray) -> BoolArray:
    """Whether matrices (…,3,4) can be inverted without losing more than a digit or two."""
    values = np.linalg.svd(np.asarray(matrices[..., :3], np.float64), compute_uv=False)
    return np.asarray(values[..., 2] * FLATTEST > values[..., 0])


def _parents(skeleton: Skeleton | None, allowed: BoolArray, n_bones: int) -> tuple[int, ...]:
    """(b,) the nearest ancestor that is `allowed (b,)` to have children."""
    if skeleton is None:
        return tuple([-1] * n_bones)
    found: list[int] = []
    for j in range(n_bones):
        parent = int(skeleton.parents[j])
        while parent >= 0 and not allowed[parent]:
            parent = int(skeleton.parents[parent])
        found.append(parent)
    return tuple(found)


#: Node 0 holds the mesh, node 1 the joints.
ARMATURE = 1

_WIDTHS = {"translations": 3, "rotations": 4, "scales": 3, "child_rotations": 4}
_AT_REST = {"translation": [0.0, 0.0, 0.0], "rotation": [0.0, 0.0, 0.0, 1.0], "scale": [1.0, 1.0, 1.0]}


@dataclass(frozen=True, slots=True)
class JointNodes:
    """The nodes of all joints and their tracks."""

    joints: list[int]  # (b,) node of each joint
    movers: list[int]  # (b,) node with translation, rotation and scale: the joint itself, or its parent
    tracks: NodeTracks  # f+1 frames, the rest pose last


@dataclass(frozen=True, slots=True)
class SkinJoints:
    """All nodes that move, in the order of the skin, parents first."""

    nodes: list[int]  # (j,)
    joint_from_rest: Float64  # (j,3,4) inverse bind
    of_bone: list[int]  # (b,) index of the joint of each bone in the list

    @property
    def are_bones(self) -> bool:
        """Whether the joints are the bones, in their order."""
        return self.of_bone == list(range(len(self.nodes)))


def build_nodes(joints: Joints, starts: list[int], moments: Float64, has_key: BoolArray) -> JointNodes:
    """One or two nodes for each joint.

    `starts` are the first frames of the clips, `moments (f,)` the times of frames, `has_key (f,b)` the keys of joints.
    """
    rest = len(joints.local) - 1
    tracks = _split_tracks(joints, [*starts, rest], np.append(moments, moments[-1] + 1), has_key)
    steps = 1 + tracks.needs_child.astype(np.int64)
    movers = (ARMATURE + 1 + np.cumsum(steps) - steps).tolist()
    nodes = [mover + int(two) for mover, two in zip(movers, tracks.needs_child, strict=True)]
    return JointNodes(nodes, movers, tracks)


def node_entries(joints: Joints, nodes: JointNodes, names: NodeNames) -> list[JsonObject]:
    """The JSON of the armature and all joints, from node ARMATURE on, without their transforms."""
    entries: list[JsonObject] = [{"name": names.armature}]
    for b, (mover, joint) in enumerate(zip(nodes.movers, nodes.joints, strict=True)):
        if mover == joint:
            entries.append({"name": names.joints[b]})
        else:
            entries += [{"name": names.movers[b], "children": [joint]}, {"name": names.joints[b]}]
    for b, parent in enumerate(joints.parents):
        owner = entries[0] if parent < 0 else entries[nodes.joints[parent] - ARMATURE]
        owner.setdefault("children", []).append(nodes.movers[b])
    return entries


def set_node_rest(entry: JsonObject, path: ChannelPath, value: FloatArray) -> None:
    """Set the value of a node without animation; a default value is not written."""
    numbers = shortest(value)
    if numbers != _AT_REST[path]:
        entry[path] = numbers


def list_joints(joints: Joints, nodes: JointNodes) -> SkinJoints:
    """The joints of the skin: of a bone of two nodes both."""
    listed: list[int] = []
    bind: list[Float64] = []
    of_bone = [0] * len(nodes.joints)
    for b in parents_first(joints.parents):
        if nodes.movers[b] != nodes.joints[b]:
            rotation = matrices_from_quaternions(nodes.tracks.child_rotations[-1, b])
            listed.append(nodes.movers[b])
            bind.append(rotation @ joints.joint_from_rest[b])
        of_bone[b] = len(listed)
        listed.append(nodes.joints[b])
        bind.append(joints.joint_from_rest[b])
    return SkinJoints(listed, np.stack(bind), of_bone)


def _split_tracks(joints: Joints, starts: list[int], moments: Float64, has_key: BoolArray) -> NodeTracks:
    """Two-node tracks in all frames, those of each joint computed from the frames in which it has keys."""
    keys = np.concatenate([has_key, np.ones((1, has_key.shape[1]), bool)])
    n_frames, n_bones = keys.shape
    found = {name: np.empty((n_frames, n_bones, width)) for name, width in _WIDTHS.items()}
    needs_child = np.zeros(n_bones, bool)
    for pattern in np.unique(keys, axis=1).T:
        frames = np.flatnonzero(pattern)
        bones = np.flatnonzero((keys == pattern[:, None]).all(axis=0))
        begins = np.flatnonzero(np.isin(frames, starts)).tolist()
        part = split_transforms(joints.local[frames][:, bones], begins, known=joints.one_node[bones], positive=True)
        needs_child[bones] = part.needs_child
        for name, track in found.items():
            path: ChannelPath = "rotation" if name.endswith("rotations") else "scale"
            for i, b in enumerate(bones):
                values = getattr(part, name)[:, i]
                keyed = len(frames) == n_frames
                track[:, b] = values if keyed else Channel(0, path, "LINEAR", moments[frames], values).at(moments)
    return NodeTracks(**found, needs_child=needs_child)


def shortest(values: FloatArray) -> list[float]:
    """Numbers that round to the same float32, with the fewest digits."""
    return [float(str(value)) for value in np.asarray(values, np.float32)]
