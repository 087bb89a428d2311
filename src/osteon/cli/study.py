"""`osteon study`: people rate how similar animations are to an original; statistics of their ratings."""

from __future__ import annotations

import signal
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from osteon.cli.common import console, json_option, print_json, progress_bar, write_json
from osteon.cli.option_flags import options_of
from osteon.cli.outputs import Outputs, file_output, handling_signals, plan_outputs
from osteon.core.errors import OptionError
from osteon.core.options import check_options, option

if TYPE_CHECKING:
    from osteon.study.answers import AnswerFile
    from osteon.study.plan import StudyPlan
    from osteon.study.results import StudyResults
    from osteon.view.server.serve import PageServer


#: Suffix of a study file.
STUDY_FILE = ".json"


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


@dataclass(frozen=True, slots=True)
class StudyServing:
    """The file of the answers, and the address of the page."""

    output: Path = option(
        Path(),
        help="File of the answers; an existing file of the same study is continued.",
        flags=("-o", "--output"),
        metavar="STUDY.sqlite",
        required=True,
    )
    names: tuple[str, ...] | None = option(
        None,
        help="Names of the candidates in the report, separated by commas.",
        flags=("--names",),
        metavar="A,B,…",
        parse=_split_names,
        shown_default="their files",
    )
    host: str = option(
        "127.0.0.1",
        help="Address or name of this machine in the local network; the connection is not encrypted.",
        flags=("--host",),
        shown_default="this machine only",
    )
    port: int = option(
        0, help="Port to listen on; keep it so that links stay valid.", flags=("--port",), minimum=0, maximum=65535,
        shown_default="any that is free",
    )  # fmt: skip
    no_browser: bool = option(False, help="Print the address without opening a browser.", flags=("--no-browser",))

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class StudyReportFiles:
    """Files of a report."""

    output: Path = option(
        Path(),
        help="Page with means, a box and whisker plot, and tests.",
        flags=("-o", "--output"),
        metavar="REPORT.html",
        required=True,
    )
    csv: Path | None = option(
        None, help="Every answer: rater, question, candidate, view, score, time.", flags=("--csv",), metavar="FILE.csv"
    )


@click.group()
def study() -> None:
    """Let people rate how similar animations are, and test their answers.

    \b
    osteon study run horse/ ssd.glb as.npz mwe.npz -o horse.sqlite
    osteon study report horse.sqlite -o horse.html
    """


@study.command()
@click.argument("reference")
@click.argument("candidates", nargs=-1, metavar="[CANDIDATE]...")
@options_of(serving=StudyServing)
@json_option
def run(reference: str, candidates: tuple[str, ...], serving: StudyServing, json_file: str | None, quiet: bool) -> None:
    """Show every candidate beside the reference, and store the ratings.

    REFERENCE is the original animation. Each CANDIDATE is a skinned model or a sequence with the same vertices and
    frames. The page shows both side by side from two directions. People rate their similarity from 0 to 10. Each
    person has a random order and can continue later; names of candidates are not shown. Ctrl-C ends the server.

    A study of several characters is described by a .json file in place of REFERENCE; paths are relative to it:

    \b
    {"characters": [{"name": "horse", "reference": "horse/",
                     "candidates": {"ssd": "horse-ssd.glb", "as": "horse-as.npz"}}, …]}

    \b
    osteon study run horse/ ssd.glb as.npz mwe.npz -o horse.sqlite
    osteon study run horse/ a.glb b.glb --names ssd,as -o horse.sqlite --host 192.168.0.12 --port 8080
    osteon study run study.json -o study.sqlite
    """
    from osteon.io.save.atomic import scratch_folder
    from osteon.study.animations import prepare_animations
    from osteon.study.answers import AnswerFile, create_answer_file
    from osteon.study.server import open_listener, study_server
    from osteon.view.bundle import STUDY_BUNDLE, check_bundle

    plan, inputs = _plan(reference, candidates, serving.names)
    target = serving.output
    there = target.exists() or target.is_symlink()
    planned = None if there else file_output("-o", target)
    outputs = plan_outputs([*inputs, target if there else None], planned, file_output("--json", json_file))
    check_bundle(STUDY_BUNDLE)
    if there:
        AnswerFile(target).close()  # errors before the long reading
    listener = open_listener(serving.host, serving.port)
    with closing(listener.socket), scratch_folder() as folder:
        with progress_bar(quiet) as progress:
            animations = prepare_animations(plan, folder, progress)
        fingerprint = plan.fingerprint()
        if not there:
            with outputs.writing(private=True):
                create_answer_file(target, plan, fingerprint)
        with closing(AnswerFile(target)) as answers:
            answers.begin_writing(fingerprint, plan.questions)
            server = study_server(answers, animations, listener)
            _serve(server, answers, folder, serving, _Address(outputs, json_file, quiet))


