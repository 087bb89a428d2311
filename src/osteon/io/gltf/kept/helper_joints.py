"""Helper bones in a kept document: nodes at the end of its list, and joints at the end of its skins.

A helper hangs last below the joint that it works with. In clips of the character that do not know it, it stands still
there, so that its vertices follow that joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.io.gltf.kept.character import Character
from osteon.io.gltf.kept.file import KeptFile
from osteon.io.gltf.kept.motion import StandingNode, take_apart
from osteon.io.gltf.read.nodes import Placement
from osteon.io.gltf.write.nodes import stand_node

__all__ = ["Helper", "add_helpers", "list_in_skins", "place_helpers"]


@dataclass(frozen=True, slots=True)
class Helper:
    """A bone that the character does not have."""

    bone: int
    node: int
    name: str
    world_from_rest: Float64  # (4,4) where it was bound
    standing: StandingNode


def place_helpers(character: Character, model: SkinnedModel) -> list[Helper]:
    """Where the bones of a model stand that come after those of the character."""
    known, first = character.model.n_bones, len(character.document.items("nodes"))
    return [_place(character, model, bone, first + bone - known) for bone in range(known, model.n_bones)]


def _place(character: Character, model: SkinnedModel, bone: int, node: int) -> Helper:
    place, parent, local = np.eye(4), -1, np.eye(4)
    if model.skeleton is not None:
        place[:3] = model.skeleton.world_from_joint[bone]
        above = int(model.skeleton.parents[bone])
        parent = character.bones.nodes[above] if above >= 0 else -1
        local = character.bones.node_from_rest[above] @ place if above >= 0 else place
    upright = Placement(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), np.ones(3))
    parts = take_apart(local[None], upright, [0]).node(0)
    return Helper(bone, node, model.track.names[bone], place, StandingNode(parent, parts.parent_from_node(), parts))


def add_helpers(file: KeptFile, character: Character, helpers: Sequence[Helper]) -> None:
    """Nodes for the helpers."""
    for helper in helpers:
        entry = {"name": helper.name}
        parts = helper.standing.parts
        stand_node(entry, "translation", parts.translation.astype(np.float32))
        stand_node(entry, "rotation", parts.rotation.astype(np.float32))
        stand_node(entry, "scale", parts.scale.astype(np.float32))
        assert file.append("nodes", entry) == helper.node
        if helper.standing.parent >= 0:
            file.items("nodes")[helper.standing.parent].setdefault("children", []).append(helper.node)
        elif file.root.get("scenes"):
            scene = file.document.whole(file.root, "scene", "the file", 0)
            file.items("scenes")[scene].setdefault("nodes", []).append(helper.node)


def list_in_skins(file: KeptFile, character: Character, helpers: Sequence[Helper]) -> None:
    """Make the helpers joints of every skin that is shown."""
    if not helpers:
        return
    done: set[int] = set()
    for instance, placement in zip(character.scene.instances, character.placements, strict=True):
        if instance.skin is None or instance.skin.number in done:
            continue
        done.add(instance.skin.number)
        bind = [*instance.skin.joint_from_mesh, *(np.linalg.inv(h.world_from_rest) @ placement for h in helpers)]
        entry = file.items("skins")[instance.skin.number]
        columns = np.stack(bind).transpose(0, 2, 1).reshape(-1, 16)
        entry["inverseBindMatrices"] = file.add(columns, "bind")
        entry["joints"] = [*entry["joints"], *(h.node for h in helpers)]
