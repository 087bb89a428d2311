"""How compiled kernels are declared. Importing this imports numba, which takes a second: never for `--help`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["kernel"]

#: Sums may be reordered and fused so that loops fill vector registers; NaN and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with a cache on disk, without the interpreter lock, and with IEEE division by zero."""
    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FASTMATH)(function)
    return compiled
