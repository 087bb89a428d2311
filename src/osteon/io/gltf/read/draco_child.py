"""What runs in a process of its own: Draco streams on standard input become arrays on standard output.

    python draco_child.py BYTES < streams > arrays.npz

Each stream comes after its length in eight bytes. Of stream i, `i_faces` are its triangles and `i_N` is the attribute
with the unique id N; of one that cannot be read there is nothing. Memory is limited to BYTES, where the system can.
Imports nothing of Osteon, so that it starts quickly.
"""

from __future__ import annotations

import io
import struct
import sys
from typing import Any

import numpy as np


def limit_memory(n_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))


def streams(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        found.append(data[at + 8 : at + 8 + length])
        at += 8 + length
    return found


def decode(stream: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Triangles and attributes; nothing of a stream that is damaged or holds no triangles."""
    import DracoPy

    try:
        mesh = DracoPy.decode(stream)
        found = {str(attribute["unique_id"]): np.asarray(attribute["data"]) for attribute in mesh.attributes}
        return found | {"faces": np.asarray(mesh.faces)}
    except Exception:  # whatever the library raises: the stream is bad
        return {}


def main() -> None:
    limit_memory(int(sys.argv[1]))
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for i, stream in enumerate(streams(sys.stdin.buffer.read())):
        arrays |= {f"{i}_{name}": values for name, values in decode(stream).items()}
    made = io.BytesIO()
    np.savez(made, **arrays)  # type: ignore[arg-type]
    sys.stdout.buffer.write(made.getbuffer())


if __name__ == "__main__":
    main()
