"""What a command writes: asked about once, before the work, and written together, all of it or nothing.

outputs = plan_outputs([*inputs, files.rig], file_output("--report", files.report), …)
…                                   # the work
with outputs.writing():
    …                               # whatever is written in here appears when the block ends
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from osteon.core.errors import OptionError

if TYPE_CHECKING:
    from osteon.io.save.overwriting import Output, OverwriteGuard

__all__ = [
    "LEDGER",
    "Outputs",
    "Wanted",
    "file_output",
    "folder_output",
    "force_option",
    "model_output",
    "plan_outputs",
    "sequence_output",
]

F = TypeVar("F", bound=Callable[..., Any])

_FORCE = "osteon.force"


@dataclass(slots=True)
class Ledger:
    """What this run has written, to be told when it ends early."""

    written: list[Path] = field(default_factory=list)
    begun: bool = False  # it came as far as writing

    def clear(self) -> None:
        """A new run."""
        self.written, self.begun = [], False

    def told(self) -> str:
        """What is there now."""
        return f"written: {', '.join(map(str, self.written))}" if self.written else "nothing was written"

    def if_nothing(self) -> str:
        """For the end of an error: that nothing was written, where something should have been."""
        return "; nothing was written" if self.begun and not self.written else ""


LEDGER = Ledger()


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of a command, none of which takes anyone's work."""

    guard: OverwriteGuard
    any: bool  # one was asked for

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What is written inside the block appears when it ends, all of it or nothing."""
        from osteon.io.save.output_batch import OutputBatch, output_batch

        LEDGER.begun = self.any
        batch = OutputBatch(self.guard.check)
        try:
            with output_batch(batch):
                yield
        finally:
            LEDGER.written += batch.written


def force_option(function: F) -> F:
    """`--force`, which the plan of the outputs asks for."""

    def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
        context.meta[_FORCE] = value

    return click.option(
        "--force",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Replace files that Osteon did not write; never an input.",
    )(function)


@dataclass(frozen=True, slots=True)
class Wanted:
    """An output as the command line names it; `settle` refuses what cannot be written and says what is."""

    flag: str
    path: Path
    settle: Callable[[], Output]


def plan_outputs(inputs: Iterable[object], *wanted: Wanted | None) -> Outputs:
    """Refuse what must not or cannot be written; `inputs` are all files, folders and patterns that are read."""
    from osteon.io.save.overwriting import Output, OverwriteGuard, check_apart, input_files

    asked = [one for one in wanted if one is not None]
    force = bool(click.get_current_context().meta.get(_FORCE))
    if force and not asked:
        raise OptionError("--force: nothing is written; omit it")
    check_apart([Output(one.flag, one.path) for one in asked])
    guard = OverwriteGuard(input_files(inputs) if asked else (), force)
    guard.check_all([one.settle() for one in asked])
    return Outputs(guard, bool(asked))


def file_output(flag: str, path: object, suffixes: tuple[str, ...] = ()) -> Wanted | None:
    """A file, if it was asked for; '-' is standard output."""
    target = Path(str(path))

    def settle() -> Output:
        from osteon.io import check_output
        from osteon.io.save.overwriting import Output

        if suffixes and target.suffix.lower() not in suffixes:
            raise OptionError(f"{flag}: expected a name that ends in {suffixes[0]}, got {target}")
        check_output(target)
        return Output(flag, target)

    return None if path is None or path == "-" else Wanted(flag, target, settle)


def model_output(flag: str, path: str) -> Wanted:
    """A skinned model, or its frames."""

    def settle() -> Output:
        from osteon.io import MODEL_FORMATS, check_output
        from osteon.io.formats.format_types import check_extra
        from osteon.io.save.overwriting import Output

        found = MODEL_FORMATS.get(Path(path).suffix.lower())
        if found is None:
            _refuse_unclear(flag, path)
            _refuse_unwritable(flag, path, models=True)
            return sequence_output(flag, path).settle()
        check_output(path)
        check_extra(found, Path(path))
        return Output(flag, Path(path))

    return Wanted(flag, Path(path), settle)


def _refuse_unclear(flag: str, path: str) -> None:
    """A name without a suffix may be meant as a model or as a folder of frames."""
    from osteon.io.save.unwritable import why_unclear

    why = why_unclear(path)
    if why is not None:
        raise OptionError(f"{flag}: {why}")


def _refuse_unwritable(flag: str, path: str, *, models: bool) -> None:
    from osteon.io.save.unwritable import why_unwritable

    why = why_unwritable(path, models=models)
    if why is not None:
        raise OptionError(f"{flag}: {why}")


def sequence_output(flag: str, path: str, suffix: str = ".obj") -> Wanted:
    """Frames in a folder, or a file for all of them."""

    def settle() -> Output:
        from osteon.io import check_sequence_output
        from osteon.io.save.overwriting import Output
        from osteon.io.save.sequences import frames_folder

        _refuse_unwritable(flag, path, models=False)
        check_sequence_output(path, suffix=suffix)
        folder = frames_folder(path, suffix=suffix)
        return Output(flag, folder or Path(path), is_folder=folder is not None)

    return Wanted(flag, Path(path), settle)


def folder_output(flag: str, path: str) -> Wanted:
    """A folder that is replaced as a whole, if all in it is ours."""

    def settle() -> Output:
        from osteon.io.save.marks import check_marked
        from osteon.io.save.overwriting import Output

        check_marked(Path(path))
        return Output(flag, Path(path), is_folder=True)

    return Wanted(flag, Path(path), settle)
