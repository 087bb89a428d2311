"""Checks of outputs: never an input, no file twice, and existing files only with --force or if the user agrees.

Paths are compared by the files that they refer to, not by spelling: links, `./a` and `../x/a`, and `A` for `a` if the
file system ignores case.
"""

from __future__ import annotations

import glob
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from osteon.core.errors import FileFormatError, OptionError
from osteon.core.mesh import Asset
from osteon.core.options import command_text
from osteon.io.formats.format_types import SequenceFormat
from osteon.io.formats.registry import FORMATS, MODEL_FORMATS, mesh_suffixes, writable_suffixes
from osteon.io.save.atomic import is_temporary


@dataclass(frozen=True, slots=True)
class Output:
    """A file, or a folder that is replaced as a whole, and the flag that named it."""

    flag: str
    path: Path
    is_folder: bool = False
    resumes: bool = False  # the command continues what is there


@dataclass(frozen=True, slots=True)
class OverwriteGuard:
    """Raises an error for outputs that must not be replaced."""

    inputs: tuple[Path, ...] = ()  # every file that is read
    force: bool = False  # existing files may be replaced
    owned: Path | None = None  # existing files in this folder may be replaced
    confirm: Callable[[str], bool] | None = None  # a question to the user at a terminal
    confirmed: set[Path] = field(default_factory=set)  # replaced with the user's consent

    def check_all(self, outputs: Sequence[Output]) -> None:
        """Check all outputs of a command before the work, with one question for all that exist."""
        for one, other in combinations(outputs, 2):
            _check_pair(one, other)
        for output in outputs:
            self._check_inputs(output.path, f"{output.flag}: ", is_folder=output.is_folder)
        self.confirmed.update(Path(os.path.realpath(output.path)) for output in outputs if output.resumes)
        self._check_existing({output.path: f"{output.flag}: " for output in outputs})

    def check(self, path: Path) -> None:
        """Check one output at the time when it is written."""
        self._check_inputs(path, "", is_folder=path.is_dir())
        self._check_existing({path: ""})

    def check_changed(self, paths: Sequence[Path]) -> None:
        """Check files of a folder that is continued, which were changed by others."""
        self._check_existing(dict.fromkeys(paths, "changed since Osteon wrote it: "))

    def _check_inputs(self, path: Path, flag: str, *, is_folder: bool) -> None:
        if is_folder:
            by_folder = {os.path.dirname(os.path.realpath(file)): file for file in self.inputs if path.is_dir()}
            found = next((file for parent, file in by_folder.items() if _is_within(Path(parent, "_"), path)), None)
            if found is not None:
                raise OptionError(f"{flag}{path} holds {found.name}, one of the inputs; name another folder")
        elif any(same_place(file, path) for file in self.inputs):
            raise OptionError(f"{flag}{path} is one of the inputs; name another file")

    def _check_existing(self, flags: dict[Path, str]) -> None:
        if self.force:
            return
        found = [path for path in flags if self._needs_consent(path)]
        if not found:
            return
        names = ", ".join(map(str, found))
        exist = "exists" if len(found) == 1 else "exist"
        if self.confirm is None:
            raise FileFormatError(
                f"{flags[found[0]]}{names} {exist} already; name another output, or add --force to replace"
            )
        if not self.confirm(f"{names} {exist} already. Replace?"):
            raise FileFormatError(f"{flags[found[0]]}{names} {exist} already and will not be replaced")
        self.confirmed.update(Path(os.path.realpath(path)) for path in found)

    def _needs_consent(self, path: Path) -> bool:
        """Whether a path holds something that replacing it would delete."""
        if Path(os.path.realpath(path)) in self.confirmed or (self.owned and _is_within(path, self.owned)):
            return False
        if path.is_dir():
            return any(not is_temporary(entry.name) for entry in path.iterdir())
        return path.exists() and path.stat().st_size > 0


def input_files(names: Iterable[object]) -> tuple[Path, ...]:
    """The files of the inputs of a command: themselves, the meshes in a folder, the matches of a pattern."""
    return tuple(path for name in names if name is not None for path in _files_of(Path(str(name))))


def _files_of(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in sorted(path.iterdir()) if file.suffix.lower() in mesh_suffixes())
    elif not path.exists() and glob.has_magic(str(path)):
        for found in sorted(glob.glob(str(path), recursive=True)):
            yield from _files_of(Path(found))
    elif path.exists():
        yield path


def same_place(one: Path, other: Path) -> bool:
    """Whether two paths are the same file or folder, or would be if they were written."""
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    real, real_other = os.path.realpath(one), os.path.realpath(other)
    if real == real_other:
        return True
    return _folded(real) == _folded(real_other) and _ignores_case(Path(real).parent)


