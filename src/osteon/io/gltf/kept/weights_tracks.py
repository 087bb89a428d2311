"""Morph weights of a kept document, where its meshes get more targets than they had.

Weights are one number for each target in all places that list them: the mesh, its nodes, and every key of every
channel. Targets that are new weigh nothing there, except in the clips they were made for.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.io.gltf.channels import Channel
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.kept.channels import add_channel
from osteon.io.gltf.kept.file import KeptFile
from osteon.io.gltf.read.accessors import read_floats

__all__ = ["add_weight_keys", "widen_weights"]


def widen_weights(file: KeptFile, node: int, before: int, added: int, names: list[str]) -> None:
    """Let a node's mesh, and all that tells its weights, list `added` targets more than the `before` it had."""
    entry = file.items("nodes")[node]
    mesh = file.items("meshes")[entry["mesh"]]
    for owner in (mesh, entry):
        if "weights" in owner or owner is mesh:
            owner["weights"] = [*owner.get("weights", [0.0] * before), *([0.0] * added)]
    known = mesh.get("extras", {}).get("targetNames") if isinstance(mesh.get("extras"), dict) else None
    if isinstance(known, list) or (not before and names):
        mesh["extras"] = (mesh.get("extras") or {}) | {"targetNames": [*(known or []), *names]}
    if before:
        for animation in file.root.get("animations", []):
            _widen_keys(file, animation, node, before, added)


def _widen_keys(file: KeptFile, animation: JsonObject, node: int, before: int, added: int) -> None:
    for channel in animation["channels"]:
        target = channel.get("target", {})
        if (target.get("node"), target.get("path")) != (node, "weights"):
            continue
        sampler = dict(animation["samplers"][channel["sampler"]])
        values = read_floats(file.document, sampler["output"], (1,), "weights").reshape(-1, before)
        sampler["output"] = file.add(np.pad(values, ((0, 0), (0, added))).reshape(-1), "keys")
        channel["sampler"] = len(animation["samplers"])
        animation["samplers"].append(sampler)


def add_weight_keys(
    file: KeptFile, animation: JsonObject, node: int, seconds: Float64, before: Float64, added: Float64
) -> None:
    """Keys (f,m) of new targets beside the constant weights (k,) of those before them."""
    values = np.concatenate([np.tile(before, (len(added), 1)), added], axis=1)
    add_channel(file, animation, Channel(node, "weights", "LINEAR", seconds, values))
