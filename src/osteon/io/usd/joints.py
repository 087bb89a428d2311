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
from osteon.core.model import SkinnedModel
from osteon.core.play_scale import scale_of_bones
from osteon.core.quaternions import keep_hemisphere, matrices_from_quaternions, quaternions_from_matrices
from osteon.core.transforms import compose, identity, invert, nearest_rotation
from osteon.io.two_nodes import NodeTracks, orient_joints, split_transforms

__all__ = ["FINE", "JointTracks", "build_joints", "distinct_identifiers", "join_bones", "joint_influences"]


#: The part of a bone's weight that its fine joint takes.
FINE = 2.0**-10


@dataclass(frozen=True, slots=True)
class JointTracks:
    """Joints in the order of the file, and how they move."""

    paths: tuple[str, ...]  # names from the root down, parted by /
    world_from_joint: Float64  # (j,3,4) bind pose
    parent_from_joint: Float64  # (j,3,4) rest pose
    translations: Float32  # (f,j,3)
    rotations: Float32  # (f,j,4) x y z w
    scales: np.ndarray  # (f,j,3) float16
    of_bone: Int32  # (b,) the joint that carries a bone
    fine_of_bone: Int32  # (b,) the joint that carries the rest of it, -1 if none is needed


def distinct_identifiers(names: list[str], otherwise: str) -> list[str]:
    """The names as USD allows them: letters, digits and _, each unique."""
    taken: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name) or otherwise
        plain = f"_{plain}" if plain[0].isdigit() else plain
        while plain in taken:
            plain += "_"
        taken[plain] = None
    return list(taken)


def join_bones(joints: JointTracks, parents: Int32) -> Float64:
    """(f,b,3,4) posed_from_rest of the bones, as the joints play it; `parents (j,)` come before their children."""
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


#: What half precision may move a vertex by, as part of the diagonal.
TOLERANCE = 2e-6
#: Scales this near to one are a rigid bone's, stored in float32.
UNIT = 3e-6
LARGEST_HALF = float(np.finfo(np.float16).max)


def build_joints(model: SkinnedModel) -> JointTracks:
    """All joints that the bones of `model` need."""
    transforms = model.track.transforms.astype(np.float64)
    # As far as float32 can hold a rotation; a scale that the rig carries must be written.
    rigid = bone_type_of(transforms, 2 * UNIT) == "rigid" and scale_of_bones(transforms) == 1
    if rigid and model.skeleton is not None and len(model.skeleton.names) == model.n_bones:
        return _tree_of_joints(model, transforms)
    bind = identity(model.n_bones)
    bind[..., 3] = _pivots(model)
    along_axes = np.zeros(model.n_bones, bool)
    if not rigid:
        bind, along_axes = orient_joints(bind, transforms)
    world = compose(transforms, bind)
    starts = [clip.start for clip in model.clips]
    tracks = _rigid_tracks(world, set(starts)) if rigid else split_transforms(world, starts, known=along_axes)
    if np.abs(tracks.scales).max(initial=0) > LARGEST_HALF / 2:
        raise GeometryError(f"a bone scales by {np.abs(tracks.scales).max():.3g}; USD holds scales up to 32752")
    return _row_of_joints(model, tracks, bind)


def _rigid_tracks(world: Float64, begins: set[int]) -> NodeTracks:
    rotations = quaternions_from_matrices(nearest_rotation(world[..., :3]))
    keep_hemisphere(rotations, begins, upright=False)
    still = np.zeros_like(rotations)
    still[..., 3] = 1
    return NodeTracks(world[..., 3], rotations, np.ones((*world.shape[:2], 3)), still, np.zeros(world.shape[1], bool))


def _pivots(model: SkinnedModel) -> Float64:
    """(b,3) the middle of what each bone moves, by weight; the middle of the mesh for a bone without weights."""
    weights = model.skin.dense(model.n_bones)
    rest = model.rest.astype(np.float64)
    total = weights.sum(axis=0)
    middle = weights.T @ rest / np.where(total > 0, total, 1)[:, None]
    return np.asarray(np.where((total > 0)[:, None], middle, rest.mean(axis=0)))


