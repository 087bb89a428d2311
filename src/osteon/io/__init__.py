"""Reading and writing files: one module per format, and a registry by suffix.

The names below are imported when they are first used, so that a process that needs one format loads no other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from osteon.io.formats.options import LoadOptions, SaveOptions
    from osteon.io.formats.registry import FORMATS, MODEL_FORMATS
    from osteon.io.load.sequences import load_outline, load_sequence
    from osteon.io.models import (
        holds_model,
        load_model,
        load_stored_levels,
        load_stored_light,
        save_model,
        save_stored_levels,
        save_stored_light,
    )
    from osteon.io.save.atomic import atomic_file, atomic_folder, check_output
    from osteon.io.save.sequences import check_sequence_output, save_played, save_sequence, write_sequence

__all__ = [
    "FORMATS",
    "MODEL_FORMATS",
    "LoadOptions",
    "SaveOptions",
    "atomic_file",
    "atomic_folder",
    "check_output",
    "check_sequence_output",
    "holds_model",
    "load_model",
    "load_outline",
    "load_sequence",
    "load_stored_levels",
    "load_stored_light",
    "save_model",
    "save_played",
    "save_sequence",
    "save_stored_levels",
    "save_stored_light",
    "write_sequence",
]

_HOMES = {
    **dict.fromkeys(("atomic_file", "atomic_folder", "check_output"), "save.atomic"),
    **dict.fromkeys(("holds_model", "load_stored_levels", "load_model", "save_stored_levels", "save_model"), "models"),
    **dict.fromkeys(("load_stored_light", "save_stored_light"), "models"),
    **dict.fromkeys(("LoadOptions", "SaveOptions"), "formats.options"),
    **dict.fromkeys(("FORMATS", "MODEL_FORMATS"), "formats.registry"),
    **dict.fromkeys(("check_sequence_output", "save_played", "save_sequence", "write_sequence"), "save.sequences"),
    **dict.fromkeys(("load_outline", "load_sequence"), "load.sequences"),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"osteon.io.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'osteon.io' has no attribute '{name}'")
