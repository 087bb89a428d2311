"""The codec for vertices and keys, mode ATTRIBUTES: decoder of versions 0 and 1, encoder of version 0.

Elements of a fixed number of bytes are stored in blocks. A block holds, for each byte position, the differences between
consecutive elements, in groups of 16 differences with the same number of bits. A difference that does not fit has all
bits set, and follows in full after its group. The stream ends with the element before the first.

The decoder combines four byte positions into one 32-bit number per element and adds all four at once: sums of parts
without their highest bit cannot overflow into the next part, and highest bits are added without a carry. The encoder
writes version 0, which EXT_meshopt_compression requires, and takes for each group the bit length (0, 2, 4 or 8) with
the fewest bytes, so its stream is the shortest one.

Notes: rows and slices are read from their own start, because an index that might be negative prevents vectorisation
(0.8 -> 2.4 GB/s where bytes are stored as they are). No array is copied or filled as a whole: a loop compiles in a
third of the time.

Based on: the glTF extensions EXT_meshopt_compression and KHR_meshopt_compression, appendix A, mode 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.kernels import kernel_as_met

Bytes = NDArray[np.uint8]

GROUP = 16  # differences of one bit length
MOST = 256  # elements of a block


@kernel_as_met
def decode_attributes(data: Bytes, version: int, words: int, out: NDArray[np.uint32]) -> bool:
    """Fill `out (count * words,)`; returns whether the stream was complete and had no bytes left.

    The stream must have at least its first byte and the tail. The tail is no shorter than the longest group, 24 bytes:
    a group that starts before the tail cannot read beyond the data.
    """
    stride, count = 4 * words, len(out) // words
    n_modes = words if version else 0
    stop = len(data) - max(stride + n_modes, 24 if version else 32)
    baseline = len(data) - stride - n_modes
    last = np.zeros(64, np.int64)  # the previous value of each 32-bit number
    for i in range(stride):
        last[i >> 2] |= np.int64(data[baseline + i]) << (8 * (i & 3))
    for i in range(n_modes):
        mode = np.int64(data[baseline + stride + i])
        if mode & 15 > 2 or (mode & 15 < 2 and mode >> 4):
            return False
    most = min((8192 // stride) & ~15, MOST)
    deltas, whole = np.zeros((4, MOST), np.uint8), np.zeros(MOST, np.int64)
    first, second, third, fourth = deltas[0], deltas[1], deltas[2], deltas[3]
    at = 1
    for start in range(0, count, most):
        n = min(most, count - start)
        controls = at
        at += n_modes
        if at > stop:
            return False
        for word in range(words):
            for k in range(4):
                control = (np.int64(data[controls + word]) >> (2 * k)) & 3 if version else np.int64(4)
                at = _read_deltas(data, at, stop, int(control), n, deltas[k])
                if at < 0:
                    return False
            mode = np.int64(data[baseline + stride + word]) if version else np.int64(0)
            value = last[word]
            low, ones = (0x01010101, 0xFF) if mode == 0 else (0x00010001, 0xFFFF)
            below, rotation = 0xFFFFFFFF ^ (low * (ones + 1 >> 1)), mode >> 4
            for i in range(n):
                delta = np.int64(first[i]) | np.int64(second[i]) << 8
                whole[i] = delta | np.int64(third[i]) << 16 | np.int64(fourth[i]) << 24
            block = out[start * words + word :]
            if mode < 2:  # bytes or 16-bit numbers
                for i in range(n):
                    whole[i] = ((whole[i] >> 1) & below) ^ ((whole[i] & low) * ones)
                for i in range(n):
                    value = ((value & below) + (whole[i] & below)) ^ ((value ^ whole[i]) & ~below)
                    block[i * words] = value
            else:  # rotated bits
                for i in range(n):
                    value ^= (whole[i] >> rotation) | ((whole[i] << (32 - rotation)) & 0xFFFFFFFF)
                    block[i * words] = value
            last[word] = value
    return bool(at == stop)


@kernel_as_met
def _read_deltas(data: Bytes, at: int, stop: int, control: int, n: int, out: Bytes) -> int:
    """Read the differences of one byte position in a block; returns the next offset, or -1 if the data end before it.

    `control` selects the bit lengths of groups: 0 for 0 1 2 4, 1 for 1 2 4 8, 4 (all of version 0) for 0 2 4 8.
    Control 2 means no differences, 3 uncompressed bytes.
    """
    if control == 2:
        for i in range(n):
            out[i] = 0
        return at
    if control == 3:
        if at + n > stop:
            return -1
        source = data[at:]
        for i in range(n):
            out[i] = source[i]
        return at + n
    groups = (n + GROUP - 1) // GROUP
    header = at
    at += (groups + 3) // 4
    for group in range(groups):
        if at > stop:
            return -1
        code = (np.int64(data[header + (group >> 2)]) >> (2 * (group & 3))) & 3
        if control == 1 or (control == 4 and code):
            code += 1
        place = GROUP * group
        if code == 0:
            for i in range(GROUP):
                out[place + i] = 0
            continue
        if code == 4:
            source = data[at:]
            for i in range(GROUP):
                out[place + i] = source[i]
            at += GROUP
            continue
        bits = 1 << (code - 1)
        full = (1 << bits) - 1
        packed = np.uint64(0)  # the group; the first difference is in the highest bits, or the lowest for single bits
        for i in range(2 * bits):
            packed |= np.uint64(data[at + i]) << np.uint64(8 * i if bits == 1 else 8 * (2 * bits - 1 - i))
        at += int(2 * bits)
        for i in range(GROUP):
            shift = i if bits == 1 else bits * (GROUP - 1 - i)
            value = np.int64(packed >> np.uint64(shift)) & full
            follows = value == full
            out[place + i] = data[at] if follows else value
            at += 1 if follows else 0
    return at if at <= stop else -1


HEAD = 0xA0
LEAST_TAIL = 32


def encode_attributes(elements: Bytes) -> bytes:
    """The stream of elements (count,stride); the stride is a multiple of four up to 256."""
    count, stride = elements.shape
    groups = -(-count // GROUP)
    room = np.empty(1 + stride * (groups * GROUP + groups + MOST), np.uint8)
    used = _write_blocks(np.ascontiguousarray(elements), room)
    tail = bytes(max(0, LEAST_TAIL - stride)) + (elements[0].tobytes() if count else bytes(stride))
    return bytes([HEAD]) + room[:used].tobytes() + tail


@kernel_as_met
def _write_blocks(elements: Bytes, out: Bytes) -> int:
    """Fill the start of `out`; returns the number of bytes."""
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
    """Write the differences of one byte position in a block; returns the next offset."""
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
    """Write 16 differences of `bits` bits each, the first in the highest ones, then in full those that do not fit."""
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
