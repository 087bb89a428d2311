"""Options of fits and commands: each is one field of a dataclass with its default, range, help text and flag.

    bones: int = option(0, help="Exactly this many.", flags=("--bones", "-b"), minimum=0, page="Bones")

The fields define the checks on construction (`check_options`), the flags of the command line
(`cli/option_flags.py`), the form of the page (`view/server/fit_form.py`) and the tables in `docs/options.md`
(`osteon_bench/doc_tables.py`). The type of a field defines what a value may be: a number, a word of a Literal, a file,
yes or no.

An option that has no effect is refused, never ignored. `needs` lists the conditions: values of other fields, or
circumstances that only the caller can pass, such as whether there is a rig (`check_used`).
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache, wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from osteon.core.errors import OptionError

T = TypeVar("T")
#: Path of a field: the names of the options that contain it, then its name.
Place = tuple[str, ...]

_OPTION = "osteon option"
#: Any value but the default.
GIVEN = object()
#: Names that conditions may use besides options of the same class: facts that the caller passes.
CIRCUMSTANCES = frozenset(
    {"bound", "clip_poses", "clips", "corrected", "given", "input", "kept", "listed", "method", "model", "motion"}
    | {"moving", "rest_pose", "rig", "shaded", "skeleton", "solid", "sticks", "stock", "written"}
)


@dataclass(frozen=True, slots=True)
class Need:
    """A condition for an option to have an effect: one of these fields or circumstances has one of its values."""

    any_of: tuple[tuple[str, tuple[Any, ...]], ...]
    reason: str = ""  # why it otherwise has no effect, and what to do; "": lists the options it needs
    only_for: tuple[Any, ...] = ()  # values of the option that need it; (): all


def need(*, reason: str = "", only_for: tuple[Any, ...] = (), **any_of: Any) -> Need:
    """`need(weights="bounded")`, `need(holdout=GIVEN)`, `need(rig=False, reason="…")`; of several, one must hold."""
    wanted = tuple((name, value if isinstance(value, tuple) else (value,)) for name, value in any_of.items())
    return Need(wanted, reason, only_for)


@dataclass(frozen=True, slots=True)
class Option:
    """Properties of an option besides its type and default."""

    help: str
    flags: tuple[str, ...] = ()  # (): not on the command line
    metavar: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None  # exclusive bounds
    below: float | None = None
    but: tuple[Any, ...] = ()  # values within the range that are refused
    expected: str = ""  # the range in words, where the numbers above do not express it
    unit: str = ""
    shown_default: str = ""  # the meaning of the default, where its value does not show it
    scale: float = 1.0  # factor of the number on the command line: 100 for a fraction in percent
    parse: Callable[[str], Any] | None = None  # converts text; raises OptionError for invalid text
    required: bool = False
    page: str = ""  # label in the form of the page; "": not in the form
    needs: tuple[Need, ...] = ()


def option(default: T, *, help: str, **known: Any) -> T:
    """A field of an options class; the keywords are those of `Option`."""
    made: T = field(default=default, metadata={_OPTION: Option(help, **known)})
    return made


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of an option's value."""

    base: type | None  # int, float, bool, str, a path; None: only one of the choices
    choices: tuple[Any, ...] = ()  # words of a Literal
    many: bool = False  # any number of them


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option of a class, or of options that it contains."""

    path: Place
    kind: Kind
    default: Any
    option: Option

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def flag(self) -> str:
        """Its long flag."""
        return next((flag for flag in self.option.flags if flag.startswith("--")), self.name)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The choices, the default first."""
        return tuple(sorted(self.kind.choices, key=lambda choice: bool(choice != self.default)))

    def expected(self) -> str:
        """The valid values in words."""
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
        """Refuse a value of another type or out of range."""
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
    """All options of a class, including options that it contains."""
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
    """The default of a field, from its factory if it has one."""
    return of.default if of.default_factory is MISSING else of.default_factory()


def _kind_of(hint: Any) -> Kind:
    if get_origin(hint) is tuple:
        return Kind(get_args(hint)[0], many=True)
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    choices = tuple(word for part in parts if get_origin(part) is Literal for word in get_args(part))
    bases = [part for part in parts if part is not NoneType and get_origin(part) is not Literal]
    return Kind(bases[0] if bases else None, choices)


@dataclass(frozen=True, slots=True)
class Unused:
    """An option that has no effect, and why."""

    of: OptionField
    value: str  # the value without effect; "": no value has one
    why: str

    def sentence(self, called: str) -> str:
        return f"{called} {self.value}: {self.why}" if self.value else f"{called}: {self.why}"


@dataclass(frozen=True, slots=True)
class _Facts:
    """Values that conditions refer to."""

    options: Mapping[Place, OptionField]
    values: Mapping[Place, Any]
    circumstances: Mapping[str, Any]

    def met(self, wanted: Need, path: Place) -> bool:
        """Whether one of the conditions holds; a circumstance that was not passed counts as true."""
        if wanted.only_for and self.values[path] not in wanted.only_for:
            return True
        return any(self._holds(name, accepted, path) for name, accepted in wanted.any_of)

    def _holds(self, name: str, accepted: tuple[Any, ...], path: Place) -> bool:
        other = _beside(path, name, self.options)
        if other is None and name not in self.circumstances:
            if name not in CIRCUMSTANCES:
                raise LookupError(f"'{path[-1]}' needs '{name}', which is neither an option nor a circumstance")
            return True
        value = self.circumstances[name] if other is None else self.values[other.path]
        if GIVEN in accepted and (bool(value) if other is None else value != other.default):
            return True
        return any(one in accepted for one in (value if isinstance(value, frozenset) else (value,)))