def _check_pair(one: Output, other: Output) -> None:
    """Refuse two outputs with one name, and one inside a folder that is replaced."""
    if same_place(one.path, other.path):
        raise OptionError(f"{other.flag}: {other.path} is named twice, it is written by {one.flag}; name another")
    for folder, inner in ((one, other), (other, one)):
        if folder.is_folder and _is_within(inner.path, folder.path):
            raise OptionError(
                f"{inner.flag}: {inner.path} is in {folder.path}, which {folder.flag} replaces; name another place"
            )


def _is_within(path: Path, folder: Path) -> bool:
    parents = dict.fromkeys((*path.parents, *Path(os.path.realpath(path)).parents))
    return any(same_place(parent, folder) for parent in parents)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _ignores_case(folder: Path) -> bool:
    """Whether the file system ignores case, tested on the first existing parent whose name has letters."""
    for known in (folder, *folder.parents):
        swapped = known.with_name(known.name.swapcase())
        if known.exists() and swapped.name != known.name:
            return swapped.exists() and os.path.samefile(known, swapped)
    return False


# Messages about outputs that Osteon cannot write: the reason, and what to write instead.


@dataclass(frozen=True, slots=True)
class _Instead:
    """The format to use in place of another."""

    suffix: str  # of a model
    because: str


_SCENES = _Instead(".glb", "which Blender, Unity and Unreal read, and Blender exports to others")
_INSTEAD = {
    **dict.fromkeys((".fbx", ".dae", ".blend", ".ma", ".mb", ".max", ".c4d", ".3ds", ".x", ".x3d", ".wrl"), _SCENES),
    ".bvh": _Instead(".glb", "which holds mesh, weights and motion where a BVH holds the motion of joints alone"),
    ".vrm": _Instead(".glb", "of which a VRM is a kind"),
    **dict.fromkeys((".mc", ".mcx", ".vtx"), _Instead(".pc2", "which holds frames of vertices as point caches do")),
    ".stl": _Instead(".ply", "a file for each frame"),
}


def why_unclear(path: str) -> str | None:
    """The message about a name without a suffix, which could be a model or a folder of frames; None if it is clear."""
    target = Path(path)
    if target.suffix or path.endswith(("/", "\\")) or target.is_dir() or "#" in path:
        return None
    frames = ", ".join(s for s in _frames() if s not in MODEL_FORMATS)
    return (
        f"{path}: the name has no suffix; add one for a model ({', '.join(MODEL_FORMATS)}) or for frames in a file "
        f"({frames}), or end it with / for a folder of frames"
    )


def why_unwritable(path: str, *, models: bool) -> str | None:
    """The reason that a path cannot be written to, and an alternative; None if it can. `models`: not only frames."""
    target = Path(path)
    suffix = target.suffix.lower()
    if not suffix or path.endswith(("/", "\\")) or target.is_dir() or suffix in _written(models):
        return None
    read = "is read, not written" if suffix in FORMATS else "is not a format of Osteon"
    if not models and suffix in MODEL_FORMATS:
        read = "holds models, not frames"
    best = _INSTEAD.get(suffix, _SCENES)
    wanted = best.suffix if best.suffix in _written(models) else ".abc"
    because = f", {best.because}" if wanted == best.suffix else ""
    proposal = command_text("-o", _renamed(target, wanted))
    kinds = [f"frames: a folder, {', '.join(s for s in _frames() if not models or s not in MODEL_FORMATS)}"]
    if models:
        kinds = [f"models: {', '.join(MODEL_FORMATS)}", *kinds]
    return f"{path}: '{suffix}' {read}; take {proposal}{because} ({'; '.join(kinds)})"


def _renamed(target: Path, suffix: str) -> Path:
    """The path in another format; meshes of one pose each are numbered."""
    numbered = suffix in writable_suffixes()
    return target.with_name(f"{target.stem}_####{suffix}") if numbered else target.with_suffix(suffix)


def _frames() -> tuple[str, ...]:
    """Suffixes that frames can be written to."""
    whole = [f.suffix for f in FORMATS.values() if isinstance(f, SequenceFormat) and f.write is not None]
    return (*writable_suffixes(), *whole)


def _written(models: bool) -> tuple[str, ...]:
    return (*_frames(), *(MODEL_FORMATS if models else ()))


def check_not_source(asset: Asset, path: Path) -> None:
    """Refuse to write over a file that the asset was read from."""
    if any(same_place(file, path) for file in asset.origin.files):
        raise FileFormatError(f"{path}: the model was read from it; name another file, or pass overwrite=True")
