"""Influences as glTF stores them: sets of four joints, weights that sum to one, unused slots all zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Int32
from osteon.core.character import Skin
from osteon.core.errors import GeometryError
from osteon.io.gltf.meshopt.filters import Packing
from osteon.io.gltf.quantize import quantize_weights
from osteon.io.gltf.write.buffer import BufferWriter

__all__ = ["MOST_INFLUENCES", "StoredInfluences", "round_weights", "store_influences"]

MOST_INFLUENCES = 8
MOST_JOINTS = 65536
#: The specification allows sums of weights to differ from one by this per weight; such weights are not rescaled.
SUM_TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True)
class StoredInfluences:
    """(v,4) or (v,8) bones and weights."""

    bones: Int32
    weights: Float32
    quantize: bool
    joint_of_bone: Int32  # (b,) indices in the skin
    bits: int | None = None  # of compressed weights, which sum to 2^bits steps

    def write(self, buffer: BufferWriter, pick: Int32) -> dict[str, int]:
        """The attributes of all sets, for the vertices `pick`."""
        joints, weights = self.joint_of_bone[self.bones[pick]], self.weights[pick]
        kind = np.uint8 if self.joint_of_bone[self.bones].max(initial=0) < 256 else np.uint16
        packing = None if self.bits is None else Packing("EXPONENTIAL", self.bits)
        stored: NDArray[Any] = weights
        if self.bits is not None:
            stored = round_weights(weights, self.bits)
        elif self.quantize:
            stored = quantize_weights(weights).astype(np.uint16)
        joints = np.where(stored > 0, joints, 0).astype(kind)
        found = {}
        for n in range(weights.shape[1] // 4):
            now = slice(4 * n, 4 * n + 4)
            found[f"JOINTS_{n}"] = buffer.add(joints[:, now], "vertices")
            found[f"WEIGHTS_{n}"] = buffer.add(stored[:, now], "vertices", normalized=self.quantize, packing=packing)
        return found


def round_weights(weights: Float32, bits: int) -> Float32:
    """(v,k) weights as multiples of 2^-bits whose rows sum to one; the codec stores them exactly."""
    return (quantize_weights(weights, 1 << bits) * 2.0**-bits).astype(np.float32)


def store_influences(
    skin: Skin, joint_of_bone: Sequence[int], quantize: bool, bits: int | None = None
) -> StoredInfluences:
    """The skin in four or eight slots; refused if a weight is negative or a vertex has more than eight influences."""
    if max(joint_of_bone, default=0) >= MOST_JOINTS:
        raise GeometryError(f"skin: {len(joint_of_bone)} bones, but glTF holds {MOST_JOINTS} joints; fit fewer bones")
    if skin.weights.min(initial=0) < 0:
        v = int(skin.weights.min(axis=1).argmin())
        raise GeometryError(
            f"weights: vertex {v} has the weight {skin.weights[v].min():.3g}, but glTF has no negative weights; "
            "fit non-negative weights"
        )
    bones, weights = _merged(skin.bones.copy(), skin.weights.astype(np.float64))
    bones, weights = _narrowed(bones, weights)
    width = 4 if weights.shape[1] <= 4 else MOST_INFLUENCES
    short = ((0, 0), (0, width - weights.shape[1]))
    bones, weights = np.pad(bones, short), np.pad(weights, short)
    sums, used = weights.sum(axis=1), (weights > 0).sum(axis=1)
    off = np.abs(sums - 1) > SUM_TOLERANCE * used
    weights[off] /= sums[off, None]
    used_bones = np.where(weights > 0, bones, 0).astype(np.int32)
    joints = np.array(joint_of_bone, np.int32)
    return StoredInfluences(used_bones, weights.astype(np.float32), quantize, joints, bits)


def _merged(bones: Int32, weights: np.ndarray) -> tuple[Int32, np.ndarray]:
    """Each bone once per vertex: the weight of a later slot is added to the first one of the same bone."""
    for later in range(1, bones.shape[1]):
        for first in range(later):
            same = (bones[:, later] == bones[:, first]) & (weights[:, later] > 0) & (weights[:, first] > 0)
            weights[same, first] += weights[same, later]
            weights[same, later] = 0
    return bones, weights


def _narrowed(bones: Int32, weights: np.ndarray) -> tuple[Int32, np.ndarray]:
    """At most eight slots; refused if a vertex uses more."""
    if bones.shape[1] <= MOST_INFLUENCES:
        return bones, weights
    used = (weights > 0).sum(axis=1)
    if used.max() > MOST_INFLUENCES:
        v = int(used.argmax())
        raise GeometryError(
            f"skin: vertex {v} follows {used[v]} bones, but glTF players support {MOST_INFLUENCES}; "
            "fit fewer influences"
        )
    order = np.argsort(weights <= 0, axis=1, kind="stable")[:, :MOST_INFLUENCES]
    return np.take_along_axis(bones, order, axis=1), np.take_along_axis(weights, order, axis=1)
