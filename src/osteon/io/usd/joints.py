"""The bones of a model as joints of UsdSkel, which move by translation, rotation and a scale in half precision.

A flexible bone A = U S V' is two joints, U S and its child V' (two_nodes). A half has 11 bits, so S is off by up to
4.9e-4 of itself, too much for a bone whose vertices are far away. Where that would move a vertex by more than 2e-6 of
the diagonal, a second pair of joints, the fine one, takes a small part e of the bone's weight:

    w A = w (1 - e) U H V' + w e U L V'     H = half(S),  L = half(H + (S - H) / e),  e = 2^-10

L is off S by half at most, and its own rounding counts only e times: 7e-7 of S remains. The sum is linear in H and L,
so it also holds between keys. A player that keeps only the strongest influences drops the fine ones, and shows the
accuracy of half precision.

Rigid and scaled bones are one joint each, at the centre of what they move. If the model has a skeleton, rigid bones
keep its hierarchy; all others have no parent, because children must not inherit the stretch of a parent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from osteon.core.animation import bone_type_of
from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.kinematics import parents_first, world_from_local
from osteon.core.mesh import scale_of_bones
from osteon.core.model import SkinnedModel
from osteon.core.transforms import (
    compose,
    identity,
    invert,
    keep_hemisphere,
    matrices_from_quaternions,
    nearest_rotation,
    quaternions_from_matrices,
)
from osteon.io.two_nodes import NodeTracks, orient_joints, split_transforms

#: The fraction of a bone's weight that its fine joint has.
FINE = 2.0**-10


@dataclass(frozen=True, slots=True)
class JointTracks:
    """Joints in the order of the file, and their motion."""

    paths: tuple[str, ...]  # names from the root to the joint, separated by /
    world_from_joint: Float64  # (j,3,4) bind pose
    parent_from_joint: Float64  # (j,3,4) rest pose
    translations: Float32  # (f,j,3)
    rotations: Float32  # (f,j,4) x y z w
    scales: np.ndarray  # (f,j,3) float16
    of_bone: Int32  # (b,) the joint of each bone
    fine_of_bone: Int32  # (b,) its fine joint, -1 if none is needed


def distinct_identifiers(names: list[str], otherwise: str) -> list[str]:
    """The names as unique identifiers of USD: letters, digits and _."""
    taken: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name) or otherwise
        plain = f"_{plain}" if plain[0].isdigit() else plain
        while plain in taken:
            plain += "_"
        taken[plain] = None
    return list(taken)


def join_bones(joints: JointTracks, parents: Int32) -> Float64:
    """(f,b,3,4) posed_from_rest of the bones from their joints; `parents (j,)` come before their children."""
    local = np.concatenate(
        [
            matrices_from_quaternions(joints.rotations) * joints.scales.astype(np.float64)[..., None, :],
            joints.translations[..., None].astype(np.float64),
        ],
        axis=-1,
    )
    world = world_from_local([*np.swapaxes(local, 0, 1)], parents.tolist(), range(len(parents)))
    moved = compose(np.stack(world, axis=1), invert(joints.world_from_joint))
    main = moved[:, joints.of_bone]
    has_fine = (joints.fine_of_bone >= 0)[None, :, None, None]
    fine = moved[:, np.maximum(joints.fine_of_bone, 0)]
    return np.asarray(np.where(has_fine, (1 - FINE) * main + FINE * fine, main))


#: Displacement of a vertex by half precision that is allowed, as a fraction of the diagonal.
TOLERANCE = 2e-6
#: Scales that differ from one by less belong to a rigid bone, stored in float32.
UNIT = 3e-6
LARGEST_HALF = float(np.finfo(np.float16).max)


def build_joints(model: SkinnedModel) -> JointTracks:
    """All joints that the bones of `model` need."""
    transforms = model.track.transforms.astype(np.float64)
    # Within the precision of rotations in float32; a scale of the whole rig must be written.
    rigid = bone_type_of(transforms, 2 * UNIT) == "rigid" and scale_of_bones(transforms) == 1
    if rigid and model.skeleton is not None and len(model.skeleton.names) == model.n_bones:
        return _tree_of_joints(model, transforms)
    bind = identity(model.n_bones)
    bind[..., 3] = _centres(model)
    along_axes = np.zeros(model.n_bones, bool)
    if not rigid:
        bind, along_axes = orient_joints(bind, transforms)
    world = compose(transforms, bind)
    starts = [clip.start for clip in model.clips]
    tracks = _rigid_tracks(world, set(starts)) if rigid else split_transforms(world, starts, known=along_axes)
    if np.abs(tracks.scales).max(initial=0) > LARGEST_HALF / 2:
        raise GeometryError(f"a bone scales by {np.abs(tracks.scales).max():.3g}; USD holds scales up to 32752")
    return _joints_without_parents(model, tracks, bind)


def _rigid_tracks(world: Float64, begins: set[int]) -> NodeTracks:
    rotations = quaternions_from_matrices(nearest_rotation(world[..., :3]))
    keep_hemisphere(rotations, begins, upright=False)
    still = np.zeros_like(rotations)
    still[..., 3] = 1
    return NodeTracks(world[..., 3], rotations, np.ones((*world.shape[:2], 3)), still, np.zeros(world.shape[1], bool))


def _centres(model: SkinnedModel) -> Float64:
    """(b,3) weighted mean of each bone's vertices; the mean of the mesh for a bone without weights."""
    weights = model.skin.dense(model.n_bones)
    rest = model.rest.astype(np.float64)
    total = weights.sum(axis=0)
    mean = weights.T @ rest / np.where(total > 0, total, 1)[:, None]
    return np.asarray(np.where((total > 0)[:, None], mean, rest.mean(axis=0)))


