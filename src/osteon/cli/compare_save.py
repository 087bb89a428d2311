"""`osteon compare --save`: every fitted model as a file of its own, and the command that shows them side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from osteon.cli.common import console
from osteon.cli.outputs import Wanted, folder_output
from osteon.core.command_text import command_text

if TYPE_CHECKING:
    from osteon.core.sequence import MeshSequence
    from osteon.io import LoadOptions
    from osteon.pipeline.comparison import Comparison

__all__ = ["print_saved", "save_models", "save_output"]


def save_output(path: str | None) -> Wanted | None:
    """The folder of the models, if it was asked for."""
    if path is None:
        return None
    from osteon.io.comparisons.folder import check_comparison_folder

    check_comparison_folder(path)
    return folder_output("--save", path)


def save_models(
    path: str,
    found: Comparison,
    facts: dict[str, Any],
    sequence: MeshSequence,
    inputs: tuple[str, ...],
    load: LoadOptions,
) -> dict[str, Any]:
    """Write all models, and their source where `osteon view` could not be told it; gives what was written."""
    from osteon.io.comparisons.folder import write_comparison_folder

    named = _names_source(inputs, load)
    models = {result.word: found.animated(result) for result in found.results}
    written = write_comparison_folder(path, models, facts, None if named else sequence)
    return {**written, "view": command_text("osteon", "view", path, *(inputs if named else ()))}


def print_saved(written: dict[str, Any]) -> None:
    """Where the models are, and how to look at them."""
    out = console()
    out.print(f"[dim]models[/]   {written['folder']}: ", end="", soft_wrap=True)
    out.print(", ".join(f"{word}.npz" for word in written["models"]), markup=False, soft_wrap=True)
    out.print("[dim]see them[/] ", end="")
    out.print(written["view"], markup=False, soft_wrap=True)


def _names_source(inputs: tuple[str, ...], load: LoadOptions) -> bool:
    """Whether the input alone means the frames that were compared, without what it was loaded with."""
    return len(inputs) == 1 and load.faces is None and not load.clips and load.frames is None and load.step == 1
