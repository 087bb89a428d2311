"""`osteon`: one verb per task. The module of a command is imported when the command runs, so that `--help` is fast."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import click

from osteon import __version__
from osteon.cli.common import process_began
from osteon.cli.outputs import WRITTEN, handling_signals, stop
from osteon.core.errors import OptionError, OsteonError
from osteon.core.plugins import Plugin, find_plugins, load_plugin

#: Listed by `osteon --help`; each is a module of this package and a function in it.
COMMANDS = {
    "demo": "Skin a galloping fox that Osteon makes itself.",
    "skin": "Turn a mesh sequence into a skinned model.",
    "rig": "Find the skeleton that moves a mesh sequence.",
    "lod": "Give a skinned model levels of detail: fewer bones, blends and triangles.",
    "edit": "Edit the rest pose of a skinned model; all frames show the edit.",
    "light": "Precompute how a skinned animation reflects light, with its shadows.",
    "collide": "Find where skinned characters interpenetrate.",
    "batch": "Run a command on many assets, each once, and continue after a crash.",
    "compare": "Compare skinning models on held-out poses.",
    "eigenskin": "Learn corrections that follow the joints, from meshes of known poses.",
    "pose": "Pose a mesh by a stick skeleton, without weights.",
    "simulate": "Simulate flesh on a skeleton: its surface in many poses.",
    "play": "Evaluate a skinned model back to vertices.",
    "view": "Show a model and its source in the browser.",
    "study": "Let people rate how similar animations are, and test their answers.",
    "paper": "Make the figures and tables of a paper again, on one page.",
    "info": "List what a mesh, a sequence, a model or a skeleton holds.",
    "warm": "Compile all kernels now.",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *plugin_summaries()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return plugin_command(name)
        command: click.Command = getattr(import_module(f"osteon.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list((COMMANDS | plugin_summaries()).items()))


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="osteon")
def cli() -> None:
    """Turn any deforming mesh into a skinned character that every engine can play.

    \b
    osteon demo                          try it, no data needed
    osteon skin cloth/*.obj -o cloth.glb skin a sequence
    osteon rig walk/ -o walk.glb         find its skeleton
    osteon view cloth.glb cloth/         show it beside its source
    osteon play cloth.glb -o frames/     back to vertices
    osteon pose hand.obj hand.tgf fist.tgf -o fist.obj
    osteon info cloth.glb                list the contents of a file
    """


def _spare_collector() -> None:
    """Collect garbage less often, and not at exit.

    Imports create half a million objects that stay. Their collection took 0.1 s during import and 0.3 s at exit, a
    tenth of the time from command to file of a small sequence.
    """
    gc.set_threshold(100_000, 20, 20)
    atexit.register(gc.freeze)


def main() -> None:
    """Run the command line. Errors of users are one line on standard error and exit code 2."""
    _spare_collector()
    WRITTEN.clear()
    with handling_signals(stop) as received:
        code = _run(received, _watch_threads()).exit_code
    if code:
        sys.exit(code)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    exit_code: int = 0
    message: str = ""  # the error that was printed


def run_command(arguments: Sequence[str], began: float) -> Ended:
    """Run one command in this process. `began` is when its seconds begin, as `time.perf_counter` counts."""
    WRITTEN.clear()
    try:
        return _run([], [], arguments, began)
    except Exception as error:
        traceback.print_exc()
        return Ended(1, f"{type(error).__name__}: {error}")


def _run(
    received: list[int],
    thread_errors: list[BaseException],
    arguments: Sequence[str] | None = None,
    began: float | None = None,
) -> Ended:
    """Run a command.

    `received` lists the signals that have ended it, `thread_errors` errors about memory that have ended its threads.
    """
    try:
        cli.main(arguments, standalone_mode=False, obj=process_began() if began is None else began)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return Ended(error.exit_code, error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return _failed(f"stopped; {WRITTEN.summary()}", 130)
    except SystemExit as error:
        if received:
            _failed(f"stopped; {WRITTEN.summary()}")
        return Ended(error.code if isinstance(error.code, int) else 0)
    except OsteonError as error:
        return _failed(f"{error}{WRITTEN.after_error()}", error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        if is_out_of_memory(error):
            return _out_of_memory()
        return _failed(f"{_place_of(error)}{error.strerror or error}{WRITTEN.after_error()}")
    except Exception as error:
        if not (is_out_of_memory(error) or thread_errors):
            raise
        return _out_of_memory()
    return Ended()


def _failed(message: str, code: int = 2) -> Ended:
    click.echo(f"osteon: {message}", err=True)
    return Ended(code, message)


def _out_of_memory() -> Ended:
    return _failed("not enough memory; use fewer frames, or a machine with more memory" + WRITTEN.after_error())


def _place_of(error: OSError) -> str:
    """The file that an error of the operating system is about; standard output if its disk is full."""
    if error.filename:
        return f"'{error.filename}': "
    if error.errno in (errno.ENOSPC, errno.EFBIG):
        try:
            os.write(sys.stdout.fileno(), b"\n")
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is buffered is flushed at exit
            return "standard output: "
    return ""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception, or one that caused it, reports too little memory; systems report that in several ways."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    text = str(error)
    if isinstance(error, (ImportError, OSError)) and ("failed to map segment" in text or "allocate memory" in text):
        return True
    if isinstance(error, RuntimeError) and text == "can't start new thread":
        return True
    earlier = error.__cause__ or error.__context__
    return earlier is not None and is_out_of_memory(earlier)


def _watch_threads() -> list[BaseException]:
    """The list of errors about memory that end a thread, such as one that imports; they are not printed."""
    found: list[BaseException] = []

    def end_of_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and is_out_of_memory(args.exc_value):
            found.append(args.exc_value)
        else:
            threading.__excepthook__(args)

    threading.excepthook = end_of_thread
    return found


# Commands that other packages add, through the entry point group `osteon.commands` (`core/plugins.py`). The benchmarks
# (`osteon bench`) are such a package. They are part of a checkout, not of the wheel.

GROUP = "osteon.commands"
#: A command of ours whose package may be missing.
BENCH, BENCH_PACKAGE = "bench", "osteon_bench"
BENCH_SUMMARY = "Measure Osteon: the paper, Dem Bones, files and players, growing inputs."


def _found() -> dict[str, Plugin]:
    """The entry points of the group by name; the benchmarks of a checkout count without being installed."""
    found = dict(find_plugins(GROUP))
    if find_spec(BENCH_PACKAGE) is None:
        found.pop(BENCH, None)
    else:
        found.setdefault(BENCH, Plugin(BENCH, f"{BENCH_PACKAGE}.cli:{BENCH}", BENCH_PACKAGE))
    return found


def plugin_summaries() -> dict[str, str]:
    """The line of each in `osteon --help`; the packages are not imported for it."""
    return {
        name: BENCH_SUMMARY if name == BENCH else f"Added by the package {point.package}."
        for name, point in _found().items()
    }


def plugin_command(name: str) -> click.Command | None:
    """The command of that name; None if no package adds it."""
    point = _found().get(name)
    if point is None:
        if name == BENCH:
            raise OptionError(
                "bench: the benchmarks are not part of the installed package; clone Osteon's repository, run "
                "scripts/install and call osteon there"
            )
        return None
    command = load_plugin(point, f"the command '{name}'")
    if not isinstance(command, click.Command):
        raise OptionError(f"{name}: '{point.value}' is not a click command; correct the entry point of its package")
    return command
