"""Blend between two clips at a level: each prepares its own bones at its own level, and the results are blended.

    U_b = [R S | x - R S g],   R = slerp(R^A, R^B, u),   S = (1 - u) S^A + u S^B,   x = (1 - u) U^A g + u U^B g

A and B are the poses of the two clips at their levels, with U = [R S | t]; g is the pivot of bone b at rest. So the
pose is that of the first clip at u = 0 and that of the second at u = 1, whatever bones either of them computes, and
there is no step at either end. Bones that follow another one take part with the place where they follow.

| symbol | name |
| --- | --- |
| U | pose, posed_from_rest |
| u | part |
| g | pivots |

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.4: "the interpolation of two separate
animations and then interpolating the results", for "only a proportion of the bones for each animation".
Differs from the paper: results are blended in the space of the body, not relative to parents, since the two clips have
different hierarchies. A joint between two bones then moves along a straight line.

The page has the same in `engine/levels/clip_blend.js`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from osteon.core.arrays import Float32, Float64, FloatArray
from osteon.core.errors import OptionError
from osteon.core.transforms import matrices_from_quaternions, nearest_rotation, quaternions_from_matrices, slerp
from osteon.lod.level_player import LevelPlayer


@dataclass(frozen=True, slots=True)
class ClipBlend:
    """Plays instances of a character between two clips, each at its level."""

    first: LevelPlayer
    second: LevelPlayer
    pivots: Float64  # (b,3), `rest_pivots` of the model

    def prepare(self, first_frames: ArrayLike, second_frames: ArrayLike, part: float) -> Float32:
        """(m,b,3,4) posed_from_rest at frames (m,) of both clips; part 0 is the first clip, 1 the second."""
        before = self.first.prepare(first_frames).astype(np.float64)
        return blend_poses(before, self.second.prepare(second_frames), self.pivots, part).astype(np.float32)


def blend_poses(first: FloatArray, second: FloatArray, pivots: Float64, part: float) -> Float64:
    """(m,b,3,4) a pose between two poses (m,b,3,4) of bones with pivots (b,3)."""
    if not 0 <= part <= 1:
        raise OptionError(f"part: expected 0 … 1, got {part}")
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if part in (0, 1):
        return (a, b)[int(part)]
    rotations = [nearest_rotation(pose[..., :3]) for pose in (a, b)]
    stretches = [np.swapaxes(r, -1, -2) @ pose[..., :3] for r, pose in zip(rotations, (a, b), strict=True)]
    before, after = (quaternions_from_matrices(r).reshape(-1, 4) for r in rotations)
    turned = matrices_from_quaternions(slerp(before, after, np.full(len(before), part))).reshape(rotations[0].shape)
    linear = turned @ ((1 - part) * stretches[0] + part * stretches[1])
    between = (1 - part) * a + part * b
    places = np.einsum("mbij,bj->mbi", between[..., :3], pivots) + between[..., 3]
    shift = places - np.einsum("mbij,bj->mbi", linear, pivots)
    return np.concatenate([linear, shift[..., None]], axis=-1)
