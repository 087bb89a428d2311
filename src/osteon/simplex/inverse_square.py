"""Skinning by bone distance alone: what simplex transformations are compared with.

Each vertex follows all bones, a bone at distance d with weight 1 / d^2, and goes where the weighted transforms take it:

    p' = sum_k w_k M_k p        w_k = d_k^-2 / sum_l d_l^-2

| symbol | name             | meaning                                              |
| ---    | ---              | ---                                                  |
| p      | `vertices`       | (v,3) rest positions                                 |
| w_k    | `weights`        | (v,b) rows sum to 1                                  |
| M_k    | `transforms`     | (f,b,3,4) posed_from_rest of the bones               |
| d_k    | `squared` (d^2)  | distance from a vertex to the nearest point of bone k |

Based on: Yan, Hu, Martin, Yang, Shape deformation using a skeleton to drive simplex transformations, 2008, eq. 1 and
section 6.4 (figure 17), with the inverse-square weights of its reference 45: Bloomenthal, Medial-based vertex
deformation, 2002.

Differs from the paper: a vertex on a bone would have an infinite weight. A length far below any detail is added to all
distances, so that such a vertex follows its bone, or the bones that meet there in equal parts.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray, checked
from osteon.core.sticks import StickSkeleton, project_on_segments
from osteon.core.topology import bounding_diagonal

__all__ = ["inverse_square_weights"]

#: Distances below this part of the extent count as zero.
NEAREST = 1e-9


def inverse_square_weights(vertices: FloatArray, skeleton: StickSkeleton) -> Float64:
    """(v,b) weights 1 / d^2 over the distances to the bones, scaled to sum to 1."""
    points: Float64 = checked("vertices", vertices, (None, 3), np.float64)
    extent = bounding_diagonal(np.concatenate([points, skeleton.joints]))
    squared = _squared_distances(points / extent, skeleton.joints / extent, skeleton) + NEAREST**2
    nearness = squared.min(axis=1, keepdims=True) / squared  # relative to the nearest bone: 0 … 1, never infinite
    weights: Float64 = nearness / nearness.sum(axis=1, keepdims=True)
    return weights


def _squared_distances(points: Float64, joints: Float64, skeleton: StickSkeleton) -> Float64:
    """(v,b) squared distances to the bones, which end at their joints."""
    squared = np.empty((len(points), skeleton.n_bones))
    for b, (start, stop) in enumerate(joints[skeleton.bones]):
        squared[:, b] = project_on_segments(points, start, stop - start)[1] ** 2
    return squared
