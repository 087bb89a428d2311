"""How close a skeleton is to the one that moved the mesh: joints found, joints that are right, and what hangs on what.

    precision = share of found joints with a true one within `near`,   recall = share of true joints with a found one

A joint is where two bones meet. Two joints are neighbours if they have a bone in common: child and parent, or children
of one parent. That does not change when another bone becomes the root, so trees are compared by it: of the pairs of
true neighbours that both were found, the share whose matches are neighbours too, unmatched joints between them or none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float64, Int64
from osteon.core.skeleton import Skeleton
from osteon.core.skin import Skin
from osteon.core.transforms import nearest_rotation

__all__ = ["SkeletonScore", "TrueSkeleton", "depth_outside", "kept_joints", "score_skeleton", "true_skeleton"]

#: A joint counts if it turns by more degrees than this against its parent, and its bone moves this share of vertices.
TURNS, MOVES = 5.0, 4e-3
#: Found joints may be this part of the diagonal off.
NEAR = 0.05


@dataclass(frozen=True, slots=True)
class TrueSkeleton:
    """Joints that a skeleton should have."""

    places: Float64  # (j,3) in the rest pose
    parents: Int64  # (j,) the joint above that counts, -1 for none


@dataclass(frozen=True, slots=True)
class SkeletonScore:
    """How well a skeleton was found, 0 … 1 each."""

    precision: float
    recall: float
    parents: float  # 1 where no two neighbours were found


def true_skeleton(skeleton: Skeleton, track: BoneTrack, skin: Skin) -> TrueSkeleton:
    """The joints of a rig that turn and move something, as it plays."""
    turns = nearest_rotation(track.transforms[..., :3])
    owners = skin.bones[np.arange(skin.n_vertices), skin.weights.argmax(axis=1)]
    share = np.bincount(owners, minlength=track.n_bones) / skin.n_vertices
    counts = np.zeros(len(skeleton.parents), np.bool_)
    for j, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            relative = np.swapaxes(turns[:, parent], 1, 2) @ turns[:, j]
            cosine = (np.einsum("fij,ij->f", relative, relative[0]).min() - 1) / 2
            counts[j] = np.degrees(np.arccos(np.clip(cosine, -1, 1))) > TURNS and share[j] >= MOVES
    return kept_joints(skeleton.world_from_joint[:, :, 3].astype(np.float64), skeleton.parents.astype(np.int64), counts)


def kept_joints(places: Float64, parents: Int64, counts: np.ndarray) -> TrueSkeleton:
    """The joints that count, below the nearest of them above."""
    number = np.cumsum(counts) - 1
    above = []
    for j in np.flatnonzero(counts):
        up = int(parents[j])
        while up >= 0 and not counts[up]:
            up = int(parents[up])
        above.append(int(number[up]) if up >= 0 else -1)
    return TrueSkeleton(places[counts], np.array(above, np.int64))


def score_skeleton(places: Float64, parents: Int64, true: TrueSkeleton, diagonal: float) -> SkeletonScore:
    """Score joints (j,3) that have a parent; a root is where the tree is told from, not where it bends."""
    joints = np.flatnonzero(parents >= 0)
    if not len(joints) or not len(true.places):
        exact = float(len(joints) == len(true.places))
        return SkeletonScore(exact, exact, exact)
    far = np.linalg.norm(places[joints, None] - true.places[None], axis=2) / diagonal
    return SkeletonScore(
        float((far.min(axis=1) < NEAR).mean()),
        float((far.min(axis=0) < NEAR).mean()),
        _right_neighbors(far, joints, parents, true),
    )


def _right_neighbors(far: Float64, joints: Int64, parents: Int64, true: TrueSkeleton) -> float:
    from scipy.optimize import linear_sum_assignment

    found, wanted = linear_sum_assignment(np.where(far < NEAR, far, 10.0))
    match = {int(j): int(joints[n]) for n, j in zip(found, wanted, strict=True) if far[n, j] < NEAR}
    taken = set(match.values())
    bones = {int(j): {int(j), int(parents[j])} for j in joints}
    pairs = [(j, int(above)) for j, above in enumerate(true.parents) if j in match and int(above) in match]
    right = [_linked(match[a], match[b], bones, taken) for a, b in pairs]
    return float(np.mean(right)) if right else 1.0


def _linked(first: int, second: int, bones: dict[int, set[int]], taken: set[int]) -> bool:
    """Whether two joints have a bone in common, or only joints between them that nothing was matched with."""
    seen, open_ends = {first}, [first]
    while open_ends:
        joint = open_ends.pop()
        for other, own in bones.items():
            if other in seen or not own & bones[joint]:
                continue
            if other == second:
                return True
            seen.add(other)
            if other not in taken:
                open_ends.append(other)
    return first == second


def depth_outside(points: Float64, vertices: Float64, faces: np.ndarray, distances: Float64) -> Float64:
    """(n,) how far points (n,3) lie outside a mesh, 0 inside, from their distances (n,) to its surface.

    Inside is where the triangles are seen under more than half of all directions.
    """
    corners = vertices[faces][None] - points[:, None, None]
    lengths = np.linalg.norm(corners, axis=3)
    a, b, c = corners[:, :, 0], corners[:, :, 1], corners[:, :, 2]
    volume = np.einsum("nti,nti->nt", a, np.cross(b, c))
    below = lengths.prod(axis=2)
    for first, second, third in ((a, b, 2), (b, c, 0), (c, a, 1)):
        below += np.einsum("nti,nti->nt", first, second) * lengths[:, :, third]
    turns = np.arctan2(volume, below).sum(axis=1) / (2 * np.pi)
    return np.where(np.abs(turns) > 0.5, 0.0, distances)
