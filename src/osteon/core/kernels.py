"""How compiled kernels are declared. Importing this imports numba, which takes a second: never for `--help`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["Function", "kernel"]

#: A compiled function is called like the one that was written, so it keeps its type.
Function = TypeVar("Function", bound=Callable[..., Any])

#: Sums may be reordered and fused so that loops fill vector registers; NaN and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def kernel(function: Function) -> Function:
    """Compile with a cache on disk, without the interpreter lock, and with IEEE division by zero."""
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FASTMATH)(function))
