"""What the child is asked about Draco streams: their arrays.

Of stream i, `i_faces` are its triangles and `i_N` is the attribute with the unique id N; of one that cannot be read
there is nothing.
"""

from __future__ import annotations

import base64
from importlib import import_module
from typing import Any

import numpy as np

from osteon.io.native.child import Arrays, Outlet

__all__ = ["answer", "prepare"]


def prepare() -> None:
    """Loads the library, before the clock and the limits begin."""
    import_module("DracoPy")


def answer(request: dict[str, Any], outlet: Outlet) -> tuple[Any, Arrays]:
    """The arrays of all streams, which come in base64."""
    arrays: Arrays = {}
    for i, text in enumerate(request["streams"]):
        stream = base64.b64decode(text)
        outlet.alive(len(stream))
        arrays |= {f"{i}_{name}": values for name, values in _decode(stream).items()}
    return None, arrays


def _decode(stream: bytes) -> Arrays:
    """Triangles and attributes; nothing of a stream that is damaged or holds no triangles."""
    try:
        mesh = import_module("DracoPy").decode(stream)
        found = {str(attribute["unique_id"]): np.asarray(attribute["data"]) for attribute in mesh.attributes}
        found["faces"] = np.asarray(mesh.faces)
    except MemoryError:
        raise
    except Exception:  # whatever the library raises: the stream is bad
        return {}
    return {} if any(values.dtype.hasobject for values in found.values()) else found