def _tree_of_joints(model: SkinnedModel, transforms: Float64) -> JointTracks:
    """Rigid bones in the hierarchy of the skeleton, one joint each, in the same order."""
    assert model.skeleton is not None
    bind = model.skeleton.world_from_joint.astype(np.float64)
    bind = np.concatenate([nearest_rotation(bind[..., :3]), bind[..., 3:]], axis=-1)
    parents = model.skeleton.parents
    parent_bind = np.concatenate([bind, identity(1)])[parents]  # -1 selects the identity at the end
    moved = compose(transforms, bind)
    moved = np.concatenate([nearest_rotation(moved[..., :3]), moved[..., 3:]], axis=-1)
    parent_moved = np.concatenate([moved, np.broadcast_to(identity(1), (len(moved), 1, 3, 4))], axis=1)[:, parents]
    local = compose(invert(parent_moved), moved)
    rotations = quaternions_from_matrices(local[..., :3])
    keep_hemisphere(rotations, {clip.start for clip in model.clips}, upright=False)
    order = np.arange(len(parents))
    if (parents >= order).any():  # UsdSkel requires parents before their children
        order = np.array(parents_first(parents.tolist()))
    paths = distinct_identifiers(list(model.skeleton.names), "joint")
    for j in parents_first(parents.tolist()):
        paths[j] = paths[j] if parents[j] < 0 else f"{paths[parents[j]]}/{paths[j]}"
    return JointTracks(
        tuple(paths[j] for j in order),
        bind[order],
        compose(invert(parent_bind), bind)[order],
        local[:, order][..., 3].astype(np.float32),
        rotations[:, order].astype(np.float32),
        np.ones((*local.shape[:2], 3), np.float16),
        np.argsort(order).astype(np.int32),
        np.full(model.n_bones, -1, np.int32),
    )


def _joints_without_parents(model: SkinnedModel, tracks: NodeTracks, bind: Float64) -> JointTracks:
    """Bones without parents: for each its joint, the child for V', and both again if it needs a fine one."""
    high = tracks.scales.astype(np.float16)
    rest = tracks.scales - high
    fine = _needs_fine(model, np.abs(rest).max(axis=(0, 2)), bind[..., 3])
    low = (high + rest / FINE).astype(np.float16)
    names = distinct_identifiers(list(model.track.names), "bone")
    joints = _JointList(tracks, bind)
    of_bone, of_fine = np.empty(model.n_bones, np.int32), np.full(model.n_bones, -1, np.int32)
    for b, name in enumerate(names):
        of_bone[b] = joints.add(b, name, high[:, b])
    for b in np.flatnonzero(fine).tolist():
        of_fine[b] = joints.add(b, f"fine_{names[b]}", low[:, b])
    return joints.done(of_bone, of_fine)


class _JointList:
    """Joints that are appended one by one."""

    def __init__(self, tracks: NodeTracks, bind: Float64) -> None:
        self._tracks, self._bind = tracks, bind
        self._paths: list[str] = []
        self._bones: list[tuple[int, bool]] = []  # bone, and whether it is the child
        self._scales: list[np.ndarray] = []

    def add(self, bone: int, name: str, scales: np.ndarray) -> int:
        """Append the joints of a bone; returns the index of the one that vertices follow."""
        while name in self._paths:
            name += "_"
        self._paths.append(name)
        self._bones.append((bone, False))
        self._scales.append(scales)
        if self._tracks.needs_child[bone]:
            self._paths.append(f"{name}/turn")
            self._bones.append((bone, True))
            self._scales.append(np.ones_like(scales))
        return len(self._paths) - 1

    def done(self, of_bone: Int32, of_fine: Int32) -> JointTracks:
        bone = np.array([b for b, _ in self._bones])
        child = np.array([is_child for _, is_child in self._bones])
        tracks = self._tracks
        place = self._bind[bone]
        rest = np.where(child[:, None, None], identity(1), place)
        rotations = np.where(child[:, None], tracks.child_rotations[:, bone], tracks.rotations[:, bone])
        return JointTracks(
            tuple(self._paths),
            place,
            rest,
            (tracks.translations[:, bone] * np.where(child[:, None], 0.0, 1.0)).astype(np.float32),
            rotations.astype(np.float32),
            np.stack(self._scales, axis=1),
            of_bone,
            of_fine,
        )


def _needs_fine(model: SkinnedModel, rounding: Float64, pivots: Float64) -> np.ndarray:
    """(b,) whether `rounding (b,)` of the scales of a bone moves one of its vertices too far."""
    rest = model.rest.astype(np.float64)
    reach = np.zeros(model.n_bones)
    for k in range(model.skin.n_influences):
        bones = model.skin.bones[:, k]
        np.maximum.at(reach, bones, np.abs(model.skin.weights[:, k]) * np.linalg.norm(rest - pivots[bones], axis=1))
    diagonal = np.linalg.norm(np.ptp(rest, axis=0))
    # Each influence gets an equal share of the tolerance.
    return np.asarray(rounding * reach * max(1, model.skin.n_influences) > TOLERANCE * diagonal)


def joint_influences(model: SkinnedModel, joints: JointTracks) -> tuple[Int32, Float32]:
    """(v,k) joints and weights in the model's order; (v,2k) with those of the fine joints after all others."""
    bones, weights = model.skin.bones, model.skin.weights
    fine = joints.fine_of_bone[bones]
    has_fine = fine >= 0
    if not has_fine.any():
        return joints.of_bone[bones], weights
    main = np.where(has_fine, weights * np.float32(1 - FINE), weights)
    numbers = np.concatenate([joints.of_bone[bones], np.where(has_fine, fine, 0)], axis=1)
    both = np.concatenate([main, np.where(has_fine, weights * np.float32(FINE), 0)], axis=1)
    return numbers.astype(np.int32), both.astype(np.float32)
