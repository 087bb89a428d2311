"""Options that were passed as arguments of a fit: the error shows the call that was meant.

skin_sequence(sequence, bones=8)
TypeError: skin_sequence has no argument 'bones'; it is an option: skin_sequence(…, options=SkinOptions(bones=8))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["takes_options"]

P = ParamSpec("P")
R = TypeVar("R")


def takes_options(options: type[Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For a function whose argument `options` is of this class."""
    known = {field.name for field in fields(options)}

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        arguments = set(function.__code__.co_varnames[: _n_arguments(function)])

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


def _n_arguments(function: Callable[..., Any]) -> int:
    code = function.__code__
    return code.co_argcount + code.co_kwonlyargcount
