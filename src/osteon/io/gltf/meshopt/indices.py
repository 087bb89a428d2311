"""The codecs for indices: modes TRIANGLES and INDICES.

TRIANGLES has one byte per triangle, which encodes its connection to the last 16 edges and vertices, and numbers for
vertices that are not among these. INDICES has one number per index: its difference from one of two earlier indices.

Encoded triangles keep their order, but each may begin at another corner: it is shifted so that it starts with one of
the last edges.

Based on: the glTF extensions EXT_meshopt_compression and KHR_meshopt_compression, appendix A, modes 1 and 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.kernels import kernel_as_met

Bytes = NDArray[np.uint8]
IntArray = NDArray[np.int64]

#: Slots of the codec's state: next new vertex, last explicit index, offset in the data, numbers of edges and vertices
#: that were pushed.
NEXT, LAST, AT, EDGES, VERTICES = range(5)
MASK = 0xFFFFFFFF
MISSING = -1  # of an edge or a vertex that was never pushed


@kernel_as_met
def _read_number(data: Bytes, state: IntArray) -> int:
    """The number at the current offset: 7 bits per byte, five bytes at most; -1 if it does not end."""
    value = np.int64(0)
    for i in range(5):
        byte = np.int64(data[state[AT]])
        state[AT] += 1
        value |= (byte & 127) << (7 * i)
        if byte < 128:
            return int(value & MASK)
    return -1


@kernel_as_met
def _unsigned(value: int) -> int:
    """The difference that a number encodes: 0, -1, 1, -2, …"""
    return (value >> 1) ^ -(value & 1)


@kernel_as_met
def decode_indices(data: Bytes, out: NDArray[np.uint32]) -> bool:
    """Fill `out (count,)`; returns whether the stream was complete and had no bytes left.

    The stream must have at least its first byte and the tail. The tail has four bytes, so a number that starts before
    it cannot read beyond the data.
    """
    stop = len(data) - 4
    state = np.zeros(5, np.int64)
    state[AT] = 1
    last = np.zeros(2, np.int64)
    for i in range(len(out)):
        if state[AT] >= stop:
            return False
        value = _read_number(data, state)
        if value < 0:
            return False
        which = value & 1
        last[which] = (last[which] + _unsigned(value >> 1)) & MASK
        out[i] = last[which]
    return bool(state[AT] == stop)


@kernel_as_met
def decode_triangles(data: Bytes, out: NDArray[np.uint32]) -> bool:
    """Fill `out (n,3)`; returns whether the stream was complete and had no bytes left.

    The stream must have at least one byte per triangle and the tail. The tail, a table of 16 bytes, is as long as all
    that one triangle can read.
    """
    stop = len(data) - 16
    edges, vertices = np.full((16, 2), MISSING, np.int64), np.full(16, MISSING, np.int64)
    state = np.zeros(5, np.int64)
    state[AT] = 1 + len(out)
    corners = np.zeros(3, np.int64)
    for i in range(len(out)):
        if state[AT] > stop:
            return False
        code = np.int64(data[1 + i])
        if code < 0xF0:
            _on_edge(data, code, state, edges, vertices, corners)
        elif code < 0xFE:
            _apart(data, np.int64(data[stop + (code & 15)]), False, state, vertices, corners)
            _push_edge(state, edges, corners[1], corners[0])
        else:
            pair = np.int64(data[state[AT]])
            state[AT] += 1
            if pair == 0:
                state[NEXT] = 0
            _apart(data, pair, code == 0xFF, state, vertices, corners)
            _push_edge(state, edges, corners[1], corners[0])
        if corners[0] < 0 or corners[1] < 0 or corners[2] < 0:
            return False
        _push_edge(state, edges, corners[2], corners[1])
        _push_edge(state, edges, corners[0], corners[2])
        for k in range(3):
            out[i, k] = corners[k]
    return bool(state[AT] == stop)


@kernel_as_met
def _on_edge(
    data: Bytes, code: np.int64, state: IntArray, edges: IntArray, vertices: IntArray, corners: IntArray
) -> None:
    """A triangle on one of the last edges; its third corner is new, recent, or next to the last explicit one."""
    edge = (state[EDGES] - 1 - (code >> 4)) & 15
    corners[0], corners[1] = edges[edge, 0], edges[edge, 1]
    third = code & 15
    if 0 < third < 13:
        corners[2] = vertices[(state[VERTICES] - 1 - third) & 15]
        return
    if third == 0:
        corners[2] = _new_vertex(state)
    elif third == 15:
        corners[2] = _written_vertex(data, state)
    else:
        state[LAST] = (state[LAST] + (1 if third == 14 else -1)) & MASK
        corners[2] = state[LAST]
    _push_vertex(state, vertices, corners[2])


@kernel_as_met
def _apart(
    data: Bytes, pair: np.int64, first_written: bool, state: IntArray, vertices: IntArray, corners: IntArray
) -> None:
    """A triangle on no edge. The halves of `pair` encode its other corners: 0 new, 15 explicit, or one of the last."""
    corners[0] = _written_vertex(data, state) if first_written else _new_vertex(state)
    for k in range(1, 3):
        which = (pair >> 4) if k == 1 else pair & 15
        if which == 0:
            corners[k] = _new_vertex(state)
        elif which == 15:
            corners[k] = _written_vertex(data, state)
        else:
            corners[k] = vertices[(state[VERTICES] - which) & 15]
    _push_vertex(state, vertices, corners[0])
    if pair >> 4 in (0, 15):
        _push_vertex(state, vertices, corners[1])
    if pair & 15 in (0, 15):
        _push_vertex(state, vertices, corners[2])


@kernel_as_met
def _new_vertex(state: IntArray) -> int:
    state[NEXT] = (state[NEXT] + 1) & MASK
    return int((state[NEXT] - 1) & MASK)


@kernel_as_met
def _written_vertex(data: Bytes, state: IntArray) -> int:
    """An explicit index, stored as the difference from the previous explicit one; -1 if it does not end."""
    value = _read_number(data, state)
    if value < 0:
        return MISSING
    state[LAST] = (state[LAST] + _unsigned(value)) & MASK
    return int(state[LAST])


@kernel_as_met
def _push_vertex(state: IntArray, vertices: IntArray, vertex: int) -> None:
    vertices[state[VERTICES] & 15] = vertex
    state[VERTICES] += 1


@kernel_as_met
def _push_edge(state: IntArray, edges: IntArray, start: int, end: int) -> None:
    edges[state[EDGES] & 15, 0], edges[state[EDGES] & 15, 1] = start, end
    state[EDGES] += 1


TRIANGLES_HEAD, INDICES_HEAD = 0xE1, 0xD1
#: Bytes of a triangle at most: its code, a pair, three numbers.
MOST_BYTES = 17
#: Differences of this size and more take two bytes.
LEAP = 32
#: Pairs of corners in the table, which a triangle on no edge can refer to by its code.
TABLE = 14


def encode_indices(indices: NDArray[np.uint32]) -> bytes:
    """The stream of integers (count,)."""
    room = np.empty((2, 5 * len(indices)), np.uint8)
    written = [room[i, : _write_indices(indices, bool(i), room[i])] for i in range(2)]
    return bytes([INDICES_HEAD]) + min(written, key=len).tobytes() + bytes(4)


def encode_triangles(corners: NDArray[np.uint32]) -> bytes:
    """The stream of triangles (n,3)."""
    room, counts = np.empty(MOST_BYTES * len(corners), np.uint8), np.zeros(256, np.int64)
    codes = np.zeros(len(corners), np.uint8)
    _write_triangles(corners, np.zeros(0, np.int64), counts, codes, room)
    table = _table(counts)
    used = _write_triangles(corners, table, counts, codes, room)
    tail = np.zeros(16, np.uint8)
    tail[: len(table)] = table
    return bytes([TRIANGLES_HEAD]) + codes.tobytes() + room[:used].tobytes() + tail.tobytes()


def _table(counts: IntArray) -> IntArray:
    """The most frequent pairs of those that a table may hold: without explicit vertices."""
    pairs = np.arange(256)
    usable = np.where((pairs & 15 < 15) & (pairs < 0xF0), counts, 0)
    usable[0] = usable.max() + 1  # three new vertices; outside the table this pair restarts the count of vertices
    order = np.argsort(-usable, kind="stable")[:TABLE]
    return order[usable[order] > 0]


@kernel_as_met
def _write_number(value: int, out: Bytes, state: IntArray) -> None:
    """Write a number with 7 bits per byte."""
    left = np.int64(value)
    while left > 127:
        out[state[AT]] = (left & 127) | 128
        left >>= 7
        state[AT] += 1
    out[state[AT]] = left
    state[AT] += 1


@kernel_as_met
def _signed(difference: int) -> int:
    """The number that encodes a difference of 32 bits: 0, -1, 1, -2, … become 0, 1, 2, 3, …"""
    wrapped = ((np.int64(difference) + 0x80000000) & 0xFFFFFFFF) - 0x80000000
    return int((wrapped << 1) ^ (wrapped >> 63))


@kernel_as_met
def _write_indices(indices: NDArray[np.uint32], nearer: bool, out: Bytes) -> int:
    """Write each index as its difference from one of two earlier ones; returns the number of bytes.

    After a large difference the other of the two is used, which suits indices that alternate between two ranges; with
    `nearer` only if it is nearer.
    """
    state, last = np.zeros(5, np.int64), np.zeros(2, np.int64)
    which = 0
    for i in range(len(indices)):
        index = np.int64(indices[i])
        here, there = abs(index - last[which]), abs(index - last[1 - which])
        if here >= LEAP and (there < here or not nearer):
            which = 1 - which
        _write_number(((_signed(index - last[which]) << 1) | which) & 0xFFFFFFFF, out, state)
        last[which] = index
    return int(state[AT])


@kernel_as_met
def _write_triangles(corners: NDArray[np.uint32], table: IntArray, counts: IntArray, codes: Bytes, out: Bytes) -> int:
    """Fill `codes (n,)`, the start of `out` and the `counts (256,)` of pairs; returns the number of bytes of `out`."""
    edges, vertices = np.full((16, 2), MISSING, np.int64), np.full(16, MISSING, np.int64)
    state = np.zeros(5, np.int64)
    t = np.zeros(3, np.int64)
    for i in range(len(corners)):
        edge, shift = _recent_edge(corners[i], state, edges)
        if edge < 0:
            shift = _new_first(corners[i], state[NEXT])
        for k in range(3):
            t[k] = corners[i, (shift + k) % 3]
        if edge >= 0:
            codes[i] = (edge << 4) | _third(t[2], state, vertices, out)
        else:
            codes[i] = _apart_code(t, table, counts, state, vertices, out)
            _push_edge(state, edges, t[1], t[0])
        _push_edge(state, edges, t[2], t[1])
        _push_edge(state, edges, t[0], t[2])
    return int(state[AT])


@kernel_as_met
def _recent_edge(triangle: NDArray[np.uint32], state: IntArray, edges: IntArray) -> tuple[int, int]:
    """The age of an edge of the triangle in the last edges (14 at most), or -1, and the corner where it begins."""
    for ago in range(15):
        row = (state[EDGES] - 1 - ago) & 15
        for k in range(3):
            if edges[row, 0] == triangle[k] and edges[row, 1] == triangle[(k + 1) % 3]:
                return ago, k
    return -1, 0


@kernel_as_met
def _new_first(triangle: NDArray[np.uint32], new: int) -> int:
    """The corner that is the next new vertex, or 0."""
    for k in range(3):
        if triangle[k] == new:
            return k
    return 0


@kernel_as_met
def _third(vertex: int, state: IntArray, vertices: IntArray, out: Bytes) -> int:
    """The code of the third corner of a triangle on an edge; writes and pushes the corner if needed."""
    for ago in range(1, 13):
        if vertices[(state[VERTICES] - 1 - ago) & 15] == vertex:
            return ago
    if vertex == state[NEXT]:
        state[NEXT] += 1
        code = 0
    elif abs(vertex - state[LAST]) == 1:
        code = 14 if vertex > state[LAST] else 13
        state[LAST] = vertex
    else:
        _write_vertex(vertex, state, out)
        code = 15
    _push_vertex(state, vertices, vertex)
    return code


@kernel_as_met
def _write_vertex(vertex: int, state: IntArray, out: Bytes) -> None:
    _write_number(_signed(vertex - state[LAST]) & 0xFFFFFFFF, out, state)
    state[LAST] = vertex


@kernel_as_met
def _apart_code(t: IntArray, table: IntArray, counts: IntArray, state: IntArray, vertices: IntArray, out: Bytes) -> int:
    """The code of a triangle on no edge; writes its pair and writes and pushes its corners if needed."""
    is_new = t[0] == state[NEXT]
    state[NEXT] += is_new
    pair = 0
    for k in range(1, 3):
        code = 15
        if t[k] == state[NEXT]:
            code = 0
            state[NEXT] += 1
        else:
            for ago in range(1, 15):
                if vertices[(state[VERTICES] - ago) & 15] == t[k]:
                    code = ago
                    break
        pair = (pair << 4) | code
    found = 0xFE if is_new else 0xFF
    if is_new:
        counts[pair] += 1
        for i in range(len(table)):
            if table[i] == pair:
                found = 0xF0 | i
    if found >= 0xFE:
        out[state[AT]] = pair
        state[AT] += 1
    for k in range(3):
        code = (0 if is_new else 15) if k == 0 else (pair >> (8 - 4 * k)) & 15
        if code == 15:
            _write_vertex(t[k], state, out)
    for k in range(3):
        if k == 0 or (pair >> (8 - 4 * k)) & 15 in (0, 15):
            _push_vertex(state, vertices, t[k])
    return found
