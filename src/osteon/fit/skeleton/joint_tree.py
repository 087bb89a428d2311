"""The joint tree of rigid sections: minimum spanning tree, root, mirror symmetry, and joint orientations.

    cost of a joint = residual + OFFSET (distance to boundary) + GAP gap (in diagonals) + APART if no vertex is shared

The residual measures whether both sections rotate about one point, the other terms whether they are neighbours. The
skeleton is the minimum spanning tree of these costs; the root only directs it.

Based on: Reid, Jacka, Gain and Merry, Mesh Approximation for Animated Characters, figure 2 (the skeleton from the rigid
sections); Kruskal, On the shortest spanning subtree of a graph, 1956.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from osteon.core.arrays import Float64, Int64
from osteon.core.kinematics import depths_of
from osteon.core.transforms import unit_vectors
from osteon.fit.mirror import MirrorPlane
from osteon.fit.skeleton.pair_joints import PairJoints

#: Cost per diagonal between joint and boundary, and between sections that share no vertex.
OFFSET, GAP = 0.1, 0.3
#: Cost of sharing no vertex, in diagonals, and scale of the cost of sharing few.
APART, FEW = 0.05, 0.01


@dataclass(frozen=True, slots=True)
class JointTree:
    """Sections as a tree, parents before children; joint b connects section b to its parent."""

    order: Int64  # (b,) the section at each place
    parents: Int64  # (b,) -1 at the root, which is first
    places: Float64  # (b,3) of the joints in the rest pose; of the root the middle of the joints on it
    boundaries: Float64  # (b,3) where sections meet; of the root its position
    angles: Float64  # (b,) degrees of the largest rotation; 0 at the root
    slack: Float64  # (b,) residual of each joint per radian of rotation, in diagonals; 0 at the root


def find_tree(pairs: PairJoints, centers: Float64, masses: Float64, diagonal: float, root: int = -1) -> JointTree:
    """The tree of sections with centers (b,3) and masses (b,), rooted at `root` or in the middle of the body."""
    n_sections = len(masses)
    costs = joint_costs(pairs, diagonal)
    a, b = pairs.pairs.T
    graph = coo_array((costs, (a, b)), shape=(n_sections, n_sections)).tocsr()
    spanning = minimum_spanning_tree(graph)
    if root < 0:
        root = _middle(spanning, masses)
    order, parent = breadth_first_order(spanning, root, directed=False)
    place_of = np.empty(n_sections, np.int64)
    place_of[order] = np.arange(n_sections)
    number = {(int(x), int(y)): n for n, (x, y) in enumerate(pairs.pairs)}
    chosen = [number[min(s, parent[s]), max(s, parent[s])] for s in order[1:].tolist()]
    places, boundaries = np.zeros((n_sections, 3)), np.zeros((n_sections, 3))
    angles, slack = np.zeros(n_sections), np.zeros(n_sections)
    places[1:], boundaries[1:] = pairs.places[chosen], pairs.boundaries[chosen]
    angles[1:], slack[1:] = pairs.angles[chosen], pairs.slack()[chosen] / diagonal
    parents = np.full(n_sections, -1, np.int64)
    parents[1:] = place_of[parent[order[1:]]]
    on_root = np.flatnonzero(parents == 0)
    places[0] = boundaries[0] = places[on_root].mean(axis=0) if len(on_root) > 1 else centers[root]
    return JointTree(order.astype(np.int64), parents, places, boundaries, angles, slack)


def joint_costs(pairs: PairJoints, diagonal: float) -> Float64:
    """(n,) cost of each pair as a joint, in diagonals."""
    lengths = pairs.residuals + OFFSET * pairs.offsets() + GAP * pairs.gaps
    together = np.where(pairs.shared > 0, FEW / (1 + 2 * pairs.shared), APART)
    return np.asarray(lengths / diagonal + together)


def _middle(spanning: coo_array, masses: Float64) -> int:
    """The centroid of the tree by mass: its heaviest branch is lightest. Ties go to the heavier section."""
    n_sections = len(masses)
    order, parent = breadth_first_order(spanning, 0, directed=False)
    subtree_mass = masses.astype(np.float64).copy()
    heaviest = np.zeros(n_sections)
    for section in order[:0:-1].tolist():
        subtree_mass[parent[section]] += subtree_mass[section]
        heaviest[parent[section]] = max(heaviest[parent[section]], subtree_mass[section])
    total = masses.sum()
    sides = np.maximum(heaviest, total - subtree_mass)
    return int(np.lexsort((-masses, sides))[0])


# Symmetric skeletons: joints of pairs at mirrored places, other joints on the plane, equal parents on both sides.
#
# c_left = (c_left + m(c_right)) / 2,   c_right = m(c_left),   m the mirror; joints between the sides move onto the
# plane

#: Slack of a joint that symmetry has placed, which fixes it.
SURE = 1e-9


def mirror_tree(tree: JointTree, partner: dict[int, int], plane: MirrorPlane) -> JointTree:
    """The tree with symmetric joints; `partner` maps each paired section to the other one."""
    places = tree.places.copy()
    for b, other in partner.items():
        if b < other:
            places[b] = (places[b] + _mirrored(plane, places[other])) / 2
            places[other] = _mirrored(plane, places[b])
    middle = [b for b in range(len(places)) if b not in partner]
    places[middle] = (places[middle] + plane.mirrored(places[middle])) / 2
    parents = _shared_parents(tree, partner)
    order = np.argsort(depths_of(parents.tolist()), kind="stable")
    place_of = np.empty_like(order)
    place_of[order] = np.arange(len(order))
    parent = parents[order]
    return replace(
        tree,
        order=tree.order[order],
        parents=np.where(parent < 0, -1, place_of[parent]),
        places=places[order],
        boundaries=tree.boundaries[order],
        angles=tree.angles[order],
        slack=np.full(len(order), SURE),
    )


def _mirrored(plane: MirrorPlane, point: Float64) -> Float64:
    return np.asarray(plane.mirrored(point[None])[0])


def _shared_parents(tree: JointTree, partner: dict[int, int]) -> np.ndarray:
    """Equal parents for both sides of a pair; the side of less slack decides, unless that creates a cycle."""
    parents = tree.parents.copy()
    for b in range(1, len(parents)):
        other = partner.get(b, -1)
        if not (b < other and other > 0):
            continue
        sure, unsure = (b, other) if tree.slack[b] <= tree.slack[other] else (other, b)
        parent = int(parents[sure])
        wanted = partner.get(parent, parent)
        if wanted != unsure and not _is_descendant(parents, wanted, unsure):
            parents[unsure] = wanted
    return parents


def _is_descendant(parents: np.ndarray, joint: int, ancestor: int) -> bool:
    while joint >= 0:
        if joint == ancestor:
            return True
        joint = int(parents[joint])
    return False


# Orientation of joints in the rest pose: the y axis along the bone, the x axis along the common rotation axis; bone
# ends.
#
# A bone reaches from its joint to the joint of its heaviest child, or, if it has no child, as far as
# most of its vertices: to its end. The x axis is the common axis of the joint's rotations (for a knee its hinge), made
# perpendicular to y.
#
# | symbol | name |
# | --- | --- |
# | R | rotations (f,b,3,3) of the bones in the world; of joint b relative to its parent R_p' R_b |

#: Fraction of a bone's vertices, by weight, before its end.
END = 0.95
#: A joint has a common axis only if its rotations along it exceed this.
NO_AXIS = 1e-6
#: Shortest distance between a joint and its end, in diagonals.
SHORTEST = 0.01


@dataclass(frozen=True, slots=True)
class Placement:
    """Joints and ends in the rest pose."""

    world_from_joint: Float64  # (b,3,4)
    ends: Float64  # (b,3) of bones: at a child's joint, or near the last vertices


def orient_joints(joints: Float64, parents: Int64, rotations: Float64, points: Float64, weights: Float64) -> Placement:
    """Frames of joints (b,3) of bones with rotations (f,b,3,3) and weights (v,b) of points (v,3)."""
    ends = _ends(joints, parents, points, weights)
    along = unit_vectors(ends - joints)
    across = np.stack([_across(b, parents, rotations, along[b]) for b in range(len(joints))])
    frames = np.stack([across, along, np.cross(across, along)], axis=2)
    return Placement(np.concatenate([frames, joints[..., None]], axis=2), ends)


def _ends(joints: Float64, parents: Int64, points: Float64, weights: Float64) -> Float64:
    """(b,3) ends of bones."""
    mass = weights.sum(axis=0)
    subtree_mass = mass.copy()
    for b in range(len(parents) - 1, 0, -1):
        subtree_mass[parents[b]] += subtree_mass[b]
    shortest = SHORTEST * float(np.linalg.norm(np.ptp(points, axis=0)))
    out = np.empty_like(joints)
    for b in range(len(joints)):
        children = [c for c in np.flatnonzero(parents == b) if np.linalg.norm(joints[c] - joints[b]) >= shortest]
        if children:
            out[b] = joints[max(children, key=lambda c: subtree_mass[c])]
        else:
            out[b] = _tip(joints[b], parents[b], joints, points, weights[:, b], shortest)
    return out


def _tip(joint: Float64, parent: int, joints: Float64, points: Float64, weights: Float64, shortest: float) -> Float64:
    """The end of a bone without children: towards the centroid of its vertices, as far as most of them reach."""
    total = max(float(weights.sum()), 1e-12)
    arm = weights @ points / total - joint
    if np.linalg.norm(arm) < shortest / 4 and parent >= 0:
        arm = joint - joints[parent]
    if np.linalg.norm(arm) < 1e-12:
        arm = np.array([0.0, 1.0, 0.0])
    along = arm / np.linalg.norm(arm)
    reach = (points - joint) @ along
    order = np.argsort(reach)
    farthest = float(reach[order[np.searchsorted(np.cumsum(weights[order]), END * total).clip(max=len(order) - 1)]])
    return np.asarray(joint + max(farthest, shortest) * along)


def _across(b: int, parents: Int64, rotations: Float64, along: Float64) -> Float64:
    """The common rotation axis of a joint in the rest pose, perpendicular to its bone; any other if there is none."""
    relative = rotations[:, b] if parents[b] < 0 else np.swapaxes(rotations[:, parents[b]], 1, 2) @ rotations[:, b]
    half = np.stack(
        [
            relative[:, 2, 1] - relative[:, 1, 2],
            relative[:, 0, 2] - relative[:, 2, 0],
            relative[:, 1, 0] - relative[:, 0, 1],
        ],
        axis=1,
    )
    half -= along * (half @ along)[:, None]
    values, vectors = np.linalg.eigh(half.T @ half)
    axis = vectors[:, 2]
    if values[2] < NO_AXIS * len(half):
        axis = np.eye(3)[np.abs(along).argmin()]
    axis = axis - along * (axis @ along)
    axis /= np.linalg.norm(axis)
    return np.asarray(axis if axis[np.abs(axis).argmax()] > 0 else -axis)
