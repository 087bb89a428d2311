"""`osteon batch`: one command on many assets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from osteon.cli.common import console, json_option, print_json, progress_bar, write_json
from osteon.cli.option_flags import options_of
from osteon.cli.outputs import WRITTEN
from osteon.core.errors import FileFormatError, OptionError
from osteon.core.options import check_options, need, option
from osteon.core.parallel import available_threads
from osteon.scale.batch import STATE, Batch, BatchOptions, BatchResult, load_plan, locked, save_plan
from osteon.scale.manifest import COMMANDS, RESERVED, Asset, Defaults, read_manifest

if TYPE_CHECKING:
    from osteon.core.progress import Progress
    from osteon.scale.executors import Executor


class _Batch(click.Group):
    """`osteon batch MANIFEST …` is `osteon batch run MANIFEST …`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["run", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=_Batch, context_settings={"help_option_names": ["-h", "--help"]})
def batch() -> None:
    """Run a command on many assets, each once, and continue after a crash.

    \b
    osteon batch MANIFEST -o DIR         run what is not finished (osteon batch run --help)
    osteon batch status DIR              from another terminal: what is finished, what runs, what failed
    osteon batch asset DIR NAME          one asset, as a render farm runs it
    """


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """The folder of a batch, and where its commands run."""

    output: Path = option(
        Path(), help="Folder of the outputs, reports and logs.", flags=("-o", "--output"), metavar="DIR", required=True
    )
    workers: int = option(
        0,
        help="Number of processes; each runs one command at a time.",
        flags=("--workers",),
        minimum=0,
        shown_default="one per core",
        needs=(
            need(cluster=None, reason="the cluster has its own workers; omit it"),
            need(export=None, reason="the farm decides how many commands run; omit it"),
        ),
    )
    threads: int = option(
        0, help="Threads of every command.", flags=("--threads",), minimum=0, shown_default="cores / workers"
    )
    cluster: str | None = option(
        None, help="Address of a Dask scheduler, or local:N for a cluster of N workers on this machine.",
        flags=("--cluster",), metavar="ADDRESS",
        needs=(need(export=None, reason="a farm runs commands, a cluster tasks; omit one of them"),),
    )  # fmt: skip
    export: Literal["openjd", "shell", "slurm"] | None = option(
        None,
        help="Write one command per asset for a render farm, and run nothing.",
        flags=("--export",),
    )
    command: str = option(
        "skin", help=f"Command of assets that name none: {', '.join(COMMANDS)}.", flags=("--command",)
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.command not in COMMANDS:
            raise OptionError(f"command: cannot run '{self.command}' in a batch; expected {', '.join(COMMANDS)}")


@batch.command(context_settings={"ignore_unknown_options": False})
@click.argument("manifest", type=click.Path(path_type=Path))
@click.argument("extra", nargs=-1)
@options_of(place=BatchPlace, options=BatchOptions)
@json_option
def run(
    manifest: Path,
    extra: tuple[str, ...],
    place: BatchPlace,
    options: BatchOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Run what is not finished.

    MANIFEST is a table of assets (.toml, .csv), or a pattern in quotes with one asset per match. Options of all assets
    follow after --.

    \b
    osteon batch shots.toml -o out/
    osteon batch 'clips/*.npz' -o out/ --workers 4 -- --bones 30 --rank 5
    osteon batch 'clips/*.npz' -o out/ --command rig --memory 4GB --time 15m
    """
    assets = _read(manifest, extra, place)
    if place.export is not None:
        _export(assets, place, options, manifest, quiet=quiet or json_file == "-")
        return
    cluster = None if place.cluster is None else _cluster(place.cluster)
    WRITTEN.kept = "assets that are finished are kept, run the same command again"
    try:
        with locked(place.output), closing(_batch(assets, place, options)) as work:
            save_plan(assets, place.output, str(manifest))
            with progress_bar(quiet) as progress:
                work.progress = progress
                result = _run(work, place, cluster)
                summary = _write_summary(assets, place.output, result, manifest.name, progress)
    finally:
        if cluster is not None:
            cluster.close()
    write_json(summary, json_file)
    print_json(summary, json_file)
    if not quiet and json_file != "-":
        _print(summary, place.output)
    _end(result)


@batch.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--json", "json_file", metavar="FILE", help="Write the counts and records as JSON ('-': standard output)."
)
def status(folder: Path, json_file: str | None) -> None:
    """List finished, running and failed assets of the batch in FOLDER."""
    from osteon.scale.ledger import read_ledger
    from osteon.scale.summary import summary_json

    assets = load_plan(folder)
    with read_ledger(folder / STATE) as ledger:
        records = tuple(ledger.get(asset.name) for asset in assets)
    summary = summary_json(assets, BatchResult(records, 0, 0.0))
    write_json(summary, json_file)
    print_json(summary, json_file)
    if json_file != "-":
        _print(summary, folder)


@batch.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("name")
@options_of(options=BatchOptions)
@click.option("--threads", type=click.IntRange(min=0), default=0, help="Threads of the command; 0: its default.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def asset(folder: Path, name: str, options: BatchOptions, threads: int, quiet: bool) -> None:
    """Run one asset of the batch of FOLDER, as a render farm does; does nothing if it is finished."""
    from osteon.io.skeletons.parsing import nearest_of

    known = {one.name: one for one in load_plan(folder)}
    if name not in known:
        raise OptionError(f"NAME: {folder} has no asset '{name}'; {nearest_of(name, known)}")
    chosen = (known[name],)
    place = BatchPlace(folder, workers=1, threads=threads)
    with progress_bar(quiet) as progress, closing(_batch(chosen, place, options, exclusive=False)) as work:
        work.progress = progress
        result = _run(work, place)
    _end(result)


def _export(
    assets: tuple[Asset, ...], place: BatchPlace, options: BatchOptions, manifest: Path, *, quiet: bool
) -> None:
    """Write the commands of a farm, and the ledger that they share."""
    from osteon.io.save.atomic import atomic_file
    from osteon.scale.export import FILES, export_text
    from osteon.scale.ledger import open_ledger

    assert place.export is not None
    with locked(place.output):
        open_ledger(place.output / STATE, shared=True).close()
        save_plan(assets, place.output, str(manifest))
        path = place.output / FILES[place.export]
        with atomic_file(path) as temporary:
            temporary.write_text(
                export_text(place.export, assets, place.output, options, place.threads), encoding="utf-8"
            )
    if not quiet:
        console().print(f"{len(assets)} commands in {path}", soft_wrap=True)


def _batch(assets: tuple[Asset, ...], place: BatchPlace, options: BatchOptions, *, exclusive: bool = True) -> Batch:
    shared = (place.output / STATE / "assets").is_dir()
    return Batch(assets, place.output, options=options, threads=place.threads, shared=shared, exclusive=exclusive)


def _read(manifest: Path, extra: tuple[str, ...], place: BatchPlace) -> tuple[Asset, ...]:
    """The assets, with options that their commands accept."""
    flags = {name: _flags(name) for name in COMMANDS}
    defaults = Defaults(place.command, {}, None)
    assets = read_manifest(manifest, flags, defaults)
    assets = tuple(replace(one, arguments=(*one.arguments, *extra)) for one in assets)
    for one in assets:
        _check(one, f"{manifest} ('{one.name}')")
    return assets


def _command(name: str) -> click.Command:
    from osteon.cli.main import cli

    found = cli.get_command(click.Context(cli), name)  # type: ignore[attr-defined]
    assert isinstance(found, click.Command)
    return found


def _flags(command: str) -> Mapping[str, str]:
    """The long flag of every option of a command, by its name."""
    longest = (max(p.opts, key=len) for p in _command(command).params if isinstance(p, click.Option))
    return {flag.lstrip("-"): flag for flag in longest}


def _check(one: Asset, where: str) -> None:
    """Refuse values that a command does not accept, before anything is started."""
    command = _command(one.command)
    arguments = [*one.inputs, *one.arguments, f"--output={one.output}"]
    try:
        made = command.make_context(one.command, list(arguments))
    except click.ClickException as error:
        raise OptionError(f"{where}: {error.format_message()}") from error
    given = [p.name for p in command.params if isinstance(p, click.Option) and p.name and _is_given(made, p.name)]
    reserved = [name for name in given if name.rpartition(".")[2].rstrip("_").replace("json_file", "json") in RESERVED]
    if any(not name.endswith(("output", "outputs")) for name in reserved):
        raise OptionError(f"{where}: {', '.join(RESERVED[1:])} are set by the batch; omit them")


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _run(work: Batch, place: BatchPlace, cluster: Executor | None = None) -> BatchResult:
    """Plan, and run what is left, on a cluster or on processes of this machine, which end with it."""
    from osteon.cli.batch_worker import command
    from osteon.scale.executors import LocalExecutor, threads_per_worker

    left = work.plan()
    if not left:
        return work.as_found()
    if cluster is not None:
        work.threads = place.threads or 1
        return work.run(cluster)
    workers = min(place.workers or available_threads(), left)
    work.threads = place.threads or threads_per_worker(workers)
    executor = LocalExecutor(workers, command(os.getpid()), work.threads)
    try:
        return work.run(executor)
    finally:
        executor.close()


def _cluster(address: str) -> Executor:
    from osteon.scale.dask_executor import DaskExecutor

    return DaskExecutor(address)


def _write_summary(
    assets: tuple[Asset, ...], folder: Path, result: BatchResult, title: str, progress: Progress | None
) -> dict[str, Any]:
    """`summary.json` and `summary.html` in the folder of the batch."""
    from osteon.io.save.atomic import atomic_file
    from osteon.scale.summary import summary_json, summary_page
    from osteon.scale.thumbnails import draw_thumbnails

    summary = summary_json(assets, result)
    write_json(summary, str(folder / "summary.json"))
    page = summary_page(title, summary, draw_thumbnails(folder, summary["assets"], progress))
    with atomic_file(folder / "summary.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    return summary


def _print(summary: dict[str, Any], folder: Path) -> None:
    """Counts, and a line per asset that has failed or runs."""
    out = console()
    states = [f"{summary[state]} {state}" for state in ("finished", "failed", "running", "waiting") if summary[state]]
    kept = f" ({summary['kept']} of them before)" if summary.get("kept") else ""
    out.print(f"{', '.join(states) or 'no assets'}{kept}")
    for row in summary["assets"]:
        if row["state"] == "failed":
            out.print(f"  [red]failed[/]  {row['name']}: {row['reason']}", soft_wrap=True)
        elif row["state"] == "running":
            out.print(f"  runs    {row['name']}")
    if (folder / "summary.html").exists():
        out.print(f"[dim]pages:[/] {folder / 'summary.html'}")


def _end(result: BatchResult) -> None:
    """Exit codes: 2 if the batch could not go on, 1 if an asset has failed or missed its bound."""
    if result.stopped_by:
        raise FileFormatError(f"{result.stopped_by}; {result.left} assets are left, run the same command again")
    missed = any(record.exit_code == 1 for record in result.records)
    if result.failed or missed:
        raise SystemExit(1)
