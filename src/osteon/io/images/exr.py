"""OpenEXR images (.exr) of scan lines: half, float and integer channels, compressed or not.

A file has a header of named attributes, a table of places, and blocks of lines:

    magic, version and flags | name type size value … 0 | places of the blocks | block: first line, size, data …

A block has 1 line (none, RLE, ZIPS), 16 (ZIP, PXR24) or 32 (PIZ). In a line, channels follow one another in the order
of the header, each with all of its pixels. RLE and ZIP store the differences of bytes, of which the even ones come
before the odd ones; PXR24 stores differences of pixels by planes of bytes, of floats only the upper 24 bits; PIZ: see
`piz`. A block that would not become smaller is stored as it is.

Based on: OpenEXR File Layout and Technical Introduction to OpenEXR (openexr.com).

Notes, 1024 x 512 pixels of three halves, ms by this file and by the package OpenEXR 3.5: none 20, 1; RLE 138, 13; ZIPS
52, 11; ZIP 35, 9; PIZ 120, 14; PXR24 49, 8; three floats with PIZ 151, 26. All pixels are equal. An environment is read
once, so 0.15 s do not justify a dependency of 4.7 MB, whose parser in C++ would have to run in a process of its own.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32
from osteon.core.errors import FileFormatError
from osteon.io.images.piz import decode_piz
from osteon.io.load.source import quote

MAGIC = b"\x76\x2f\x31\x01"
#: Compressions by their number, and lines per block of those that are read.
COMPRESSIONS = ("none", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24", "B44", "B44A", "DWAA", "DWAB")
LINES = {"none": 1, "RLE": 1, "ZIPS": 1, "ZIP": 16, "PIZ": 32, "PXR24": 16}
#: Types of channels by their number.
_TYPES = (np.dtype("<u4"), np.dtype("<f2"), np.dtype("<f4"))
_TILED, _DEEP, _PARTS = 0x200, 0x800, 0x1000
#: Pixels of the largest image, channels, and bytes of the longest name.
MOST_PIXELS, MOST_CHANNELS, MOST_NAME = 1 << 28, 1024, 255
#: More than any compression saves, and how many times as many pixels the whole image may have as the file.
MOST_RATIO, MOST_MARGIN = 1100, 16
_SHORT = "ends early or is damaged; save it again"


@dataclass(frozen=True, slots=True)
class Channel:
    """One number per pixel."""

    name: str
    type: np.dtype[np.generic]


@dataclass(frozen=True, slots=True)
class Window:
    """Pixels, both ends included."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left + 1

    @property
    def height(self) -> int:
        return self.bottom - self.top + 1


@dataclass(frozen=True, slots=True)
class Header:
    """The attributes that are used."""

    channels: tuple[Channel, ...]
    compression: str
    stored: Window  # pixels in the file
    shown: Window  # the whole image
    end: int  # of the header in the file

    @property
    def bytes_per_line(self) -> int:
        return self.stored.width * sum(channel.type.itemsize for channel in self.channels)


def read_exr(data: bytes, name: str) -> Float32:
    """(h,w,3) linear red, green and blue of a file; `name` is used in errors."""
    try:
        header = _read_header(data, name)
        wanted = _colors(header, name)
        planes = _read_planes(data, header, wanted)
    except (struct.error, IndexError, ValueError, zlib.error, OverflowError) as error:
        raise FileFormatError(f"{name}: {_SHORT}") from error
    shown, stored = header.shown, header.stored
    out = np.zeros((shown.height, shown.width, 3), np.float32)
    rows = slice(max(shown.top, stored.top), min(shown.bottom, stored.bottom) + 1)
    columns = slice(max(shown.left, stored.left), min(shown.right, stored.right) + 1)
    if rows.start < rows.stop and columns.start < columns.stop:
        inside = planes[:, rows.start - stored.top : rows.stop - stored.top]
        inside = inside[:, :, columns.start - stored.left : columns.stop - stored.left]
        to = out[rows.start - shown.top : rows.stop - shown.top]
        to[:, columns.start - shown.left : columns.stop - shown.left] = np.moveaxis(inside, 0, -1)
    return out


