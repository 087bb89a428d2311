"""Blocks of OpenEXR images that PIZ compressed: a Haar wavelet of 16-bit numbers, coded by Huffman.

    block: least and largest byte of a bitmap, its bytes | size | Huffman: codes of which lengths, and the bits

The bitmap lists the numbers that occur; in the wavelet, each is replaced by its place in that list. Averages and
differences of neighbours, first of all pixels and then of every second one, have as many bits as the numbers: the
difference modulo 2^16, or plain where fewer than 2^14 numbers occur. Codes are canonical: longest first, by number. The
symbol after the largest number is a run: the 8 bits after it are how often the last number is repeated.

Based on: the file format of OpenEXR (openexr.com), PIZ_COMPRESSION; Huffman, A Method for the Construction of
Minimum-Redundancy Codes, 1952.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Int32, Int64
from osteon.core.kernels import kernel

UInt8 = NDArray[np.uint8]
UInt16 = NDArray[np.uint16]
#: Symbols, the longest code, and how lengths are packed: from 59 on, so many zeros follow, and 63 is followed by more.
SYMBOLS, LONGEST, ZEROS, MORE_ZEROS = (1 << 16) + 1, 58, 59, 63
#: Fewer numbers than this have differences without modulo.
PLAIN = 1 << 14


def decode_piz(data: bytes, sizes: Sequence[int], width: int, height: int) -> bytes:
    """The lines of a block, from `sizes`: 16-bit numbers per pixel of every channel."""
    numbers, at = _numbers_that_occur(data)
    (size,) = struct.unpack_from("<i", data, at)
    if size < 0 or at + 4 + size > len(data):
        raise ValueError("the bits leave the block")
    flat = decode_huffman(data[at + 4 : at + 4 + size], width * height * sum(sizes))
    out, start = np.empty((height, width * sum(sizes)), np.uint16), 0
    for size in sizes:
        stop = start + width * size
        plane = flat[start * height : stop * height].reshape(height, width, size)
        for part in range(size):
            undo_wavelet(plane[..., part], len(numbers) - 1)
        out[:, start:stop] = numbers[np.minimum(plane, len(numbers) - 1)].reshape(height, -1)
        start = stop
    return out.astype("<u2").tobytes()


def _numbers_that_occur(data: bytes) -> tuple[UInt16, int]:
    """The numbers of the bitmap in rising order, zero among them, and where the next byte is."""
    least, largest = struct.unpack_from("<HH", data)
    bitmap = np.zeros(1 << 13, np.uint8)
    at = 4
    if least <= largest:
        if largest >= len(bitmap):
            raise ValueError("the bitmap is too long")
        count = largest - least + 1
        bitmap[least : largest + 1] = np.frombuffer(data, np.uint8, count, at)
        at += count
    bitmap[0] |= 1
    return np.flatnonzero(np.unpackbits(bitmap, bitorder="little")).astype(np.uint16), at


def decode_huffman(data: bytes, count: int) -> UInt16:
    """`count` numbers from packed lengths of codes and bits."""
    if len(data) < 20:
        raise ValueError("no codes")
    least, largest, _, n_bits = struct.unpack_from("<IIII", data)
    if least >= SYMBOLS or largest >= SYMBOLS or least > largest:
        raise ValueError("a symbol out of range")
    lengths, place = _code_lengths(data, least, largest)
    if n_bits > 8 * (len(data) - place):
        raise ValueError("the bits leave the block")
    by_length = np.bincount(lengths, minlength=LONGEST + 1)
    firsts, code = np.zeros(LONGEST + 1, np.int64), 0
    for length in range(LONGEST, 0, -1):
        firsts[length] = code
        code = (code + int(by_length[length])) >> 1
    used = np.flatnonzero(lengths)
    symbols = used[np.argsort(lengths[used], kind="stable")].astype(np.int32)
    counts = by_length.astype(np.int64)
    counts[0] = 0
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    out, bits = np.zeros(count, np.int32), np.frombuffer(data, np.uint8)
    found = _decode(bits, 8 * place, 8 * place + n_bits, firsts, counts, starts, symbols, largest, out)
    if found != count:
        raise ValueError("too few or too many numbers")
    return out.astype(np.uint16)


def _code_lengths(data: bytes, least: int, largest: int) -> tuple[Int64, int]:
    """The length of the code of every symbol, and the byte after them."""
    lengths, at, bit = np.zeros(SYMBOLS, np.int64), least, 160

    def take(count: int) -> int:
        nonlocal bit
        first, last = bit >> 3, (bit + count - 1) >> 3
        if last >= len(data):
            raise ValueError("the codes leave the block")
        value = int.from_bytes(data[first : last + 1], "big") >> (8 * (last + 1) - bit - count)
        bit += count
        return value & ((1 << count) - 1)

    while at <= largest:
        length = take(6)
        if length >= ZEROS:
            at += take(8) + MORE_ZEROS - ZEROS + 2 if length == MORE_ZEROS else length - ZEROS + 2
        else:
            lengths[at] = length
            at += 1
    if at > largest + 1:
        raise ValueError("more lengths than symbols")
    return lengths, (bit + 7) >> 3


@kernel("u1.1r i8 i8 i8.1r i8.1r i8.1r i4.1r i8 i4.1")
def _decode(
    data: UInt8,
    bit: int,
    end: int,
    firsts: Int64,
    counts: Int64,
    starts: Int64,
    symbols: Int32,
    run: int,
    out: Int32,
) -> int:
    """Fill `out`; returns how many numbers the bits are, or -1 if they are no codes."""
    found, code, length = 0, 0, 0
    while bit < end and found < len(out):
        code = (code << 1) | ((data[bit >> 3] >> (7 - (bit & 7))) & 1)
        bit += 1
        length += 1
        if length >= len(firsts):
            return -1
        place = code - firsts[length]
        if place < 0 or place >= counts[length]:
            continue
        symbol = symbols[starts[length] + place]
        code, length = 0, 0
        if symbol != run:
            out[found] = symbol
            found += 1
            continue
        if bit + 8 > end or found == 0:
            return -1
        times = 0
        for _ in range(8):
            times = (times << 1) | ((data[bit >> 3] >> (7 - (bit & 7))) & 1)
            bit += 1
        if found + times > len(out):
            return -1
        for _ in range(times):
            out[found] = out[found - 1]
            found += 1
    return found if bit == end else -1


def undo_wavelet(plane: UInt16, largest: int) -> None:
    """Numbers (h,w) from their averages and differences, in place; `largest` is the largest number before them."""
    height, width = plane.shape
    join = _join_plain if largest < PLAIN else _join_modulo
    step = 1
    while 2 * step <= min(width, height):
        step *= 2
    while step > 1:
        half = step // 2
        rows, columns = slice(0, height - step + 1, step), slice(0, width - step + 1, step)
        below, beside = slice(half, height - step + 1 + half, step), slice(half, width - step + 1 + half, step)
        top, bottom = join(plane[rows, columns], plane[below, columns])
        right, corner = join(plane[rows, beside], plane[below, beside])
        plane[rows, columns], plane[rows, beside] = join(top, right)
        plane[below, columns], plane[below, beside] = join(bottom, corner)
        if width & half:  # a column without a neighbour
            last = width // step * step
            plane[rows, last], plane[below, last] = join(plane[rows, last], plane[below, last])
        if height & half:
            last = height // step * step
            plane[last, columns], plane[last, beside] = join(plane[last, columns], plane[last, beside])
        step = half


def _join_plain(low: UInt16, high: UInt16) -> tuple[UInt16, UInt16]:
    """Two numbers from their average and their difference, both of 16 bits with a sign."""
    average, apart = low.astype(np.int16).astype(np.int32), high.astype(np.int16).astype(np.int32)
    first = average + (apart & 1) + (apart >> 1)
    return first.astype(np.uint16), (first - apart).astype(np.uint16)


def _join_modulo(low: UInt16, high: UInt16) -> tuple[UInt16, UInt16]:
    average, apart = low.astype(np.int32), high.astype(np.int32)
    second = (average - (apart >> 1)) & 0xFFFF
    return ((apart + second - (1 << 15)) & 0xFFFF).astype(np.uint16), second.astype(np.uint16)
