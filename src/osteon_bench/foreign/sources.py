"""The sources in a tree of files: animated files, and folders whose numbered meshes are the frames of one clip."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from osteon.io.formats.format_types import MeshFormat
from osteon.io.formats.registry import FORMATS
from osteon.io.load.sequences import natural_key


@dataclass(frozen=True, slots=True)
class ForeignSource:
    """One source: its files in the order of the command line."""

    name: str  # seen from the root of the tree
    files: tuple[Path, ...]

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)


def find_sources(root: Path) -> list[ForeignSource]:
    """Every file of a known format below the root, in natural order; numbered meshes of a folder are one source."""
    known = [path for path in root.rglob("*") if path.suffix.lower() in FORMATS and path.is_file()]
    runs: dict[Path, list[Path]] = defaultdict(list)
    for path in sorted(known, key=natural_key):
        runs[_run_of(path)].append(path)
    return [_source(root, run, files) for run, files in runs.items()]


def _run_of(path: Path) -> Path:
    """The same for all frames of a clip: the name of a mesh with # for its last number; other files are their own."""
    if not isinstance(FORMATS[path.suffix.lower()], MeshFormat):
        return path
    return path.with_name(re.sub(r"\d+(?=\D*$)", "#", path.stem) + path.suffix)


def _source(root: Path, run: Path, files: list[Path]) -> ForeignSource:
    named = run if len(files) > 1 else files[0]
    return ForeignSource(named.relative_to(root).as_posix(), tuple(files))
