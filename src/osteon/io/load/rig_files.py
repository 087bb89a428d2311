"""Characters whose own document is kept: opened as glTF documents, whatever format they come in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from osteon.core.errors import FileFormatError
from osteon.core.model import SkinnedModel
from osteon.io.formats.format_types import WhenCalled
from osteon.io.formats.options import DEFAULT_LOAD_OPTIONS, LoadOptions
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file

if TYPE_CHECKING:
    from osteon.io.gltf.patch.character import Character
    from osteon.io.gltf.read.document import Document

__all__ = ["RIG_SUFFIXES", "has_clips_only", "keeps_rig", "open_character", "open_clips", "save_on_rig"]

_OPEN_GLTF = WhenCalled("osteon.io.gltf.read.document", "open_document")
#: How a file is opened as a glTF document: with its meshes, and for its clips alone.
_CHARACTERS = {
    ".glb": _OPEN_GLTF,
    ".gltf": _OPEN_GLTF,
    ".fbx": WhenCalled("osteon.io.fbx.document", "open_fbx_document"),
}
_CLIPS = _CHARACTERS | {".fbx": WhenCalled("osteon.io.fbx.document", "open_fbx_clips")}
_GLTF_CLIPS = WhenCalled("osteon.io.gltf.read.animations", "holds_gltf_clips")
_HOLDS_CLIPS = {
    ".glb": _GLTF_CLIPS,
    ".gltf": _GLTF_CLIPS,
    ".fbx": WhenCalled("osteon.io.fbx.document", "holds_fbx_clips"),
}
RIG_SUFFIXES = tuple(_CHARACTERS)
#: Files that a character's document is written to.
_WRITTEN = (".glb", ".gltf")


def has_clips_only(path: Path) -> bool:
    """Whether a file holds animations and no mesh; nothing is sampled."""
    asked = _HOLDS_CLIPS.get(path.suffix.lower())
    return asked is not None and bool(asked(path))


def open_clips(path: Path, fps: float | None = None) -> Document | None:
    """The document of a file that may hold clips; None for a format that never holds them alone."""
    return _opened(_CLIPS, path, fps)


def open_character(path: PathLike, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> Character | None:
    """The character of a file with its document; None for a format whose files are written anew."""
    from osteon.io.gltf.patch.character import read_character

    path = Path(path)
    if path.is_dir():
        raise FileFormatError(f"{path}: is a folder, expected the file of a skinned model")
    document = _opened(_CHARACTERS, path, None if options.fps == "file" else options.frame_rate)
    return None if document is None else read_character(document, LoadOptions(fps=options.fps))


def _opened(openers: dict[str, WhenCalled], path: Path, fps: float | None) -> Document | None:
    opener = openers.get(path.suffix.lower())
    if opener is None:
        return None
    document: Document = opener(path, fps) if path.suffix.lower() == ".fbx" else opener(path)
    return document


def keeps_rig(character: Character | None, model: SkinnedModel, path: PathLike) -> bool:
    """Whether a model is written into the document of the character that it was fitted to."""
    from osteon.io.gltf.patch.write import keeps_mesh

    fits = character is not None and Path(path).suffix.lower() in _WRITTEN and keeps_mesh(character, model)
    return fits and model.deformer.kind == "linear_blend"


def save_on_rig(model: SkinnedModel, character: Character, path: PathLike) -> None:
    """Write a model that was fitted to a character into the character's own document, whole or not at all.

    Nodes, joints, names, materials, other clips and all that Osteon does not know stay as they are.
    """
    from osteon.io.gltf.patch.write import write_on_character

    with atomic_file(path) as temporary:
        write_on_character(temporary, character, model)
