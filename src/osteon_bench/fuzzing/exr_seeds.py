"""OpenEXR images for tests and as seeds: a small writer of every compression but PIZ, and two files with that."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.io.images.exr import COMPRESSIONS, LINES, MAGIC

_TYPES = {"u": 0, "f2": 1, "f4": 2}


def exr_bytes(
    channels: Mapping[str, NDArray[Any]],
    compression: str = "ZIP",
    *,
    window: tuple[int, int] = (0, 0),
    shown: tuple[int, int, int, int] | None = None,
    flags: int = 0,
    code: int | None = None,
) -> bytes:
    """A file of channels (h,w), with the first pixel at `window`; `code`: another number of the compression."""
    names = sorted(channels)
    height, width = channels[names[0]].shape
    left, top = window
    listed = b"".join(name.encode() + b"\0" + struct.pack("<iiii", _type(channels[name]), 0, 1, 1) for name in names)
    stored = struct.pack("<4i", left, top, left + width - 1, top + height - 1)
    number = COMPRESSIONS.index(compression) if code is None else code
    attributes = [
        (b"channels", b"chlist", listed + b"\0"),
        (b"compression", b"compression", bytes([number])),
        (b"dataWindow", b"box2i", stored),
        (b"displayWindow", b"box2i", stored if shown is None else struct.pack("<4i", *shown)),
        (b"lineOrder", b"lineOrder", b"\0"),
    ]
    head = MAGIC + struct.pack("<I", 2 | flags)
    for name, kind, value in attributes:
        head += name + b"\0" + kind + b"\0" + struct.pack("<i", len(value)) + value
    head += b"\0"
    step = LINES[compression]
    blocks = []
    for row in range(0, height, step):
        planes = [channels[name][row : row + step] for name in names]
        data = _packed(planes, compression)
        blocks.append(struct.pack("<ii", top + row, len(data)) + data)
    place, places = len(head) + 8 * len(blocks), []
    for block in blocks:
        places.append(place)
        place += len(block)
    return head + struct.pack(f"<{len(places)}Q", *places) + b"".join(blocks)


def _type(plane: NDArray[Any]) -> int:
    return _TYPES["u" if plane.dtype.kind == "u" else plane.dtype.str[1:]]


def _packed(planes: list[NDArray[Any]], compression: str) -> bytes:
    """A block of lines; as it is where compression would not make it smaller."""
    plain = b"".join(plane[row].tobytes() for row in range(len(planes[0])) for plane in planes)
    if compression == "none":
        return plain
    if compression == "PXR24":
        found = zlib.compress(b"".join(_byte_planes(plane[row]) for row in range(len(planes[0])) for plane in planes))
    else:
        own = np.frombuffer(plain, np.uint8)
        parted = np.concatenate([own[0::2], own[1::2]]).astype(np.int64)
        apart = np.concatenate([parted[:1], np.diff(parted) + 128]).astype(np.uint8).tobytes()
        found = _runs(apart) if compression == "RLE" else zlib.compress(apart)
    return found if len(found) < len(plain) else plain


def _byte_planes(line: NDArray[Any]) -> bytes:
    """Differences of pixels by planes of bytes, of floats the upper three."""
    bits = line.view(np.uint16 if line.itemsize == 2 else np.uint32).astype(np.int64)
    count = 2 if line.itemsize == 2 else 4
    if line.dtype.kind == "f" and count == 4:
        bits, count = bits >> 8, 3
    apart = np.diff(bits, prepend=0)
    return b"".join(((apart >> 8 * k) & 255).astype(np.uint8).tobytes() for k in range(count - 1, -1, -1))


def _runs(data: bytes) -> bytes:
    out, at = b"", 0
    while at < len(data):
        run = 1
        while at + run < len(data) and run < 128 and data[at + run] == data[at]:
            run += 1
        if run > 2:
            out, at = out + bytes([run - 1, data[at]]), at + run
        else:
            out, at = out + bytes([255, data[at]]), at + 1
    return out


def sample_colors() -> NDArray[np.float32]:
    """(11,19,3) the image of the seeds."""
    y, x = np.mgrid[:11, :19]
    red, green, blue = np.minimum(x // 3, 4) * 0.25, np.where(y > 5, 2.0, 0.5), (x * y % 7) * 0.125
    return np.stack([red, green, blue], axis=-1).astype(np.float32)


#: The same image, written with PIZ by the OpenEXR library 3.5: half and float.
_PIZ_HALF = (
    "c-kw|H)LdDU|>kjNX*Mi%_#;lax#lc7|elUP7I6;5Won<?ieCL7$OYG`MCu}sl~;a`FSX8kR(e=Vo73nW?o8uIYUx@g;6Gh00ROD0WlX4r(_lv<R"
    "n%SRF{*Pm+D`Xl3Iks0z07~vm!OevA7^Lxg;pDBr~5OEhj&*gn<RDyTQIVxhOR?4`RG?YF-IYTbWTB0|$~7$V$R9Q%W+>j3}urNM$H4Day=CXW#{"
    "^Ps{^3A~QEJJ(VGj5n<9ykQO!u4kV!g0gQuOKjR>GKgHocfeGQ1qd?c}V1@8l4B14I*u?*jf}sfh2qYd8apcJAj?fLw%E~J12@4dR+E~^TqPaCER"
    "coux(uCWBE?bMFw<&DU+G;#E<bkhyj;qkc6L&YVrWVh6Z8<%m!z}Mm!nT6~IbyBOZi0(uF1R3KnwoaoU2tn^!ls^to?}K$!P*+f1mX|<vv{D=+|a"
    "51<sYLAi$|Qkc=ypsOe%gr;HjYGGRac~h$dd;_F&SrD0rZ>^2>idCXJQLx<5QT;2Qk$pA1W2fRvMK`{8y*k&MDa4jcs!4+8*_VN~S"
)
_PIZ_FLOAT = (
    "c-kw|H)LdDU|>kjNX*Mi%_#;lax#lc7|elUP7EL!5MYF2cMOpr3=xLp{M>?~)Z*gI{5%vkNRlNbu_Q4(GcP5-oFOT{!YGqLfB^x7fS3!2Q!<MSau"
    "O>Es>{jDOZ6{GNi9NRft^s0S&^FKSX_{rToRO6l9|ttmXn`Y!oUL7-C$pwT$Gxc2Ql6`HLnDyt;{Hmfdk13WF_I5DJ2<bMwC<*q%stj6lLb6Gw_1"
    "dC+2}1k(ryAp2`r%h%kwpnStQ|I|B!j5InrlX+|vKaP^0n5L%A{WnI}JJQhPXkt8<p|D#|if<FR@$3z@Cc3s+AVIFmT&1<XkyJDiJspdsD?t597s"
    "q=1o;c4BxO`lE|RPUJDc{hJj`Q0Pk2d?c+x2w&zV=L|7-5D|W(oenLJ0|8uKR-V|uIB0QW+Cgj-?<*#y(2O4j`Wf(bM-`CMxL8^iB~;(+Vk>~eX4"
    "i!qMM73%Sb$zDLOc<=+4IDT;l&f?El~2$27%))2RNx|NjRv1wx7S-GAaA{TH9a<m3P39}xL@a2i^|fc{$5mj^WC<{y4|z+3qL^8bG<ID;;~{IdQ("
    "e><a&|G)YFKRi(N_OP`GS<nBY#)30=$&Vi)4Fx}H>?8pEe1XX"
)
PIZ = {name: zlib.decompress(base64.b85decode(text)) for name, text in (("f2", _PIZ_HALF), ("f4", _PIZ_FLOAT))}


def exr_seeds() -> list[bytes]:
    """One file per compression and type."""
    pixels = sample_colors()
    halves = dict(zip("RGB", np.moveaxis(pixels, -1, 0).astype("<f2"), strict=True))
    floats = dict(zip("RGB", np.moveaxis(pixels, -1, 0).astype("<f4"), strict=True))
    written = [exr_bytes(halves, name) for name in LINES if name != "PIZ"]
    return [*written, exr_bytes(floats, "PXR24"), exr_bytes({"Y": floats["R"]}, "none"), *PIZ.values()]
