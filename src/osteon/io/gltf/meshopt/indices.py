"""The codecs for indices: modes TRIANGLES and INDICES.

TRIANGLES has a byte a triangle, which says how it hangs on the last 16 edges and vertices, and numbers for what does
not. INDICES has a number an index: how it differs from one of two indices before it.

Based on: the glTF extensions EXT_meshopt_compression and KHR_meshopt_compression, appendix A, modes 1 and 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.kernels import kernel_as_met

__all__ = ["decode_indices", "decode_triangles"]

Bytes = NDArray[np.uint8]
IntArray = NDArray[np.int64]

#: Where the decoder of triangles keeps what it counts: next new vertex, last written index, place in the data, numbers
#: of edges and vertices that were pushed.
NEXT, LAST, AT, EDGES, VERTICES = range(5)
MASK = 0xFFFFFFFF
MISSING = -1  # of an edge or a vertex that was never pushed


@kernel_as_met
def _read_number(data: Bytes, state: IntArray) -> int:
    """The number at the place in the data: 7 bits a byte, five bytes at most; -1 if it does not end."""
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
    """The difference that a number stands for: 0, -1, 1, -2, …"""
    return (value >> 1) ^ -(value & 1)


@kernel_as_met
def decode_indices(data: Bytes, out: NDArray[np.uint32]) -> bool:
    """Fill `out (count,)`; whether the stream was whole and had nothing over. It has at least its first byte and tail.

    The tail of four bytes is as long as what a number that starts before it can reach into it.
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
    """Fill `out (n,3)`; whether the stream was whole and had nothing over. It has at least a byte a triangle and tail.

    The tail of 16 bytes, a table, is as long as all that one triangle can read.
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
    """A triangle on one of the last edges, and its third corner: new, one of the last, or beside the last written."""
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
    """A triangle on no edge. The halves of `pair` tell of its other corners: 0 new, 15 written, or one of the last."""
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
    """An index that is given by how it differs from the one that was given before; -1 if it does not end."""
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
