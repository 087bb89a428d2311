"""Resolves the inputs of a caller to files, their order, and clips.

- A folder, or a quoted pattern such as 'walk/*.obj', is one clip.
- Mesh files named one by one are the frames of one clip for each folder they are in, because a shell that expands
  walk/*.obj names them one by one. Files in alphabetical order are put in natural order (frame2 before frame10); any
  other order is kept.
- A file that holds an animation is its own clip or clips.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from osteon.core.errors import FileFormatError
from osteon.io.formats.format_types import MeshFormat
from osteon.io.formats.registry import FORMATS, format_of, mesh_suffixes
from osteon.io.load.source import PathLike


@dataclass(frozen=True, slots=True)
class Take:
    """One clip to load: one file per frame, or one file that holds an animation."""

    name: str
    files: tuple[Path, ...]

    @property
    def is_frames(self) -> bool:
        return isinstance(format_of(self.files[0]), MeshFormat)


def natural_key(path: Path) -> tuple[tuple[int, int, str], ...]:
    """Sorts frame2 before frame10."""
    parts = re.split(r"(\d+)", str(path).casefold())
    return (*((1, int(p), p) if p.isdecimal() else (0, 0, p) for p in parts), (0, 0, str(path)))


def resolve_inputs(paths: Sequence[PathLike]) -> list[Take]:
    """The takes of the inputs, in order."""
    if not paths:
        raise FileFormatError("no input; name a file, a folder of meshes, or a pattern such as 'walk/*.obj'")
    named: list[Take | Path] = []
    for text in paths:
        path = Path(text)
        if path.is_dir():
            named.append(_folder(path))
        elif not path.exists() and glob.has_magic(str(path)):
            named += _pattern(path)
        elif not path.exists():
            raise FileFormatError(f"{path}: there is no such file or folder")
        else:
            format_of(path)  # refuses unknown suffixes before anything is read
            named.append(path)
    return _group(named)


def _group(named: list[Take | Path]) -> list[Take]:
    """Neighbouring mesh files of one folder become one take."""
    takes: list[Take] = []

    def group_of(item: Take | Path) -> tuple[str, object]:
        if isinstance(item, Take):
            return "take", id(item)
        return ("frames", item.parent) if isinstance(format_of(item), MeshFormat) else ("file", id(item))

    for (kind, _), run in groupby(named, group_of):
        for_clip = list(run)
        files = [item for item in for_clip if isinstance(item, Path)]
        takes += [item for item in for_clip if isinstance(item, Take)]
        if kind == "frames":
            _one_suffix(files, str(files[0].parent))
            name = files[0].stem if len(files) == 1 else _folder_name(files[0].parent)
            takes.append(Take(name, tuple(_in_order(files))))
        elif kind == "file":
            takes.append(Take(files[0].stem, tuple(files)))
    return takes


def _in_order(files: list[Path]) -> list[Path]:
    """Natural order if the files are in alphabetical order, else the order of the caller."""
    names = [str(f) for f in files]
    listed = names in (sorted(names), sorted(names, key=str.casefold))
    return sorted(files, key=natural_key) if listed else files


def _folder(path: Path) -> Take:
    try:
        entries = sorted(path.iterdir(), key=natural_key)
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be listed ({error.strerror})") from error
    files = [f for f in entries if _is_mesh(f) and f.is_file() and not f.name.startswith(".")]
    if not files:
        raise FileFormatError(f"{path}: {_why_nothing(entries)}")
    _one_suffix(files, str(path))
    return Take(_folder_name(path), tuple(files))


def _is_mesh(path: Path) -> bool:
    """Whether the suffix names a format of one pose; other formats are looked up only if none of Osteon's has it."""
    suffix = path.suffix.lower()
    own = FORMATS.own.get(suffix)
    return isinstance(own, MeshFormat) or (own is None and suffix != "" and suffix in mesh_suffixes())


def _why_nothing(entries: list[Path]) -> str:
    wanted = f"expected frames ({', '.join(mesh_suffixes())})"
    if not entries:
        return f"the folder is empty; {wanted}"
    known = set(FORMATS)
    files = [f.name for f in entries if f.suffix.lower() in known and f.is_file()]
    if files:
        return f"holds no frames; name the files in it one by one, such as {files[0]}"
    folders = [f.name for f in entries if f.is_dir()]
    return f"holds no frames but folders; name them, such as {folders[0]}" if folders else f"holds no mesh; {wanted}"


def _pattern(path: Path) -> list[Take | Path]:
    """A pattern of mesh files is one take; one of folders or of animations is as if each was named."""
    found = sorted((Path(name) for name in glob.glob(str(path), recursive=True)), key=natural_key)
    known = set(FORMATS)
    files = [f for f in found if f.suffix.lower() in known and f.is_file()]
    if not files:
        folders = [f for f in found if f.is_dir()]
        if folders:
            return [_folder(f) for f in folders]
        raise FileFormatError(f"{path}: the pattern matches no mesh file")
    if not all(isinstance(format_of(f), MeshFormat) for f in files):
        return list(files)
    _one_suffix(files, str(path))
    literal = re.split(r"[*?\[]", path.name)[0].rstrip("_-. ")
    return [Take(literal or _folder_name(path.parent), tuple(files))]


def _one_suffix(files: list[Path], where: str) -> None:
    suffixes = sorted({f.suffix.lower() for f in files})
    if len(suffixes) > 1:
        raise FileFormatError(
            f"{where}: holds both {suffixes[0]} and {suffixes[1]} files; name one kind, such as '*{suffixes[0]}'"
        )


def _folder_name(path: Path) -> str:
    return path.resolve().name or "mesh"
