"""A rig from a mesh and a stick skeleton: a bone for each joint that carries sticks, weights by distance or heat.

A joint rotates all sticks that begin at it, so these are one bone of the rig; end joints carry no bone.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.character import Character, Skeleton
from osteon.core.mesh import Mesh
from osteon.core.sticks import StickSkeleton, project_on_segments
from osteon.core.transforms import identity
from osteon.deform.linear_blend import LinearBlend
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.fit.skin.bone_weights import distance_weights, heat_weights, strongest_bones

#: Softness of heat weights (`fit/skin/bone_weights.py`).
SOFTNESS = 1.5


def carrying_joints(sticks: StickSkeleton) -> Int64:
    """Joints with child sticks, ascending: the bones of the rig."""
    return np.unique(sticks.tree.head).astype(np.int64)


def rig_of_sticks(mesh: Mesh, sticks: StickSkeleton, options: EigenSkinOptions) -> Character:
    """The mesh on the skeleton, linearly blended."""
    joints = carrying_joints(sticks)
    above = sticks.tree.above[joints].astype(np.int64)
    parents = np.where(above >= 0, np.searchsorted(joints, np.maximum(above, 0)), -1)
    places = identity(len(joints))
    places[..., 3] = sticks.joints[joints]
    skeleton = Skeleton(tuple(sticks.names[j] for j in joints), parents.astype(np.int32), places.astype(np.float32))
    rest = mesh.rest.astype(np.float64)
    distances = _distances(rest, sticks, joints)
    if options.weights == "harmonic":
        weights = heat_weights(rest, mesh.faces, distances, SOFTNESS)
    else:
        weights = distance_weights(rest, mesh.faces, distances)
    return Character(mesh, LinearBlend(strongest_bones(weights, options.influences)), (), skeleton)


def _distances(points: Float64, sticks: StickSkeleton, joints: Int64) -> Float64:
    """(v,b) from each vertex to the nearest stick of each joint."""
    out = np.full((len(points), len(joints)), np.inf)
    for (start, _), vector, head in zip(sticks.bones, sticks.vectors, sticks.tree.head, strict=True):
        mine = out[:, np.searchsorted(joints, head)]
        np.minimum(mine, project_on_segments(points, sticks.joints[start], vector)[1], out=mine)
    return out
