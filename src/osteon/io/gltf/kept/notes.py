"""Osteon's notes in a document that it wrote itself, changed with the model that they describe.

Notes on the order of vertices and triangles stay true. Those on what the fit replaced are changed; a deformer,
displacements and levels that were made for the earlier weights are no longer told of.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from osteon.core.animation import wider_type
from osteon.core.clips import Clip
from osteon.core.model import SkinnedModel
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.kept.character import Character
from osteon.io.gltf.kept.file import KeptFile

__all__ = ["change_notes", "note_clips"]

#: What was made for weights that are no longer there.
_OUTDATED = ("deformer", "displacements", "levels")


def change_notes(file: KeptFile, character: Character, model: SkinnedModel) -> None:
    """The notes of a file that Osteon wrote, for the model that it holds now."""
    if character.metadata is None:
        return
    notes: JsonObject = file.root["asset"]["extras"]["osteon"]
    for key in _OUTDATED:
        notes.pop(key, None)
    notes["influences"] = model.skin.n_influences
    notes["bone_type"] = wider_type(character.model.track.bone_type, model.track.bone_type)
    note_clips(file, model.clips)
    if "low" in notes:
        added = 0 if model.corrections is None else model.corrections.n_columns
        notes["low"] = [*notes["low"], *([0.0] * added)]
        notes["span"] = [*notes["span"], *([1.0] * added)]
    _note_helpers(file, notes, character, model)


def note_clips(file: KeptFile, clips: Iterable[Clip]) -> None:
    """List clips whose animations were added at the end, under the names that these have."""
    notes = file.root.get("asset", {}).get("extras", {}).get("osteon", {})
    known = notes.get("clips")
    if known is None:
        return
    added = file.items("animations")[len(file.document.items("animations")) :]
    notes["clips"] = [
        *known,
        *(
            {"name": animation["name"], "frames": clip.n_frames, "fps": clip.fps}
            for animation, clip in zip(added, clips, strict=False)
        ),
    ]


def _note_helpers(file: KeptFile, notes: JsonObject, character: Character, model: SkinnedModel) -> None:
    added = model.track.names[character.model.n_bones :]
    if not added:
        return
    skin = character.scene.instances[0].skin
    assert skin is not None
    if "bone_joints" in notes:
        notes["bone_joints"] = [*notes["bone_joints"], *range(len(skin.nodes), len(skin.nodes) + len(added))]
    for key in ("joint_names", "bones"):
        if key in notes:
            notes[key] = [*notes[key], *added]
    if "parents" in notes and model.skeleton is not None:
        notes["parents"] = model.skeleton.parents.tolist()
        notes["joints"] = file.add(np.asarray(model.skeleton.world_from_joint).reshape(-1), "data")
