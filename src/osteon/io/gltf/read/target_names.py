"""Names of the morph targets of a glTF file, in the order of the model's columns."""

from __future__ import annotations

from osteon.core.animation import distinct_names
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.scene import read_scene


def read_target_names(document: Document) -> tuple[str, ...]:
    """(r,) distinct; those of each node that shows targets, in the order of `build_model`; numbered without names."""
    nodes, meshes = document.items("nodes"), document.items("meshes")
    names: list[str] = []
    for node, count in read_scene(document).target_counts().items():
        extras = meshes[nodes[node]["mesh"]].get("extras") if count else None
        given = extras.get("targetNames") if isinstance(extras, dict) else None
        known = given if isinstance(given, list) else []
        names += [
            known[r] if r < len(known) and isinstance(known[r], str) and known[r] else f"target_{r}"
            for r in range(count)
        ]
    return distinct_names(names)
