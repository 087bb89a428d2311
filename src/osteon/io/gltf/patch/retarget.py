"""Retargeting: the channels of a clip converted to joints of another length, unit and parent.

With l the length of a bone (the distance of its joint from its parent at rest, in world units), u the scale of the
parent's space, and primes for the character:

    translation     t' = r t,       r = (l' / l) (u / u'),  of a topmost joint with hip heights h in place of l
    scale           s' = s s_rest' / s_rest
    rotation        q' = q; of a topmost joint rotated with its parent's space, if the rest poses agree better then

Where all lengths have one ratio the bodies differ in size alone, and the topmost joint takes that ratio: a file of
clips may have another pose than the character, with its hips at another height.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.quaternions import matrices_from_quaternions, quaternions_from_matrices, unit_quaternions
from osteon.core.transforms import nearest_rotation
from osteon.io.gltf.channels import Channel
from osteon.io.gltf.read.nodes import NodeTree

__all__ = ["BodyRatio", "Retarget", "compare_bodies"]


#: Ratios that differ from one by less are one: numbers in files are rounded.
SAME_LENGTH = 1e-3
#: Lengths whose ratios differ by less than this part have one ratio.
ONE_RATIO = 0.02
#: A topmost joint that stands lower than this part of the body's height has no hip height.
ON_THE_GROUND = 0.1
#: Turns by less (radians) are none.
NO_TURN = 1e-3

ONE_TURN = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True)
class BodyRatio:
    """How much larger a character is than the body that a clip was made for."""

    lengths: float  # median ratio of bone lengths
    root: float  # of the topmost joint
    scaled: bool  # whether some translation is scaled


@dataclass(frozen=True, slots=True)
class Retarget:
    """How channels of a clip become those of the character's nodes."""

    node_of: Mapping[int, int]  # the character's node for each of the clip's
    factors: Mapping[int, float]  # of translations, by the clip's node
    scales: Mapping[int, Float64]  # (3,) of scales
    turns: Mapping[int, Float64]  # (4,) of the spaces of topmost joints
    ratio: BodyRatio

    def channel(self, channel: Channel) -> Channel | None:
        """The same channel for the character; None for a joint that it does not have."""
        node = self.node_of.get(channel.node)
        if node is None:
            return None
        values, turn = channel.values, self.turns.get(channel.node)
        if channel.path == "translation":
            factor = self.factors.get(channel.node, 1.0)
            values = values if factor == 1 else values * factor
            values = values if turn is None else values @ matrices_from_quaternions(turn).T
        elif channel.path == "rotation" and turn is not None:
            values = _product(turn, values)
        elif channel.path == "scale" and channel.node in self.scales:
            values = values * self.scales[channel.node]
        return replace(channel, node=node, values=values)


def _product(turn: Float64, quaternions: Float64) -> Float64:
    """First the quaternions (…,4), then the turn (4,); linear, so that tangents of splines go along."""
    x, y, z, w = turn
    matrix = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])
    return np.asarray(quaternions @ matrix.T)


@dataclass(frozen=True, slots=True)
class _Body:
    """The rest pose of a file."""

    tree: NodeTree
    world: list[Float64]  # (4,4) for each node
    firsts: Mapping[int, Float64]  # (3,) first key of a node's translation

    def above(self, node: int) -> Float64:
        parent = self.tree.parents[node]
        return np.eye(4) if parent < 0 else self.world[parent]

    def unit(self, node: int) -> float:
        return float(np.cbrt(abs(np.linalg.det(self.above(node)[:3, :3])))) or 1.0

    def length(self, node: int) -> float:
        """From the parent, in world units; of a node that stands in its parent, where its keys begin."""
        local = self.tree.parent_from_node[node][:3, 3]
        if not local.any() and node in self.firsts:
            local = self.firsts[node]
        return float(np.linalg.norm(self.above(node)[:3, :3] @ local))

    def height(self, node: int, nodes: Sequence[int]) -> tuple[float, float]:
        """How high a node stands above the lowest, and how high the body is."""
        ups = np.array([self.world[n][1, 3] for n in nodes])
        return float(self.world[node][1, 3] - ups.min()), float(np.ptp(ups))