def _read_header(data: bytes, name: str) -> Header:
    if not data.startswith(MAGIC):
        raise FileFormatError(f"{name}: is no OpenEXR image: it does not begin with its magic number")
    (version,) = struct.unpack_from("<I", data, 4)
    for flag, kind in ((_PARTS, "several parts"), (_DEEP, "deep pixels"), (_TILED, "tiles")):
        if version & flag:
            raise FileFormatError(f"{name}: holds {kind}, expected one image of scan lines; save it again as one")
    if version & 0xFF != 2:
        raise FileFormatError(f"{name}: has version {version & 0xFF} of the format, expected 2")
    found: dict[str, bytes] = {}
    at = 8
    while data[at] != 0:
        key, at = _name(data, at)
        _, at = _name(data, at)
        (size,) = struct.unpack_from("<i", data, at)
        if size < 0 or at + 4 + size > len(data):
            raise ValueError("an attribute leaves the file")
        found[key] = data[at + 4 : at + 4 + size]
        at += 4 + size
    missing = [key for key in ("channels", "compression", "dataWindow") if key not in found]
    if missing:
        raise FileFormatError(f"{name}: has no attribute '{missing[0]}', which every OpenEXR image needs")
    stored = Window(*struct.unpack("<4i", found["dataWindow"]))
    shown = Window(*struct.unpack("<4i", found["displayWindow"])) if "displayWindow" in found else stored
    for window in (stored, shown):
        if not 0 < window.width <= MOST_PIXELS or not 0 < window.height <= MOST_PIXELS // window.width:
            raise FileFormatError(f"{name}: has {window.width} x {window.height} pixels, expected 1 … {MOST_PIXELS}")
    if shown.width * shown.height > MOST_MARGIN * stored.width * stored.height:
        raise FileFormatError(
            f"{name}: holds a small part of an image of {shown.width} x {shown.height} pixels; fill it"
        )
    compression = _compression(found["compression"][0], name)
    return Header(tuple(_channels(found["channels"], name)), compression, stored, shown, at + 1)


def _name(data: bytes, at: int) -> tuple[str, int]:
    """A name that ends with a zero, and where the next byte is."""
    stop = data.index(b"\0", at, at + MOST_NAME + 1)
    return data[at:stop].decode("latin-1"), stop + 1


def _compression(number: int, name: str) -> str:
    known = COMPRESSIONS[number] if number < len(COMPRESSIONS) else f"number {number}"
    if known not in LINES:
        raise FileFormatError(f"{name}: is compressed by {known}, expected {', '.join(LINES)}; save it as ZIP")
    return known


def _channels(data: bytes, name: str) -> Iterator[Channel]:
    at, count = 0, 0
    while data[at] != 0:
        channel, at = _name(data, at)
        kind, _, across, down = struct.unpack_from("<iiii", data, at)
        at, count = at + 16, count + 1
        if not 0 <= kind < len(_TYPES) or count > MOST_CHANNELS:
            raise ValueError("a channel of an unknown type")
        if (across, down) != (1, 1):
            raise FileFormatError(f"{name}: channel {quote(channel)} has fewer pixels than the image; save it as RGB")
        yield Channel(channel, _TYPES[kind])


def _colors(header: Header, name: str) -> list[int]:
    """The channels that are red, green and blue: R, G, B of the image or of its first layer, or Y as all three."""
    names = [channel.name for channel in header.channels]
    layers = dict.fromkeys(["", *(own.rpartition(".")[0] + "." for own in names if "." in own)])
    for layer in layers:
        for wanted in ("RGB", "rgb", ("red", "green", "blue"), "YYY"):
            found = [layer + one for one in wanted]
            if all(one in names for one in found):
                return [names.index(one) for one in found]
    shown = ", ".join(quote(own) for own in names[:8]) or "none"
    raise FileFormatError(f"{name}: has the channels {shown}; expected R, G and B, or Y")


