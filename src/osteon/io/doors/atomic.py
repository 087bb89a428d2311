"""Outputs appear whole or not at all.

A file is written under a temporary name in the folder it is meant for and renamed; a folder of frames likewise. An
error, or Ctrl-C, removes what was begun and leaves what was there before.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from osteon.core.errors import FileFormatError
from osteon.io.doors.source import PathLike

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
    """A temporary path to write to, with the same suffix; it becomes `path` when the block ends without an error."""
    check_output(path)
    target = Path(os.path.realpath(path))
    temporary = _beside(target)
    with _refusals_told(target), _parents_of(target):
        try:
            yield temporary
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: PathLike, ours: re.Pattern[str]) -> Iterator[Path]:
    """A temporary folder to fill; it becomes `path`, in place of a folder that holds only files named like `ours`."""
    check_folder(path, ours)
    target = Path(os.path.realpath(path))
    temporary, old = _beside(target), _beside(target)
    with _refusals_told(target), _parents_of(target):
        temporary.mkdir()
        try:
            yield temporary
            if target.exists():
                os.replace(target, old)
            os.replace(temporary, target)
        finally:
            if old.exists() and not target.exists():
                os.replace(old, target)
            shutil.rmtree(temporary, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)


def check_folder(path: PathLike, ours: re.Pattern[str]) -> None:
    """Refuse a folder whose contents would be lost."""
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


def _beside(target: Path) -> Path:
    """An unused hidden name in the same folder."""
    return target.with_name(f".{secrets.token_hex(6)}-{target.name}")


@contextmanager
def _parents_of(target: Path) -> Iterator[None]:
    """Make the folders that `target` lies in; take away again the new ones if nothing came of it."""
    made = []
    folder = target.parent
    while not folder.exists():
        made.append(folder)
        folder = folder.parent
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def _refusals_told(target: Path) -> Iterator[None]:
    """What the system refuses (disk full, no permission) becomes an error that names the output."""
    try:
        yield
    except OSError as error:
        raise FileFormatError(f"{target}: cannot be written ({error.strerror or error})") from error
