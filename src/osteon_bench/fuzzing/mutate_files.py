"""Mutations of container files: one part is changed, and sizes and checksums are rewritten to match."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
import warnings
import zipfile
from random import Random

import numpy as np

from osteon_bench.fuzzing.mutate import WORDS, mutate_bytes, mutate_numbers, mutate_text
from osteon_bench.fuzzing.mutate_json import mutate_json

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_TYPES = [
    *(
        "<f4",
        "<f8",
        "<f2",
        ">f4",
        "<i4",
        "<i8",
        "<u1",
        "|b1",
        "<u8",
        "<c8",
        "<U1",
        "<U0",
        "<U9",
        "|S4",
        "|S0",
        "|O",
        "|V8",
    ),
    *("<M8[D]", "<m8", "<f16", "<U99999999", "<q", "[('a', '<f4')]", "", "<", "<i0", "<f3"),
]
_SIZES = ("0", "1", "2", "3", "4", "-1", "True", "3L", "999999999999", "9" * 30, "", "1.0", "None", "(", "3, 3")


def mutate_npy(rng: Random, data: bytes) -> bytes:
    """Change the header of an array, with a matching header length, or replace numbers by extreme values."""
    if len(data) < 10 or rng.random() < 0.1:
        return mutate_bytes(rng, data)
    length = struct.unpack_from("<H", data, 8)[0]
    header, body = data[10 : 10 + length], data[10 + length :]
    how = rng.random()
    if how < 0.35:
        body = mutate_numbers(rng, body)
    elif how < 0.55:
        header = re.sub(rb"'descr': '[^']*'", f"'descr': '{rng.choice(_TYPES)}'".encode(), header)
    elif how < 0.8:
        header = _other_shape(rng, header)
    else:
        header = mutate_text(rng, header)[:60000]
    return data[:8] + struct.pack("<H", len(header)) + header + body


def _other_shape(rng: Random, header: bytes) -> bytes:
    found = re.search(rb"\(([^)]*)\)", header)
    sizes = [size.strip() for size in found[1].decode().split(",") if size.strip()] if found else []
    if sizes and rng.random() < 0.8:
        sizes[rng.randrange(len(sizes))] = rng.choice(_SIZES)
    else:
        sizes = [rng.choice(_SIZES) for _ in range(rng.choice((0, 1, 2, 3, 40)))]
    return re.sub(rb"\([^)]*\)?", ("(" + ", ".join(sizes) + rng.choice((",)", ")", ""))).encode(), header, count=1)


def mutate_npz(rng: Random, data: bytes) -> bytes:
    """Change, delete, duplicate or rename one member of an archive and pack it by any method; or change raw bytes."""
    if rng.random() < 0.15:
        return mutate_bytes(rng, data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError):
        return mutate_bytes(rng, data)
    for _ in range(rng.choice((1, 1, 1, 2))):
        if members:
            _mutate_member(rng, members)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of the same name
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = rng.choice(_METHODS) if rng.random() < 0.1 else zipfile.ZIP_STORED
            archive.writestr(info, content)
    packed = out.getvalue()
    return mutate_numbers(rng, packed) if rng.random() < 0.1 else packed


def _mutate_member(rng: Random, members: list[tuple[str, bytes]]) -> None:
    at = rng.randrange(len(members))
    name, content = members[at]
    how = rng.random()
    if name == "header.npy" and how < 0.7:
        members[at] = (name, _mutate_header(rng, content))
    elif how < 0.6:
        members[at] = (name, mutate_npy(rng, content))
    elif how < 0.7:
        del members[at]
    elif how < 0.8:
        members[at] = (name, rng.choice(members)[1])
    elif how < 0.9:
        members[at] = (name, _small_array(rng))
    else:
        members[at] = (rng.choice((f"x{name}", name.removesuffix(".npy"), "../a.npy", "fps.npy", "uvs.npy")), content)


def _mutate_header(rng: Random, content: bytes) -> bytes:
    """Mutate the JSON text stored in a string array."""
    try:
        text = str(np.load(io.BytesIO(content), allow_pickle=False).item())
    except (ValueError, EOFError, SyntaxError, TypeError):
        return mutate_npy(rng, content)
    mutated = mutate_json(rng, text.encode("utf-8", "replace")).decode("utf-8", "replace")
    return _saved(np.array(mutated))


def _small_array(rng: Random) -> bytes:
    shape = tuple(rng.choice((0, 1, 2, 3, 4)) for _ in range(rng.randrange(4)))
    dtype = rng.choice(("f4", "f8", "i4", "i8", "u1", "?", "U2", "S2", "c8"))
    return _saved(np.zeros(shape, dtype) if rng.random() < 0.5 else np.ones(shape, "i4").astype(dtype))


def _saved(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def mutate_glb(rng: Random, data: bytes) -> bytes:
    """Mutate the JSON or the numbers of a .glb; chunk sizes are mostly rewritten to match."""
    if len(data) < 28 or rng.random() < 0.05:
        return mutate_bytes(rng, data)
    size = struct.unpack_from("<I", data, 12)[0]
    text, binary = data[20 : 20 + size], data[28 + size :]
    if rng.random() < 0.7:
        text = mutate_json(rng, text)
    if rng.random() < 0.4:
        binary = mutate_numbers(rng, binary)
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(binary), 0x004E4942) + binary
    made = struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
    return mutate_numbers(rng, made[:20]) + made[20:] if rng.random() < 0.05 else made


def mutate_gltf(rng: Random, data: bytes) -> bytes:
    """Mutate the JSON of a .gltf or the numbers in its data URIs."""
    if rng.random() < 0.7:
        return mutate_json(rng, data)
    try:
        root = json.loads(data)
        buffer = rng.choice(root["buffers"])
        head, _, body = buffer["uri"].partition(",")
        mutated = mutate_numbers(rng, base64.b64decode(body))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return mutate_json(rng, data)
    buffer["uri"] = head + "," + base64.b64encode(mutated).decode()
    return json.dumps(root).encode()


def mutate_ply(rng: Random, data: bytes) -> bytes:
    """Mutate the header or the body of a .ply."""
    end = data.find(b"end_header\n") + len(b"end_header\n")
    header, body = data[:end], data[end:]
    if rng.random() < 0.6:
        return mutate_text(rng, header[: -len(b"end_header\n")]) + b"\nend_header\n" + body
    if b"format ascii" in header:
        return header + mutate_text(rng, body)
    if rng.random() < 0.2:
        return header + body[: rng.randint(0, len(body))] + rng.choice(WORDS)
    return header + mutate_numbers(rng, body)
