"""Accessors: typed arrays inside buffers, with strides, normalised integers and sparse replacement."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.buffer_views import read_view
from osteon.io.gltf.read.document import Document
from osteon.io.load.source import quote

__all__ = ["as_floats", "as_indices", "read_floats", "read_indices"]

_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


def read_floats(document: Document, index: Any, widths: tuple[int, ...], user: str) -> Float64:
    """(count, width) real numbers; normalised integers become -1 … 1 or 0 … 1."""
    entry = document.item("accessors", index, user)
    what = f"accessor {index} ({user})"
    return as_floats(document, entry, _read(document, entry, widths, what), what)


def as_floats(document: Document, entry: JsonObject, values: NDArray[Any], what: str) -> Float64:
    """Stored numbers as the accessor `entry` means them."""
    document.claim(8 * values.size, what)
    with np.errstate(invalid="ignore"):  # NaN is named below
        floats: Float64 = values.astype(np.float64)
    meant = _component(document, entry, what)
    if entry.get("normalized") is True and values.dtype.kind in "iu" and meant.kind in "iu":
        floats = np.maximum(floats / np.iinfo(meant).max, -1.0)
    if not np.isfinite(floats).all():
        raise document.error(f"{what} holds NaN or infinity")
    return floats


def read_indices(
    document: Document, index: Any, widths: tuple[int, ...], user: str, *, from_floats: bool = False
) -> NDArray[np.int64]:
    """(count, width) whole numbers from 0."""
    entry = document.item("accessors", index, user)
    what = f"accessor {index} ({user})"
    return as_indices(document, _read(document, entry, widths, what), what, from_floats=from_floats)


def as_indices(document: Document, values: NDArray[Any], what: str, *, from_floats: bool = False) -> NDArray[np.int64]:
    """Stored numbers as whole ones; real numbers only if that is said, and they are whole."""
    if values.dtype.kind == "f" and not (from_floats and _are_whole(values)):
        raise document.error(f"{what} holds real numbers, expected whole ones")
    document.claim(8 * values.size, what)
    if values.min(initial=0) < 0:
        raise document.error(f"{what} holds negative numbers, expected indices from 0")
    return values.astype(np.int64)


def _are_whole(values: NDArray[Any]) -> bool:
    return bool((np.abs(values) < 2**31).all() and (np.rint(values) == values).all())


def _read(document: Document, entry: JsonObject, widths: tuple[int, ...], what: str) -> NDArray[Any]:
    width = _WIDTHS.get(str(entry.get("type")))
    if width is None or width not in widths:
        raise document.error(f"{what} is of type {quote(str(entry.get('type')))}, which does not fit its use")
    dtype = _component(document, entry, what)
    count = document.whole(entry, "count", what)
    if not count:
        raise document.error(f"{what} is empty")
    if "bufferView" in entry:
        values = _from_view(document, entry, dtype, (count, width), what)
    else:
        values = _zeros(document, dtype, (count, width), what)
    return _replaced(document, entry, values, what) if "sparse" in entry else values


def _component(document: Document, entry: JsonObject, what: str) -> np.dtype[Any]:
    code = document.enum(entry, "componentType")
    if code not in _COMPONENTS:
        raise document.error(f"{what} has the unknown componentType {quote(str(code))}")
    return np.dtype(_COMPONENTS[code])


def _zeros(document: Document, dtype: np.dtype[Any], shape: tuple[int, int], what: str) -> NDArray[Any]:
    """An accessor without data is all zeros; it cannot be longer than the data that goes with it."""
    there = document.size()
    if shape[0] > there:
        raise document.error(f"{what} promises {shape[0]} elements, but all buffers together hold {there} bytes")
    return np.zeros(shape, dtype)


def _from_view(
    document: Document, entry: JsonObject, dtype: np.dtype[Any], shape: tuple[int, int], what: str
) -> NDArray[Any]:
    """A view into the buffer, checked to lie in it before it is made."""
    view = document.item("bufferViews", entry["bufferView"], what)
    data = read_view(document, entry["bufferView"], what)
    offset = document.whole(entry, "byteOffset", what, 0)
    size = shape[1] * dtype.itemsize
    stride = document.whole(view, "byteStride", what, size) or size
    if stride < size:
        raise document.error(f"{what} has a byteStride of {stride}, shorter than its elements")
    if offset + (shape[0] - 1) * stride + size > len(data):
        raise document.error(f"{what} promises {shape[0]} elements but its buffer view is too short for them")
    return np.ndarray(shape, dtype, data, offset, (stride, dtype.itemsize))


def _replaced(document: Document, entry: JsonObject, values: NDArray[Any], what: str) -> NDArray[Any]:
    """The values with some of them replaced, as the sparse part says."""
    sparse = document.object(entry, "sparse", what)
    count = document.whole(sparse, "count", what)
    if count > len(values):
        raise document.error(f"{what} replaces {count} of {len(values)} elements")
    if not count:
        return values
    indices = document.object(sparse, "indices", what)
    replacements = document.object(sparse, "values", what)
    if "bufferView" not in indices or "bufferView" not in replacements:
        raise document.error(f"the sparse part of {what} has no data")
    dtype = _component(document, indices, what)
    stored = _from_view(document, indices, dtype, (count, 1), what)
    at = as_indices(document, stored, f"the sparse part of {what}", from_floats=True)[:, 0]
    if at.max() >= len(values):
        raise document.error(f"the sparse part of {what} replaces an element that is not there")
    out = values.copy()
    out[at] = _from_view(document, replacements, values.dtype, (count, values.shape[1]), what)
    return out
