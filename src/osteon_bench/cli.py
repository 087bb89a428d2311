"""`osteon bench`: measure every figure that the documentation states, and show the history of the figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from osteon.cli.common import json_option, print_json, write_json
from osteon.cli.option_flags import options_of
from osteon.cli.outputs import file_output, plan_outputs
from osteon.core.options import check_options, option
from osteon_bench.registry import BENCHES, find_bench

if TYPE_CHECKING:
    from osteon_bench.history import BenchHistory
    from osteon_bench.rows import Row
    from osteon_bench.run import BenchRun


#: Folders of the measured sequences and of the records, relative to a checkout.
DATA = Path("..") / "shared" / "data" / "sequences"
RECORDS = Path("benchmarks") / "results"
THREADS = 2

_NAMES = "\n    ".join(f"{name:<11}{bench.summary}" for name, bench in BENCHES.items())
_HELP = f"""Measure Osteon, or show what earlier runs measured.

    \b
    {_NAMES}

    Exit code 1 if a figure misses its bound, or if data or players are missing that the bench needs.
    """


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """Options of some of the benchmarks."""

    data: Path | None = option(
        None, help=f"Folder of sequences, of meshes or of any files.  [default: {DATA.as_posix()}]", flags=("--data",)
    )
    threads: int | None = option(
        None, help=f"Threads of the measured code.  [default: {THREADS}]", flags=("--threads",), minimum=0
    )
    inputs: int | None = option(
        None, help="Damaged files per reader, for a trial of bench fuzz.", flags=("--inputs",), minimum=1
    )
    search: bool = option(False, help="Repeat the search for Dem Bones' best options; an hour.", flags=("--search",))
    small: bool = option(False, help="A tenth of the work, for a quick pass of bench scale.", flags=("--small",))
    against: Path | None = option(
        None, help="Another checkout, for bench firstrun and shading.", flags=("--against",), metavar="FOLDER"
    )

    def __post_init__(self) -> None:
        check_options(self)


@click.command(help=_HELP)
@click.argument("name", required=False, type=click.Choice(list(BENCHES)))
@click.option("--history", type=click.Choice(list(BENCHES)), metavar="NAME", help="Show all recorded runs of a bench.")
@options_of(settings=BenchSettings)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help=f"Append the figures to FOLDER/NAME.csv; with --history, read them there.  [history: {RECORDS.as_posix()}]",
)
@click.option(
    "-o", "out", type=click.Path(path_type=Path), metavar="FILE.html", help="Write the history as a page of charts."
)
@json_option
def bench(
    name: str | None,
    history: str | None,
    settings: BenchSettings,
    record: Path | None,
    out: Path | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Measure a bench, or show its history."""
    _check_use(name, history, settings, out)
    shown = not quiet and json_file != "-"
    if history is not None:
        _show_history(history, record or RECORDS, out, json_file, shown)
    elif name is not None:
        from osteon_bench.run import BenchRun

        report = (lambda text: None) if quiet else (lambda text: click.echo(f"  {text}", err=True))
        threads = THREADS if settings.threads is None else settings.threads
        run = BenchRun(
            settings.data or DATA,
            threads,
            report,
            inputs=settings.inputs,
            search=settings.search,
            against=settings.against,
            small=settings.small,
        )
        _measure(name, run, record, json_file, shown)


def _check_use(name: str | None, history: str | None, settings: BenchSettings, out: Path | None) -> None:
    """Refuse a command that neither measures nor shows, and options without an effect."""
    if (name is None) == (history is None):
        raise click.UsageError("name either a bench to measure, or a record to show with --history NAME")
    used = BENCHES[name].options if name else ()
    for flag, value in asdict(settings).items():
        if value not in (None, False) and flag not in used:
            raise click.UsageError(f"--{flag} has no effect on " + (f"bench {name}" if name else "--history"))
    if out is not None and name:
        raise click.UsageError("-o draws a history; add --history NAME")
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"-o writes a page; expected FILE.html, got '{out}'")


def _measure(name: str, run: BenchRun, record: Path | None, json_file: str | None, shown: bool) -> None:
    from osteon.io import FORMATS
    from osteon_bench.record import append_run, check_record, record_path
    from osteon_bench.rows import to_json
    from osteon_bench.stamp import stamp_run

    if record is not None:
        check_record(record_path(record, name))
    outputs = plan_outputs(
        (path for path in run.data.rglob("*") if path.suffix.lower() in FORMATS),
        file_output("--record", None if record is None else record_path(record, name), resumes=True),
        file_output("--json", json_file),
    )
    stamp = stamp_run()
    rows = find_bench(name)(run)
    facts = to_json(name, rows, asdict(stamp))
    with outputs.writing():
        write_json(facts, json_file)
        if record is not None and rows:
            append_run(record_path(record, name), stamp, rows)
    print_json(facts, json_file)
    if shown:
        from osteon_bench.tables import print_rows

        print_rows(rows)
        click.echo(f"osteon {stamp.text()}")
    _exit_if_short(name, rows, run.missing)


def _exit_if_short(name: str, rows: list[Row], missing: list[str]) -> None:
    """Print a line for each missing item; exit code 1 if there is one or a bound is missed."""
    for line in missing:
        click.echo(f"osteon: bench {name} misses: {line}", err=True)
    if missing or not all(row.ok for row in rows):
        raise SystemExit(1)


def _show_history(name: str, folder: Path, out: Path | None, json_file: str | None, shown: bool) -> None:
    from osteon_bench.history import make_history, to_json
    from osteon_bench.record import read_record, record_path

    outputs = plan_outputs([record_path(folder, name)], file_output("-o", out), file_output("--json", json_file))
    history: BenchHistory = make_history(name, read_record(record_path(folder, name)))
    facts = to_json(history)
    with outputs.writing():
        write_json(facts, json_file)
        if out is not None:
            from osteon_bench.history_page import write_history_page

            write_history_page(out, history)
    print_json(facts, json_file)
    if shown:
        from osteon_bench.tables import print_history

        print_history(history)
