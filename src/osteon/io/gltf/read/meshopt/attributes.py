"""The codec for vertices and keys, mode ATTRIBUTES, versions 0 and 1.

Elements of a fixed number of bytes are stored in blocks. A block holds, byte position by byte position, how each
element differs from the one before it, in groups of 16 differences of equally many bits. A difference that does not fit
its bits has all of them set, and follows in full after its group. The stream ends with the element before the first.

Based on: the glTF extensions EXT_meshopt_compression and KHR_meshopt_compression, appendix A, mode 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.kernels import kernel_as_met

__all__ = ["decode_attributes"]

Bytes = NDArray[np.uint8]

GROUP = 16  # differences of one bit length


@kernel_as_met
def decode_attributes(data: Bytes, version: int, out: Bytes) -> bool:
    """Fill `out (count,stride)`; whether the stream was whole and had nothing over.

    The stream must hold at least its first byte and the tail. The tail is no shorter than the longest group, 24 bytes:
    a group that starts before the tail cannot read beyond the data.
    """
    count, stride = out.shape
    tail = max(stride + (stride // 4 if version else 0), 24 if version else 32)
    stop = len(data) - tail
    baseline = len(data) - stride - (stride // 4 if version else 0)
    last = data[baseline : baseline + stride].copy()
    modes = np.zeros(stride // 4, np.uint8)
    if version:
        modes[:] = data[baseline + stride :]
    for mode in modes:
        if mode & 15 > 2 or (mode & 15 < 2 and mode >> 4):
            return False
    most = min((8192 // stride) & ~15, 256)
    deltas = np.zeros((4, 256), np.uint8)
    at = 1
    for start in range(0, count, most):
        n = min(most, count - start)
        controls = at
        at += stride // 4 if version else 0
        if at > stop:
            return False
        for channel in range(stride // 4):
            for k in range(4):
                control = (data[controls + channel] >> (2 * k)) & 3 if version else 4
                at = _read_deltas(data, at, stop, control, n, deltas[k])
                if at < 0:
                    return False
            block = out[start : start + n, 4 * channel : 4 * channel + 4]
            _add_deltas(deltas, modes[channel], last[4 * channel : 4 * channel + 4], block)
    return bool(at == stop)


@kernel_as_met
def _read_deltas(data: Bytes, at: int, stop: int, control: int, n: int, out: Bytes) -> int:
    """The differences of one byte position in a block; where the next one starts, or -1 if the data end before it.

    `control` is how groups say their bit length: 0 as 0 1 2 4, 1 as 1 2 4 8, 4 (all of version 0) as 0 2 4 8.
    """
    if control == 2:
        out[:n] = 0
        return at
    if control == 3:
        if at + n > stop:
            return -1
        out[:n] = data[at : at + n]
        return at + n
    groups = (n + GROUP - 1) // GROUP
    header = at
    at += (groups + 3) // 4
    for group in range(groups):
        if at > stop:
            return -1
        code = (data[header + group // 4] >> (2 * (group % 4))) & 3
        if control == 1 or (control == 4 and code):
            code += 1
        at = _read_group(data, at, code, out[GROUP * group : GROUP * group + GROUP])
    return at if at <= stop else -1


@kernel_as_met
def _read_group(data: Bytes, at: int, code: int, out: Bytes) -> int:
    """16 differences of 0, 1, 2, 4 or 8 bits (`code` 0 … 4); where the next group starts."""
    if code == 0:
        out[:] = 0
        return at
    if code == 4:
        for i in range(GROUP):
            out[i] = data[at + i]
        return at + GROUP
    bits = 1 << (code - 1)
    full = (1 << bits) - 1
    following = at + 2 * bits
    for i in range(GROUP):
        place = i * bits
        shift = place & 7 if bits == 1 else 8 - bits - (place & 7)
        value = (data[at + (place >> 3)] >> shift) & full
        if value == full:
            out[i] = data[following]
            following += 1
        else:
            out[i] = value
    return following


@kernel_as_met
def _add_deltas(deltas: Bytes, mode: int, last: Bytes, out: Bytes) -> None:
    """Four bytes of each element of a block from `deltas (4,n)`, as bytes, 16-bit numbers or turned bits of 32.

    `last (4,)` is what came before, and then the last element of this block.
    """
    if mode & 15 == 0:
        for k in range(4):
            value = np.int64(last[k])
            for i in range(len(out)):
                delta = np.int64(deltas[k, i])
                value += (delta >> 1) ^ -(delta & 1)
                out[i, k] = value & 0xFF
            last[k] = value & 0xFF
    elif mode & 15 == 1:
        for k in range(0, 4, 2):
            value = np.int64(last[k]) | np.int64(last[k + 1]) << 8
            for i in range(len(out)):
                delta = np.int64(deltas[k, i]) | np.int64(deltas[k + 1, i]) << 8
                value += (delta >> 1) ^ -(delta & 1)
                out[i, k], out[i, k + 1] = value & 0xFF, (value >> 8) & 0xFF
            last[k], last[k + 1] = value & 0xFF, (value >> 8) & 0xFF
    else:
        turn = np.int64(mode) >> 4
        value = np.int64(0)
        for k in range(4):
            value |= np.int64(last[k]) << (8 * k)
        for i in range(len(out)):
            delta = np.int64(0)
            for k in range(4):
                delta |= np.int64(deltas[k, i]) << (8 * k)
            value ^= (delta >> turn) | ((delta << (32 - turn)) & 0xFFFFFFFF)
            for k in range(4):
                out[i, k] = (value >> (8 * k)) & 0xFF
        for k in range(4):
            last[k] = (value >> (8 * k)) & 0xFF
