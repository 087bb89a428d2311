"""Packages that not everybody installs: imported when a file needs them, and named when they are missing."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from osteon.core.errors import FileFormatError

__all__ = ["load_extra"]


def load_extra(module: str, extra: str, path: Path) -> Any:
    """The imported `module`, or one line that says which extra of Osteon brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise FileFormatError(
            f"{path}: '{path.suffix}' needs a package that is not installed; run: pip install 'osteon[{extra}]'"
        ) from error
