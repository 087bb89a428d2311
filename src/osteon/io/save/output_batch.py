"""Outputs that appear together: all of them or none.

Every output is written under a temporary name beside its own. When the block ends without an error all are renamed;
if one cannot be, those before it are taken back. What was there before is kept aside until then.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from osteon.core.errors import FileFormatError, OsteonError

__all__ = ["OutputBatch", "named_path", "output_batch", "written_path"]

Check = Callable[[Path], None]

#: How a temporary name begins.
_TEMPORARY = re.compile(r"^\.[0-9a-f]{12}-(?=.)")


@dataclass(slots=True)
class _Move:
    """One output on its way from its temporary name to its own."""

    path: Path  # as it was named
    target: Path  # all links followed
    check: Check  # refuses what must not be replaced
    temporary: Path
    made: list[Path]  # folders that were made for it, innermost first
    aside: Path | None = None  # what was there before
    placed: bool = False

    def place(self, keep: bool) -> None:
        """Rename; what was there before is kept aside if the caller may still take this back."""
        self.check(self.path)  # what lies there now may have come since the work began
        if self.target.is_dir() or (keep and self.target.exists()):
            self.aside = _beside(self.target)
            _put_aside(self.target, self.aside)
        os.replace(self.temporary, self.target)
        self.placed = True

    def take_back(self) -> None:
        """As if it had not been placed."""
        if self.placed:
            os.replace(self.target, self.temporary)
            self.placed = False
        if self.aside is not None:
            if self.target.exists():
                self.aside.unlink()  # a second name of what is still there
            else:
                os.replace(self.aside, self.target)
            self.aside = None

    def clear(self) -> None:
        """Remove what is not needed any more."""
        for left in (self.temporary, self.aside):
            if left is not None and left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            elif left is not None:
                with suppress(OSError):
                    left.unlink(missing_ok=True)
        if not self.placed:
            for folder in self.made:
                with suppress(OSError):
                    folder.rmdir()


@dataclass(slots=True)
class OutputBatch:
    """Outputs that were begun and not yet renamed."""

    guard: Check | None = None  # refuses outputs that must not be replaced, besides what each output refuses itself
    moves: list[_Move] = field(default_factory=list)

    @property
    def written(self) -> list[Path]:
        """Outputs that are in their place."""
        return [move.path for move in self.moves if move.placed]

    @contextmanager
    def begin(self, path: Path, check: Check) -> Iterator[Path]:
        """The temporary path to write to; what the system refuses becomes an error that names the output."""

        def check_all(now: Path) -> None:
            check(now)
            if self.guard is not None:
                self.guard(now)

        check_all(path)
        target = Path(os.path.realpath(path))
        if any(move.target == target for move in self.moves):
            raise FileFormatError(f"{path}: two outputs have this name; name another")
        move = _Move(path, target, check_all, _beside(target), [])
        with _refusals_told(path, move.temporary):
            try:
                _make_parents(move)
                yield move.temporary
            except BaseException:
                with _interrupts_held():
                    move.clear()
                raise
        self.moves.append(move)

    def commit(self) -> None:
        """Rename all of them, or none."""
        with _interrupts_held():
            try:
                for move in self.moves:
                    with _refusals_told(move.path, move.temporary):
                        move.place(keep=move is not self.moves[-1])
            except BaseException as error:
                self._take_back(error)
                raise
            self.discard()

    def discard(self) -> None:
        """Remove what was begun and is not in its place."""
        with _interrupts_held():
            for move in reversed(self.moves):
                move.clear()

    def _take_back(self, error: BaseException) -> None:
        stuck = []
        for move in reversed(self.moves):
            try:
                move.take_back()
            except OSError:
                stuck.append(move)
        if stuck:
            there = [str(move.path) for move in stuck if move.placed]
            kept = [f"{move.path} as {move.aside}" for move in stuck if move.aside is not None]
            for move in stuck:
                move.aside = None  # never removed: it is the only copy
            said = f"; written all the same: {', '.join(there)}" if there else ""
            said += f"; what was there before is kept: {', '.join(kept)}" if kept else ""
            raise FileFormatError(f"{error}{said}") from error


_OPEN: ContextVar[OutputBatch | None] = ContextVar("open output batch", default=None)


@contextmanager
def output_batch(new: OutputBatch | None = None) -> Iterator[OutputBatch]:
    """Outputs that are written inside the block appear when it ends; within another block, when that one ends."""
    batch = _OPEN.get()
    if batch is not None:
        yield batch
        return
    batch = new or OutputBatch()
    token = _OPEN.set(batch)
    try:
        yield batch
        batch.commit()
    finally:
        _OPEN.reset(token)
        batch.discard()


def written_path(path: Path) -> Path:
    """Where an output lies at the moment: under its temporary name while its batch is open."""
    batch, target = _OPEN.get(), Path(os.path.realpath(path))
    moves = [] if batch is None else [move for move in batch.moves if move.target == target]
    return moves[0].temporary if moves else path


def named_path(temporary: Path) -> Path:
    """What a temporary name stands for; itself if it is none."""
    return temporary.with_name(_TEMPORARY.sub("", temporary.name))


def _beside(target: Path) -> Path:
    """An unused hidden name in the same folder."""
    return target.with_name(f".{secrets.token_hex(6)}-{target.name}")


def _put_aside(target: Path, aside: Path) -> None:
    """A second name for a file where the system has such; else, and for a folder, another name."""
    if not target.is_dir():
        try:
            os.link(target, aside)
        except OSError:
            pass
        else:
            return
    os.replace(target, aside)


def _make_parents(move: _Move) -> None:
    folder = move.target.parent
    while not folder.exists():
        move.made.append(folder)
        folder = folder.parent
    move.target.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def _refusals_told(path: Path, temporary: Path) -> Iterator[None]:
    """What the system refuses (disk full, no permission) becomes an error that names the output, as others do."""
    try:
        yield
    except OsteonError as error:
        if str(temporary) not in str(error):
            raise
        raise type(error)(str(error).replace(str(temporary), str(path))) from error
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be written ({error.strerror or error})") from error


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until the block is done, so that names are never changed halfway."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is None:  # not set from Python: it cannot be put back
        yield
        return
    held: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held and callable(before):
        before(held[0], None)
