"""All formats of stick skeletons, by suffix."""

from __future__ import annotations

from pathlib import Path

from osteon.core.errors import FileFormatError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.io.formats.format_types import SkeletonFormat
from osteon.io.formats.registry import MODEL_FORMATS
from osteon.io.load.source import PathLike, Source
from osteon.io.save.atomic import atomic_file
from osteon.io.skeletons.rig import sticks_of_rig
from osteon.io.skeletons.rig_files import RIG_SUFFIXES, read_rig
from osteon.io.skeletons.skel import SKEL
from osteon.io.skeletons.skeleton_json import SKELETON_JSON
from osteon.io.skeletons.tgf import TGF

__all__ = ["SKELETON_SUFFIXES", "TEXT_FORMATS", "load_skeleton", "save_skeleton"]

_TEXTS: tuple[SkeletonFormat, ...] = (
    TGF,
    SKEL,
    SKELETON_JSON,
)
TEXT_FORMATS: dict[str, SkeletonFormat] = {text.suffix: text for text in _TEXTS}
SKELETON_SUFFIXES = (*TEXT_FORMATS, *RIG_SUFFIXES)


def load_skeleton(path: PathLike, *, skin: str | int = 0) -> StickSkeleton:
    """The stick skeleton in a file; of a glTF with several skins the one with that name or number."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix in TEXT_FORMATS:
        return TEXT_FORMATS[suffix].read(Source(file))
    if suffix not in RIG_SUFFIXES and suffix not in MODEL_FORMATS:
        known = ", ".join(SKELETON_SUFFIXES)
        raise FileFormatError(f"{file}: not a suffix for a skeleton; known are {known}")
    return sticks_of_rig(read_rig(file, skin), Source(file))


def save_skeleton(skeleton: StickSkeleton, path: PathLike) -> None:
    """Write `skeleton` in the format its suffix names, whole or not at all; `load_skeleton` gives the same back."""
    found = TEXT_FORMATS.get(Path(path).suffix.lower())
    if found is None:
        raise FileFormatError(f"{path}: a skeleton is saved as {', '.join(TEXT_FORMATS)}; choose one of these")
    names = skeleton.names
    if len(set(names)) < len(names) or not all(name.strip() and name.isprintable() for name in names):
        raise OptionError(f"{path}: two joints share a name, or a name cannot be shown; rename them before saving")
    try:
        text = found.text(skeleton)
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from error
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
