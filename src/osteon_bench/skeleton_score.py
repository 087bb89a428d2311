"""Scores of a recovered skeleton against the skeleton that moved the mesh.

Joints are matched one to one: the assignment with the most pairs that are less than `NEAR` apart, and among those the
one with the least sum of distances. A second joint at the same place therefore counts as a false positive.

    precision = matched joints / recovered joints,   recall = matched joints / true joints

Two joints are neighbours if they share a bone: a child and its parent, or two children of one parent. This relation
does not change when another bone becomes the root, so trees are compared by it. `parents` is the share of true pairs
(child, parent) with both joints matched whose matches are neighbours, directly or through unmatched joints only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float64, Int64
from osteon.core.character import Skeleton, Skin
from osteon.core.transforms import nearest_rotation

#: A true joint counts if it rotates by more than this against its parent, in degrees, ...
MIN_ROTATION = 5.0
#: ... and if this share of the vertices has its largest weight on its bone.
MIN_SHARE = 4e-3
#: Largest distance of matched joints, as a fraction of the diagonal.
NEAR = 0.05


@dataclass(frozen=True, slots=True)
class TrueSkeleton:
    """The joints that a recovered skeleton should have."""

    places: Float64  # (j,3) in the rest pose
    parents: Int64  # (j,) the nearest ancestor that counts, -1 for none


@dataclass(frozen=True, slots=True)
class SkeletonScore:
    """How well a skeleton was recovered; every score is between 0 and 1."""

    precision: float
    recall: float
    parents: float  # 1 where no true pair has both joints matched


def true_skeleton(skeleton: Skeleton, track: BoneTrack, skin: Skin) -> TrueSkeleton:
    """The joints of a rig that rotate and move vertices in its animation."""
    rotations = nearest_rotation(track.transforms[..., :3])
    owners = skin.bones[np.arange(skin.n_vertices), skin.weights.argmax(axis=1)]
    share = np.bincount(owners, minlength=track.n_bones) / skin.n_vertices
    counts = np.zeros(len(skeleton.parents), np.bool_)
    for j, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            relative = np.swapaxes(rotations[:, parent], 1, 2) @ rotations[:, j]
            cosine = (np.einsum("fij,ij->f", relative, relative[0]).min() - 1) / 2
            counts[j] = np.degrees(np.arccos(np.clip(cosine, -1, 1))) > MIN_ROTATION and share[j] >= MIN_SHARE
    places = skeleton.world_from_joint[:, :, 3].astype(np.float64)
    return reduce_skeleton(places, skeleton.parents.astype(np.int64), counts)


def reduce_skeleton(places: Float64, parents: Int64, counts: np.ndarray) -> TrueSkeleton:
    """Keep the joints that count (j,), each as a child of its nearest ancestor that counts."""
    number = np.cumsum(counts) - 1
    ancestors = []
    for j in np.flatnonzero(counts):
        ancestor = int(parents[j])
        while ancestor >= 0 and not counts[ancestor]:
            ancestor = int(parents[ancestor])
        ancestors.append(int(number[ancestor]) if ancestor >= 0 else -1)
    return TrueSkeleton(places[counts], np.array(ancestors, np.int64))


def score_skeleton(places: Float64, parents: Int64, true: TrueSkeleton, diagonal: float) -> SkeletonScore:
    """Score the joints (j,3) that have a parent; the body does not bend at a root."""
    joints = np.flatnonzero(parents >= 0)
    if not len(joints) or not len(true.places):
        exact = float(len(joints) == len(true.places))
        return SkeletonScore(exact, exact, exact)
    distances = np.linalg.norm(true.places[:, None] - places[joints][None], axis=2) / diagonal
    match = {j: int(joints[k]) for j, k in _match_joints(distances).items()}
    return SkeletonScore(
        len(match) / len(joints), len(match) / len(true.places), _share_of_right_parents(match, joints, parents, true)
    )


def _match_joints(distances: Float64) -> dict[int, int]:
    """One-to-one pairs (row to column) closer than `NEAR`: as many as possible, then those with the least sum."""
    near = distances < NEAR
    unmatched = NEAR * (1 + min(distances.shape))  # costs more than all pairs together
    rows, columns = linear_sum_assignment(np.where(near, distances, unmatched))
    return {int(j): int(k) for j, k in zip(rows, columns, strict=True) if near[j, k]}


def _share_of_right_parents(match: dict[int, int], joints: Int64, parents: Int64, true: TrueSkeleton) -> float:
    matched = set(match.values())
    bones = {int(j): {int(j), int(parents[j])} for j in joints}
    pairs = [(j, int(parent)) for j, parent in enumerate(true.parents) if j in match and int(parent) in match]
    right = [_are_neighbours(match[a], match[b], bones, matched) for a, b in pairs]
    return float(np.mean(right)) if right else 1.0


def _are_neighbours(first: int, second: int, bones: dict[int, set[int]], matched: set[int]) -> bool:
    """Whether two joints share a bone, or are connected through joints without a match only."""
    visited, queue = {first}, [first]
    while queue:
        joint = queue.pop()
        for other, own in bones.items():
            if other in visited or not own & bones[joint]:
                continue
            if other == second:
                return True
            visited.add(other)
            if other not in matched:
                queue.append(other)
    return False
