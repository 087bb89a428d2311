"""Outputs of a command: checked once before the work, and written together or not at all.

outputs = plan_outputs([*inputs, files.rig], file_output("--report", files.report), …)
…                                   # the work
with outputs.writing():
    …                               # everything written here appears when the block ends
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from osteon.core.errors import OptionError

if TYPE_CHECKING:
    from osteon.io.save.overwriting import Output, OverwriteGuard


F = TypeVar("F", bound=Callable[..., Any])

_FORCE = "osteon.force"


@dataclass(slots=True)
class Written:
    """Outputs that this run has written, for the message of a run that ends early."""

    paths: list[Path] = field(default_factory=list)
    begun: bool = False  # the run has come as far as writing
    kept: str = ""  # in place of the list, for a run whose outputs appear one after the other

    def clear(self) -> None:
        self.paths, self.begun, self.kept = [], False, ""

    def summary(self) -> str:
        return self.kept or (f"written: {', '.join(map(str, self.paths))}" if self.paths else "nothing was written")

    def after_error(self) -> str:
        """The end of an error message, if the run has tried to write."""
        return "; nothing was written" if self.begun and not self.paths else ""


WRITTEN = Written()


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of a command, none of which replaces an input."""

    guard: OverwriteGuard
    any: bool  # at least one was named

    @contextmanager
    def writing(self, *, private: bool = False) -> Iterator[None]:
        """Files written inside the block appear when it ends, all or none; if `private`, only the owner can read them.

        The address of a page contains its access token, so files that hold it are private.
        """
        from osteon.io.save.atomic import OutputBatch, output_batch

        WRITTEN.begun = self.any
        batch = OutputBatch(self.guard.check, private)
        umask = os.umask(0o077) if private else None
        try:
            with output_batch(batch):
                yield
        finally:
            WRITTEN.paths += batch.written
            if umask is not None:
                os.umask(umask)


def force_option(function: F) -> F:
    """`--force`, which `plan_outputs` reads."""

    def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
        context.meta[_FORCE] = value

    return click.option(
        "--force",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Replace outputs that exist; never an input.",
    )(function)


def plan_outputs(inputs: Iterable[object], *outputs: Output | None, owned: Path | None = None) -> Outputs:
    """Refuse what must not be written. `inputs` are all files, folders and patterns that are read.

    Files in the folder `owned` are replaced without --force.
    """
    from osteon.io.save.overwriting import OverwriteGuard, input_files

    named = [output for output in outputs if output is not None]
    force = bool(click.get_current_context().meta.get(_FORCE))
    if force and not named:
        raise OptionError("--force: nothing is written; omit it")
    confirm = _confirm if sys.stdin.isatty() and sys.stderr.isatty() else None
    guard = OverwriteGuard(input_files(inputs) if named else (), force, owned, confirm)
    guard.check_all(named)
    return Outputs(guard, bool(named))


def _confirm(question: str) -> bool:
    return click.confirm(question, err=True)


def file_output(flag: str, path: object, suffixes: tuple[str, ...] = (), *, resumes: bool = False) -> Output | None:
    """A file, if one was named; '-' is standard output. A command that `resumes` a file adds to it."""
    if path is None or path == "-":
        return None
    from osteon.io import check_output
    from osteon.io.save.overwriting import Output

    target = Path(str(path))
    if suffixes and target.suffix.lower() not in suffixes:
        raise OptionError(f"{flag}: expected a name that ends in {suffixes[0]}, got {target}")
    check_output(target)
    return Output(flag, target, resumes=resumes)


def model_output(flag: str, path: str) -> Output:
    """A skinned model, or its frames."""
    from osteon.io import MODEL_FORMATS, check_output
    from osteon.io.formats.format_types import check_extra
    from osteon.io.save.overwriting import Output, why_unclear, why_unwritable

    found = MODEL_FORMATS.get(Path(path).suffix.lower())
    if found is None:
        why = why_unclear(path) or why_unwritable(path, models=True)
        if why is not None:
            raise OptionError(f"{flag}: {why}")
        return sequence_output(flag, path)
    check_output(path)
    check_extra(found, Path(path))
    return Output(flag, Path(path))


def sequence_output(flag: str, path: str, suffix: str = ".obj") -> Output:
    """Frames in a folder, or one file for all of them."""
    from osteon.io import check_sequence_output
    from osteon.io.save.overwriting import Output, why_unwritable
    from osteon.io.save.sequences import frames_folder

    why = why_unwritable(path, models=False)
    if why is not None:
        raise OptionError(f"{flag}: {why}")
    check_sequence_output(path, suffix=suffix)
    folder = frames_folder(path, suffix=suffix)
    return Output(flag, folder or Path(path), is_folder=folder is not None)


def folder_output(flag: str, path: object, *, resumes: bool = False) -> Output:
    """A folder that is replaced as a whole, or continued."""
    from osteon.io.save.overwriting import Output

    return Output(flag, Path(str(path)), is_folder=True, resumes=resumes)


@contextmanager
def handling_signals(end: Callable[[int], None]) -> Iterator[list[int]]:
    """SIGTERM, and SIGHUP unless it is ignored (nohup), call `end`; yields the list of those received."""
    received: list[int] = []

    def handle(number: int, _: object) -> None:
        received.append(number)
        end(number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: handler for number, handler in before.items() if handler not in (None, signal.SIG_IGN)}
    for number in before:
        signal.signal(number, handle)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(number: int) -> NoReturn:
    """End the process with the exit code of a signal; clean-up code runs."""
    raise SystemExit(128 + number)
