"""Errors in the words of the command line: the library names arguments, a command its flags and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from osteon.core.command_text import command_text
from osteon.core.errors import GeometryError, OptionError
from osteon.core.option_fields import OptionField

__all__ = ["in_flags", "naming_input"]


@contextmanager
def in_flags(fields: Iterable[OptionField]) -> Iterator[None]:
    """An option that the library calls by its name, 'bones: …', is called by its flag, '--bones: …'."""
    try:
        yield
    except OptionError as error:
        name, colon, problem = str(error).partition(": ")
        flags = {of.name: of.flag for of in fields}
        if not colon or name not in flags:
            raise
        raise type(error)(f"{flags[name]}: {problem}") from error


@contextmanager
def naming_input(inputs: tuple[str, ...], name: str) -> Iterator[None]:
    """What is wrong with the frames of a sequence is told of the file that holds them, with a way to look at it."""
    try:
        yield
    except GeometryError as error:
        text = str(error)
        starts = (f"'{name}': ", f"'{name}' ", "frames: ", "rest: ")
        start = next((start for start in starts if text.startswith(start)), None)
        if start is None:
            raise
        look = command_text("osteon", "view", *inputs)
        raise GeometryError(f"{inputs[0]}: {text.removeprefix(start)}; look at it with: {look}") from error
