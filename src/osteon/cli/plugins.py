"""Commands that other packages add, through the entry point group `osteon.commands`.

A package adds a command with one line of its pyproject.toml; the object is a `click.Command`:

    [project.entry-points."osteon.commands"]
    retarget = "my_package.cli:retarget"

The benchmarks (`osteon bench`) are such a package. They are part of a checkout, not of the wheel.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from osteon.core.errors import OptionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "plugin_command", "plugin_summaries"]

GROUP = "osteon.commands"
#: A command of ours whose package may be missing.
BENCH, BENCH_PACKAGE = "bench", "osteon_bench"
BENCH_SUMMARY = "Measure Osteon: the paper, Dem Bones, files and players, growing inputs."


def _found() -> dict[str, EntryPoint]:
    """The entry points of the group by name; the benchmarks of a checkout count without being installed."""
    from importlib.metadata import EntryPoint, entry_points  # imported only where plugins are looked up

    found = {point.name: point for point in entry_points(group=GROUP)}
    own = EntryPoint(BENCH, f"{BENCH_PACKAGE}.cli:{BENCH}", GROUP)
    if find_spec(BENCH_PACKAGE) is None:
        found.pop(BENCH, None)
    else:
        found.setdefault(BENCH, own)
    return found


def plugin_summaries() -> dict[str, str]:
    """What `osteon --help` says of each; the packages are not imported for it."""
    summaries = {}
    for name, point in _found().items():
        package = point.dist.name if point.dist is not None else point.module.partition(".")[0]
        summaries[name] = BENCH_SUMMARY if name == BENCH else f"Added by the package {package}."
    return summaries


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
    try:
        command = point.load()
    except (ImportError, AttributeError) as error:
        raise OptionError(f"{name}: the package that adds this command cannot be loaded: {error}") from error
    if not isinstance(command, click.Command):
        raise OptionError(f"{name}: '{point.value}' is not a click command; correct the entry point of its package")
    return command
