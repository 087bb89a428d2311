"""Outputs appear whole or not at all.

A file is written under a temporary name in the folder it is meant for and renamed; a folder of frames likewise. An
error, or Ctrl-C, removes what was begun and leaves what was there before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from osteon.core.errors import FileFormatError
from osteon.io.load.source import PathLike
from osteon.io.save.output_batch import output_batch

__all__ = ["atomic_file", "atomic_folder", "check_folder", "check_output"]


def check_output(path: PathLike) -> None:
    """Refuse an output file that could not be written, before the long work starts."""
    target = Path(path)
    if target.is_dir():
        raise FileFormatError(f"{target}: is a folder; name a file in it")
    if target.exists() and not target.is_file():
        raise FileFormatError(f"{target}: is a device, expected a file or a new name")
    folder = target.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise FileFormatError(f"{target}: {folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise FileFormatError(f"{target}: the folder {folder} cannot be written to")


@contextmanager
def atomic_file(path: PathLike) -> Iterator[Path]:
    """A temporary path to write to, with the same suffix; it becomes `path` when the block ends without an error.

    Within an `output_batch` it becomes `path` when all outputs of the batch are complete.
    """
    with output_batch() as batch, batch.begin(Path(path), check_output) as temporary:
        yield temporary


@contextmanager
def atomic_folder(path: PathLike, check: Callable[[Path], None]) -> Iterator[Path]:
    """A temporary folder to fill; it becomes `path`, in place of a folder there that `check` does not refuse."""
    with output_batch() as batch, batch.begin(Path(path), check) as temporary:
        temporary.mkdir()
        yield temporary


def check_folder(path: PathLike, ours: re.Pattern[str]) -> None:
    """Refuse a folder that holds other files than those named like `ours`: its contents would be lost."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise FileFormatError(f"{target}: is a file, expected a folder or a new name")
    if not target.is_dir():
        return
    if target.resolve() == Path.cwd().resolve():
        raise FileFormatError(f"{target}: frames replace a whole folder, which cannot be the current one; name another")
    others = sorted(entry.name for entry in target.iterdir() if not ours.fullmatch(entry.name) or entry.is_dir())
    if others:
        raise FileFormatError(f"{target}: holds '{others[0]}', which is no frame of this output; name an empty folder")
