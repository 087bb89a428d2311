"""Checks of options, and changes that keep them in order: what is out of range or has no effect is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from osteon.core.errors import OptionError
from osteon.core.option_fields import CIRCUMSTANCES, GIVEN, Need, OptionField, Place, default_of, options_in

__all__ = [
    "Unused",
    "change_options",
    "check_options",
    "check_used",
    "drop_unused",
    "first_unused",
    "make_options",
    "needed_flags",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unused:
    """An option that has no effect."""

    of: OptionField
    value: str  # the only value that has none; "": no value has any
    why: str

    def sentence(self, called: str) -> str:
        return f"{called} {self.value}: {self.why}" if self.value else f"{called}: {self.why}"


@dataclass(frozen=True, slots=True)
class _Known:
    """All that conditions may speak of."""

    options: Mapping[Place, OptionField]
    values: Mapping[Place, Any]
    circumstances: Mapping[str, Any]

    def met(self, wanted: Need, path: Place) -> bool:
        """Whether one of the conditions holds; an unknown one may hold."""
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
    """Refuse values out of range, and values that have no effect beside the others."""
    cls: type = type(options)
    for of, value in zip(options_in(cls), _values(options).values(), strict=True):
        of.check(value)
    check_used(options)


def check_used(options: Any, **circumstances: Any) -> None:
    """Refuse values other than the default that have no effect, as far as the circumstances tell."""
    unused = first_unused(type(options), _values(options), circumstances)
    if unused is not None:
        raise OptionError(unused.sentence(unused.of.name))


def first_unused(
    cls: type, values: Mapping[Place, Any], circumstances: Mapping[str, Any], chosen: Iterable[Place] | None = None
) -> Unused | None:
    """The first of the chosen options (those that are not at their default) that has no effect."""
    known = _Known({of.path: of for of in options_in(cls)}, values, circumstances)
    if chosen is None:
        chosen = [path for path, of in known.options.items() if values[path] != of.default]
    for path in chosen:
        of = known.options[path]
        for wanted in of.option.needs:
            if not known.met(wanted, path):
                value = str(values[path]) if wanted.only_for else ""
                return Unused(of, value, wanted.says or f"needs {needed_flags(wanted, path, cls)}")
    return None


def _beside(path: Place, name: str, known: Mapping[Place, OptionField]) -> OptionField | None:
    """The option of that name in the same options, or in those around them."""
    places = ((*path[:depth], name) for depth in range(len(path) - 1, -1, -1))
    return next((known[place] for place in places if place in known), None)


def needed_flags(wanted: Need, path: Place, cls: type) -> str:
    """`--weights bounded`: the flags that would give an option its effect."""
    known = {of.path: of for of in options_in(cls)}
    flags = []
    for name, accepted in wanted.any_of:
        other = _beside(path, name, known)
        flag = f"--{name}" if other is None else other.flag
        flags += [flag if value is GIVEN else f"{flag} {value}" for value in accepted]
    return " or ".join(flags)


def change_options(options: T, **changes: Any) -> T:
    """The options with some changed; what then has no effect goes back to its default."""
    return _settled(options, {(name,): value for name, value in changes.items()}, {})


def drop_unused(options: T, **circumstances: Any) -> T:
    """The options with what has no effect under these circumstances at its default."""
    return _settled(options, {}, circumstances)


def _settled(options: T, changed: dict[Place, Any], circumstances: Mapping[str, Any]) -> T:
    values = _values(options) | changed
    while (unused := first_unused(type(options), values, circumstances)) is not None:
        changed[unused.of.path] = values[unused.of.path] = unused.of.default
    return _changed(options, changed)


def make_options(cls: type[T], values: Mapping[Place, Any]) -> T:
    """Options with the values that are given, and defaults."""
    defaults = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    return cls(**_keywords(values, lambda name: default_of(defaults[name])))


def _changed(options: T, changes: Mapping[Place, Any]) -> T:
    changed: T = replace(options, **_keywords(changes, lambda name: getattr(options, name)))  # type: ignore[type-var]
    return changed


def _keywords(changes: Mapping[Place, Any], held: Callable[[str], Any]) -> dict[str, Any]:
    """Values by field; what belongs into options that are held goes there."""
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
