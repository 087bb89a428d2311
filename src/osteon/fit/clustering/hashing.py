"""Locality-sensitive hashing: candidates for the neighbours of a point of many coordinates.

Each of L tables cuts space by K random inequalities  x_d > v,  with a random coordinate d and the value v of a random
point. The K answers are the cell of a point. The candidates of a query are the points in its cell of any table: near
points are separated by few cuts, so that most of them share at least one cell with it, and far points by many.

A neighbour that shares no cell is missed, so mean shift with these candidates is approximate.

| paper | name |
| --- | --- |
| K, L | CUTS, TABLES |
| C_l, the cells of table l | `keys` (l,m) sorted, of the points `members` (l,m) |

Based on: Georgescu, Shimshoni and Meer, Mean Shift Based Clustering in High Dimensions, 2003, which James and Twigg,
Skinning Mesh Animations, 2005, section 4.2, recommend. Differs from the paper: K and L are constants, not chosen by a
pilot run; candidates are then compared exactly, with the early rejection of `mean_shift.py`.

Notes, horse, one thread of a busy machine: time over that of the exact search, and fraction of the triangles with the
same bone. K, L of 8, 8: 0.74, 0.990; 12, 12: 0.65, 0.983; 16, 12: 0.54, 0.953; 16, 24: 0.66, 0.983; 24, 24: 0.50,
0.950. In processor time 12, 12 takes 0.68, 2.1 s instead of 3.1. The exact search rejects most distances early, so
little is left to save.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Int64
from osteon.core.kernels import kernel

#: K: inequalities per table. L: tables.
CUTS, TABLES = 12, 12

Bytes = NDArray[np.uint8]


class HashTables(NamedTuple):
    """Tables over points (m,d)."""

    coordinates: Int64  # (l,k) that are compared
    values: Bytes  # (l,k) with these
    keys: Int64  # (l,m) cells in ascending order
    members: Int64  # (l,m) the points in that order


def no_tables() -> HashTables:
    """Without tables every point is a candidate."""
    nothing = np.empty((0, 0), np.int64)
    return HashTables(nothing, np.empty((0, 0), np.uint8), nothing, nothing)


def hash_points(points: Bytes, seed: int, *, tables: int = TABLES, cuts: int = CUTS) -> HashTables:
    """Tables over points (m,d); coordinates in which all points are equal are not cut."""
    rng = np.random.default_rng(seed)
    varied = np.flatnonzero((points != points[0]).any(axis=0))
    if not len(varied):
        varied = np.arange(points.shape[1])
    coordinates = rng.choice(varied, (tables, cuts))
    values = points[rng.integers(0, len(points), (tables, cuts)), coordinates]
    bits = np.int64(1) << np.arange(cuts)
    cells = np.stack([(points[:, d] > v) @ bits for d, v in zip(coordinates, values, strict=True)])
    members = np.argsort(cells, axis=1, kind="stable")
    return HashTables(coordinates, values, np.take_along_axis(cells, members, axis=1), members)


@kernel("u1.2r i8 i8.2r u1.2r i8.2r i8.2r i8.1 i8 i8.1")
def gather_candidates(
    points: Bytes,
    row: int,
    coordinates: Int64,
    values: Bytes,
    keys: Int64,
    members: Int64,
    marks: Int64,
    stamp: int,
    out: Int64,
) -> int:
    """Write the points that share a cell with row `row` of `points` to `out`, each once; returns how many."""
    n = 0
    for table in range(keys.shape[0]):
        cell = np.int64(0)
        for k in range(coordinates.shape[1]):
            if points[row, coordinates[table, k]] > values[table, k]:
                cell += np.int64(1) << np.int64(k)
        low, high = 0, keys.shape[1]
        while low < high:
            middle = (low + high) // 2
            if keys[table, middle] < cell:
                low = middle + 1
            else:
                high = middle
        while low < keys.shape[1] and keys[table, low] == cell:
            j = members[table, low]
            if marks[j] != stamp:
                marks[j] = stamp
                out[n] = j
                n += 1
            low += 1
    return n
