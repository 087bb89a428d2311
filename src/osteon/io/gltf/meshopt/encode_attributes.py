"""The codec for vertices and keys, mode ATTRIBUTES, version 0, which EXT_meshopt_compression asks for: in.

`attributes` says how a stream is made. Of the bit lengths that a group of 16 differences can have, 0, 2, 4 or 8, the
one that takes fewest bytes is taken, so there is one shortest stream, and this is it.

Based on: the glTF extension EXT_meshopt_compression, appendix A, mode 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.kernels import kernel_as_met
from osteon.io.gltf.meshopt.attributes import GROUP, MOST

__all__ = ["encode_attributes"]

Bytes = NDArray[np.uint8]

HEAD = 0xA0
LEAST_TAIL = 32


def encode_attributes(elements: Bytes) -> bytes:
    """The stream of elements (count,stride); a stride is a multiple of four up to 256."""
    count, stride = elements.shape
    groups = -(-count // GROUP)
    room = np.empty(1 + stride * (groups * GROUP + groups + MOST), np.uint8)
    used = _write_blocks(np.ascontiguousarray(elements), room)
    tail = bytes(max(0, LEAST_TAIL - stride)) + (elements[0].tobytes() if count else bytes(stride))
    return bytes([HEAD]) + room[:used].tobytes() + tail


@kernel_as_met
def _write_blocks(elements: Bytes, out: Bytes) -> int:
    """Fill the start of `out`; how many bytes that took."""
    count, stride = elements.shape
    most = min((8192 // stride) & ~15, MOST)
    deltas = np.zeros(MOST, np.uint8)
    at = 0
    for start in range(0, count, most):
        n = min(most, count - start)
        for k in range(stride):
            before = np.int64(elements[max(start - 1, 0), k])
            for i in range(n):
                value = np.int64(elements[start + i, k])
                delta = (value - before) & 255
                deltas[i] = ((delta << 1) ^ (255 if delta > 127 else 0)) & 255
                before = value
            groups = (n + GROUP - 1) // GROUP
            for i in range(n, groups * GROUP):
                deltas[i] = 0
            at = _write_deltas(deltas, groups, out, at)
    return at


@kernel_as_met
def _write_deltas(deltas: Bytes, groups: int, out: Bytes, at: int) -> int:
    """The differences of one byte position in a block; where the next ones go."""
    header = at
    at += (groups + 3) // 4
    for i in range(header, at):
        out[i] = 0
    for group in range(groups):
        place = group * GROUP
        over_none, over_two, over_four = 0, 0, 0
        for i in range(GROUP):
            value = deltas[place + i]
            over_none += 1 if value > 0 else 0
            over_two += 1 if value >= 3 else 0
            over_four += 1 if value >= 15 else 0
        code, size = 3, GROUP
        if 8 + over_four < size:
            code, size = 2, 8 + over_four
        if 4 + over_two <= size:
            code = 1
        if over_none == 0:
            code = 0
        out[header + (group >> 2)] |= code << (2 * (group & 3))
        if code:
            at = _write_group(deltas, place, 1 << code, out, at)
    return at


@kernel_as_met
def _write_group(deltas: Bytes, place: int, bits: int, out: Bytes, at: int) -> int:
    """16 differences of so many bits, the first in the highest ones, and those in full that do not fit."""
    full, each = (1 << bits) - 1, 8 // bits
    rest = at + 2 * bits
    for i in range(2 * bits):
        packed = 0
        for k in range(each):
            value = int(deltas[place + i * each + k])
            packed = (packed << bits) | (value if value < full else full)
        out[at + i] = packed
    if bits < 8:
        for i in range(GROUP):
            if deltas[place + i] >= full:
                out[rest] = deltas[place + i]
                rest += 1
    return rest
