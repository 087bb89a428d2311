"""Stanford PLY, writing: ascii or binary of either byte order, with polygons, colours and texture coordinates.

Colours become bytes, as other programs expect. Materials and names of primitives have no place in a PLY file.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Int32
from osteon.core.asset import Asset
from osteon.io.meshes.mesh import IntArray, join_fans
from osteon.io.meshes.ply_header import ENCODINGS

__all__ = ["PlyEncoding", "PlyWriter"]

PlyEncoding = Literal["ascii", "binary_little_endian", "binary_big_endian"]


class PlyWriter:
    """Writes frames of one mesh; everything but positions is put into bytes once."""

    def __init__(self, faces: Int32, asset: Asset, encoding: PlyEncoding = "binary_little_endian") -> None:
        self._text = encoding == "ascii"
        self._order = ENCODINGS[encoding]
        self._colors = None if asset.colors is None else np.rint(asset.colors * 255).astype(np.uint8)
        sizes, mask = join_fans(faces, asset.polygon_of_triangle)
        uvs = None if asset.uvs is None else asset.uvs[mask]
        write_faces = _faces_as_text if self._text else self._faces_as_bytes
        self._tail = write_faces(sizes, faces[mask], uvs)
        self._header = [f"ply\nformat {encoding} 1.0\ncomment a frame of a mesh sequence, written by Osteon"]
        self._faces = [f"element face {len(sizes)}", "property list uchar int vertex_indices"]
        if sizes.size and sizes.max() > 255:
            self._faces[1] = "property list uint int vertex_indices"
        if uvs is not None:
            self._faces.append("property list uint float texcoord")

    def frame(self, vertices: Float32) -> bytes:
        """The file of one frame."""
        columns = [f"element vertex {len(vertices)}", *(f"property float {axis}" for axis in "xyz")]
        if self._colors is not None:
            columns += [f"property uchar {channel}" for channel in ("red", "green", "blue", "alpha")]
        header = "\n".join([*self._header, *columns, *self._faces, "end_header\n"]).encode()
        return (
            header
            + (self._vertices_as_text(vertices) if self._text else self._vertices_as_bytes(vertices))
            + (self._tail)
        )

    def extra_files(self) -> dict[str, bytes]:
        """Files that all frames refer to, by name: none."""
        return {}

    def _vertices_as_bytes(self, vertices: Float32) -> bytes:
        if self._colors is None:
            return vertices.astype(self._order + "f4").tobytes()
        rows = np.empty(len(vertices), [("xyz", self._order + "f4", 3), ("rgba", "u1", 4)])
        rows["xyz"], rows["rgba"] = vertices, self._colors
        return rows.tobytes()

    def _vertices_as_text(self, vertices: Float32) -> bytes:
        values, row = vertices.astype(np.float64), "%.9g %.9g %.9g\n"
        if self._colors is not None:
            values, row = np.concatenate([values, self._colors], axis=1), "%.9g %.9g %.9g %d %d %d %d\n"
        return (row * len(values) % tuple(values.ravel().tolist())).encode()

    def _faces_as_bytes(self, sizes: IntArray, corners: IntArray, uvs: Float32 | None) -> bytes:
        """Rows grouped by size where all sizes are equal, else one by one."""
        if sizes.size and (sizes == sizes[0]).all():
            return self._rows_of_size(int(sizes[0]), corners, uvs)
        stops = np.cumsum(sizes)
        parts = []
        for size, stop in zip(sizes.tolist(), stops.tolist(), strict=True):
            at = slice(stop - size, stop)
            parts.append(self._rows_of_size(size, corners[at], None if uvs is None else uvs[at], int(sizes.max())))
        return b"".join(parts)

    def _rows_of_size(self, size: int, corners: IntArray, uvs: Float32 | None, largest: int = 0) -> bytes:
        fields: list[Any] = [("n", "u1" if max(size, largest) < 256 else self._order + "u4")]
        fields.append(("corners", self._order + "i4", (size,)))
        if uvs is not None:
            fields += [("m", self._order + "u4"), ("uvs", self._order + "f4", (2 * size,))]
        rows: NDArray[Any] = np.zeros(len(corners) // size, np.dtype(fields))
        rows["n"], rows["corners"] = size, corners.reshape(-1, size)
        if uvs is not None:
            rows["m"], rows["uvs"] = 2 * size, uvs.reshape(-1, 2 * size)
        return rows.tobytes()


def _faces_as_text(sizes: IntArray, corners: IntArray, uvs: Float32 | None) -> bytes:
    words = corners.tolist()
    values = None if uvs is None else uvs.astype(np.float64).tolist()
    lines = []
    at = 0
    for size in sizes.tolist():
        row = [size, *words[at : at + size]]
        line = " ".join(map(str, row))
        if values is not None:
            line += f" {2 * size} " + " ".join(f"{u:.9g} {v:.9g}" for u, v in values[at : at + size])
        lines.append(line + "\n")
        at += size
    return "".join(lines).encode()
