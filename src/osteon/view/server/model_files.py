"""The models and the source that a command line names, and the names of models, methods and morph targets in the page.

osteon view models/ SOURCE            a folder of models, such as `osteon compare --save` writes
osteon view a.npz b.glb SOURCE        files, and folders of them; the last is the source
osteon view walk/*.obj                no model among them: one sequence
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from osteon.core.animation import distinct_names
from osteon.core.errors import FileFormatError, OptionError, OsteonError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.io import MODEL_FORMATS, holds_model
from osteon.io.comparisons import ComparedModel, read_summary
from osteon.io.formats.registry import mesh_suffixes
from osteon.io.gltf.read.document import Document, open_document
from osteon.io.load.sequences import natural_key


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file that holds a model."""

    path: Path
    label: str  # its name beside the others
    compared: ComparedModel | None = None  # measured by a comparison, for exactly this file


@dataclass(frozen=True, slots=True)
class NamedModels:
    """Models that are shown together."""

    models: tuple[ModelFile, ...]
    source: str | None  # the sequence that all of them should reproduce
    notes: tuple[str, ...] = ()  # messages for the user


def find_models(words: Sequence[str]) -> NamedModels | None:
    """The models and the source on a command line; None for one model with its source, and for a sequence."""
    first = Path(words[0])
    if names_sequence(words) or (len(words) <= 2 and not _holds_models(first)):
        return None
    named, source = (words[:-1], words[-1]) if len(words) > 1 else (words, _source_in(first))
    files = [file for word in named for file in _files_of(Path(word))]
    models, notes = [], []
    for path, label in zip(files, _labels(files), strict=True):
        compared, note = _stored(path)
        models.append(ModelFile(path, method_name(label) if compared else label, compared))
        notes += note
    if source is not None and Path(source).suffix.lower() == ".npz" and holds_model(source):
        raise OptionError(
            f"{source}: is a skinned model; of several files the last is the source, so name the sequence after it"
        )
    return NamedModels(tuple(models), source, tuple(notes))


def names_sequence(words: Sequence[str]) -> bool:
    """Whether no file or folder is a model: then all of them are the inputs of one sequence."""
    return not any(holds_model(word) or _holds_models(Path(word)) for word in words)


def _holds_models(folder: Path) -> bool:
    """Whether a path is a folder of models, rather than of frames."""
    if not folder.is_dir() or any(path.suffix.lower() in mesh_suffixes() for path in folder.iterdir()):
        return False
    return bool(_models_in(folder))


def _models_in(folder: Path) -> list[Path]:
    """The models of a comparison in its order, then all others by name."""
    summary = read_summary(folder)
    order = {} if summary is None else {model.file.name: i for i, model in enumerate(summary.models)}
    known = set(MODEL_FORMATS)
    found = [path for path in folder.iterdir() if path.suffix.lower() in known and holds_model(path)]
    return sorted(found, key=lambda path: (order.get(path.name, len(order)), natural_key(path)))


def _files_of(path: Path) -> list[Path]:
    if path.is_dir() and _holds_models(path):
        return _models_in(path)
    if not path.exists():
        raise FileFormatError(f"{path}: there is no such file or folder")
    if not holds_model(path):
        raise OptionError(
            f"{path}: is not a skinned model; of several files the last is the source, and all others are models"
        )
    return [path]


def _labels(files: Sequence[Path]) -> tuple[str, ...]:
    """The stems of files, with their folders where two are equal."""
    stems = [path.stem for path in files]
    folders = [path.resolve().parent.name for path in files]
    equal = [stems.count(stem) > 1 for stem in stems]
    return distinct_names(
        f"{folder}/{stem}" if two else stem for stem, folder, two in zip(stems, folders, equal, strict=True)
    )


def _source_in(folder: Path) -> str | None:
    """The source that was saved with its models."""
    summary = read_summary(folder)
    if summary is None or summary.source is None:
        return None
    return str(folder / summary.source.name)


def _stored(path: Path) -> tuple[ComparedModel | None, list[str]]:
    """The results of a comparison in the same folder; None if the file differs from the one that was compared."""
    summary = read_summary(path.parent)
    known = None if summary is None else next((m for m in summary.models if m.file.name == path.name), None)
    if known is None or known.file.is_in(path.parent):
        return known, []
    return None, [f"{path} is not the file that was compared; the results of the comparison are omitted for it"]


#: Display names of methods, by their names in options and in the files of `osteon compare`.
METHOD_NAMES = {
    "lbs": "LBS",
    "ssd": "LBS",
    "dqs": "DQS",
    "as": "Animation Space",
    "mwe": "Multi-Weight",
    "as-zero": "Animation Space as printed",
    "mwe-zero": "Multi-Weight as printed",
    "eigenskin": "EigenSkin",
}
#: File names that do not describe the content, such as rest.obj in a folder of poses.
_NAMELESS = ("poses", "rest", "")


def method_name(word: str) -> str:
    """The display name of a method; other words are returned unchanged."""
    return METHOD_NAMES.get(word, word)


def named_after_file(shown: SkinnedModel | MeshSequence, path: str) -> SkinnedModel | MeshSequence:
    """A model or sequence with the name of its file, or of its folder, if it has no descriptive name."""
    if shown.name not in _NAMELESS:
        return shown
    file = Path(path).absolute()
    known = [name for name in (file.stem, file.parent.name) if name not in _NAMELESS]
    name = known[0] if known else min(file.stem, file.parent.name, key=_NAMELESS.index)
    if isinstance(shown, SkinnedModel):
        return shown.with_mesh(name=name)
    return MeshSequence(source=shown.source, mesh=replace(shown.mesh, name=name), clips=shown.clips)


_SUFFIXES = (".glb", ".gltf")


def target_names(model: SkinnedModel, path: str) -> tuple[str, ...]:
    """Names of the columns of the corrections of a model; () unless the file names exactly as many.

    glTF stores the names of morph targets in the extras of a mesh.
    """
    if not model.rank or Path(path).suffix.lower() not in _SUFFIXES:
        return ()
    try:
        names = _names(open_document(Path(path)))
    except OsteonError:  # the model itself was readable: faulty names are ignored
        return ()
    return tuple(names) if len(names) == model.rank else ()


def _names(document: Document) -> list[str]:
    """The name of each target of each node with a mesh, in the order in which the nodes of the scene are read."""
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
