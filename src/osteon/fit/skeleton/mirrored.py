"""A skeleton that is its own mirror image: joints of pairs at mirrored places, others on the plane, one tree for both.

c_left = (c_left + m(c_right)) / 2,   c_right = m(c_left),   m the mirror; joints between the sides move onto the plane
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kinematics import depths_of
from osteon.fit.naming.mirror import MirrorPlane
from osteon.fit.skeleton.joint_tree import JointTree

__all__ = ["mirror_tree"]

#: Slack of a joint that symmetry has placed: it stays there.
SURE = 1e-9


def mirror_tree(tree: JointTree, partner: dict[int, int], plane: MirrorPlane) -> JointTree:
    """The tree with symmetric joints; `partner` names the place of each paired section's other one."""
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
    above = parents[order]
    return replace(
        tree,
        order=tree.order[order],
        parents=np.where(above < 0, -1, place_of[above]),
        places=places[order],
        boundaries=tree.boundaries[order],
        turns=tree.turns[order],
        slack=np.full(len(order), SURE),
    )


def _mirrored(plane: MirrorPlane, point: Float64) -> Float64:
    out: Float64 = plane.mirrored(point[None])[0]
    return out


def _shared_parents(tree: JointTree, partner: dict[int, int]) -> np.ndarray:
    """Parents in which pairs hang on pairs or on one bone: the surer side decides, unless that closes a circle."""
    parents = tree.parents.copy()
    for b in range(1, len(parents)):
        other = partner.get(b, -1)
        if not (b < other and other > 0):
            continue
        sure, unsure = (b, other) if tree.slack[b] <= tree.slack[other] else (other, b)
        above = int(parents[sure])
        wanted = partner.get(above, above)
        if wanted != unsure and not _hangs_on(parents, wanted, unsure):
            parents[unsure] = wanted
    return parents


def _hangs_on(parents: np.ndarray, joint: int, above: int) -> bool:
    while joint >= 0:
        if joint == above:
            return True
        joint = int(parents[joint])
    return False
