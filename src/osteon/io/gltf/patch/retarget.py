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
from osteon.core.transforms import (
    matrices_from_quaternions,
    nearest_rotation,
    quaternions_from_matrices,
    unit_quaternions,
)
from osteon.io.gltf.channels import Channel
from osteon.io.gltf.read.nodes import NodeTree

#: Ratios that differ from one by less are one: numbers in files are rounded.
SAME_LENGTH = 1e-3
#: Lengths whose ratios differ by less than this fraction have one ratio.
ONE_RATIO = 0.02
#: A topmost joint below this fraction of the body's height is at the ground and has no hip height.
ON_THE_GROUND = 0.1
#: Rotations by smaller angles (radians) are ignored.
NO_ROTATION = 1e-3


@dataclass(frozen=True, slots=True)
class BodyRatio:
    """The size of a character relative to the body that a clip was made for."""

    lengths: float  # median ratio of bone lengths
    root: float  # ratio of a topmost joint
    scaled: bool  # whether some translation is scaled


@dataclass(frozen=True, slots=True)
class Retarget:
    """The conversion of a clip's channels to the character's nodes; all mappings are by the clip's node."""

    node_of: Mapping[int, int]  # the character's node
    factors: Mapping[int, float]  # of translations
    scales: Mapping[int, Float64]  # (3,) factors of scales
    rotations: Mapping[int, Float64]  # (4,) between the parent spaces of topmost joints
    ratio: BodyRatio

    def channel(self, channel: Channel) -> Channel | None:
        """The channel for the character; None for a joint that it does not have."""
        node = self.node_of.get(channel.node)
        if node is None:
            return None
        values, rotation = channel.values, self.rotations.get(channel.node)
        if channel.path == "translation":
            factor = self.factors.get(channel.node, 1.0)
            values = values if factor == 1 else values * factor
            values = values if rotation is None else values @ matrices_from_quaternions(rotation).T
        elif channel.path == "rotation" and rotation is not None:
            values = _product(rotation, values)
        elif channel.path == "scale" and channel.node in self.scales:
            values = values * self.scales[channel.node]
        return replace(channel, node=node, values=values)


def _product(rotation: Float64, quaternions: Float64) -> Float64:
    """The product of a rotation (4,) and quaternions (…,4); it is linear, so it applies to tangents too."""
    x, y, z, w = rotation
    matrix = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])
    return np.asarray(quaternions @ matrix.T)


@dataclass(frozen=True, slots=True)
class _Body:
    """The rest pose of a file."""

    tree: NodeTree
    world: list[Float64]  # (4,4) for each node
    firsts: Mapping[int, Float64]  # (3,) first key of a node's translation

    def parent_world(self, node: int) -> Float64:
        parent = self.tree.parents[node]
        return np.eye(4) if parent < 0 else self.world[parent]

    def unit(self, node: int) -> float:
        return float(np.cbrt(abs(np.linalg.det(self.parent_world(node)[:3, :3])))) or 1.0

    def length(self, node: int) -> float:
        """Distance from the parent in world units; that of the first key for a node without a rest translation."""
        local = self.tree.parent_from_node[node][:3, 3]
        if not local.any() and node in self.firsts:
            local = self.firsts[node]
        return float(np.linalg.norm(self.parent_world(node)[:3, :3] @ local))

    def height(self, node: int, nodes: Sequence[int]) -> tuple[float, float]:
        """The height of a node above the lowest one, and the height of the body."""
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
    """The retargeting of a clip's channels to the character."""
    firsts = {
        c.node: np.asarray(c.values[0, 1] if c.interpolation == "CUBICSPLINE" else c.values[0])
        for c in channels
        if c.path == "translation"
    }
    one = _Body(clip, _rest_world(clip), firsts)
    other = _Body(character, _rest_world(character), {})
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
    found = {top: _root_rotation(one, other, top, node_of[top]) for top in tops}
    rotations = {top: rotation for top, rotation in found.items() if rotation is not None}
    ratio = BodyRatio(typical, next(iter(roots.values()), typical), bool(factors) and not keep_translations)
    scales = _scale_factors(one, other, node_of)
    return Retarget(node_of, {} if keep_translations else factors, scales, rotations, ratio)


def _rest_world(tree: NodeTree) -> list[Float64]:
    return [matrices[0] for matrices in tree.world_from_node({}, 1)]


def _topmost(tree: NodeTree, node_of: Mapping[int, int]) -> set[int]:
    """Matched nodes without a matched ancestor."""
    found = set()
    for node in node_of:
        ancestor = tree.parents[node]
        while ancestor >= 0 and ancestor not in node_of:
            ancestor = tree.parents[ancestor]
        if ancestor < 0:
            found.add(node)
    return found


def _plain(ratio: float) -> float:
    return 1.0 if abs(ratio - 1) <= SAME_LENGTH else ratio


def _height_ratio(one: _Body, other: _Body, top: int, node_of: Mapping[int, int], typical: float) -> float:
    """The ratio of hip heights; that of bone lengths if a topmost joint is at the ground."""
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


def _root_rotation(one: _Body, other: _Body, top: int, node: int) -> Float64 | None:
    """The rotation between the parent spaces of a topmost joint, if the rest poses agree better with it."""
    rotation = nearest_rotation(other.parent_world(node)[:3, :3]).T @ nearest_rotation(one.parent_world(top)[:3, :3])
    ours = matrices_from_quaternions(unit_quaternions(one.tree.placements.node(top).rotation))
    theirs = matrices_from_quaternions(unit_quaternions(other.tree.placements.node(node).rotation))
    before, after = _angle(ours.T @ theirs), _angle((rotation @ ours).T @ theirs)
    if _angle(rotation) <= NO_ROTATION or before <= after + NO_ROTATION:
        return None
    return np.asarray(quaternions_from_matrices(rotation))


def _angle(rotation: Float64) -> float:
    return float(2 * np.arccos(np.clip(np.abs(quaternions_from_matrices(rotation)[3]), 0, 1)))
