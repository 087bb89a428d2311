"""Files that are dropped on the page: named harmlessly, counted while they come, kept in a folder that disappears.

Bytes and files count from the moment they arrive until they are gone, so that many uploads at once find the same
limits as one after the other. Nothing here looks into a file. The worker does, because a file may hold anything.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import AsyncIterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from osteon.core.errors import OptionError
from osteon.io import FORMATS, MODEL_FORMATS
from osteon.view.server.request_bodies import TooLarge

__all__ = ["COMPANIONS", "UPLOAD_BYTES", "Dropped", "Uploads", "known_suffixes", "plain_name"]

#: Bytes of one dropped model, all its files together.
UPLOAD_BYTES = 1_000_000_000
#: Bytes, and files, of all that was dropped since the start, as a multiple of those of one.
TOTAL = 4
#: Files of one sequence, sequences that may be on their way at a time, and files that may.
MAX_FILES = 10_000
MAX_GROUPS = 16
MAX_ARRIVING = 32
#: Seconds after which a sequence of which nothing more comes may be forgotten.
ABANDONED = 60.0
#: What may come along with a model: buffers, pictures, materials.
COMPANIONS = (".bin", ".png", ".jpg", ".jpeg", ".mtl")


#: Names that Windows keeps for devices, whatever their suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


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
    if _DEVICES.match(stem):
        stem = f"_{stem}"
    return stem + suffix.lower()


@dataclass(slots=True, eq=False)
class Dropped:
    """The files of one drop, some of which may still be on their way."""

    folder: Path
    count: int
    files: dict[int, Path] = field(default_factory=dict)  # by their place in the sequence
    arriving: set[int] = field(default_factory=set)  # places of files that are on their way
    size: int = 0  # bytes, also of files on their way
    begun: int = 0  # files, also those on their way
    gone: bool = False  # discarded
    touched: float = field(default_factory=time.monotonic)  # when the last file began or ended

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
    size: int = 0  # bytes of all drops that are not gone
    begun: int = 0  # their files
    arriving: int = 0  # files that are on their way

    def drop(self, name: str, group: str | None, count: int) -> Dropped:
        """The drop that a file belongs to."""
        if group is None:
            return self._new(name, 1)
        if not 1 <= count <= MAX_FILES:
            raise OptionError(f"count: expected 1 … {MAX_FILES} files of one sequence, got {count}")
        if group not in self.waiting:
            self._make_room()
            self.waiting[group] = self._new(name, count)
        if self.waiting[group].count != count:
            raise OptionError(f"count: {self.waiting[group].count} files of this sequence were announced, now {count}")
        return self.waiting[group]

    @contextmanager
    def taking(self, drop: Dropped) -> Iterator[None]:
        """Discard the drop if anything goes wrong with it."""
        try:
            yield
        except BaseException:
            self.discard(drop)
            raise

    def _make_room(self) -> None:
        """For another group; those whose sender went away give way."""
        late = time.monotonic() - ABANDONED
        for drop in list(self.waiting.values()):
            if not drop.arriving and drop.touched < late:
                self.discard(drop)
        if len(self.waiting) >= MAX_GROUPS:
            raise OptionError("too many sequences are on their way at once; drop one after the other")

    def finish(self, drop: Dropped) -> None:
        """All files of a drop are there; more of them would be another one."""
        self.waiting = {group: other for group, other in self.waiting.items() if other is not drop}

    def discard(self, drop: Dropped) -> None:
        """Forget a drop that could not be opened, and its files; once more does no harm."""
        self.finish(drop)
        drop.gone = True
        shutil.rmtree(drop.folder.parent, ignore_errors=True)
        self._settle(drop)

    def _settle(self, drop: Dropped) -> None:
        """What is gone counts no more, as soon as nothing of it is being written."""
        if drop.gone and not drop.arriving:
            self.size -= drop.size
            self.begun -= drop.begun
            drop.size = drop.begun = 0

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
        """Refuse bytes that are too many: those announced before any is read, then each as it comes."""
        if drop.size + length > self.limit:
            size = f"{(drop.size + length) / 1e9:.2g} GB"
            raise TooLarge(
                f"the page takes at most {self.limit / 1e9:.2g} GB, this is {size} or more; "
                "open it with `osteon view FILE` instead"
            )
        if self.size + length > TOTAL * self.limit:
            raise TooLarge(f"{self.size / 1e9:.2g} GB were dropped already; start `osteon view` again")

    async def keep(self, drop: Dropped, name: str, index: int, body: AsyncIterable[bytes]) -> None:
        """Write a file as it comes; within `taking`, which discards the drop if that fails."""
        self._admit(drop, name, index)
        path = drop.folder / name
        try:
            with path.open("xb") as file:
                async for chunk in body:
                    self._count(drop, name, len(chunk))
                    file.write(chunk)
            self._count(drop, name, 0)
            drop.files[index] = path
        except OSError as error:
            raise OptionError(f"{name}: cannot be kept ({error.strerror or error})") from error
        finally:
            self.arriving -= 1
            drop.arriving.discard(index)
            drop.touched = time.monotonic()
            self._settle(drop)

    def _admit(self, drop: Dropped, name: str, index: int) -> None:
        """Count a file that begins to arrive, or refuse it."""
        known = index in drop.files or index in drop.arriving or (drop.folder / name).exists()
        if not 0 <= index < drop.count or known:
            raise OptionError(f"{name}: came twice, or is not one of the {drop.count} files announced")
        if self.arriving >= MAX_ARRIVING:
            raise OptionError(f"{name}: {self.arriving} files are on their way already; wait for them")
        if self.begun >= TOTAL * MAX_FILES:
            raise TooLarge(f"{self.begun} files were dropped already; start `osteon view` again")
        self.arriving += 1
        self.begun += 1
        drop.begun += 1
        drop.arriving.add(index)
        drop.touched = time.monotonic()

    def _count(self, drop: Dropped, name: str, n_bytes: int) -> None:
        """Count bytes that arrived, or refuse them."""
        if drop.gone:
            raise OptionError(f"{name}: another file of the same drop was refused")
        self.check_length(drop, n_bytes)
        drop.size += n_bytes
        self.size += n_bytes
