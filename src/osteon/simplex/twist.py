"""Twist axes: the turn about a posed bone grows linearly from one end to the other (7.2).

    z~ = W~ (w~ - A2) + A2,    M~ = W~ S~ R~                         (eq. 20 to 22)
    W~ = the turn by (1 - s) gamma_A + s gamma_B about B2 - A2

where s is the place of a triangle along its bone, the foot of its effective line. The paper has gamma_A = 0; equal
angles turn everything by the same amount, as the head of its figure 19.

Based on: Yan, Hu, Martin, Yang 2008, section 7.2.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.transforms import rotation_from_axis_angle

__all__ = ["twist_transforms"]


def twist_transforms(transforms: Float64, ends: Float64, angles: Float64, along: Float64) -> Float64:
    """(n,3,4) transforms twisted about the posed bone: ends (n,2,3), angles (n,2) in radians, along (n,) 0 … 1."""
    angle = angles[:, 0] + along * (angles[:, 1] - angles[:, 0])
    turn = rotation_from_axis_angle(ends[:, 1] - ends[:, 0], angle)
    out = np.empty_like(transforms)
    out[:, :, :3] = turn @ transforms[:, :, :3]  # eq. 21
    out[:, :, 3] = np.einsum("nij,nj->ni", turn, transforms[:, :, 3] - ends[:, 0]) + ends[:, 0]  # eq. 22
    return out
