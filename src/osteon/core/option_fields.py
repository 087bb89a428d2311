"""Options said once: one field of an options class tells its default, range, help, flag, and when it has an effect.

    bones: int = option(0, help="Exactly this many.", flags=("--bones", "-b"), minimum=0, page="Bones")

Made from it: the checks on construction (`option_checks.py`), the flags of the command line (`cli/option_flags.py`),
the form of the page (`view/server/fit_form.py`) and the tables in `docs/options.md` (`cli/option_tables.py`). The type
of the field tells what a value may be: a number, a word of a Literal, a file, yes or no.

An option that has no effect is refused, never ignored. `needs` tells what must hold for it: values of other fields, or
circumstances that only the caller knows, such as a rig (`option_checks.check_used`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from osteon.core.errors import OptionError

__all__ = [
    "CIRCUMSTANCES",
    "GIVEN",
    "Kind",
    "Need",
    "Option",
    "OptionField",
    "Place",
    "default_of",
    "need",
    "option",
    "options_in",
]

T = TypeVar("T")
#: Where a field lies: its name, below the names of the options that hold it.
Place = tuple[str, ...]

_OPTION = "osteon option"
#: Any value but the default.
GIVEN = object()
#: What conditions may name besides options of the same class: facts that the caller passes, and options around it.
CIRCUMSTANCES = frozenset(
    {"bound", "clips", "corrected", "given", "input", "kept", "listed", "method", "model", "motion", "moving"}
    | {"rest_pose", "rig", "shaded", "skeleton", "solid", "sticks", "stock", "written"}
)


@dataclass(frozen=True, slots=True)
class Need:
    """What must hold for an option to have an effect: one of these fields or circumstances with one of its values."""

    any_of: tuple[tuple[str, tuple[Any, ...]], ...]
    says: str = ""  # why it has none otherwise, and what to do; "": which options it needs
    only_for: tuple[Any, ...] = ()  # values of the option that need it; (): all


def need(*, says: str = "", only_for: tuple[Any, ...] = (), **any_of: Any) -> Need:
    """`need(weights="bounded")`, `need(holdout=GIVEN)`, `need(rig=False, says="…")`; several: one of them will do."""
    wanted = tuple((name, value if isinstance(value, tuple) else (value,)) for name, value in any_of.items())
    return Need(wanted, says, only_for)


@dataclass(frozen=True, slots=True)
class Option:
    """What is known of an option besides its type and default."""

    help: str
    flags: tuple[str, ...] = ()  # (): not on the command line
    metavar: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None  # the same, without the number itself
    below: float | None = None
    but: tuple[Any, ...] = ()  # values within that are refused
    expected: str = ""  # the range in words, where numbers do not tell it
    unit: str = ""
    shown_default: str = ""  # what the default means, where it is not what it says
    scale: float = 1.0  # of the number on the command line: 100 for a part that is told in percent
    parse: Callable[[str], Any] | None = None  # from text; OptionError for what cannot be read
    required: bool = False
    page: str = ""  # its name in the form of the page; "": not there
    needs: tuple[Need, ...] = ()


def option(default: T, *, help: str, **known: Any) -> T:
    """A field of an options class; the keywords are those of `Option`."""
    made: T = field(default=default, metadata={_OPTION: Option(help, **known)})
    return made


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be."""

    base: type | None  # int, float, bool, str, a path; None: only one of the choices
    choices: tuple[Any, ...] = ()  # words of a Literal
    many: bool = False  # any number of them


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option of a class, or of one that it holds."""

    path: Place
    kind: Kind
    default: Any
    option: Option

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def flag(self) -> str:
        """How the command line calls it."""
        return next((flag for flag in self.option.flags if flag.startswith("--")), self.name)

    @property
    def choices(self) -> tuple[Any, ...]:
        """What to choose from, the default first."""
        return tuple(sorted(self.kind.choices, key=lambda choice: bool(choice != self.default)))

    def expected(self) -> str:
        """What a value must be, in words."""
        known = self.option
        if known.expected:
            return known.expected
        if self.kind.base is None:
            *most, last = map(str, self.kind.choices)
            return f"{', '.join(most)} or {last}"
        if known.above is not None:
            return (
                "a positive number" if known.below is None else f"a number between {known.above:g} and {known.below:g}"
            )
        if known.minimum is not None:
            return f"{known.minimum:g} or more" if known.maximum is None else f"{known.minimum:g} … {known.maximum:g}"
        return {int: "a whole number", float: "a number", bool: "true or false"}.get(self.kind.base, "a word")

    def check(self, value: Any) -> None:
        """Refuse a value of another kind or out of range."""
        if (value is None and self.default is None) or (not isinstance(value, bool) and value in self.kind.choices):
            return
        if self.kind.base is None:
            raise OptionError(f"{self.name}: expected {self.expected()}, got {value!r}")
        if self.kind.base in (int, float):
            self._check_number(value)

    def _check_number(self, value: Any) -> None:
        known = self.option
        if isinstance(value, bool) or not isinstance(value, Integral if self.kind.base is int else Real):
            plain = "a whole number" if self.kind.base is int else "a number"
            raise OptionError(f"{self.name}: expected {self.expected() if self.kind.choices else plain}, got {value!r}")
        number: int | float = (
            int(value) if isinstance(value, Integral) else float(value)
        )  # whole numbers may be too large for a float
        inside = (isinstance(number, int) or math.isfinite(number)) and value not in known.but
        inside = inside and (known.minimum is None or number >= known.minimum)
        inside = inside and (known.maximum is None or number <= known.maximum)
        inside = inside and (known.above is None or number > known.above)
        if not (inside and (known.below is None or number < known.below)):
            raise OptionError(f"{self.name}: expected {self.expected()}, got {value}")


@cache
def options_in(cls: type[Any]) -> tuple[OptionField, ...]:
    """All options of a class, with those of the options that it holds."""
    hints = get_type_hints(cls)
    return tuple(found for f in fields(cls) for found in _options_of(f, hints[f.name], default_of(f), ()))


def _options_of(of: Field[Any], hint: Any, default: Any, above: Place) -> Iterable[OptionField]:
    path = (*above, of.name)
    if _OPTION in of.metadata:
        yield OptionField(path, _kind_of(hint), default, of.metadata[_OPTION])
    elif is_dataclass(default):
        hints = get_type_hints(type(default))
        for inner in fields(default):
            yield from _options_of(inner, hints[inner.name], getattr(default, inner.name), path)


def default_of(of: Field[Any]) -> Any:
    """The default of a field, made anew where a factory makes it."""
    return of.default if of.default_factory is MISSING else of.default_factory()


def _kind_of(hint: Any) -> Kind:
    if get_origin(hint) is tuple:
        return Kind(get_args(hint)[0], many=True)
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    choices = tuple(word for part in parts if get_origin(part) is Literal for word in get_args(part))
    bases = [part for part in parts if part is not NoneType and get_origin(part) is not Literal]
    return Kind(bases[0] if bases else None, choices)
