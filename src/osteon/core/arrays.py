"""Array types and the checks that every data class makes once, on construction.

Checked arrays are remembered as long as they exist. `dataclasses.replace`, and properties that build one data class
from another, therefore cost nothing: an array that was checked before is returned as it is.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from osteon.core.errors import GeometryError

Bool = NDArray[np.bool_]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
FloatArray = NDArray[np.floating[Any]]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
IntArray = NDArray[np.signedinteger[Any]]

#: Arrays that `checked` returned, by identity; entries are removed with the array.
_CHECKED: dict[int, weakref.ref[NDArray[Any]]] = {}


def checked(
    name: str, value: ArrayLike, shape: Sequence[int | None], dtype: type[np.generic] = np.float32
) -> NDArray[Any]:
    """`value` as a read-only C-ordered array of `dtype`; `None` in `shape` fits any size. Refuses NaN and infinity.

    An array that already fits is not copied: the result is a read-only view. One that was checked before is returned.
    """
    known = was_checked(value) and isinstance(value, np.ndarray) and value.dtype == dtype
    if known and isinstance(value, np.ndarray):
        _check_shape(name, value, shape)
        return value
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit becomes infinite, and is refused below
        array = np.ascontiguousarray(value, dtype=dtype)
    _check_shape(name, array, shape)
    check_finite(name, array)
    return remember_checked(array)


def checked_indices(name: str, value: ArrayLike, shape: Sequence[int | None], count: int) -> Int32:
    """Like `checked`, for indices that must be in 0 … count - 1."""
    raw = np.asarray(value)
    if raw.size and raw.dtype.kind not in "iu":
        raise GeometryError(f"{name}: expected whole numbers, got {raw.dtype}")
    if raw.size and (int(raw.min()) < 0 or int(raw.max()) >= count):
        raise GeometryError(f"{name}: indices must be in 0 … {count - 1}, got {int(raw.min())} … {int(raw.max())}")
    array: Int32 = checked(name, raw, shape, np.int32)
    return array


def first_bad(array: FloatArray) -> tuple[int, ...] | None:
    """The index of the first NaN or infinity, or None."""
    flat = ~np.isfinite(array)
    if not flat.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(flat)), array.shape))


def _check_shape(name: str, array: NDArray[Any], shape: Sequence[int | None]) -> None:
    if array.ndim != len(shape) or any(w is not None and w != g for w, g in zip(shape, array.shape, strict=True)):
        wanted = "(" + ", ".join("any" if s is None else str(s) for s in shape) + ")"
        raise GeometryError(f"{name}: expected shape {wanted}, got {array.shape}")


def check_finite(name: str, array: NDArray[Any], start: int = 0) -> None:
    """Refuse NaN and infinity; `start` is the number of the array's first row where it is part of another array."""
    if not np.issubdtype(array.dtype, np.floating):
        return
    with np.errstate(invalid="ignore", over="ignore"):
        total = array.sum(dtype=np.float64)  # one pass without a temporary; only then is a bad value searched for
    bad = None if np.isfinite(total) else first_bad(array)
    if bad is not None:
        where = (bad[0] + start, *bad[1:]) if bad else bad
        raise GeometryError(f"{name}: value at index {where} is not finite; repair or remove that sample")


def was_checked(value: object) -> bool:
    """Whether this array object came from `checked` or `remember_checked`."""
    found = _CHECKED.get(id(value))
    return found is not None and found() is value


def remember_checked(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of a valid array, which `checked` does not check again."""
    view = array.view()
    view.flags.writeable = False
    key = id(view)
    _CHECKED[key] = weakref.ref(view, lambda _: _CHECKED.pop(key, None))
    return view
