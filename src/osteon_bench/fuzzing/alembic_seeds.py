"""Alembic files: one that Osteon wrote, a cage below transforms, an outline alone; and how their blocks are mutated."""

from __future__ import annotations

import re
import struct
import tempfile
from importlib import import_module
from pathlib import Path
from random import Random

import numpy as np

from osteon_bench.fuzzing.mutate import mutate_bytes, mutate_numbers
from osteon_bench.fuzzing.written_seeds import FACES, REST, written_sequence

DATA = 1 << 63  # marks the place of a block of data


def alembic_seeds() -> list[bytes]:
    """The same bytes whenever they are made."""
    (written,) = written_sequence(".abc")
    return [re.sub(rb"(?s)(DateWritten=).{24}", rb"\1Thu Jan  1 00:00:00 1970", written), _cage(), _outline()]


def _cage() -> bytes:
    """A subdivision cage of two samples below two transforms, one of which moves."""
    library, imath = import_module("alembic3d"), import_module("imath")
    corners = imath.IntArrayFromBuffer(np.ascontiguousarray(FACES.reshape(-1), np.int32))
    sizes = imath.IntArrayFromBuffer(np.full(len(FACES), 3, np.int32))
    with tempfile.TemporaryDirectory(prefix="osteon-fuzz-") as folder:
        path = Path(folder, "cage.abc")
        archive = library.Abc.OArchive(str(path))
        clock = archive.addTimeSampling(library.AbcCoreAbstract.TimeSampling(1 / 24, 0.0))
        above = library.AbcGeom.OXform(archive.getTop(), "above", clock)
        for shift in (0.0, 1.0):
            sample = library.AbcGeom.XformSample()
            sample.setTranslation(imath.V3d(shift, 0, 0))
            above.getSchema().set(sample)
        still = library.AbcGeom.OXform(above, "still")
        cage = library.AbcGeom.OSubD(still, "cage", clock)
        for scale in (1, 2):
            points = imath.V3fArrayFromBuffer(np.ascontiguousarray(REST * scale))
            cage.getSchema().set(library.AbcGeom.OSubDSchemaSample(points, corners, sizes))
        del sample, cage, still, above, archive  # closes the file
        return path.read_bytes()


def _outline() -> bytes:
    """A root group of a group and two blocks of data."""
    head = b"Ogawa\xff\x00\x01" + struct.pack("<Q", 32)
    block = struct.pack("<Q", 8) + b"content."  # at 16
    root = struct.pack("<5Q", 4, 72, DATA | 16, DATA, DATA | 16)  # at 32
    group = struct.pack("<3Q", 2, DATA | 16, 0)  # at 72
    return head + block + root + group


def mutate_ogawa(rng: Random, data: bytes) -> bytes:
    """Another content in some blocks of data; the outline stays sound, so that the library gets to see it."""
    out = bytearray(data)
    blocks = _blocks(data)
    for start, stop in rng.sample(blocks, min(len(blocks), rng.choice((1, 1, 1, 2, 3)))):
        mutate = rng.choice((mutate_numbers, mutate_numbers, mutate_bytes))
        out[start:stop] = mutate(rng, data[start:stop])[: stop - start].ljust(stop - start, b"\0")
    return bytes(out)


def _blocks(data: bytes) -> list[tuple[int, int]]:
    """Where the contents of blocks begin and end, in a sound file."""
    found: set[tuple[int, int]] = set()
    waiting = [struct.unpack_from("<Q", data, 8)[0]]
    while waiting:
        group = waiting.pop()
        (count,) = struct.unpack_from("<Q", data, group)
        for place in struct.unpack_from(f"<{count}Q", data, group + 8):
            if place & ~DATA and place & DATA:
                start = (place ^ DATA) + 8
                found.add((start, start + struct.unpack_from("<Q", data, place ^ DATA)[0]))
            elif place & ~DATA:
                waiting.append(place)
    return sorted(block for block in found if block[0] < block[1])
