"""Objects that other installed packages add to Osteon through entry points.

A package adds an object with one line of its pyproject.toml:

    [project.entry-points."osteon.commands"]
    retarget = "my_package.cli:retarget"        # a click.Command
    [project.entry-points."osteon.formats"]
    foreign = "my_package.files:FOREIGN"        # the format of files that end in .foreign
    [project.entry-points."osteon.deformers"]
    wire = "my_package.wire:WireDeformer"       # the deformer whose `kind` is "wire"

Entry points are looked up only for names that Osteon itself does not define.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from osteon.core.errors import OptionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def find_plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; their packages are not imported."""
    from importlib.metadata import entry_points  # 20 ms, so it is imported only where plugins are looked up

    return {point.name: point for point in entry_points(group=group)}


def package_of(point: EntryPoint) -> str:
    """The name of the package that defines an entry point."""
    return point.dist.name if point.dist is not None else point.module.partition(".")[0]


def load_plugin(point: EntryPoint, what: str) -> Any:
    """The object of an entry point; `what` names it in the message if its package cannot be imported."""
    try:
        return point.load()
    except Exception as error:  # a package of others may raise anything while it is imported
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise OptionError(
            f"{what}: the package {package_of(point)} that adds it cannot be loaded: {reason}; update or uninstall it"
        ) from error
