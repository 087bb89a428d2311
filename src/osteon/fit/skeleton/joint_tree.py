"""The joint tree of rigid sections: minimum spanning tree with sides, root, mirror symmetry, and joint orientations.

    cost of a joint = residual + OFFSET offset + GAP gap + SMALL (1 - contact), + APART if contact < LITTLE

in diagonals; the offset is its distance from the boundary. The residual measures whether both sections rotate about
one point, the other terms whether they are neighbours: contact is the share of the boundary of either section that
lies on the other, gap their distance along the surface. The skeleton is a spanning tree of least cost in which

- central sections form a tree of their own: a spine does not pass through a shoulder;
- no edge joins a left section to a right one: a hind leg does not move the other;
- pairs have the mean cost of both sides, so that both hang alike.

The root only directs the tree. It is a central section that carries long limbs, without a head or tail if there is
such a section.

Notes. A joint at its boundary already where the residual is above 0.6 % of the diagonal: horse, 25 bones, E of the
articulated fit 3.33 % instead of 2.68 %; never: 2.73 %, Fox in the pose of frame 0: body handle 0.66 instead of 0.76.
Root at the heaviest limbs: Fox at the shoulders, 0.87 instead of 0.93; nearest to the middle of the body alone:
Soldier at the chest, 0.85 instead of 1.00. Without translation of joints that slide, E of a quadruped with feet that
are animated in world space is 4.4 % instead of 1.0 %, and weights make up for it: 0.89 instead of 0.94.

Based on: Reid, Jacka, Gain and Merry, Mesh Approximation for Animated Characters, figure 2 (the skeleton from the rigid
sections); Kruskal, On the shortest spanning subtree of a graph, 1956.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from osteon.core.arrays import Float64, Int64
from osteon.core.kinematics import depths_of
from osteon.core.transforms import unit_vectors
from osteon.fit.mirror import MirrorPlane
from osteon.fit.skeleton.pair_joints import PairJoints
from osteon.fit.skeleton.sides import Sides
from osteon.fit.skeleton.surface_graph import SurfaceGraph

#: Costs per diagonal between joint and boundary, and along the surface between sections.
OFFSET, GAP = 0.1, 0.5
#: Costs of a small contact and of next to none, and the contact that is next to none, as a share of the boundary.
SMALL, APART, LITTLE = 0.02, 0.1, 0.02
#: A joint is at its boundary where its residual exceeds this and it is farther than this from it, in diagonals.
UNSURE, ASTRAY = 0.02, 0.03
#: A joint slides where its residual exceeds this, in diagonals.
SLIDING = 0.015
#: The mirror image of a joint counts as at most this much more than the joint itself: it may be no image.
TRUST = 0.03
#: Limbs of at least this part of the length of the longest ones are long: of a biped, of others. Short legs of a
#: biped have 0.44 of the length of its arms or more, ears and small arms at most 0.34 of the longest limb.
LONG = (0.4, 0.85)
#: Largest mass of central branches of hips that have no tail, of the whole.
LIGHT = 0.03


@dataclass(frozen=True, slots=True)
class JointTree:
    """Sections as a tree, parents before children; joint b connects section b to its parent."""

    order: Int64  # (b,) the section at each place
    parents: Int64  # (b,) -1 at the root, which is first
    places: Float64  # (b,3) of the joints in the rest pose; of the root the middle of the joints on it
    boundaries: Float64  # (b,3) where sections meet; of the root its position
    angles: Float64  # (b,) degrees of the largest rotation; 0 at the root
    slack: Float64  # (b,) residual of each joint per radian of rotation, in diagonals; 0 at the root
    sliding: np.ndarray  # (b,) whether a joint also translates against its parent


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """How sections meet on the surface."""

    contacts: Float64  # (b,b) share of the boundary of either section that lies on the other, the larger one
    gaps: Float64  # (b,b) least distance along the surface, 0 where they touch
    spans: Float64  # (b,b) mean distance of the vertices of one from the other


def meet_sections(graph: SurfaceGraph, weights: Float64) -> Neighborhood:
    """How sections with weights (v,b) meet."""
    touching = (graph.lengths > 0).astype(np.float64)
    common = weights.T @ (touching @ weights) + weights.T @ weights
    np.fill_diagonal(common, 0)
    total = np.maximum(common.sum(axis=1), 1e-12)
    shares = common / np.maximum(np.minimum(total[:, None], total[None]), 1e-12)
    n_sections = weights.shape[1]
    owners, gaps = weights.argmax(axis=1), np.zeros((n_sections, n_sections))
    spans = gaps.copy()
    owned = [np.flatnonzero(owners == b) for b in range(n_sections)]
    far = graph.distances(owned)
    for b, own in enumerate(owned):
        gaps[b] = far[own].min(axis=0) if len(own) else far.max(initial=0.0)
        spans[b] = far[own].mean(axis=0) if len(own) else far.max(initial=0.0)
    gaps = np.minimum(gaps, gaps.T)
    return Neighborhood(np.minimum(shares, 1.0), np.where(shares >= LITTLE, 0.0, gaps), spans)


def find_tree(
    pairs: PairJoints,
    costs: Float64,
    centers: Float64,
    masses: Float64,
    diagonal: float,
    *,
    sides: Sides | None = None,
    root: int = -1,
) -> JointTree:
    """The tree of sections with centers (b,3) and masses (b,), rooted at `root` or at the best section for it."""
    n_sections = len(masses)
    sides = sides or Sides.none(n_sections)
    spanning = _spanning(pairs.pairs, costs, sides)
    if root < 0:
        root = _best_root(spanning, centers, masses, sides)
    order, parent = breadth_first_order(spanning, root, directed=False)
    return tree_of_parents(pairs, order.astype(np.int64), parent.astype(np.int64), centers, diagonal)


def tree_of_parents(pairs: PairJoints, order: Int64, parent: Int64, centers: Float64, diagonal: float) -> JointTree:
    """The tree with the parent (b,) of every section, whose order has parents before children."""
    n_sections, root = len(order), int(order[0])
    place_of = np.empty(n_sections, np.int64)
    place_of[order] = np.arange(n_sections)
    number = {(int(x), int(y)): n for n, (x, y) in enumerate(pairs.pairs)}
    chosen = [number[min(s, int(parent[s])), max(s, int(parent[s]))] for s in order[1:].tolist()]
    places, boundaries = np.zeros((n_sections, 3)), np.zeros((n_sections, 3))
    angles, slack = np.zeros(n_sections), np.zeros(n_sections)
    places[1:], boundaries[1:] = safe_places(pairs, diagonal)[chosen], pairs.boundaries[chosen]
    angles[1:], slack[1:] = pairs.angles[chosen], pairs.slack()[chosen] / diagonal
    parents = np.full(n_sections, -1, np.int64)
    parents[1:] = place_of[parent[order[1:]]]
    on_root = np.flatnonzero(parents == 0)
    places[0] = boundaries[0] = places[on_root].mean(axis=0) if len(on_root) > 1 else centers[root]
    sliding = np.zeros(n_sections, np.bool_)
    sliding[1:] = slides(pairs, diagonal)[chosen]
    return JointTree(order, parents, places, boundaries, angles, slack, sliding)


def safe_places(pairs: PairJoints, diagonal: float) -> Float64:
    """(n,3) joints; at their boundaries where the sections do not rotate about one point."""
    astray = (pairs.residuals > UNSURE * diagonal) & (pairs.offsets() > ASTRAY * diagonal)
    return np.where(astray[:, None], pairs.boundaries, pairs.places)


def slides(pairs: PairJoints, diagonal: float) -> np.ndarray:
    """(n,) whether sections have no common point: even the best one moves by more than SLIDING against itself."""
    return np.asarray(pairs.residuals > SLIDING * diagonal)


def joint_costs(pairs: PairJoints, meeting: Neighborhood, diagonal: float) -> Float64:
    """(n,) cost of each pair as a joint, in diagonals."""
    a, b = pairs.pairs.T
    contacts = meeting.contacts[a, b]
    lengths = pairs.residuals + OFFSET * pairs.offsets() + GAP * meeting.gaps[a, b]
    return np.asarray(lengths / diagonal + SMALL * (1 - contacts) + APART * (contacts < LITTLE))


def _spanning(pairs: Int64, costs: Float64, sides: Sides) -> coo_array:
    """The spanning tree of least cost that respects the sides."""
    n_sections, side = len(sides.side), sides.side
    a, b = pairs.T if len(pairs) else (np.zeros(0, np.int64),) * 2
    matrix = np.full((n_sections, n_sections), np.inf)
    matrix[a, b] = matrix[b, a] = costs
    image = np.where(sides.partner >= 0, sides.partner, np.arange(n_sections))
    mirrored = matrix[image[a], image[b]]
    costs = np.where(np.isfinite(mirrored), (costs + np.minimum(mirrored, costs + TRUST)) / 2, costs)
    across = side[a] * side[b] < 0
    central = (side[a] == 0) & (side[b] == 0)
    group = np.arange(n_sections)  # Kruskal: the tree that each section is in
    kept = []
    for n in np.lexsort((costs, np.where(across, 2, np.where(central, 0, 1)))).tolist():
        first, second = group[a[n]], group[b[n]]
        if first != second:
            group[group == second] = first
            kept.append(n)
    ends = np.r_[a[kept], b[kept]], np.r_[b[kept], a[kept]]
    return coo_array((np.ones(2 * len(kept)), ends), shape=(n_sections, n_sections)).tocsr()


def _best_root(spanning: coo_array, centers: Float64, masses: Float64, sides: Sides) -> int:
    """Of the central sections that carry long limbs one without a head or tail, or the nearest to the middle.

    The root of an animator's rig is at the hips. Without limbs it is the middle of the body.
    """
    n_sections = len(masses)
    neighbors = [np.flatnonzero(row) for row in spanning.toarray()]
    lengths = np.zeros(n_sections)
    for b in np.flatnonzero(sides.side == 0).tolist():
        lateral = neighbors[b][sides.side[neighbors[b]] != 0]
        if len(neighbors[b]) > 1 and len(lateral):
            lengths[b] = max(_branch_length(neighbors, centers, int(c), b) for c in lateral)
    if not lengths.any():
        return _middle(spanning, masses, np.ones(n_sections, np.bool_))
    carriers = np.flatnonzero(lengths >= LONG[0] * lengths.max()).tolist()
    loads = [_central_load(neighbors, masses, sides, b, set(carriers)) for b in carriers]
    if min(loads) <= LIGHT * masses.sum():
        return int(carriers[int(np.argmin(loads))])
    return _middle(spanning, masses, lengths >= LONG[1] * lengths.max())


def _central_load(
    neighbors: list[np.ndarray], masses: Float64, sides: Sides, carrier: int, carriers: set[int]
) -> float:
    """The mass of the central branches of a carrier that lead to no other carrier: a head or a tail."""
    total = 0.0
    for first in neighbors[carrier].tolist():
        branch, queue = [], [(first, carrier)] if sides.side[first] == 0 else []
        while queue:
            here, above = queue.pop()
            branch.append(here)
            queue += [(c, here) for c in neighbors[here].tolist() if c != above]
        if not carriers & set(branch):
            total += float(masses[branch].sum())
    return total


def _branch_length(neighbors: list[np.ndarray], centers: Float64, section: int, carrier: int) -> float:
    """The longest way from a carrier over the centers of a section and of those that hang on it."""
    longest, queue = 0.0, [(section, carrier, 0.0)]
    while queue:
        here, above, length = queue.pop()
        length += float(np.linalg.norm(centers[here] - centers[above]))
        longest = max(longest, length)
        queue += [(int(c), here, length) for c in neighbors[here] if c != above]
    return longest


def _middle(spanning: coo_array, masses: Float64, suitable: np.ndarray) -> int:
    """The suitable section whose heaviest branch by mass is lightest. Ties go to the heavier section."""
    n_sections = len(masses)
    order, parent = breadth_first_order(spanning, 0, directed=False)
    subtree_mass = masses.astype(np.float64).copy()
    heaviest = np.zeros(n_sections)
    for section in order[:0:-1].tolist():
        subtree_mass[parent[section]] += subtree_mass[section]
        heaviest[parent[section]] = max(heaviest[parent[section]], subtree_mass[section])
    total = masses.sum()
    sides = np.maximum(heaviest, total - subtree_mass)
    return int(np.lexsort((-masses, sides, ~suitable))[0])


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
        sliding=tree.sliding[order],
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
# A bone reaches from its joint to the joint of its heaviest child, or, if it has no child, to the mean of the farthest
# vertices of its region: to its end. The x axis is the common axis of the joint's rotations (a knee's hinge), made
# perpendicular to y.
#
# | symbol | name |
# | --- | --- |
# | R | rotations (f,b,3,3) of the bones in the world; of joint b relative to its parent R_p' R_b |

#: The end of a bone is the mean of its vertices within this part of the farthest; those have at least this weight.
TIP, OWN = 0.2, 0.5
#: A joint has a common axis only if its rotations along it exceed this.
NO_AXIS = 1e-6
#: Shortest distance between a joint and its end, in diagonals.
SHORTEST = 0.01


@dataclass(frozen=True, slots=True)
class Placement:
    """Joints and ends in the rest pose."""

    world_from_joint: Float64  # (b,3,4)
    ends: Float64  # (b,3) of bones: at a child's joint, or near the last vertices


def orient_joints(
    joints: Float64,
    parents: Int64,
    rotations: Float64,
    points: Float64,
    weights: Float64,
    graph: SurfaceGraph | None = None,
) -> Placement:
    """Frames of joints (b,3) of bones with rotations (f,b,3,3) and weights (v,b) of points (v,3)."""
    ends = _ends(joints, parents, points, weights, graph)
    along = unit_vectors(ends - joints)
    across = np.stack([_across(b, parents, rotations, along[b]) for b in range(len(joints))])
    frames = np.stack([across, along, np.cross(across, along)], axis=2)
    return Placement(np.concatenate([frames, joints[..., None]], axis=2), ends)


def _ends(joints: Float64, parents: Int64, points: Float64, weights: Float64, graph: SurfaceGraph | None) -> Float64:
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
            out[b] = _tip(joints[b], points, weights[:, b], graph, shortest)
    return out


def _tip(joint: Float64, points: Float64, weights: Float64, graph: SurfaceGraph | None, shortest: float) -> Float64:
    """The end of a bone without children: the mean of its farthest vertices, in its largest region."""
    own = np.flatnonzero(weights > OWN)
    if graph is not None and len(own):
        own = max(graph.pieces(weights > OWN), key=lambda piece: float(weights[piece].sum()))
    if not len(own):
        own = np.array([int(weights.argmax())])
    far = np.linalg.norm(points[own] - joint, axis=1)
    end = points[own[far >= (1 - TIP) * far.max()]].mean(axis=0)
    if weights[((points - end) ** 2).sum(axis=1).argmin()] <= OWN:  # a hollow of the region: its nearest vertex
        end = points[own[((points[own] - end) ** 2).sum(axis=1).argmin()]]
    arm = end - joint
    length = float(np.linalg.norm(arm))
    if length < 1e-12:
        return np.asarray(joint + np.array([0.0, shortest, 0.0]))
    return np.asarray(joint + max(1.0, shortest / length) * arm)


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
