"""Files that are dropped on the page: named harmlessly, counted while they come, kept in a folder that disappears.

Nothing here looks into a file. The worker does, because a file may hold anything.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from osteon.core.errors import OptionError, OsteonError
from osteon.io import FORMATS, MODEL_FORMATS

__all__ = ["COMPANIONS", "UPLOAD_BYTES", "Dropped", "TooLarge", "Uploads", "known_suffixes", "plain_name"]

#: Bytes of one dropped model, all its files together.
UPLOAD_BYTES = 1_000_000_000
#: Bytes of all files dropped since the start, as a multiple of that.
TOTAL = 4
#: Files of one sequence, and sequences that may be on their way at a time.
MAX_FILES = 10_000
MAX_GROUPS = 16
#: What may come along with a model: buffers, pictures, materials.
COMPANIONS = (".bin", ".png", ".jpg", ".jpeg", ".mtl")


class TooLarge(OsteonError):
    """More bytes than this server takes."""


def known_suffixes() -> list[str]:
    """Suffixes of files that can be opened."""
    return sorted({*FORMATS, *MODEL_FORMATS})


def plain_name(header: str, known: Sequence[str] = ()) -> str:
    """The last part of a percent-encoded file name, without anything that means something to a file system.

    It must end with one of the known suffixes; () are those of models and of what comes along with them.
    """
    suffixes = tuple(known) or (*known_suffixes(), *COMPANIONS)
    name = re.split(r"[/\\]", unquote(header))[-1]
    name = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"|?*]', "_", name).strip(" .")
    stem, suffix = os.path.splitext(name)
    if not stem or suffix.lower() not in suffixes:
        shown = name[:60] or "the file"
        listed = ", ".join(known or known_suffixes())
        what = "a skeleton that Osteon reads" if known else "a kind of file that Osteon reads"
        raise OptionError(f"{shown}: not {what}; known are {listed}")
    while len(stem.encode()) > 120:
        stem = stem[:-1]
    return stem + suffix.lower()


@dataclass(slots=True)
class Dropped:
    """The files of one drop, some of which may still be on their way."""

    folder: Path
    count: int
    files: dict[int, Path] = field(default_factory=dict)  # by their place in the sequence
    size: int = 0

    @property
    def complete(self) -> bool:
        return len(self.files) == self.count

    def inputs(self) -> tuple[str, ...]:
        """What to open: all frames in order, without what only comes along."""
        ordered = [self.files[index] for index in sorted(self.files)]
        found = tuple(str(file) for file in ordered if file.suffix not in COMPANIONS)
        if not found:
            raise OptionError(f"{ordered[0].name}: comes along with a model; drop the model too")
        return found


@dataclass(slots=True)
class Uploads:
    """Where dropped files go."""

    folder: Path
    limit: int = UPLOAD_BYTES  # of one drop
    waiting: dict[str, Dropped] = field(default_factory=dict)  # groups that are not complete
    drops: int = 0
    size: int = 0  # of all that was kept

    def drop(self, name: str, group: str | None, count: int) -> Dropped:
        """The drop that a file belongs to."""
        if group is None:
            return self._new(name, 1)
        if not 1 <= count <= MAX_FILES:
            raise OptionError(f"count: expected 1 … {MAX_FILES} files of one sequence, got {count}")
        if group not in self.waiting:
            if len(self.waiting) >= MAX_GROUPS:
                raise OptionError("too many sequences are on their way at once; drop one after the other")
            self.waiting[group] = self._new(name, count)
        return self.waiting[group]

    def finish(self, drop: Dropped) -> None:
        """All files of a drop are there; more of them would be another one."""
        self.waiting = {group: other for group, other in self.waiting.items() if other is not drop}

    def discard(self, drop: Dropped) -> None:
        """Forget a drop that could not be opened, and its files."""
        self.finish(drop)
        self.size -= drop.size
        shutil.rmtree(drop.folder.parent, ignore_errors=True)

    def hide_folders(self, sentence: str) -> str:
        """A complaint with the names that the person knows, not those of temporary folders."""
        separator = re.escape(os.sep)
        folder = rf"{re.escape(str(self.folder))}{separator}d\d+{separator}[^/\\:]*({separator}|(?=:))"
        return re.sub(folder, "", sentence).replace(str(self.folder), "the dropped files")

    def _new(self, name: str, count: int) -> Dropped:
        self.drops += 1
        # The folder's name becomes that of the sequence.
        stem = re.split(r"[\d_\-. ]*$", os.path.splitext(name)[0])[0] or "sequence"
        folder = self.folder / f"d{self.drops}" / stem
        folder.mkdir(parents=True)
        return Dropped(folder, count)

    def check_length(self, drop: Dropped, length: int) -> None:
        """Refuse a body that is too long before it is read, or as soon as it turns out to be."""
        if drop.size + length > self.limit:
            size = f"{(drop.size + length) / 1e9:.2g} GB"
            raise TooLarge(
                f"the page takes at most {self.limit / 1e9:.2g} GB, this is {size} or more; "
                "open it with `osteon view FILE` instead"
            )
        if self.size + length > TOTAL * self.limit:
            raise TooLarge(f"{self.size / 1e9:.2g} GB were dropped already; start `osteon view` again")

    async def keep(self, drop: Dropped, name: str, index: int, body: AsyncIterable[bytes]) -> None:
        """Write a file as it comes. Who calls this discards the drop if it fails."""
        path = drop.folder / name
        if not 0 <= index < drop.count or index in drop.files or path.exists():
            raise OptionError(f"{name}: came twice, or is not one of the {drop.count} files announced")
        size = 0
        try:
            with path.open("xb") as file:
                async for chunk in body:
                    size += len(chunk)
                    self.check_length(drop, size)
                    file.write(chunk)
        except OSError as error:
            raise OptionError(f"{name}: cannot be kept ({error.strerror or error})") from error
        drop.files[index] = path
        drop.size += size
        self.size += size
