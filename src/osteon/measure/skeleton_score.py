"""Scores of a recovered rig against the rig that moved the mesh: would an animator find the handles they look for?

Sets of vertices are soft. The branch of a joint j, and the overlap of two branches:

    s_vj = sum of w_vd over j and its descendants d,   |S| = sum_v s_v,   |S and Q| = sum_v min(s_v, q_v)

- **joints**: one-to-one pairs (optimal assignment) of recovered and true joints less than NEAR apart, without roots.
  precision = pairs / recovered joints, recall = pairs / true joints.
- **handle** of a true joint: the largest overlap |S and Q| / |S or Q| of its branch and that of a recovered joint
  within REACH of it, else 0. Rotating that joint moves the vertices that it should, and no others. `body` is the mean
  over joints whose branch extends farther than EXTENT (no fingers). In `rerooted` the complement of Q counts as well,
  which forgives another root, but not a wrong tree.
- **wrong edges**: the share of recovered joints whose branch is none of the true tree. A branch of it is a bone of the
  true tree with none, one or all of its child branches, and at the root also with all but one.
- **mixed**: lateral recovered joints that have more than MIXED of their branch on the other side. A joint is lateral if
  LATERAL of its own vertices are on one side, or of the branch of the true joint that it is paired with.
- **tips**: the share of bones without children whose end is nearest to a vertex that mainly follows another bone.

Lengths are fractions of the diagonal of the true rest pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from osteon.core.arrays import Float64, Int64
from osteon.core.errors import GeometryError
from osteon.core.kinematics import depths_of
from osteon.core.topology import bounding_diagonal

#: Largest distance of paired joints, and of a joint from the one whose handle it is.
NEAR, REACH = 0.05, 0.08
#: Least extent of the branch of a joint of the body.
EXTENT = 0.06
#: Largest part of a branch outside the true bones that it stands for; parts of child branches that count as in, as out.
OUTSIDE, INSIDE, LEFT_OUT = 0.2, 0.7, 0.3
#: A joint is lateral with this part of its vertices on one side; it is mixed with this part of them on the other side.
LATERAL, MIXED = 0.9, 0.1
#: Vertices closer to the mirror plane than this are on no side.
ASIDE = 0.005
#: An end lies in its own region where the weight of the bone is at least this.
OWN = 0.5
#: Overlap of a good handle.
GOOD = 0.7
#: Vertices sampled for the mirror plane; planes are equal whose distances differ by less, and the first one counts.
SAMPLED, EQUAL = 2_000, 1e-9


@dataclass(frozen=True, slots=True)
class ScoredRig:
    """A rig as far as it is scored: its joints and what they move."""

    joints: Float64  # (j,3) in the rest pose
    parents: Int64  # (j,) -1 at a root
    weights: Float64  # (v,j)
    rest: Float64  # (v,3)
    ends: Float64 | None = None  # (j,3) ends of the bones

    def __post_init__(self) -> None:
        n_joints, n_vertices = len(self.joints), len(self.rest)
        if self.parents.shape != (n_joints,) or self.weights.shape != (n_vertices, n_joints):
            raise GeometryError(
                f"rig: expected {n_joints} parents and weights of shape {(n_vertices, n_joints)}, found "
                f"{self.parents.shape} and {self.weights.shape}"
            )

    def branches(self) -> Float64:
        """(v,j) weights of every joint with its descendants."""
        out = self.weights.astype(np.float64)
        depths = depths_of(self.parents.tolist())
        for j in np.argsort(depths, kind="stable")[::-1].tolist():
            if self.parents[j] >= 0:
                out[:, self.parents[j]] += out[:, j]
        return np.clip(out, 0, 1)


@dataclass(frozen=True, slots=True)
class RigScore:
    """How well a rig was recovered. Shares are between 0 and 1."""

    n_true: int  # joints without roots
    n_found: int
    precision: float
    recall: float
    handle: float  # mean over true joints
    good: float  # share of handles above GOOD
    body: float  # mean over joints of the body; 1 if there are none
    body_good: float  # share of the handles of the body above GOOD
    rerooted: float  # the mean handle of the body if complements count
    rerooted_all: float  # the same of all joints
    wrong: float  # share of recovered joints
    mixed: int  # number of recovered joints
    lateral: int  # of this many
    tips: float  # share of ends outside their region; 0 without ends
    handles: Float64  # (n_true,) of every true joint
    wrong_joints: tuple[int, ...]  # recovered joints
    pairs: dict[int, int]  # recovered joint -> true joint


def score_rig(true: ScoredRig, found: ScoredRig) -> RigScore:
    """Score a rig of the same rest pose, vertex by vertex, against the one that moved the mesh."""
    if true.rest.shape != found.rest.shape:
        raise GeometryError(f"rest: expected {true.rest.shape} as in the true rig, found {found.rest.shape}")
    diagonal = bounding_diagonal(true.rest)
    true_branches, branches = true.branches(), found.branches()
    rows, columns = np.flatnonzero(true.parents >= 0), np.flatnonzero(found.parents >= 0)
    distances = np.linalg.norm(true.joints[rows][:, None] - found.joints[columns][None], axis=2) / diagonal
    pairs = {int(columns[k]): int(rows[j]) for j, k in match_joints(distances, NEAR).items()}
    handles, rerooted = _handles(true_branches[:, rows], branches[:, columns], distances)
    extents = [
        np.linalg.norm(true.rest[true_branches[:, j] > OWN] - true.joints[j], axis=1).max(initial=0) for j in rows
    ]
    body = np.array(extents) >= EXTENT * diagonal if len(rows) else np.zeros(0, np.bool_)
    wrong = tuple(int(k) for k in columns if not is_branch(branches[:, k], true_branches, true.parents))
    mixed, lateral = _mixed_sides(true, true_branches, found, branches, pairs)
    return RigScore(
        n_true=len(rows),
        n_found=len(columns),
        precision=len(pairs) / max(1, len(columns)) if len(columns) or len(rows) else 1.0,
        recall=len(pairs) / len(rows) if len(rows) else 1.0,
        handle=float(handles.mean()) if len(rows) else 1.0,
        good=float((handles > GOOD).mean()) if len(rows) else 1.0,
        body=float(handles[body].mean()) if body.any() else 1.0,
        body_good=float((handles[body] > GOOD).mean()) if body.any() else 1.0,
        rerooted=float(rerooted[body].mean()) if body.any() else 1.0,
        rerooted_all=float(rerooted.mean()) if len(rows) else 1.0,
        wrong=len(wrong) / max(1, len(columns)),
        mixed=mixed,
        lateral=lateral,
        tips=_wrong_tips(found),
        handles=handles,
        wrong_joints=wrong,
        pairs=pairs,
    )


def match_joints(distances: Float64, near: float) -> dict[int, int]:
    """One-to-one pairs (row to column) closer than `near`: as many as possible, then those with the least sum."""
    close = distances < near
    unmatched = near * (1 + min(distances.shape))  # costs more than all pairs together
    rows, columns = linear_sum_assignment(np.where(close, distances, unmatched))
    return {int(j): int(k) for j, k in zip(rows, columns, strict=True) if close[j, k]}


def _handles(true: Float64, found: Float64, distances: Float64) -> tuple[Float64, Float64]:
    """(n,) best overlap of each true branch (v,n) with found ones (v,m) in reach; the same with complements."""
    common = np.array([[np.minimum(s, q).sum() for q in found.T] for s in true.T]).reshape(distances.shape)
    sizes, others, total = true.sum(axis=0)[:, None], found.sum(axis=0)[None], len(true)
    overlap = common / np.maximum(sizes + others - common, 1e-12)
    rest = sizes - common  # of the true branch, in the complement: s - min(s, q) for weights that add up
    complement = rest / np.maximum(sizes + (total - others) - rest, 1e-12)
    reachable = distances < REACH
    best = np.where(reachable, overlap, 0.0).max(axis=1, initial=0.0)
    either = np.where(reachable, np.maximum(overlap, complement), 0.0).max(axis=1, initial=0.0)
    return best, either


def is_branch(branch: Float64, true_branches: Float64, parents: Int64) -> bool:
    """Whether a branch (v,) is, within tolerance, one of a tree with branches (v,j)."""
    size = branch.sum()
    if size < 1e-9:
        return False
    common = np.minimum(branch[:, None], true_branches).sum(axis=0)
    shares = common / np.maximum(true_branches.sum(axis=0), 1e-9)
    for j in np.flatnonzero(common >= (1 - OUTSIDE) * size).tolist():
        children = shares[parents == j]
        inside, outside = children >= INSIDE, children <= LEFT_OUT
        if not (inside | outside).all():
            continue
        allowed = {0, 1, len(children)} | ({len(children) - 1} if parents[j] < 0 else set())
        if int(inside.sum()) in allowed:
            return True
    return False


def _mixed_sides(
    true: ScoredRig, true_branches: Float64, found: ScoredRig, branches: Float64, pairs: dict[int, int]
) -> tuple[int, int]:
    """Number of mixed joints, and of lateral ones."""
    sides = _sides(true)
    if sides is None:
        return 0, 0
    mixed = lateral = 0
    for k in np.flatnonzero(found.parents >= 0).tolist():
        amounts = found.weights[:, k] @ sides
        if k in pairs:
            expected = true_branches[:, pairs[k]] @ sides
            if expected.max() >= LATERAL * expected.sum():
                amounts = expected
        if amounts.sum() <= 0 or amounts.max() < LATERAL * amounts.sum():
            continue
        lateral += 1
        whole = branches[:, k] @ sides
        mixed += int(whole[1 - int(amounts.argmax())] > MIXED * max(whole.sum(), 1e-9))
    return mixed, lateral


def _sides(true: ScoredRig) -> Float64 | None:
    """(v,2) whether a vertex is left and right of the axis-aligned plane that mirrors the shape best."""
    rest = true.rest
    sample = rest[:: max(1, len(rest) // SAMPLED)]
    tree = cKDTree(rest)
    best, chosen = np.inf, (0, 0.0)
    for axis in range(3):
        x = rest[:, axis]
        middles = (np.median(true.joints[:, axis]), (x.min() + x.max()) / 2, 0.0, x.mean())
        for offset in map(float, middles):
            mirrored = sample.copy()
            mirrored[:, axis] = 2 * offset - mirrored[:, axis]
            apart = float(np.median(tree.query(mirrored)[0]))
            if apart < best - EQUAL:
                best, chosen = apart, (axis, offset)
    axis, offset = chosen
    away, aside = rest[:, axis] - offset, ASIDE * bounding_diagonal(rest)
    if not (away > aside).any() or not (away < -aside).any():
        return None
    return np.stack([away > aside, away < -aside], axis=1).astype(np.float64)


def _wrong_tips(found: ScoredRig) -> float:
    """The share of ends of bones without children that lie outside the region of their bone."""
    if found.ends is None:
        return 0.0
    leaves = [k for k in range(len(found.parents)) if not (found.parents == k).any()]
    nearest = cKDTree(found.rest).query(found.ends[leaves])[1]
    return float(np.mean(found.weights[nearest, leaves] < OWN))
