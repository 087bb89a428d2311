"""Decoding Draco streams in a child process.

For stream i, `i_faces` are its triangles and `i_N` is the attribute with the unique id N; a stream that cannot be read
has no arrays.
"""

from __future__ import annotations

import base64
from importlib import import_module
from typing import Any

import numpy as np

from osteon.io.native.child import Arrays, Outlet


def prepare() -> None:
    """Load the library, before the limits of time and memory apply."""
    import_module("DracoPy")


def answer(request: dict[str, Any], outlet: Outlet) -> tuple[Any, Arrays]:
    """The arrays of all streams, which the request holds in base64."""
    arrays: Arrays = {}
    for i, text in enumerate(request["streams"]):
        stream = base64.b64decode(text)
        outlet.alive(len(stream))
        arrays |= {f"{i}_{name}": values for name, values in _decode(stream).items()}
    return None, arrays


def _decode(stream: bytes) -> Arrays:
    """Triangles and attributes; empty for a stream that is damaged or has no triangles."""
    try:
        mesh = import_module("DracoPy").decode(stream)
        found = {str(attribute["unique_id"]): np.asarray(attribute["data"]) for attribute in mesh.attributes}
        found["faces"] = np.asarray(mesh.faces)
    except MemoryError:
        raise
    except Exception:  # whatever the library raises: the stream is damaged
        return {}
    return {} if any(values.dtype.hasobject for values in found.values()) else found