def compare_bodies(
    clip: NodeTree,
    character: NodeTree,
    node_of: Mapping[int, int],
    channels: Sequence[Channel],
    *,
    keep_translations: bool = False,
) -> Retarget:
    """What the channels of a clip need to move the character."""
    firsts = {c.node: _first_key(c) for c in channels if c.path == "translation"}
    one = _Body(clip, _at_rest(clip), firsts)
    other = _Body(character, _at_rest(character), {})
    tops = _topmost(clip, node_of)
    ratios = {}
    for ours, theirs in node_of.items():
        if ours not in tops and one.length(ours) > 0 and other.length(theirs) > 0:
            ratios[ours] = other.length(theirs) / one.length(ours)
    typical = float(np.median(list(ratios.values()))) if ratios else 1.0
    alike = all(abs(r / typical - 1) <= ONE_RATIO for r in ratios.values()) and len(ratios) > 1
    if alike:
        typical = _plain(typical)
    roots = {top: typical if alike else _height_ratio(one, other, top, node_of, typical) for top in tops}
    factors: dict[int, float] = {}
    for ours, theirs in node_of.items():
        wanted = roots[ours] if ours in tops else ratios.get(ours, typical)
        local = _plain(wanted * one.unit(ours) / other.unit(theirs))
        if local != 1 and ours in firsts:
            factors[ours] = local
    turns = {top: turn for top in tops if (turn := _turn(one, other, top, node_of[top])) is not None}
    ratio = BodyRatio(typical, next(iter(roots.values()), typical), bool(factors) and not keep_translations)
    return Retarget(node_of, {} if keep_translations else factors, _scale_factors(one, other, node_of), turns, ratio)


def _first_key(channel: Channel) -> Float64:
    return np.asarray(channel.values[0, 1] if channel.interpolation == "CUBICSPLINE" else channel.values[0])


def _at_rest(tree: NodeTree) -> list[Float64]:
    return [matrices[0] for matrices in tree.world_from_node({}, 1)]


def _topmost(tree: NodeTree, node_of: Mapping[int, int]) -> set[int]:
    """Matched nodes without a matched one above them."""
    found = set()
    for node in node_of:
        above = tree.parents[node]
        while above >= 0 and above not in node_of:
            above = tree.parents[above]
        if above < 0:
            found.add(node)
    return found


def _plain(ratio: float) -> float:
    return 1.0 if abs(ratio - 1) <= SAME_LENGTH else ratio


def _height_ratio(one: _Body, other: _Body, top: int, node_of: Mapping[int, int], typical: float) -> float:
    """Of hip heights; of bone lengths where a topmost joint stands on the ground."""
    (ours, our_body), (theirs, their_body) = (
        one.height(top, list(node_of)),
        other.height(node_of[top], list(node_of.values())),
    )
    if ours <= ON_THE_GROUND * our_body or theirs <= ON_THE_GROUND * their_body:
        return typical
    return theirs / ours


def _scale_factors(one: _Body, other: _Body, node_of: Mapping[int, int]) -> dict[int, Float64]:
    found = {}
    for ours, theirs in node_of.items():
        before, after = one.tree.placements.node(ours).scale, other.tree.placements.node(theirs).scale
        factor = after / np.where(np.abs(before) > 1e-12, before, 1)
        if np.abs(factor - 1).max() > SAME_LENGTH:
            found[ours] = factor
    return found


def _turn(one: _Body, other: _Body, top: int, node: int) -> Float64 | None:
    """The turn between the spaces above a topmost joint, if the rest poses agree better with it than without."""
    turn = nearest_rotation(other.above(node)[:3, :3]).T @ nearest_rotation(one.above(top)[:3, :3])
    ours = matrices_from_quaternions(unit_quaternions(one.tree.placements.node(top).rotation))
    theirs = matrices_from_quaternions(unit_quaternions(other.tree.placements.node(node).rotation))
    if _angle(turn) <= NO_TURN or _angle(ours.T @ theirs) <= _angle((turn @ ours).T @ theirs) + NO_TURN:
        return None
    return np.asarray(quaternions_from_matrices(turn))


def _angle(rotation: Float64) -> float:
    return float(2 * np.arccos(np.clip(np.abs(quaternions_from_matrices(rotation) @ ONE_TURN), 0, 1)))
