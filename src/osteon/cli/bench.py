"""`osteon bench`: every figure that Osteon claims, measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from osteon.cli.common import console, json_option, write_json

if TYPE_CHECKING:
    from osteon.bench.rows import Row

__all__ = ["bench"]

#: Where the measured sequences lie, seen from a checkout.
DATA = Path("..") / "shared" / "data" / "sequences"


@click.command()
@click.argument("name", type=click.Choice(["paper", "peers", "growth", "files", "view", "simplex"]))
@click.option("--data", type=click.Path(path_type=Path), default=DATA, show_default=True, help="Folder of sequences.")
@click.option("--threads", default=2, show_default=True)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Keep the figures in FOLDER/NAME.csv, a row a version.",
)
@json_option
def bench(name: str, data: Path, threads: int, record: Path | None, json_file: str | None, quiet: bool) -> None:
    """Measure Osteon.

    \b
    paper   Table 1 of Skinning Mesh Animations, the paper's figures beside ours
    peers   against Dem Bones on the same arrays, bones, influences and threads
    growth  time and memory while frames, vertices and bones double
    files   size and truth of files, and whether three.js, USD and Khronos' validator agree
    simplex posing by a skeleton: Table 1 of Simplex Transformations, exactness, poses without flips
    view    the page: a crowd against streamed vertices, its first picture, its bundle

    Exit code 1 if a figure misses its bound.
    """
    from osteon.bench.rows import record_rows, to_json

    with _telling(quiet) as tell:
        rows = _run(name, data, threads, tell)
    write_json(to_json(name, rows), json_file)
    if record is not None:
        record_rows(name, rows, record)
    if not quiet and json_file != "-":
        _print_rows(rows)
    if not all(row.ok for row in rows):
        raise SystemExit(1)


def _run(name: str, data: Path, threads: int, tell: Callable[[str], None]) -> list[Row]:
    if name == "paper":
        from osteon.bench.paper import bench_paper

        return bench_paper(data, threads, tell)
    if name == "peers":
        from osteon.bench.peers import bench_peers

        return bench_peers(data, threads, tell)
    if name == "files":
        from osteon.bench.files import bench_files

        return bench_files(data, threads, tell)
    if name == "simplex":
        from osteon.bench.simplex import bench_simplex

        return bench_simplex(data, threads, tell)
    if name == "view":
        from osteon.bench.view import bench_view

        return bench_view(data, threads, tell)
    from osteon.bench.growth import bench_growth

    return bench_growth(threads, tell)


class _telling:
    """What is measured now, on standard error."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def __enter__(self) -> Callable[[str], None]:
        return lambda text: None if self.quiet else click.echo(f"  {text}", err=True)

    def __exit__(self, *_: object) -> None:
        return None


def _print_rows(rows: list[Row]) -> None:
    from rich.table import Table

    out = console()
    for case in dict.fromkeys(row.case for row in rows):
        table = Table(box=None, pad_edge=False, title=case, title_justify="left", title_style="bold", show_header=False)
        for side in ("left", "right", "right", "left"):
            table.add_column(justify="left" if side == "left" else "right")
        for row in rows:
            if row.case == case:
                bound = "" if row.bound is None else f"{'<=' if row.kind == 'max' else '>='} {row.bound:.4g}"
                mark = "" if row.bound is None else "[green]ok[/]" if row.ok else "[red]missed[/]"
                table.add_row(f"  {row.metric}", f"{row.value:.4g}", bound, mark)
        out.print(table)
