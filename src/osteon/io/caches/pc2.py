"""Point cache 2 (.pc2) of 3ds Max, Blender and Maya's exporters, little-endian:

    12 bytes  "POINTCACHE2" and a zero
    int32     version, 1
    int32     number of vertices
    float32   first frame
    float32   frames per sample
    int32     number of samples
    float32   positions, x y z of every vertex, sample by sample

The file has no frame rate: samples play at `--fps`, or at 24 per second. Where there is not one frame per sample, the
rate of the clip is that of the samples.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO

import numpy as np

from osteon.core.sequence import MeshSequence
from osteon.io.caches.point_cache import CacheLayout, read_point_cache
from osteon.io.formats.format_types import SequenceFormat
from osteon.io.formats.options import ReadRequest
from osteon.io.load.source import Source, quote

_HEAD = struct.Struct("<12siiffi")
_SIGNATURE, _VERSION = b"POINTCACHE2\0", 1


def read_pc2(path: Path, request: ReadRequest) -> MeshSequence:
    """The frames in `path` with the triangles of `--faces`."""
    return read_point_cache(path, request, _layout, "PC2")


def _layout(file: IO[bytes], source: Source) -> CacheLayout:
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or not head.startswith(_SIGNATURE[:-1]):
        raise source.format_error(f"begins with {quote(head[:12])}, expected 'POINTCACHE2'; it is no PC2 point cache")
    _, version, n_vertices, _, step, n_frames = _HEAD.unpack(head)
    if version != _VERSION:
        raise source.format_error(f"is version {version} of PC2, expected {_VERSION}")
    if not np.isfinite(step) or step <= 0:
        raise source.format_error(f"has {step:g} frames per sample, expected a positive number; it is damaged")
    return CacheLayout(n_frames, n_vertices, None, _HEAD.size, "<f4")


def write_pc2(path: Path, sequence: MeshSequence) -> None:
    """All frames, one after the other; `read_pc2` returns the same positions."""
    with path.open("wb") as file:
        file.write(_HEAD.pack(_SIGNATURE, _VERSION, sequence.n_vertices, 0.0, 1.0, sequence.n_frames))
        for block in sequence.blocks():
            file.write(block.frames.astype("<f4", copy=False).tobytes())


PC2 = SequenceFormat(".pc2", "PC2 point cache", read_pc2, write_pc2, positions_only=True)
