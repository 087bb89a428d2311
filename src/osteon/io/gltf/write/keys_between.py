"""Keys between frames, where interpolation of two nodes would make vertices stray.

Halfway between two frames no vertex should be farther from either position than they are from each other. The two-node
form ensures that for the matrices, but a fitted bone may change greatly in directions in which it has no vertices, and
the decomposition mixes all directions, so that its vertices stray. There a key is added halfway, at the mean of the two
matrices, so that the motion is linear. Bones that only rotate keep to their arc. A bone's vertices are those with their
largest weight on it, posed with all their bones.

Notes. Horse, 30 bones: without these keys vertices of a bone that moves 0.3 % of the diagonal in a step were 2.6 % off
halfway. Scaling the bone's space by the extent of its vertices first (a third node) removed a third of that. With them
no vertex exceeds the limit; they add 1.2 % to the file of 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import BoneTrack, Clip
from osteon.core.arrays import Float64
from osteon.core.character import Corrections
from osteon.core.kinematics import parents_first, world_from_local
from osteon.core.model import SkinnedModel
from osteon.core.transforms import compose, halfway_quaternions
from osteon.io.gltf.write.joints import JointNodes, Joints, build_nodes, place_joints
from osteon.io.two_nodes import BoolArray, NodeTracks, join_transforms

#: Vertices that stray by less than this fraction of the diagonal are ignored.
NO_DETOUR = 1e-6
#: Keys are added at halves of a step, then at quarters.
ROUNDS = 2
#: Searches for the bone that makes a vertex stray, before all bones of a straying vertex get a key.
SEARCHES = 4
#: Vertices times frames that are posed at once.
BLOCK_VERTICES = 2_000_000


@dataclass(frozen=True, slots=True)
class KeyedModel:
    """A model with one frame for each key, the times of these, and the motion of its nodes."""

    model: SkinnedModel
    moments: Float64  # (f,) in frames of the source
    has_key: BoolArray  # (f,b) bones that have a key there; the others are interpolated between their keys
    joints: Joints
    nodes: JointNodes
    scale_inherited: bool  # joints may have parents that scale

    @property
    def has_between(self) -> bool:
        """Whether there are keys between frames."""
        return bool((self.moments % 1 != 0).any())


def key_frames(model: SkinnedModel, *, scale_inherited: bool = True) -> KeyedModel:
    """The model with a key in each of its frames."""
    moments = np.arange(model.n_frames, dtype=np.float64)
    return _keyed(model, moments, np.ones((model.n_frames, model.n_bones), bool), scale_inherited)


def add_between(keyed: KeyedModel) -> KeyedModel:
    """The model with frames added halfway wherever vertices would stray."""
    for _ in range(ROUNDS):
        added = _round(keyed)
        if added is None:
            break
        keyed = added
    return keyed


def _keyed(model: SkinnedModel, moments: Float64, has_key: BoolArray, scale_inherited: bool) -> KeyedModel:
    joints = place_joints(model, scale_inherited=scale_inherited)
    nodes = build_nodes(joints, [clip.start for clip in model.clips], moments, has_key)
    return KeyedModel(model, moments, has_key, joints, nodes, scale_inherited)


def _round(keyed: KeyedModel) -> KeyedModel | None:
    """The model with one more frame in each step in which vertices stray; None if they do in none."""
    model, joints, nodes = keyed.model, keyed.joints, keyed.nodes
    steps = _steps(model.clips)
    if not nodes.tracks.needs_child.any() or not len(steps):
        return None
    natural = _halfway(joints, nodes.tracks, steps)
    straight = (model.track.transforms[steps].astype(np.float64) + model.track.transforms[steps + 1]) / 2
    strays = np.zeros((len(steps), model.n_bones), bool)
    open_steps = np.arange(len(steps))
    for search in range(SEARCHES + 1):
        middle = np.where(strays[open_steps, :, None, None], straight[open_steps], natural[open_steps])
        step, vertex = _straying_vertices(model, middle, steps[open_steps])
        if not len(step):
            break
        causes = _straying_bones(model, natural - straight, (open_steps[step], vertex), strays, search == SEARCHES)
        strays |= causes & nodes.tracks.needs_child
        open_steps = np.unique(open_steps[step])
    at = np.flatnonzero(strays.any(axis=1))
    if not len(at):
        return None
    middle = np.where(strays[at, :, None, None], straight[at], natural[at])
    # If the path of a joint with children changes, all other joints need a key to keep theirs.
    has_key = strays[at] if max(joints.parents) < 0 else np.ones((len(at), model.n_bones), bool)
    return _inserted(keyed, steps[at] + 1, middle, has_key)


def _steps(clips: tuple[Clip, ...]) -> NDArray[np.int64]:
    """The frames that are not the last of their clip."""
    return np.concatenate([np.arange(clip.start, clip.stop - 1) for clip in clips])


def _halfway(joints: Joints, tracks: NodeTracks, steps: NDArray[np.int64]) -> Float64:
    """(s,b,3,4) transforms of all bones halfway between frames, as a player computes them."""
    straight = [(track[steps] + track[steps + 1]) / 2 for track in (tracks.translations, tracks.scales)]
    arcs = [halfway_quaternions(track[steps], track[steps + 1]) for track in (tracks.rotations, tracks.child_rotations)]
    local = join_transforms(NodeTracks(straight[0], arcs[0], straight[1], arcs[1], tracks.needs_child))
    world = world_from_local([*np.swapaxes(local, 0, 1)], joints.parents, parents_first(joints.parents))
    return compose(np.stack(world, axis=1), joints.joint_from_rest)


@np.errstate(over="ignore", invalid="ignore")  # an overflow is refused when it is written
def _straying_vertices(
    model: SkinnedModel, halfway: Float64, steps: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Steps and vertices that are farther away halfway than any vertex of their main bone moves in that step."""
    from osteon.deform.pose import pose_frames  # compiled: not needed to import the formats

    skin = model.skin
    owner = np.take_along_axis(skin.bones, skin.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    order = np.argsort(owner, kind="stable")
    owners, first = np.unique(owner[order], return_index=True)
    diagonal = float(np.linalg.norm(np.ptp(model.rest.astype(np.float64), axis=0)))
    between = _with_frames(model, halfway, _mean_coefficients(model, steps))
    strays = np.zeros((len(steps), model.n_vertices), bool)
    size = max(1, BLOCK_VERTICES // model.n_vertices)
    for start in range(0, len(steps), size):
        now = steps[start : start + size]
        middle = pose_frames(between, start, start + len(now)).astype(np.float64)
        frames = pose_frames(model, int(now[0]), int(now[-1]) + 2)
        ends = [frames[now - now[0] + i].astype(np.float64) for i in (0, 1)]
        reach = np.maximum(*(np.linalg.norm(middle - end, axis=2) for end in ends))
        allowed = np.empty((len(now), model.n_bones))
        moved = np.linalg.norm(ends[1] - ends[0], axis=2)
        allowed[:, owners] = np.maximum.reduceat(moved[:, order], first, axis=1)
        strays[start : start + size] = reach > allowed[:, owner] + NO_DETOUR * diagonal
    step, vertex = np.nonzero(strays)
    return step, vertex


def _straying_bones(
    model: SkinnedModel,
    detour: Float64,
    where: tuple[NDArray[np.int64], NDArray[np.int64]],
    known: BoolArray,
    all_bones: bool,
) -> BoolArray:
    """(s,b) for each straying vertex the bone that moves it farthest from the straight path, or all of its bones."""
    step, vertex = where
    bones, weights = model.skin.bones[vertex], model.skin.weights[vertex]
    points = np.concatenate([model.rest[vertex], np.ones((len(vertex), 1))], axis=1)
    off = np.linalg.norm(np.einsum("nkij,nj->nki", detour[step[:, None], bones], points), axis=-1) * weights
    off[known[step[:, None], bones]] = -1
    causes = np.zeros(known.shape, bool)
    if all_bones:
        causes[np.broadcast_to(step[:, None], bones.shape)[weights > 0], bones[weights > 0]] = True
    else:
        causes[step, np.take_along_axis(bones, off.argmax(axis=1)[:, None], axis=1)[:, 0]] = True
    return causes


def _mean_coefficients(model: SkinnedModel, steps: NDArray[np.int64]) -> Float64 | None:
    if model.corrections is None:
        return None
    coefficients = model.corrections.coefficients.astype(np.float64)
    return np.asarray((coefficients[steps] + coefficients[steps + 1]) / 2)


def _with_frames(
    model: SkinnedModel, transforms: Float64, coefficients: Float64 | None, clips: tuple[Clip, ...] = ()
) -> SkinnedModel:
    """The same model with other frames."""
    corrections = model.corrections
    if corrections is not None and coefficients is not None:
        corrections = Corrections(corrections.basis, coefficients.astype(np.float32), corrections.normal_basis)
    track = BoneTrack(transforms.astype(np.float32), model.track.bone_type, model.track.names)
    return model.with_corrections(None).with_animation(track=track, clips=clips).with_corrections(corrections)


def _inserted(keyed: KeyedModel, at: NDArray[np.int64], middle: Float64, has_key: BoolArray) -> KeyedModel:
    """The model with frames inserted before the frames `at`."""
    model = keyed.model
    transforms = np.insert(model.track.transforms.astype(np.float64), at, middle, axis=0)
    moments = np.insert(keyed.moments, at, (keyed.moments[at - 1] + keyed.moments[at]) / 2)
    coefficients = _mean_coefficients(model, at - 1)
    if model.corrections is not None and coefficients is not None:
        coefficients = np.insert(model.corrections.coefficients.astype(np.float64), at, coefficients, axis=0)
    clips = [
        Clip(c.name, c.start + int((at <= c.start).sum()), c.stop + int((at < c.stop).sum()), c.fps)
        for c in model.clips
    ]
    extended = _with_frames(model, transforms, coefficients, tuple(clips))
    return _keyed(extended, moments, np.insert(keyed.has_key, at, has_key, axis=0), keyed.scale_inherited)
