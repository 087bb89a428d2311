"""Files uploaded from the page: safe names, limits that apply while they arrive, and a temporary folder for them.

Bytes and files count from the moment they arrive until they are deleted, so that parallel uploads have the same limits
as sequential ones. Only the worker process opens the files, because a file from outside may contain anything.
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

from osteon.core.errors import OptionError, OsteonError
from osteon.io import FORMATS, MODEL_FORMATS
from osteon.view.server.requests import TooLarge

#: Bytes of one upload, all its files together.
UPLOAD_BYTES = 1_000_000_000
#: Bytes and files of all uploads that are kept, as multiples of the limits of one upload.
TOTAL = 4
#: Files of one sequence, sequences that may arrive at the same time, and files that may.
MAX_FILES = 10_000
MAX_GROUPS = 16
MAX_ARRIVING = 32
#: Seconds after which a sequence that receives no more files may be discarded.
ABANDONED = 60.0
#: Files that accompany a model: buffers, images, materials.
COMPANIONS = (".bin", ".png", ".jpg", ".jpeg", ".mtl")
#: Names that Windows reserves for devices, whatever their suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


class TooManyUploads(OsteonError):
    """More uploads at the same time than the server accepts; the client may try again later."""


def known_suffixes() -> list[str]:
    """Suffixes of files that can be opened."""
    return sorted({*FORMATS, *MODEL_FORMATS})


def plain_name(header: str, known: Sequence[str] = ()) -> str:
    """The last part of a percent-encoded file name, without characters that are special to a file system.

    It must end with one of the `known` suffixes; () means those of models and of their companions.
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
    """The files of one upload, some of which may still be arriving."""

    folder: Path
    count: int
    files: dict[int, Path] = field(default_factory=dict)  # by their place in the sequence
    arriving: set[int] = field(default_factory=set)  # places of files that are arriving
    size: int = 0  # bytes, including files that are arriving
    begun: int = 0  # files, including those that are arriving
    discarded: bool = False
    touched: float = field(default_factory=time.monotonic)  # when the last file began or ended

    @property
    def complete(self) -> bool:
        return len(self.files) == self.count

    def inputs(self) -> tuple[str, ...]:
        """The files to open: all frames in order, without companions."""
        ordered = [self.files[index] for index in sorted(self.files)]
        found = tuple(str(file) for file in ordered if file.suffix not in COMPANIONS)
        if not found:
            raise OptionError(f"{ordered[0].name}: is only a companion of a model; drop the model too")
        return found


@dataclass(slots=True)
class Uploads:
    """All uploads of one server."""

    folder: Path
    limit: int = UPLOAD_BYTES  # of one upload
    waiting: dict[str, Dropped] = field(default_factory=dict)  # groups that are not complete
    drops: int = 0
    size: int = 0  # bytes of all uploads that are not discarded
    begun: int = 0  # their files
    arriving: int = 0  # files that are arriving

    def drop(self, name: str, group: str | None, count: int) -> Dropped:
        """The upload that a file belongs to."""
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
        """Discard the upload if anything goes wrong with it."""
        try:
            yield
        except BaseException:
            self.discard(drop)
            raise

    def _make_room(self) -> None:
        """Discard abandoned groups, and refuse another group if there are still too many."""
        late = time.monotonic() - ABANDONED
        for drop in list(self.waiting.values()):
            if not drop.arriving and drop.touched < late:
                self.discard(drop)
        if len(self.waiting) >= MAX_GROUPS:
            raise TooManyUploads("too many sequences are arriving at the same time; try again when they are complete")

    def finish(self, drop: Dropped) -> None:
        """Close an upload whose files are complete; more files of its group start another one."""
        self.waiting = {group: other for group, other in self.waiting.items() if other is not drop}

    def discard(self, drop: Dropped) -> None:
        """Delete an upload and its files; repeated calls have no effect."""
        self.finish(drop)
        drop.discarded = True
        shutil.rmtree(drop.folder.parent, ignore_errors=True)
        self._release(drop)

    def _release(self, drop: Dropped) -> None:
        """Stop counting a discarded upload as soon as none of its files is being written."""
        if drop.discarded and not drop.arriving:
            self.size -= drop.size
            self.begun -= drop.begun
            drop.size = drop.begun = 0

    def hide_folders(self, sentence: str) -> str:
        """An error message with the names of the uploaded files, without temporary folders."""
        separator = re.escape(os.sep)
        folder = rf"{re.escape(str(self.folder))}{separator}d\d+{separator}[^/\\:]*({separator}|(?=:))"
        return re.sub(folder, "", sentence).replace(str(self.folder), "the dropped files")

    def _new(self, name: str, count: int) -> Dropped:
        self.drops += 1
        # The name of the folder becomes that of the sequence.
        stem = re.split(r"[\d_\-. ]*$", os.path.splitext(name)[0])[0] or "sequence"
        folder = self.folder / f"d{self.drops}" / stem
        folder.mkdir(parents=True)
        return Dropped(folder, count)

    def check_length(self, drop: Dropped, length: int) -> None:
        """Refuse an upload that is too large: by its announced size before any byte is read, then by each chunk."""
        if drop.size + length > self.limit:
            size = f"{(drop.size + length) / 1e9:.2g} GB"
            raise TooLarge(
                f"the page takes at most {self.limit / 1e9:.2g} GB, this is {size} or more; "
                "open it with `osteon view FILE` instead"
            )
        if self.size + length > TOTAL * self.limit:
            raise TooLarge(f"{self.size / 1e9:.2g} GB have been uploaded already; start `osteon view` again")

    async def keep(self, drop: Dropped, name: str, index: int, body: AsyncIterable[bytes]) -> None:
        """Write a file while it arrives; within `taking`, which discards the upload if that fails."""
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
            raise OptionError(f"{name}: cannot be written ({error.strerror or error})") from error
        finally:
            self.arriving -= 1
            drop.arriving.discard(index)
            drop.touched = time.monotonic()
            self._release(drop)

    def _admit(self, drop: Dropped, name: str, index: int) -> None:
        """Count a file that starts to arrive, or refuse it."""
        known = index in drop.files or index in drop.arriving or (drop.folder / name).exists()
        if not 0 <= index < drop.count or known:
            raise OptionError(f"{name}: was sent twice, or is not one of the {drop.count} announced files")
        if self.arriving >= MAX_ARRIVING:
            raise TooManyUploads(
                f"{name}: {self.arriving} files are arriving already, the limit; try again when they are complete"
            )
        if self.begun >= TOTAL * MAX_FILES:
            raise TooLarge(f"{self.begun} files have been uploaded already; start `osteon view` again")
        self.arriving += 1
        self.begun += 1
        drop.begun += 1
        drop.arriving.add(index)
        drop.touched = time.monotonic()

    def _count(self, drop: Dropped, name: str, n_bytes: int) -> None:
        """Count bytes that arrived, or refuse them."""
        if drop.discarded:
            raise OptionError(f"{name}: another file of the same upload was refused")
        self.check_length(drop, n_bytes)
        drop.size += n_bytes
        self.size += n_bytes
