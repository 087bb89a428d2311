"""The binary format of a pack: the schema that Python and the page share, its check, and its bytes.

    "OSTP", u32 version, u32 bytes of the JSON; the JSON header, padded with spaces so that the data begins at a
    multiple of 16; the arrays, each at a multiple of 16 from the beginning of the data. All numbers are little-endian.

`schema.json` lists the keys and arrays of a header and describes its own notation. `engine/pack.js` of the page reads
packs and checks them against the same schema; tests/pack_types.py generates `engine/pack_types.d.ts` from it.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.character import Arrays
from osteon.core.errors import OsteonError

SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
VERSION: int = SCHEMA["version"]
#: Bone slots of a vertex in the page's shaders.
SLOTS: int = SCHEMA["slots"]
#: Marks a triangle that belongs to no cluster or segment.
OUTLIER: int = SCHEMA["outlier"]

_PLAIN: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
}


class PackError(OsteonError):
    """A pack differs from its schema, which is a bug of this program."""


def check_pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise an error if the header or an array differs from the schema."""
    for fault in _faults(header, arrays):
        raise PackError(f"pack: {fault}")


def _faults(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    kind = str(header.get("kind"))
    keys = {key: rule["type"] for key, rule in SCHEMA["header"].items() if kind in rule["in"]}
    yield from _record_faults("header", keys, header)
    counts: dict[tuple[str, str], int] = {}
    for name, array in arrays.items():
        yield from _array_faults(kind, name, array, counts)
    yield from _missing(kind, arrays)
    frames = counts.get(("f", ""))
    if frames is not None and header["clips"][-1]["stop"] != frames:
        yield f"the clips end at {header['clips'][-1]['stop']}, the frames at {frames}"


def _missing(kind: str, arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    needed = [name for name, rule in SCHEMA["arrays"].items() if kind in rule.get("in", ())]
    yield from (f"has no array {name}" for name in needed if name not in arrays)
    if kind in SCHEMA["one_of"] and not any(name in arrays for name in SCHEMA["one_of"][kind]):
        yield f"has none of {', '.join(SCHEMA['one_of'][kind])}"
    for group in SCHEMA["together"]:
        if len({name in arrays for name in group}) > 1:
            yield f"has only some of {', '.join(group)}"


def _array_faults(kind: str, name: str, array: NDArray[Any], counts: dict[tuple[str, str], int]) -> Iterator[str]:
    rule, owner = _rule(name)
    if kind not in (*rule.get("in", ()), *rule.get("may", ())):
        yield f"a {kind} has no array {name}"
        return
    if rule["dtype"] not in ("any", array.dtype.str[1:]):
        yield f"{name} is {array.dtype.str[1:]}, not {rule['dtype']}"
    shape = rule.get("shape")
    if shape is None:
        return
    if len(shape) != array.ndim:
        yield f"{name} has the shape {array.shape}, not {shape}"
    for letter, count in zip(shape, array.shape, strict=False):
        key = (str(letter), "" if letter in SCHEMA["letters"] else owner)
        known = letter if isinstance(letter, int) else count if letter == "*" else counts.setdefault(key, count)
        if known != count:
            yield f"{name} has the shape {array.shape}, expected {known} for {letter}"


def _rule(name: str) -> tuple[dict[str, Any], str]:
    """The rule of an array, and the name that matched the first `*` of its pattern."""
    for pattern, rule in SCHEMA["arrays"].items():
        found = re.fullmatch(re.escape(pattern).replace(r"\*", r"([^.]+)"), name)
        if found:
            return rule, found[1] if found.groups() else ""
    return {}, ""


def _type_faults(name: str, expected: str, value: Any) -> Iterator[str]:
    """Differences of a value from a type in the notation of the schema."""
    if expected.endswith("?"):
        if value is not None:
            yield from _type_faults(name, expected[:-1], value)
    elif expected.startswith("["):
        items = value if isinstance(value, list | tuple) else [None]
        for i, item in enumerate(items):
            yield from _type_faults(f"{name}[{i}]", expected[1:-1], item)
    elif expected.startswith("{"):
        named = value if isinstance(value, dict) else {"": None}
        for key, item in named.items():
            yield from _type_faults(f"{name}.{key}", expected[1:-1], item)
    elif expected not in _PLAIN:
        yield from _record_faults(name, SCHEMA["records"][expected], value)
    elif not isinstance(value, _PLAIN[expected]) or (isinstance(value, bool) and expected != "boolean"):
        yield f"{name} is {type(value).__name__}, expected {expected}"
    elif isinstance(value, float) and not np.isfinite(value):
        yield f"{name} is not finite"


def _record_faults(name: str, keys: Mapping[str, str], value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{name} is {type(value).__name__}, expected an object"
        return
    known = {key.removesuffix("?") for key in keys}
    yield from (f"{name} has the unknown key {key}" for key in value if key not in known)
    for key, expected in keys.items():
        plain = key.removesuffix("?")
        if plain in value:
            yield from _type_faults(f"{name}.{plain}", expected, value[plain])
        elif plain == key:
            yield f"{name} has no {key}"


MAGIC = b"OSTP"
ALIGNMENT = 16
_HEAD = "<4sII"


def pack_pieces(header: dict[str, Any], arrays: Arrays) -> Iterator[bytes]:
    """The bytes of a pack, piece by piece, checked against the schema."""
    places: dict[str, Any] = {}
    offset = 0
    for name, array in arrays.items():
        places[name] = {"dtype": array.dtype.str[1:], "shape": list(array.shape), "offset": offset}
        offset += _aligned(array.nbytes)
    header = {**header, "arrays": places}
    check_pack(header, arrays)
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    start = struct.calcsize(_HEAD)
    text = text.ljust(_aligned(start + len(text)) - start)
    yield struct.pack(_HEAD, MAGIC, VERSION, len(text)) + text
    for array in arrays.values():
        yield np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        yield bytes(_aligned(array.nbytes) - array.nbytes)


def read_arrays(path: Path, names: Collection[str]) -> Arrays:
    """Some arrays of a pack that this program wrote; missing ones are omitted."""
    start = struct.calcsize(_HEAD)
    with path.open("rb") as file:
        _, _, length = struct.unpack(_HEAD, file.read(start))
        header = json.loads(file.read(length))
    held = {name: header["arrays"][name] for name in names if name in header["arrays"]}
    return {
        name: np.fromfile(
            path, "<" + place["dtype"], math.prod(place["shape"]), offset=start + length + place["offset"]
        ).reshape(place["shape"])
        for name, place in held.items()
    }


def _aligned(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT
