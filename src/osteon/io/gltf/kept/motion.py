"""Where bones go, as the keys of a character's own nodes: translation, rotation and scale of each in its parent.

A bone's transform T says where its node stands in the world: W = T N^-1, with N node_from_rest. In its parent the node
stands at L = W_parent^-1 W, which three parts say exactly as long as no parent stretches unequally (`joint_parts`).
Parents are taken as the file will hold them, rounded to float32, so that errors do not add up along a chain. A scale
that differs from the node's own by rounding is the node's own, and gets no keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.animation import RIGID
from osteon.core.arrays import Float64, FloatArray
from osteon.core.joint_parts import split_scale
from osteon.core.quaternions import keep_hemisphere, quaternions_from_matrices
from osteon.core.transforms import nearest_rotation
from osteon.io.gltf.channels import ChannelPath
from osteon.io.gltf.read.nodes import Placement

__all__ = ["NodeKeys", "StandingNode", "find_node_keys", "take_apart"]

#: What a part may be off its value without animation and still need no keys, relative to its size.
STILL = 1e-6


@dataclass(frozen=True, slots=True)
class StandingNode:
    """A node without animation."""

    parent: int  # -1 at a root
    local: Float64  # (4,4) parent_from_node
    parts: Placement


@dataclass(frozen=True, slots=True)
class NodeKeys:
    """One property of one node in all frames."""

    node: int
    path: ChannelPath
    values: Float64  # (f,n)
    still: Float64  # (n,) without animation
    tolerance: float  # what it may differ from that unseen

    def moves(self, frames: slice) -> bool:
        """Whether it needs keys in these frames."""
        return bool(np.abs(self.values[frames] - self.still).max() > self.tolerance)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def find_node_keys(
    nodes: Sequence[StandingNode], order: Sequence[int], moved: Mapping[int, Float64], starts: Sequence[int]
) -> list[NodeKeys]:
    """Keys of all nodes that `moved` says the world matrices (f,4,4) of; `starts` are the first frames of clips."""
    world: dict[int, Float64] = {}
    found: list[NodeKeys] = []
    for node in order:
        above = world[nodes[node].parent] if nodes[node].parent >= 0 else np.eye(4)
        if node not in moved:
            world[node] = above @ nodes[node].local
            continue
        local = np.linalg.inv(above) @ moved[node]
        parts = _rounded(take_apart(local, nodes[node].parts, starts))
        world[node] = above @ parts.parent_from_node()
        found += _keys(node, parts, nodes[node].parts, local)
    return found


def _keys(node: int, parts: Placement, still: Placement, local: Float64) -> list[NodeKeys]:
    size = max(float(np.abs(local[..., :3, 3]).max()), float(np.abs(still.translation).max()))
    rotation = still.rotation * np.where((parts.rotation[0] * still.rotation).sum() < 0, -1, 1)
    return [
        NodeKeys(node, "translation", parts.translation, still.translation, STILL * size),
        NodeKeys(node, "rotation", parts.rotation, rotation, STILL),
        NodeKeys(node, "scale", parts.scale, still.scale, STILL * float(np.abs(still.scale).max())),
    ]


def take_apart(local: Float64, still: Placement, starts: Sequence[int]) -> Placement:
    """The three parts of matrices (f,4,4); the scale is the node's own where it differs by rounding only."""
    linear = local[..., :3, :3]
    rotation, scale = split_scale(linear, np.where(still.scale < 0, -1.0, 1.0))
    if (np.abs(scale - still.scale) <= RIGID / 2 * np.abs(still.scale)).all():
        scale = np.broadcast_to(still.scale, scale.shape).copy()
        rotation = nearest_rotation(linear * scale[..., None, :])
    turns = quaternions_from_matrices(rotation)
    if turns[0] @ still.rotation < 0:
        turns[0] = -turns[0]
    keep_hemisphere(turns[:, None], [s for s in starts if s], upright=False)
    return Placement(local[..., :3, 3].copy(), turns, scale)


def _rounded(parts: Placement) -> Placement:
    def stored(values: FloatArray) -> Float64:
        return values.astype(np.float32).astype(np.float64)

    return Placement(stored(parts.translation), stored(parts.rotation), stored(parts.scale))
