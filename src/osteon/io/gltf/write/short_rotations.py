"""Which joints may have rotations of 16 bits.

Rounding leaves a quaternion q a little off length one. Programs that normalise it and programs that do not then show
matrices that differ by (1 - |q|^2) (I - R). `quantize_turns` keeps that small but cannot where q lies along an axis, as
it does in a motion that turns one way only. So the difference is worked out for every vertex and frame, and the bones
that take one too far keep float32. A joint that carries others keeps it too: it would pass its rounding on to them.

Notes. Horse, 30 flexible bones: 3.8e-6 of the diagonal at most, no bone is blamed. A bar of one bone that turns round
an axis: 1.7e-5, it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float64, FloatArray
from osteon.core.model import SkinnedModel
from osteon.core.quaternions import matrices_from_quaternions
from osteon.core.two_nodes import BoolArray
from osteon.io.gltf.quantize import quantize_turns
from osteon.io.gltf.write.joints import Joints
from osteon.io.gltf.write.keys_between import KeyedModel
from osteon.io.gltf.write.nodes import JointNodes

__all__ = ["RoundTurns", "short_turns"]

#: From quaternions (…,4) to normalised integers.
RoundTurns = Callable[[FloatArray], NDArray[np.int16]]

#: Part of the diagonal by which programs may differ for this reason: half of what they may in all.
PLAYERS_APART = 5e-6
#: Vertices times frames that are posed at a time.
BLOCK_VERTICES = 2_000_000


def short_turns(keyed: KeyedModel, round_turns: RoundTurns = quantize_turns) -> BoolArray:
    """(b,) joints whose rotations may be rounded to 16 bits, by `round_turns`."""
    model, joints, nodes = keyed.model, keyed.joints, keyed.nodes
    short = ~np.isin(np.arange(model.n_bones), joints.parents)
    limit = PLAYERS_APART * float(np.linalg.norm(np.ptp(model.rest.astype(np.float64), axis=0)))
    apart = _apart(joints, nodes, round_turns)
    for _ in range(model.n_bones):
        kept = BoneTrack(np.where(short[:, None, None], apart, 0).astype(np.float32))
        blamed = short & _blamed(model.with_animation(track=kept), limit)
        if not blamed.any():
            break
        short &= ~blamed
    return short


@np.errstate(over="ignore", invalid="ignore")  # what is beyond float32 is refused when it is written
def _apart(joints: Joints, nodes: JointNodes, round_turns: RoundTurns) -> Float64:
    """(f,b,3,4) by how much the transforms of two programs differ, one that normalises quaternions and one that not."""
    tracks = nodes.tracks
    stored = [round_turns(turns[:-1]) / 32767 for turns in (tracks.rotations, tracks.child_rotations)]
    scales = tracks.scales[:-1, :, None, :]
    as_they_come = (matrices_from_quaternions(stored[0]) * scales) @ matrices_from_quaternions(stored[1])
    unit = [q / np.linalg.norm(q, axis=-1, keepdims=True) for q in stored]
    normalised = (matrices_from_quaternions(unit[0]) * scales) @ matrices_from_quaternions(unit[1])
    off = as_they_come - normalised
    for b, above in enumerate(joints.parents):
        if above >= 0:
            off[:, b] = joints.world[:-1, above, :, :3] @ off[:, b]
    return np.asarray(np.nan_to_num(off @ joints.joint_from_rest))


def _blamed(differences: SkinnedModel, limit: float) -> BoolArray:
    """(b,) for each vertex and frame beyond the limit the bone that does most; the track holds the differences."""
    from osteon.deform.pose import pose_frames  # compiled: not needed to import the formats

    blamed = np.zeros(differences.n_bones, bool)
    skin = differences.skin
    points = np.concatenate([differences.rest, np.ones((differences.n_vertices, 1), np.float32)], axis=1)
    size = max(1, BLOCK_VERTICES // differences.n_vertices)
    for start in range(0, differences.n_frames, size):
        posed: FloatArray = pose_frames(differences, start, min(start + size, differences.n_frames))
        frame, vertex = np.nonzero(np.linalg.norm(posed, axis=2) > limit)
        bones = skin.bones[vertex]
        moves = differences.track.transforms[start + frame[:, None], bones]
        share = np.linalg.norm(np.einsum("nkij,nj->nki", moves, points[vertex]), axis=2) * skin.weights[vertex]
        blamed[np.take_along_axis(bones, share.argmax(axis=1)[:, None], axis=1)] = True
    return blamed
