"""What a command may write to: never its inputs, no file twice, and what others wrote only if it is told to.

Files are told apart by what they are, not by how they are spelled: links, `./a` and `../x/a`, and `A` where the file
system does not tell it from `a`.
"""

from __future__ import annotations

import glob
import mmap
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from urllib.parse import quote, unquote

from osteon.core.errors import FileFormatError, OptionError
from osteon.io.formats.registry import mesh_suffixes
from osteon.io.save.marks import is_ours

__all__ = ["Output", "OverwriteGuard", "check_apart", "input_files", "same_place"]

#: Files that may name others which are read with them, and how many bytes of them may do so.
_NAMING = {".obj": 1 << 16, **dict.fromkeys((".mtl", ".gltf", ".usda", ".usdc", ".usd", ".fbx"), 1 << 62)}
_LIBRARY = re.compile(rb"^mtllib[ \t]+(.+?)\s*$", re.MULTILINE)
#: Bytes before a name that may be the folders of its path.
_LONGEST = 256


@dataclass(frozen=True, slots=True)
class Output:
    """A file, or a folder that is replaced as a whole, and the flag that named it."""

    flag: str
    path: Path
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class OverwriteGuard:
    """Refuses outputs that would take someone's work."""

    inputs: tuple[Path, ...] = ()  # every file that is read
    force: bool = False  # files of others may be replaced

    def check_all(self, outputs: Sequence[Output]) -> None:
        """Refuse, before the work, what must not be written."""
        check_apart(outputs)
        for output in outputs:
            self.check(output.path, f"{output.flag}: ", is_folder=output.is_folder)

    def check(self, path: Path, flag: str = "", *, is_folder: bool = False) -> None:
        """Refuse one output; `flag` begins what is said about it."""
        if is_folder or path.is_dir():
            within = self._input_in(path) if path.is_dir() else None
            if within is not None:
                raise OptionError(f"{flag}{path} holds {within.name}, one of the inputs; name another folder")
            return
        if any(_reads(file, path) for file in self.inputs):
            raise OptionError(f"{flag}{path} is one of the inputs; name another file")
        if not self.force and path.is_file() and path.stat().st_size and not is_ours(path):
            raise FileFormatError(
                f"{flag}{path} is there already, and Osteon did not write it; name another file, or add --force"
            )

    def _input_in(self, folder: Path) -> Path | None:
        """An input that lies in a folder."""
        of_parent = {os.path.dirname(os.path.realpath(file)): file for file in self.inputs}
        return next((file for parent, file in of_parent.items() if _lies_in(Path(parent, "_"), folder)), None)


def input_files(names: Iterable[object]) -> tuple[Path, ...]:
    """The files that the inputs of a command mean: themselves, the meshes in a folder, what a pattern matches."""
    return tuple(path for name in names if name is not None for path in _files_of(Path(str(name))))


def same_place(one: Path, other: Path) -> bool:
    """Whether two paths are the same file or folder, or would be if they were written."""
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    real, real_other = os.path.realpath(one), os.path.realpath(other)
    if real == real_other:
        return True
    return _folded(real) == _folded(real_other) and _folds_case(Path(real).parent)


def _files_of(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in sorted(path.iterdir()) if file.suffix.lower() in mesh_suffixes())
    elif not path.exists() and glob.has_magic(str(path)):
        for found in sorted(glob.glob(str(path), recursive=True)):
            yield from _files_of(Path(found))
    elif path.exists():
        yield path


def check_apart(outputs: Sequence[Output]) -> None:
    """Refuse two outputs of one name, and one inside a folder that is replaced."""
    for one, other in combinations(outputs, 2):
        _check_pair(one, other)


def _check_pair(one: Output, other: Output) -> None:
    if same_place(one.path, other.path):
        raise OptionError(f"{other.flag}: {other.path} is named twice, it is written by {one.flag}; name another")
    for folder, inner in ((one, other), (other, one)):
        if folder.is_folder and _lies_in(inner.path, folder.path):
            raise OptionError(
                f"{inner.flag}: {inner.path} lies in {folder.path}, which {folder.flag} replaces; name another place"
            )


def _reads(file: Path, output: Path) -> bool:
    """Whether writing `output` would change what is read as `file`: itself, or a file that it names."""
    return same_place(file, output) or (output.exists() and _names(file, output))


def _lies_in(path: Path, folder: Path) -> bool:
    return any(same_place(parent, folder) for parent in (*path.parents, *Path(os.path.realpath(path)).parents))


def _names(file: Path, output: Path) -> bool:
    """Whether a file names another that is read with it: a material library, a buffer, a picture, a layer."""
    limit = _NAMING.get(file.suffix.lower(), 0)
    if not limit or not file.is_file() or not file.stat().st_size:
        return False
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        spellings = {output.name.encode(), quote(output.name).encode()}
        if any(_leads_to(output, file.parent, word) for name in spellings for word in _words(data, name, limit)):
            return True
        libraries = _LIBRARY.findall(data[:limit]) if file.suffix.lower() == ".obj" else []
    return any(_names(file.parent / os.fsdecode(name), output) for name in libraries)


def _words(data: mmap.mmap, name: bytes, limit: int) -> Iterator[bytes]:
    """All that may be a path to `name` in a file: the name with what stands before it in its line."""
    at = data.find(name, 0, limit)
    while at >= 0:
        line = re.split(rb"[\n\r\0]", data[max(0, at - _LONGEST) : at])[-1]
        for start in (0, *(gap.end() for gap in re.finditer(rb"[\s\"'@]", line))):
            yield line[start:] + name
        at = data.find(name, at + 1, limit)


def _leads_to(output: Path, folder: Path, word: bytes) -> bool:
    return same_place(folder / unquote(os.fsdecode(word)).replace("\\", "/"), output)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _folds_case(folder: Path) -> bool:
    """Whether the file system takes names that differ in case for one, by the first folder above that tells."""
    for known in (folder, *folder.parents):
        swapped = known.with_name(known.name.swapcase())
        if known.exists() and swapped.name != known.name:
            return swapped.exists() and os.path.samefile(known, swapped)
    return False
