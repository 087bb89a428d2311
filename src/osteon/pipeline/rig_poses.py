"""Meshes in poses of a stick skeleton as poses of a rig: joints by name, vertices by place.

A turn of joint j is told in the axes of the rest pose, against what j hangs on, and so it is for the rig's own joint of
that name (`deform/pose_skeleton.py`). Joints that the rig has besides, such as helpers, go along.

A rig may hold a vertex several times, where its texture has a seam; each goes with the vertex of the poses that rests
in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.character import Character
from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.core.skeleton import Skeleton
from osteon.deform.pose_skeleton import transforms_of_turns
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.io.poses.pose_set import PoseSet
from osteon.io.skeletons.rig import printable_names

__all__ = ["poses_of_rig"]

#: Parts of the diagonal by which vertices, and joints, of rig and poses may be apart at rest.
SAME_VERTEX, SAME_JOINT = 1e-4, 1e-2


def poses_of_rig(character: Character, poses: PoseSet, chosen: Sequence[int] | Int32) -> KnownPoses:
    """Some of the poses, with the character's bones."""
    skeleton = character.skeleton
    if skeleton is None or not len(skeleton.names):
        raise GeometryError(
            f"'{character.mesh.name}': its bones hang in no skeleton; find one with osteon rig, or give a mesh"
        )
    some = poses.take(chosen)
    joints = _joints(skeleton, some, character.mesh)
    turns = np.tile(np.eye(3), (some.n_poses, len(skeleton.names), 1, 1))
    hinges = np.zeros((len(skeleton.names), 3))
    for theirs, ours in joints.items():
        turns[:, ours], hinges[ours] = some.turns[:, theirs], some.hinges[theirs]
    transforms = transforms_of_turns(skeleton, turns, some.shifts)
    vertices = _vertices(character.mesh, some.mesh)
    return KnownPoses(np.ascontiguousarray(some.frames[:, vertices]), transforms, some.names, hinges)


def _joints(skeleton: Skeleton, poses: PoseSet, mesh: Mesh) -> dict[int, int]:
    """The rig's joint of each joint of the poses that it has; refuses poses that turn others, or stand elsewhere."""
    number = {name: j for j, name in enumerate(printable_names(skeleton.names))}
    places = skeleton.world_from_joint[..., 3].astype(np.float64)
    found = {j: number[name] for j, name in enumerate(poses.skeleton.names) if name in number}
    turned = poses.turned().any(axis=0)
    for j in np.flatnonzero(turned).tolist():
        name = poses.skeleton.names[j]
        if j not in found:
            known = ", ".join(list(number)[:12])
            raise GeometryError(f"poses: turn joint '{name}', which '{mesh.name}' does not have; it has {known}")
        away = float(np.linalg.norm(places[found[j]] - poses.skeleton.joints[j])) / mesh.diagonal
        if away > SAME_JOINT:
            raise GeometryError(
                f"poses: joint '{name}' rests {100 * away:.0f} % of the diagonal away from that of '{mesh.name}'; "
                "give the rig that the poses were made with"
            )
    return found


def _vertices(rig: Mesh, poses: Mesh) -> Int64:
    """(v,) the vertex of the poses for each vertex of the rig."""
    ours, theirs = rig.rest.astype(np.float64), poses.rest.astype(np.float64)
    same = np.arange(len(ours))
    if len(ours) != len(theirs) or _farthest(ours, theirs) > SAME_VERTEX * rig.diagonal:
        from scipy.spatial import cKDTree

        same = np.asarray(cKDTree(theirs).query(ours)[1])
    away = np.linalg.norm(ours - theirs[same], axis=1)
    if away.max(initial=0.0) > SAME_VERTEX * rig.diagonal:
        v = int(away.argmax())
        raise GeometryError(
            f"poses: of {len(theirs)} vertices none rests where vertex {v} of the {len(ours)} of '{rig.name}' does; "
            "rig and poses must be one mesh at rest"
        )
    return same


def _farthest(ours: Float64, theirs: Float64) -> float:
    return float(np.linalg.norm(ours - theirs, axis=1).max(initial=0.0))
