"""What several commands share: standard options, the progress bar, reports, tables."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from osteon.core.options import SkinOptions
from osteon.core.progress import Progress, ProgressEvent

if TYPE_CHECKING:
    from rich.console import Console

    from osteon.core.sequence import MeshSequence

__all__ = [
    "console",
    "default_of",
    "input_options",
    "json_option",
    "load_inputs",
    "number_options",
    "parse_bytes",
    "progress_bar",
    "save_options",
    "size_text",
    "write_json",
]

F = TypeVar("F", bound=Callable[..., Any])


def default_of(name: str) -> Any:
    """The default of a field of SkinOptions, so that flags and library cannot drift apart."""
    field = next(f for f in fields(SkinOptions) if f.name == name)
    if field.default is MISSING:
        raise LookupError(name)
    return field.default


def _stack(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def json_option(function: F) -> F:
    """`--json FILE` and `--quiet`."""
    return _stack(
        click.option("--json", "json_file", metavar="FILE", help="Write a report as JSON ('-': standard output)."),
        click.option("--quiet", "-q", is_flag=True, help="No progress and no table."),
    )(function)


def number_options(function: F) -> F:
    """`--seed` and `--threads`."""
    return _stack(
        click.option("--seed", default=default_of("seed"), show_default=True, help="Same seed, same result."),
        click.option("--threads", default=default_of("threads"), show_default=True, help="0: all there are."),
    )(function)


def parse_bytes(text: str) -> int:
    """A number of bytes: 400k, 2M, 1.5 MB, 300000. A thousand is 1000."""
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d*)?)\s*([kKmMgG]?)[bB]?\s*", text)
    if found is None:
        raise click.BadParameter(f"expected bytes such as 400k, 2M or 300000, got '{text}'")
    return int(float(found[1]) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[found[2].lower()])


def size_text(count: int) -> str:
    """Bytes for people."""
    if count < 10_000:
        return f"{count:,} bytes"
    return f"{count / 1e3:,.0f} kB" if count < 10_000_000 else f"{count / 1e6:,.1f} MB"


def save_options(function: F) -> F:
    """How models are written."""
    return _stack(
        click.option("--quantize", is_flag=True, help="16-bit numbers: a glTF of about half the size."),
        click.option(
            "--key-error",
            default=0.0,
            show_default=True,
            metavar="PERCENT",
            help="Drop keys while no vertex moves by more than this part of the body's diagonal.",
        ),
        click.option("--no-normals", is_flag=True, help="Positions only."),
    )(function)


def input_options(function: F) -> F:
    """How inputs are read."""
    return _stack(
        click.option("--fps", type=float, help="Frame rate; also the rate at which glTF is sampled.  [file's, or 24]"),
        click.option("--faces", type=click.Path(path_type=Path), help="Mesh or .npy with the triangles, for an .npy."),
        click.option("--rest", metavar="FILE|INDEX", help="Rest pose: a mesh, or a frame.  [file's, or first frame]"),
        click.option("--clip", "clips", multiple=True, metavar="NAME", help="Only this clip; may be repeated.  [all]"),
    )(function)


def load_inputs(
    inputs: tuple[str, ...],
    *,
    fps: float | None,
    faces: Path | None,
    rest: str | None,
    clips: tuple[str, ...],
    progress: Progress | None = None,
) -> MeshSequence:
    """The sequence that a command's arguments name."""
    from osteon.io import LoadOptions, load_sequence

    chosen: Path | int | None = None
    if rest is not None:
        chosen = int(rest) if rest.lstrip("-").isdigit() and not Path(rest).exists() else Path(rest)
    options = LoadOptions(fps="file" if fps is None else fps, faces=faces, rest=chosen, clips=clips)
    return load_sequence(list(inputs), options=options, progress=progress)


def console(*, stderr: bool = False) -> Console:
    """Where people read."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress | None]:
    """A bar on standard error with the stage and the current error; gone when the work is done."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TextColumn("{task.fields[error]}"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("start", total=1.0, error="")

        def listen(event: ProgressEvent) -> None:
            error = "" if event.error_percent is None else f"E {event.error_percent:.3f} %"
            bar.update(task, description=event.stage, completed=event.fraction, error=error)

        yield listen


def write_json(value: Any, target: str | None) -> None:
    """Write a report to a file, whole or not at all, or to standard output for '-'."""
    if target is None:
        return
    text = json.dumps(value, indent=2, allow_nan=False)
    if target == "-":
        click.echo(text)
        return
    from osteon.io import atomic_file

    with atomic_file(target) as temporary:
        temporary.write_text(text + "\n")