@study.command()
@click.argument("answers", metavar="STUDY.sqlite", type=click.Path(path_type=Path))
@options_of(files=StudyReportFiles)
@json_option
def report(answers: Path, files: StudyReportFiles, json_file: str | None, quiet: bool) -> None:
    """Means, intervals, a box and whisker plot, and tests of every pair of candidates.

    The tests are those of the paper: Student's t with pooled variance, and the ratio of the variances. Statistics that
    need more answers are replaced by a sentence. The server may be running.
    """
    from osteon.study.report_page import write_study_page
    from osteon.study.results import read_results, write_answers

    outputs = plan_outputs(
        [answers],
        file_output("-o", files.output, (".html", ".htm")),
        file_output("--csv", files.csv, (".csv",)),
        file_output("--json", json_file),
    )
    results = read_results(answers)
    facts = results.to_json()
    with outputs.writing():
        write_study_page(files.output, results)
        if files.csv is not None:
            write_answers(files.csv, results.answers)
        write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        print_results(results, files.output)


def _plan(reference: str, candidates: tuple[str, ...], names: tuple[str, ...] | None) -> tuple[StudyPlan, list[str]]:
    """The plan of the questions, and all files that are read for it."""
    from osteon.study.plan import plan_character, read_study_file

    if Path(reference).suffix.lower() != STUDY_FILE:
        plan = plan_character(reference, candidates, names or ())
        return plan, plan.inputs
    if candidates:
        raise OptionError(f"{reference}: a study file lists its candidates; omit the others")
    if names is not None:
        raise OptionError("--names: a study file names its candidates; omit it")
    plan = read_study_file(Path(reference))
    return plan, [reference, *plan.inputs]


@dataclass(frozen=True, slots=True)
class _Address:
    """Prints the address of a run, and writes it to the file of --json."""

    outputs: Outputs
    json_file: str | None
    quiet: bool

    def show(self, address: str, answers: AnswerFile) -> None:
        given, raters = answers.counts()
        facts = {"address": address, "questions": len(answers.questions), "answers": given, "raters": raters}
        with self.outputs.writing(private=True):
            write_json(facts, self.json_file)
        print_json(facts, self.json_file)
        if self.json_file != "-":
            begun = f"{answers_text(answers)}; " if given else ""
            click.echo(address if self.quiet else f"{address}  ({begun}Ctrl-C to end)")


def _serve(server: PageServer, answers: AnswerFile, folder: Path, serving: StudyServing, printer: _Address) -> None:
    """Run the server until Ctrl-C, then print the number of answers."""

    def ready(address: str) -> None:
        printer.show(address, answers)
        if not serving.no_browser:
            threading.Thread(target=open_tab, args=(address,), daemon=True).start()

    def open_tab(address: str) -> None:
        from osteon.view.server.serve import open_browser

        if not open_browser(address, folder):
            click.echo("no browser was found; open the address in one", err=True)

    server.ready = ready
    try:
        with handling_signals(lambda number: server.stop()) as ended:
            server.run()
    except KeyboardInterrupt:  # the usual end
        ended = [signal.SIGINT]
    click.echo(f"osteon: stopped; {answers_text(answers)} in {answers.path}", err=True)
    if ended:
        raise SystemExit(128 + ended[0])


def answers_text(answers: AnswerFile) -> str:
    """The number of answers and raters."""
    given, raters = answers.counts()
    return f"{given} answer{'' if given == 1 else 's'} of {raters} rater{'' if raters == 1 else 's'}"


def print_results(results: StudyResults, page: Path) -> None:
    """Print means and tests."""
    from rich.table import Table

    means = Table("candidate", "mean", "deviation", "95 % interval", "answers", box=None, pad_edge=False)
    for result in results.results:
        summary = result.summary
        interval = "" if summary.interval is None else "{:.2f} … {:.2f}".format(*summary.interval)
        means.add_row(summary.name, _two(summary.mean), _two(summary.deviation), interval, str(summary.count))
    console().print(means)
    for within, pair in zip(results.paired, results.comparisons, strict=True):
        tested = [("within raters", within.t, within.degrees, within.p_corrected, within.reason)]
        tested.append(("all answers", pair.t, pair.degrees, pair.p, pair.reason))
        for how, t, degrees, p, reason in tested:
            found = reason if t is None or p is None else f"t {t:.3f}, df {degrees}, p {p:.3g}"
            click.echo(f"{pair.first} against {pair.second}, {how}: {found}")
    click.echo(f"written to {page}")


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
