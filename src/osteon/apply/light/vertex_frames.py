"""The frame of reference of every point: the rotations of its bones, blended.

    R_v = rotation of  sum_k |w_vk| s_vk q_b(v,k),        s_vk = sign(q_b(v,k) . q_b(v,h)),   h the slot of most weight

with q_b the unit quaternion of the rotation nearest to a bone's transform. Transfer is stored in these frames, in which
the surroundings of a point that move with it stay the same. Any rotation would do: the choice affects how well transfer
compresses, never what is stored. This one costs a shader a few additions, and no decomposition of a matrix per vertex.

Based on: Kavan and Zara, Spherical Blend Skinning, 2005, section 4 (blends of quaternions on one hemisphere).
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray
from osteon.core.character import Skin
from osteon.core.model import SkinnedModel
from osteon.core.transforms import (
    keep_hemisphere,
    matrices_from_quaternions,
    nearest_rotation,
    quaternions_from_matrices,
    unit_quaternions,
)

#: A blend of quaternions shorter than this has no direction: the rotation of the heaviest bone is used.
_SHORT = 1e-3


def bone_rotations(model: SkinnedModel) -> Float32:
    """(f,b,4) unit quaternions of all bones, each on the hemisphere of the frame before it in its clip."""
    found = quaternions_from_matrices(nearest_rotation(model.animation.transforms[..., :3]))
    keep_hemisphere(found, {clip.start for clip in model.clips}, upright=False)
    return found.astype(np.float32)


def vertex_rotations(skin: Skin, rotations: FloatArray) -> Float64:
    """(v,3,3) the frames of all vertices, from the bones' quaternions (b,4) of one frame."""
    weights = np.abs(skin.weights.astype(np.float64))
    quaternions = np.asarray(rotations, np.float64)[skin.bones]
    heaviest = quaternions[np.arange(len(weights)), weights.argmax(axis=1)]
    side = np.where(np.einsum("vki,vi->vk", quaternions, heaviest) < 0, -1.0, 1.0)
    blended = np.einsum("vk,vki->vi", weights * side, quaternions)
    short = np.linalg.norm(blended, axis=1, keepdims=True) < _SHORT
    return matrices_from_quaternions(unit_quaternions(np.where(short, heaviest, blended)))


def rotations_between(rotations: FloatArray, moment: float) -> Float64:
    """(b,4) the bones' quaternions at a moment between two frames of (f,b,4): a normalised linear blend."""
    low = min(int(moment), len(rotations) - 1)
    high, part = min(low + 1, len(rotations) - 1), moment - low
    first, second = np.asarray(rotations[low], np.float64), np.asarray(rotations[high], np.float64)
    side = np.where((first * second).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    return unit_quaternions((1 - part) * first + part * side * second)
