"""What models and files are called in the page: by the usual names of their methods, and by their files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence

__all__ = ["METHOD_NAMES", "method_name", "named_after_file"]

#: Names of methods by the words that options, and files of `osteon compare`, have for them.
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
#: Names that say what a file is for, not what is in it: folders of poses have a rest.obj, which is named last.
_NAMELESS = ("poses", "rest", "")


def method_name(word: str) -> str:
    """The usual name of a method; other words stay as they are."""
    return METHOD_NAMES.get(word, word)


def named_after_file(shown: SkinnedModel | MeshSequence, path: str) -> SkinnedModel | MeshSequence:
    """What was read from a file, with the name of that file, or of its folder, where its own says nothing."""
    if shown.name not in _NAMELESS:
        return shown
    file = Path(path).absolute()
    known = [name for name in (file.stem, file.parent.name) if name not in _NAMELESS]
    name = known[0] if known else min(file.stem, file.parent.name, key=_NAMELESS.index)
    if isinstance(shown, SkinnedModel):
        return shown.with_mesh(name=name)
    return MeshSequence(source=shown.source, mesh=replace(shown.mesh, name=name), clips=shown.clips)