def check_options(options: Any) -> None:
    """Refuse values out of range, and values that have no effect with the other options."""
    cls: type = type(options)
    for of, value in zip(options_in(cls), _values(options).values(), strict=True):
        of.check(value)
    check_used(options)


def check_used(options: Any, **circumstances: Any) -> None:
    """Refuse values other than the default that have no effect under these circumstances."""
    unused = first_unused(type(options), _values(options), circumstances)
    if unused is not None:
        raise OptionError(unused.sentence(unused.of.name))


def first_unused(
    cls: type, values: Mapping[Place, Any], circumstances: Mapping[str, Any], chosen: Iterable[Place] | None = None
) -> Unused | None:
    """The first of the chosen options (those that are not at their default) that has no effect."""
    known = _Facts({of.path: of for of in options_in(cls)}, values, circumstances)
    if chosen is None:
        chosen = [path for path, of in known.options.items() if values[path] != of.default]
    for path in chosen:
        of = known.options[path]
        for wanted in of.option.needs:
            if not known.met(wanted, path):
                value = str(values[path]) if wanted.only_for else ""
                return Unused(of, value, wanted.reason or f"needs {needed_flags(wanted, path, cls)}")
    return None


def _beside(path: Place, name: str, known: Mapping[Place, OptionField]) -> OptionField | None:
    """The option of that name in the same options, or in those that contain them."""
    places = ((*path[:depth], name) for depth in range(len(path) - 1, -1, -1))
    return next((known[place] for place in places if place in known), None)


def needed_flags(wanted: Need, path: Place, cls: type) -> str:
    """The flags that an option needs to have an effect, such as `--weights bounded`."""
    known = {of.path: of for of in options_in(cls)}
    flags = []
    for name, accepted in wanted.any_of:
        other = _beside(path, name, known)
        flag = f"--{name}" if other is None else other.flag
        flags += [flag if value is GIVEN else f"{flag} {value}" for value in accepted]
    return " or ".join(flags)


def change_options(options: T, **changes: Any) -> T:
    """The options with some changed; options that then have no effect are reset to their defaults."""
    return _with_defaults(options, {(name,): value for name, value in changes.items()}, {})


def drop_unused(options: T, **circumstances: Any) -> T:
    """The options; those without effect under these circumstances are reset to their defaults."""
    return _with_defaults(options, {}, circumstances)


def _with_defaults(options: T, changed: dict[Place, Any], circumstances: Mapping[str, Any]) -> T:
    values = _values(options) | changed
    while (unused := first_unused(type(options), values, circumstances)) is not None:
        changed[unused.of.path] = values[unused.of.path] = unused.of.default
    return _changed(options, changed)


def make_options(cls: type[T], values: Mapping[Place, Any]) -> T:
    """Options with these values, and defaults for the others."""
    defaults = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    return cls(**_keywords(values, lambda name: default_of(defaults[name])))


def _changed(options: T, changes: Mapping[Place, Any]) -> T:
    changed: T = replace(options, **_keywords(changes, lambda name: getattr(options, name)))  # type: ignore[type-var]
    return changed


def _keywords(changes: Mapping[Place, Any], held: Callable[[str], Any]) -> dict[str, Any]:
    """Keyword arguments by field; values of contained options are set in these."""
    keywords = {path[0]: value for path, value in changes.items() if len(path) == 1}
    for name in {path[0] for path in changes if len(path) > 1}:
        keywords[name] = _changed(held(name), {path[1:]: v for path, v in changes.items() if path[0] == name})
    return keywords


def _values(options: Any) -> dict[Place, Any]:
    cls: type = type(options)
    found: dict[Place, Any] = {}
    for of in options_in(cls):
        value = options
        for name in of.path:
            value = getattr(value, name)
        found[of.path] = value
    return found


P = ParamSpec("P")
R = TypeVar("R")


def takes_options(options: type[Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator of functions with an argument `options` of this class: an option passed as an argument is explained.

    skin_sequence(sequence, bones=8)
    TypeError: skin_sequence has no argument 'bones'; it is an option: skin_sequence(…, options=SkinOptions(bones=8))
    """
    known = {field.name for field in fields(options)}

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        code = function.__code__
        arguments = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            meant = {name: value for name, value in kwargs.items() if name in known - arguments}
            if meant:
                listed = ", ".join(f"{name}={value!r}" for name, value in meant.items())
                name = function.__name__
                raise TypeError(
                    f"{name} has no argument '{next(iter(meant))}'; it is an option: "
                    f"{name}(…, options={options.__name__}({listed}))"
                )
            return function(*args, **kwargs)

        return called

    return decorate


def command_text(*words: object) -> str:
    """The words of a command, quoted where a shell would split or change them: osteon view 'my walk.glb'."""
    named = [str(word) for word in words]
    if os.name != "nt":
        return shlex.join(named)
    from subprocess import list2cmdline  # slow to import, and needed on Windows only

    return list2cmdline(named)
