"""Joints of UsdSkel over time, their names, and the bones that they play together."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.kinematics import world_from_local
from osteon.core.quaternions import matrices_from_quaternions
from osteon.core.transforms import compose, invert

__all__ = ["FINE", "JointTracks", "distinct_identifiers", "join_bones"]

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
