"""Columns of displacements that move few vertices each, stored per vertex, and the kernels that add them up.

    d_v^f = sum over entries n of vertex v   q_column(n)^f U_n

Several frames are summed at once: an entry is read once and multiplies a row of coefficients, which fills vector
registers. Sums are in single precision: displacements are a few percent of the body's size.

Notes, hand of 4,780 vertices, 48 columns, 5 entries per vertex, one core, ns per vertex and frame: one frame at a time
10.8, the same by supports of joints 9 to 12 (a list of vertices for each joint and five columns at once), 4 frames in
twelve sums 5.3, 8 frames as here 4.2, 16 frames 2.6, 32 frames 2.6; all columns with all vertices 40. Blending four
matrices takes 23.5, applying them 2.4.
Built-in hand, 6,846 vertices, 145 columns, 9 entries per vertex, 240 frames, two cores, ms of posing (of the skin
alone): blocks of 2,048 vertices and 16 frames 40.4 (30.5), of 1,024 and 48 36.5 (28.2), of which 3.3 are coefficients,
found by one core: in blocks of frames by two they take longer. Sums of a frame in a separate array, or 8 frames in 24
variables, are five times slower than the loop here: compilers fill vector registers with neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64
from osteon.core.kernels import kernel


@dataclass(frozen=True, slots=True)
class ColumnRows:
    """The non-zero entries of a basis (r,v,3), sorted by vertex."""

    starts: Int64  # (v+1,) first entry of each vertex
    columns: Int32  # (n,)
    vectors: Float32  # (n,3) U

    @staticmethod
    def of(basis: FloatArray) -> ColumnRows:
        """The entries of a basis."""
        vertex, column = np.nonzero(np.any(basis, axis=2).T)
        starts = np.searchsorted(vertex, np.arange(basis.shape[1] + 1)).astype(np.int64)
        return ColumnRows(starts, column.astype(np.int32), basis[column, vertex].astype(np.float32))

    def add(self, coefficients: Float32, first: int, out: Float32) -> None:
        """Add to out (n,3,f) the displacements of the vertices from `first` on for coefficients (r,f)."""
        add_columns(self.starts[first : first + len(out) + 1], self.columns, self.vectors, coefficients, out)


@kernel("i8.1r i4.1r f4.2r f4.2r f4.3")
def add_columns(starts: Int64, columns: Int32, vectors: Float32, coefficients: Float32, out: Float32) -> None:
    """The frames of a vertex are contiguous."""
    for v in range(out.shape[0]):
        for n in range(starts[v], starts[v + 1]):
            r = columns[n]
            x, y, z = vectors[n, 0], vectors[n, 1], vectors[n, 2]
            for f in range(out.shape[2]):
                out[v, 0, f] += x * coefficients[r, f]
                out[v, 1, f] += y * coefficients[r, f]
                out[v, 2, f] += z * coefficients[r, f]


@kernel("f8.3r f8.2r f4.3r i8 f4.2")
def apply_displaced(blends: Float64, points: Float64, moved: Float32, frame: int, out: Float32) -> None:
    """out (n,3) = A [p + d; 1], d one of the frames of moved (n,3,f)."""
    for n in range(points.shape[0]):
        x, y, z = (
            points[n, 0] + moved[n, 0, frame],
            points[n, 1] + moved[n, 1, frame],
            points[n, 2] + moved[n, 2, frame],
        )
        for i in range(3):
            out[n, i] = blends[n, i, 0] * x + blends[n, i, 1] * y + blends[n, i, 2] * z + blends[n, i, 3]
