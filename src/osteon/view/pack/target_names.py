"""Names of the morph targets of a file, for the sliders of the page: glTF keeps them in the extras of a mesh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from osteon.core.errors import OsteonError
from osteon.core.model import SkinnedModel
from osteon.io.gltf.read.document import Document, open_document

__all__ = ["target_names"]

_SUFFIXES = (".glb", ".gltf")


def target_names(model: SkinnedModel, path: str) -> tuple[str, ...]:
    """A name for each column of a model's corrections; () where the file does not name just as many."""
    if not model.rank or Path(path).suffix.lower() not in _SUFFIXES:
        return ()
    try:
        names = _names(open_document(Path(path)))
    except OsteonError:  # the model was read: what is odd about its names does not matter
        return ()
    return tuple(names) if len(names) == model.rank else ()


def _names(document: Document) -> list[str]:
    """Of each target of each node that holds a mesh, in the order in which the nodes of the scene are read."""
    nodes, meshes = document.items("nodes"), document.items("meshes")
    scenes = document.items("scenes")
    shown = scenes[document.whole(document.root, "scene", "the scene", 0)] if scenes else {}
    waiting = list(reversed(shown.get("nodes", range(len(nodes)))))
    found: list[str] = []
    while waiting:
        node = nodes[waiting.pop()]
        waiting.extend(reversed(node.get("children", [])))
        if "mesh" in node:
            found += _names_of_mesh(meshes[node["mesh"]])
    return found


def _names_of_mesh(mesh: dict[str, Any]) -> list[str]:
    primitives = mesh.get("primitives") or [{}]
    count = len(primitives[0].get("targets", []))
    extras = mesh.get("extras")
    given = extras.get("targetNames") if isinstance(extras, dict) else None
    named = isinstance(given, list) and len(given) == count and all(isinstance(name, str) for name in given)
    return [str(name) for name in given] if named and given else [f"target {i + 1}" for i in range(count)]
