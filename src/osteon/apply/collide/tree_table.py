"""The tree of a collider as kernels see it: pointers into its arrays, all in one table of addresses.

A query takes a microsecond, and every array that Python passes to a kernel costs a tenth of one. So a kernel gets one
table (64-bit integers: addresses, strides in bytes, counts), the number of a frame, and the numbers of its query. It
opens the table once: the pointers of a `Tree` are those of one pose.

Siblings are stored side by side, and the nodes of a subtree but its root follow each other. The top of the tree is in
world axes and ends in entries, one per region; the nodes of a region are in the axes of its frame, except in poses
whose tree was refitted, which have world axes only (`local` = 0).

| column of `nodes` | meaning |
| --- | --- |
| CHILD   | the first child, which the second follows; of an entry: the root of its region |
| FIRST   | first triangle of a leaf |
| COUNT   | triangles of a leaf, 0 otherwise |
| REGION  | number of the region's frame, 0 in the top |
| VERTEX  | of a leaf: its first entry of `leaf_vertices`; otherwise the node after its subtree |
| HELD    | of a leaf: its vertices; otherwise 0 |
| BOUND   | number of the group of nodes that a node heads in new poses; INSIDE: none |
| ENTRY   | 1 for an entry |

`stamps` holds for every vertex the pose in which `posed` was computed last; other arrays of stamps hold the same for
boxes, groups and regions, which are computed when they are reached.
Every pose has its own number, so caches need no clearing.

Notes, single call of a kernel with one table and seven numbers: 0.23 us, by its entry point without a check of types
0.15 us; one with forty arrays 4.6 us. A pointer has no index that wraps around and no references to count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.types import CPointer
from numba.extending import intrinsic
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int64
from osteon.core.kernels import compiled_by, inlined

#: Columns of `nodes`.
CHILD, FIRST, COUNT, REGION, VERTEX, HELD, BOUND, ENTRY = range(8)
WIDTH = 8
#: BOUND of nodes that head no group.
INSIDE = -1
#: How a box is found.
STORED, LAZY, DEFORMED = 0, 1, 2
#: How a vertex is found.
BLENDED, READ = 0, 1
#: Size of the stack of a traversal, in numbers.
STACK = 8192


#: Types of pointers: they are indexed like lists, without a length.
Floats = list[float]
Ints = list[int]


class Tree(NamedTuple):
    """Pointers of one pose. Arrays of vertices are in the order of the tree."""

    nodes: Ints  # (n,8) int32
    triangles: Ints  # (t,3) int32, in the order of the tree
    leaf_vertices: Ints  # int32, leaf by leaf
    order: Ints  # (t,) int32, number of each triangle in the mesh
    welds: Ints  # (v,) int32, the first vertex at the same place
    ring_starts: Ints  # (v+1,) int32 of welded vertices
    rings: Ints  # int32, triangles around each welded vertex
    rest: Floats  # (v,3) float32
    bones: Ints  # (v,k) int32
    weights: Floats  # (v,k) float32
    offsets: Floats  # (v,k,3) float32, of Animation Space
    basis: Floats  # (v,r,3) float32
    transforms: Floats  # (b,12) float64, posed_from_rest
    coefficients: Floats  # (r,) float64
    frames: Floats  # (g,12) float64, world_from_region; the first is the identity
    boxes: Floats  # (n,6) float32, rounded outwards
    stored: Floats  # (v,3) float32, positions of other families than linear ones
    deformed: Floats  # (n,·) float32, spheres of the Bounded Deformation Tree
    local_q: Floats  # (g,m) float64, local coefficients of the regions
    top_boxes: Floats  # (n,6) float32, of the top of the tree
    groups: Ints  # int32, nodes and bones of the groups that are bounded together
    records: Floats  # float32, bounds of groups in any pose
    entry_starts: Ints  # (g+1,) int32
    entries: Floats  # float32, bounds of regions in world axes
    palette_starts: Ints  # (g+1,) int32, first bone of each region
    palette_bones: Ints  # int32, bones of the regions
    palette: Floats  # (·,12) float32, bones in the axes of the regions
    rest_from_region: Floats  # (g,12) float64
    extents: Floats  # (g,2+r) float64, largest coordinate, error of the sum of weights, largest displacements
    group_stamps: Ints  # int64
    group_boxes: Floats  # (·,6,8) float32
    spread_stamps: Ints  # int64, for groups whose boxes are in `boxes` too
    region_stamps: Ints  # (g+1,) int64
    region_pads: Floats  # (g+1,4) float64
    lanes: Floats  # (3,8) float32, of a query
    posed: Floats  # (v,3) float64
    stamps: Ints  # (v,) int64
    box_stamps: Ints  # (n,) int64
    stack: Floats  # float64
    scratch: Floats  # float64
    counts: Ints  # (4,) int64: nodes, bounds, leaves and vertices of the last query
    serial: int
    n_nodes: int
    n_triangles: int
    n_vertices: int
    n_slots: int
    n_offsets: int
    n_regions: int
    n_top: int
    rank: int
    local: int  # whether regions have frames
    local_rank: int
    bounds_by: int  # STORED, LAZY, DEFORMED
    vertices_by: int  # BLENDED, READ


POINTERS = Tree._fields[: Tree._fields.index("serial")]
COUNTS = Tree._fields[Tree._fields.index("serial") :]
N_POINTERS = len(POINTERS)
SERIAL = 2 * N_POINTERS
#: Smaller addresses are places behind the table.
BEHIND = 1 << 24
#: Where a table says how boxes are found.
BOUNDS_BY = 2 * N_POINTERS + COUNTS.index("bounds_by")
FIELD = {name: number for number, name in enumerate(Tree._fields)}
#: A table: addresses, strides per frame in bytes, counts.
TABLE = 2 * N_POINTERS + len(COUNTS)


def _pointer(kind: Any) -> Any:
    """A function for kernels: the pointer to numbers of a type at an address."""

    @intrinsic
    def pointer(typing_context: Any, address: Any) -> Any:
        signature = CPointer(kind)(types.int64)  # type: ignore[no-untyped-call]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return signature, generate

    return pointer


f8_at, f4_at, i4_at, i8_at = (_pointer(kind) for kind in (types.float64, types.float32, types.int32, types.int64))


@inlined
def _at(table: Int64, field: int, frame: int) -> int:
    """The address of an array, in a frame. A small number is a place behind the table, in bytes from its beginning."""
    address: int = table[field] + frame * table[N_POINTERS + field]
    return address if address >= BEHIND else address + table.ctypes.data


@inlined
def open_tree(table: Int64, frame: int) -> Tree:
    """The tree in a frame."""
    c = 2 * N_POINTERS
    return Tree(
        i4_at(_at(table, 0, frame)),
        i4_at(_at(table, 1, frame)),
        i4_at(_at(table, 2, frame)),
        i4_at(_at(table, 3, frame)),
        i4_at(_at(table, 4, frame)),
        i4_at(_at(table, 5, frame)),
        i4_at(_at(table, 6, frame)),
        f4_at(_at(table, 7, frame)),
        i4_at(_at(table, 8, frame)),
        f4_at(_at(table, 9, frame)),
        f4_at(_at(table, 10, frame)),
        f4_at(_at(table, 11, frame)),
        f8_at(_at(table, 12, frame)),
        f8_at(_at(table, 13, frame)),
        f8_at(_at(table, 14, frame)),
        f4_at(_at(table, 15, frame)),
        f4_at(_at(table, 16, frame)),
        f4_at(_at(table, 17, frame)),
        f8_at(_at(table, 18, frame)),
        f4_at(_at(table, 19, frame)),
        i4_at(_at(table, 20, frame)),
        f4_at(_at(table, 21, frame)),
        i4_at(_at(table, 22, frame)),
        f4_at(_at(table, 23, frame)),
        i4_at(_at(table, 24, frame)),
        i4_at(_at(table, 25, frame)),
        f4_at(_at(table, 26, frame)),
        f8_at(_at(table, 27, frame)),
        f8_at(_at(table, 28, frame)),
        i8_at(_at(table, 29, frame)),
        f4_at(_at(table, 30, frame)),
        i8_at(_at(table, 31, frame)),
        i8_at(_at(table, 32, frame)),
        f8_at(_at(table, 33, frame)),
        f4_at(_at(table, 34, frame)),
        f8_at(_at(table, 35, frame)),
        i8_at(_at(table, 36, frame)),
        i8_at(_at(table, 37, frame)),
        f8_at(_at(table, 38, frame)),
        f8_at(_at(table, 39, frame)),
        i8_at(_at(table, 40, frame)),
        table[c] + frame,
        table[c + 1],
        table[c + 2],
        table[c + 3],
        table[c + 4],
        table[c + 5],
        table[c + 6],
        table[c + 7],
        table[c + 8],
        table[c + 9],
        table[c + 10],
        table[c + 11],
        table[c + 12],
    )


def write_table(arrays: dict[str, NDArray[Any]], per_frame: set[str], counts: dict[str, int]) -> Int64:
    """The table of these arrays, which the caller must keep; those in `per_frame` have frames as their first axis."""
    table = np.zeros(TABLE, np.int64)
    for number, name in enumerate(POINTERS):
        array = arrays.get(name)
        if array is None:
            continue
        table[number] = array.ctypes.data
        table[N_POINTERS + number] = array.strides[0] if name in per_frame and len(array) > 1 else 0
    for number, name in enumerate(COUNTS):
        table[2 * N_POINTERS + number] = counts[name]
    return table


def retarget(table: Int64, arrays: dict[str, NDArray[Any]], serial: int) -> Int64:
    """A copy of a table with some arrays, of one pose each, replaced, and with another number of the pose."""
    out = table.copy()
    for name, array in arrays.items():
        out[FIELD[name]] = array.ctypes.data
    out[SERIAL] = serial
    return out


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 f8.3r i8.1")
def copy_pose(template: Int64, serial: int, transforms: Float64, table: Int64) -> bool:
    """Write the table of a new pose, its bones behind it; whether all their numbers are finite."""
    numbers, bones, total = f8_at(table.ctypes.data), f8_at(transforms.ctypes.data), 0.0
    for n in range(TABLE):
        table[n] = template[n]
    table[SERIAL] = serial
    for n in range(transforms.size):
        numbers[TABLE + n] = bones[n]
        total += 0.0 * bones[n]  # NaN unless it is finite
    return total == 0.0
