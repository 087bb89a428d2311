"""`osteon paper`: the figures and tables of a paper, made again, on one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import console, json_option, print_json, progress_bar, write_json
from osteon.cli.option_flags import options_of
from osteon.cli.outputs import file_output, folder_output, plan_outputs
from osteon.core.options import option
from osteon.papers.registry import PAPERS
from osteon.papers.run import PaperOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osteon.papers.entries import Made


@dataclass(frozen=True, slots=True)
class PaperFiles:
    """The outputs of the command."""

    output: Path | None = option(
        None,
        help="The page.",
        flags=("-o", "--output"),
        metavar="PAGE.html",
        shown_default="paperN.html, unless --pictures or --json is given",
    )
    pictures: Path | None = option(
        None, help="Write every figure and table as a file of its own.", flags=("--pictures",), metavar="FOLDER"
    )


@click.command()
@click.argument("number", metavar="N", type=click.Choice([str(n) for n in PAPERS]))
@options_of(files=PaperFiles, options=PaperOptions)
@json_option
def paper(number: str, files: PaperFiles, options: PaperOptions, json_file: str | None, quiet: bool) -> None:
    """Make the figures and tables of a paper again, on one page with the printed numbers beside ours.

    N is the number of the paper in docs/papers. Everything is computed now, on built-in subjects, or on measured ones
    in a folder given by --data.

    \b
    osteon paper 1
    osteon paper 1 --figures 5,7 --table 1 -o some.html
    osteon paper 1 --pictures figures/ --json figures.json
    """
    from osteon.papers.run import PaperRun

    chosen = PAPERS[int(number)]
    entries = options.chosen(chosen.entries())
    page = files.output
    if page is None and files.pictures is None and json_file is None:
        page = Path(f"paper{number}.html")
    run = PaperRun(options)
    outputs = plan_outputs(
        [] if options.data is None else [options.data],
        file_output("-o", page, (".html",)),
        None if files.pictures is None else folder_output("--pictures", files.pictures),
        file_output("--json", json_file),
    )
    with progress_bar(quiet) as progress:
        run.progress = progress
        made = run.make(entries)
        facts: dict[str, Any] = {
            "paper": int(number),
            "title": chosen.title,
            "entries": {one.entry.key: one.to_json() for one in made},
        }
        with outputs.writing():
            if page is not None:
                from osteon.papers.page import write_paper_page

                write_paper_page(page, int(number), chosen, made, subjects=_subjects(options))
            if files.pictures is not None:
                from osteon.papers.single_files import write_single_files

                write_single_files(files.pictures, made)
            write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        _print_table(made, [str(path) for path in (page, files.pictures) if path is not None])


def _subjects(options: PaperOptions) -> str:
    """The subjects of the figures, in a sentence."""
    coarse = " coarse" if options.quick else ""
    if options.data is None:
        return f"The subjects are{coarse} built-in ones, because those of the paper cannot be passed on."
    given = f"Subjects come from the folder '{options.data.name}' where it has them"
    return f"{given}; the others are{coarse} built-in ones."


def _print_table(made: Sequence[Made], written: Sequence[str]) -> None:
    from rich.table import Table

    from osteon.report.page_parts import number

    rows = Table(box=None, pad_edge=False)
    for name in ("", "", "paper", "Osteon", "seconds"):
        rows.add_column(name, justify="left" if not name else "right")
    for one in made:
        rows.add_row(one.entry.label, one.entry.title, "", "", f"{one.seconds:.1f}")
        for c in one.shown.compared:
            unit = f" {c.unit}" if c.unit else ""
            rows.add_row("", f"  {c.what}", number(c.printed) + unit, number(c.ours) + unit, "")
    out = console()
    out.print(rows)
    if written:
        out.print(f"Written: {', '.join(written)}.")
