"""Packages that not everybody installs: imported when a file needs them, and named when they are missing."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from osteon.core.errors import FileFormatError
from osteon.core.options import command_text

__all__ = ["Extra", "check_extra", "find_extra", "load_extra"]


@dataclass(frozen=True, slots=True)
class Extra:
    """A package that a format is written with, and the extra of Osteon that brings it."""

    module: str
    name: str


class _Format(Protocol):
    @property
    def extra(self) -> Extra | None: ...


def check_extra(written: _Format, path: Path) -> None:
    """Refuse, before the work, an output whose format needs a package that is not there."""
    if written.extra is not None:
        load_extra(written.extra.module, written.extra.name, path)


def load_extra(module: str, extra: str, path: Path) -> Any:
    """The imported `module`, or one line that says which extra of Osteon brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(extra, path) from error


def find_extra(module: str, extra: str, path: Path) -> None:
    """The same refusal without importing: a child will."""
    if find_spec(module) is None:
        raise _missing(extra, path)


def _missing(extra: str, path: Path) -> FileFormatError:
    return FileFormatError(
        f"{path}: '{path.suffix}' needs a package that is not installed; "
        f"run: {command_text('pip', 'install', f'osteon[{extra}]')}"
    )