def _tree_of_joints(model: SkinnedModel, transforms: Float64) -> JointTracks:
    """Rigid bones in the tree of the skeleton, one joint each, in the same order."""
    assert model.skeleton is not None
    bind = model.skeleton.world_from_joint.astype(np.float64)
    bind = np.concatenate([nearest_rotation(bind[..., :3]), bind[..., 3:]], axis=-1)
    parents = model.skeleton.parents
    above = np.concatenate([bind, identity(1)])[parents]  # -1 takes the identity at the end
    moved = compose(transforms, bind)
    moved = np.concatenate([nearest_rotation(moved[..., :3]), moved[..., 3:]], axis=-1)
    above_moved = np.concatenate([moved, np.broadcast_to(identity(1), (len(moved), 1, 3, 4))], axis=1)[:, parents]
    local = compose(invert(above_moved), moved)
    rotations = quaternions_from_matrices(local[..., :3])
    keep_hemisphere(rotations, {clip.start for clip in model.clips}, upright=False)
    order = _parents_first(parents)
    paths = _tree_paths(model.skeleton.names, parents)
    return JointTracks(
        tuple(paths[j] for j in order),
        bind[order],
        compose(invert(above), bind)[order],
        local[:, order][..., 3].astype(np.float32),
        rotations[:, order].astype(np.float32),
        np.ones((*local.shape[:2], 3), np.float16),
        np.argsort(order).astype(np.int32),
        np.full(model.n_bones, -1, np.int32),
    )


def _parents_first(parents: Int32) -> np.ndarray:
    """(j,) the joints in an order that UsdSkel accepts; their own if it is one."""
    if (parents < np.arange(len(parents))).all():
        return np.arange(len(parents))
    return np.array(parents_first(parents.tolist()))


def _tree_paths(names: tuple[str, ...], parents: Int32) -> list[str]:
    plain = distinct_identifiers(list(names), "joint")

    def path(j: int) -> str:
        return plain[j] if parents[j] < 0 else f"{path(int(parents[j]))}/{plain[j]}"

    return [path(j) for j in range(len(plain))]


def _row_of_joints(model: SkinnedModel, tracks: NodeTracks, bind: Float64) -> JointTracks:
    """Bones side by side: for each its joint, the child that turns it back, and both again if it needs a fine one."""
    high = tracks.scales.astype(np.float16)
    rest = tracks.scales - high
    fine = _needs_fine(model, np.abs(rest).max(axis=(0, 2)), bind[..., 3])
    low = (high + rest / FINE).astype(np.float16)
    names = distinct_identifiers(list(model.track.names), "bone")
    joints = _Row(tracks, bind)
    of_bone, of_fine = np.empty(model.n_bones, np.int32), np.full(model.n_bones, -1, np.int32)
    for b, name in enumerate(names):
        of_bone[b] = joints.add(b, name, high[:, b])
    for b in np.flatnonzero(fine).tolist():
        of_fine[b] = joints.add(b, f"fine_{names[b]}", low[:, b])
    return joints.done(of_bone, of_fine)


class _Row:
    """Joints that are added one by one."""

    def __init__(self, tracks: NodeTracks, bind: Float64) -> None:
        self._tracks, self._bind = tracks, bind
        self._paths: list[str] = []
        self._bones: list[tuple[int, bool]] = []  # bone, and whether it is the child
        self._scales: list[np.ndarray] = []

    def add(self, bone: int, name: str, scales: np.ndarray) -> int:
        """The number of the joint that vertices hang on."""
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
        nowhere = np.where(child[:, None], 0.0, 1.0)
        rest = np.where(child[:, None, None], identity(1), place)
        turns = np.where(child[:, None], tracks.child_rotations[:, bone], tracks.rotations[:, bone])
        return JointTracks(
            tuple(self._paths),
            place,
            rest,
            (tracks.translations[:, bone] * nowhere).astype(np.float32),
            turns.astype(np.float32),
            np.stack(self._scales, axis=1),
            of_bone,
            of_fine,
        )


def _needs_fine(model: SkinnedModel, rounding: Float64, pivots: Float64) -> np.ndarray:
    """(b,) whether rounding the scales of a bone by as much as (b,) moves one of its vertices too far."""
    rest = model.rest.astype(np.float64)
    reach = np.zeros(model.n_bones)
    for k in range(model.skin.n_influences):
        bones = model.skin.bones[:, k]
        np.maximum.at(reach, bones, np.abs(model.skin.weights[:, k]) * np.linalg.norm(rest - pivots[bones], axis=1))
    diagonal = np.linalg.norm(np.ptp(rest, axis=0))
    # Each influence gets an equal share of what may be lost.
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
