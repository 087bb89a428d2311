"""Flags of a command, made from options classes; the command receives one object per class.

    @options_of(options=SkinOptions, budget=optional(Budget), load=some_of(LoadOptions, "fps", "clips"))
    def skin(inputs, options, budget, load): …

A flag that has no effect is refused, also if it is given with its default value. A command calls `refuse_unused` again
when it has more information, such as the formats that it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from osteon.core.errors import GeometryError, OptionError
from osteon.core.options import OptionField, Place, command_text, first_unused, make_options, options_in

Function = Callable[..., Any]

_CHOSEN = "osteon.chosen"


@dataclass(frozen=True, slots=True)
class FlagGroup:
    """The options of one class that a command offers."""

    cls: type
    only: tuple[str, ...] = ()  # names; (): all
    defaults: Mapping[str, Any] = field(default_factory=dict)  # that differ from those of the class
    optional: bool = False  # the object is None if none of its flags is given

    def fields(self) -> list[OptionField]:
        found = [of for of in options_in(self.cls) if of.option.flags]
        return [of for of in found if not self.only or of.name in self.only]


def some_of(cls: type, *only: str, **defaults: Any) -> FlagGroup:
    """Some options of a class, with other defaults if given."""
    return FlagGroup(cls, only, defaults)


def optional(cls: type) -> FlagGroup:
    """An object, or None if none of its flags is given."""
    return FlagGroup(cls, optional=True)


def options_of(**groups: type | FlagGroup) -> Callable[[Function], Function]:
    """Add the flags of options classes to a command; each keyword is a parameter of its function."""
    offered = {name: found if isinstance(found, FlagGroup) else FlagGroup(found) for name, found in groups.items()}

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*arguments: Any, **values: Any) -> Any:
            with in_flags(of for found in offered.values() for of in found.fields()):
                made = read_options(click.get_current_context(), offered)
                others = {name: value for name, value in values.items() if name.partition(".")[0] not in offered}
                return function(*arguments, **others, **made)

        decorated: Function = call
        for name, found in reversed(offered.items()):
            for of in reversed(found.fields()):
                decorated = _flag(name, of, found.defaults.get(of.name, of.default))(decorated)
        return decorated

    return decorate


def read_options(context: click.Context, groups: Mapping[str, FlagGroup]) -> dict[str, Any]:
    """Make the objects from the flags of a call; refuses flags that have no effect in combination with the others."""
    values = {name: (found, _chosen(context, name, found)) for name, found in groups.items()}
    context.meta[_CHOSEN] = values
    refuse_unused(context)
    return {
        name: None if found.optional and not chosen else make_options(found.cls, _with_defaults(found, chosen))
        for name, (found, chosen) in values.items()
    }


def refuse_unused(context: click.Context | None = None, **circumstances: Any) -> None:
    """Refuse flags of this call that have no effect under the given circumstances."""
    context = context or click.get_current_context()
    for found, chosen in context.meta.get(_CHOSEN, {}).values():
        values = {of.path: of.default for of in options_in(found.cls)} | _with_defaults(found, chosen)
        unused = first_unused(found.cls, values, circumstances, chosen)
        if unused is not None:
            raise OptionError(unused.sentence(unused.of.flag))


def refuse_given(name: str, why: str, *, besides: tuple[str, ...] = ()) -> None:
    """Refuse all flags of one class except those of the options `besides`."""
    found, chosen = click.get_current_context().meta[_CHOSEN][name]
    for of in found.fields():
        if of.path in chosen and of.name not in besides:
            raise OptionError(f"{of.flag}: {why}")


def is_any_given(name: str, *, besides: tuple[str, ...] = ()) -> bool:
    """Whether the call has a flag of one class other than those of the options `besides`."""
    _, chosen = click.get_current_context().meta[_CHOSEN][name]
    return any(path[-1] not in besides for path in chosen)


def is_given(name: str) -> bool:
    """Whether a parameter of the running command was given in its call."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _chosen(context: click.Context, name: str, found: FlagGroup) -> dict[Place, Any]:
    """Values that were given in the call."""
    chosen = {}
    for of in found.fields():
        parameter = _parameter(name, of)
        if context.get_parameter_source(parameter) is ParameterSource.COMMANDLINE:
            chosen[of.path] = _value(of, context.params[parameter])
    return chosen


def _with_defaults(found: FlagGroup, chosen: Mapping[Place, Any]) -> dict[Place, Any]:
    preset = {of.path: found.defaults[of.name] for of in found.fields() if of.name in found.defaults}
    return preset | dict(chosen)


def _value(of: OptionField, typed: Any) -> Any:
    """The value of an option for what was typed."""
    if of.kind.base is bool:
        return typed != of.default
    if of.kind.base is None:
        return next(choice for choice in of.kind.choices if str(choice) == typed)
    return typed / of.option.scale if of.option.scale != 1 else typed


def _parameter(name: str, of: OptionField) -> str:
    """The unique name of a parameter."""
    return ".".join((name, *of.path))


def _reader(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A click type that parses text with the function of an option."""

    def read(text: str) -> Any:
        try:
            return parse(text)
        except OptionError as error:
            raise click.BadParameter(str(error)) from error

    return read


def _flag(name: str, of: OptionField, default: Any) -> Callable[[Function], Function]:
    known = of.option
    more: dict[str, Any] = {"help": known.help, "required": known.required}
    if known.metavar:
        more["metavar"] = known.metavar
    if of.kind.base is bool:
        return _named(name, of, is_flag=True, **more)
    if known.shown_default and default == of.default:
        more["help"] = f"{known.help}  [{known.shown_default}]"
    elif default is not None and not known.required:
        more |= {"default": _as_typed(of, default), "show_default": True}
    return _named(name, of, type=_click_type(of), multiple=of.kind.many, **more)


def _named(name: str, of: OptionField, **more: Any) -> Callable[[Function], Function]:
    # click accepts a name with a dot only if it does not derive the name from the flag.
    def add(function: Function) -> Function:
        return click.option(*of.option.flags, cls=_Option, parameter=_parameter(name, of), **more)(function)

    return add


class _Option(click.Option):
    """An option whose parameter is not named after its flag."""

    def __init__(self, *arguments: Any, parameter: str, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.name = parameter


def _as_typed(of: OptionField, value: Any) -> Any:
    """A value as it is typed on the command line."""
    if of.kind.base is None:
        return str(value)
    return value * of.option.scale if of.option.scale != 1 else value


def _click_type(of: OptionField) -> Any:
    if of.option.parse is not None:
        return _reader(of.option.parse)
    if of.kind.base is None:
        return click.Choice([str(choice) for choice in of.choices])
    return click.Path(path_type=Path) if of.kind.base is Path else of.kind.base


# Errors of the library name arguments; errors of a command name flags and files.


@contextmanager
def in_flags(fields: Iterable[OptionField]) -> Iterator[None]:
    """Replace the name of an option at the start of an error, 'bones: …', by its flag, '--bones: …'."""
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
    """Name the file in errors about the frames of a sequence, and the command that shows it."""
    try:
        yield
    except GeometryError as error:
        text = str(error)
        starts = (f"'{name}': ", f"'{name}' ", "frames: ", "rest: ")
        start = next((start for start in starts if text.startswith(start)), None)
        if start is None:
            raise
        view = command_text("osteon", "view", *inputs)
        raise GeometryError(f"{inputs[0]}: {text.removeprefix(start)}; view it with: {view}") from error