def _read_planes(data: bytes, header: Header, wanted: list[int]) -> Float32:
    """(3,h,w) the wanted channels."""
    window, step = header.stored, LINES[header.compression]
    count = -(-window.height // step)
    if window.height * header.bytes_per_line > MOST_RATIO * len(data):
        raise ValueError("more pixels than its bytes can hold")
    if header.end + 8 * count > len(data):
        raise ValueError("the table of blocks leaves the file")
    places = np.frombuffer(data, "<u8", count, header.end).tolist()
    out = np.zeros((len(wanted), window.height, window.width), np.float32)
    for place in places:
        line, size = struct.unpack_from("<ii", data, place)
        row = line - window.top
        if not 0 <= row < window.height or row % step or size < 0 or place + 8 + size > len(data):
            raise ValueError("a block leaves the file")
        height = min(step, window.height - row)
        block = _unpacked(data[place + 8 : place + 8 + size], header, height)
        lines = np.frombuffer(block, np.uint8).reshape(height, header.bytes_per_line)
        start = 0
        for number, channel in enumerate(header.channels):
            stop = start + window.width * channel.type.itemsize
            if number in wanted:
                values = np.ascontiguousarray(lines[:, start:stop]).view(channel.type).astype(np.float32)
                for plane in (place for place, own in enumerate(wanted) if own == number):
                    out[plane, row : row + height] = values
            start = stop
    return out


def _unpacked(data: bytes, header: Header, height: int) -> bytes:
    """The lines of a block."""
    total = height * header.bytes_per_line
    if header.compression == "none" or len(data) == total:
        found = data
    elif header.compression == "RLE":
        found = _from_differences(_runs(data, total))
    elif header.compression in ("ZIPS", "ZIP"):
        found = _from_differences(_inflated(data, total))
    elif header.compression == "PXR24":
        found = _from_planes(data, header, height)
    else:
        sizes = [channel.type.itemsize // 2 for channel in header.channels]
        found = decode_piz(data, sizes, header.stored.width, height)
    if len(found) != total:
        raise ValueError("a block of another size")
    return found


def _inflated(data: bytes, total: int) -> bytes:
    return zlib.decompressobj().decompress(data, total + 1)


def _runs(data: bytes, total: int) -> bytes:
    """A count of 0 … 127 repeats the next byte once more often; -n is followed by n plain bytes."""
    out, at = bytearray(), 0
    while at < len(data) and len(out) <= total:
        count = data[at]
        if count > 127:
            out += data[at + 1 : at + 1 + 256 - count]
            at += 1 + 256 - count
        else:
            out += data[at + 1 : at + 2] * (count + 1)
            at += 2
    return bytes(out)


def _from_differences(data: bytes) -> bytes:
    """Undo differences of bytes, and put even and odd ones in turn."""
    stored = np.frombuffer(data, np.uint8)
    summed = np.cumsum(stored, dtype=np.uint64) - 128 * np.arange(len(stored), dtype=np.uint64)
    whole: NDArray[np.uint8] = summed.astype(np.uint8)
    out, half = np.empty_like(whole), (len(whole) + 1) // 2
    out[0::2], out[1::2] = whole[:half], whole[half:]
    return out.tobytes()


def _from_planes(data: bytes, header: Header, height: int) -> bytes:
    """The lines of a block by PXR24."""
    kept = [3 if channel.type == _TYPES[2] else channel.type.itemsize for channel in header.channels]
    width = header.stored.width
    whole = _inflated(data, height * width * sum(kept))
    stored, at, out = np.frombuffer(whole, np.uint8), 0, bytearray()
    if len(stored) != height * width * sum(kept):
        raise ValueError("a block of another size")
    for _ in range(height):
        for channel, count in zip(header.channels, kept, strict=True):
            planes = stored[at : at + count * width].reshape(count, width).astype(np.uint32)
            shifts = 8 * np.arange(count - 1, -1, -1, dtype=np.uint32)
            values = np.cumsum((planes << shifts[:, None]).sum(axis=0, dtype=np.uint32), dtype=np.uint32)
            if count == 3:
                values = values << np.uint32(8)
            out += values.astype("<u2" if channel.type.itemsize == 2 else "<u4").tobytes()
            at += count * width
    return bytes(out)
