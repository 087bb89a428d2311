"""Positions in an .npy: `(f,v,3)`, with triangles from another file; and triangles `(t,3)` in an .npy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Int32
from osteon.core.asset import Asset
from osteon.core.sequence import MeshSequence
from osteon.io.archives.stored_array import open_array, triangulate_faces
from osteon.io.formats.format_types import SequenceFormat
from osteon.io.formats.options import ReadRequest
from osteon.io.load.clip_choice import select_clips
from osteon.io.load.source import Source

__all__ = ["NPY", "read_npy", "read_npy_faces", "read_npy_frames"]


def read_npy(path: Path, request: ReadRequest) -> MeshSequence:
    """The frames in `path` with the triangles of `--faces`."""
    source = Source(path)
    if request.connectivity is None:
        raise source.format_error("holds positions only; name a mesh or an .npy of triangles with --faces FILE")
    frames = read_npy_frames(path, request)
    clip = Clip(path.stem, 0, len(frames), request.options.frame_rate)
    asset = request.connectivity.asset_for(frames.shape[1])
    with source.naming():
        sequence = MeshSequence(frames, request.connectivity.faces, frames[0], (clip,), asset, path.stem)
    return select_clips(sequence, request.options.clips, path)


def read_npy_frames(path: Path, request: ReadRequest) -> Float32:
    """(f,v,3) positions."""
    source = Source(path)
    with source.open() as file:
        return open_array(file, path.stat().st_size, source, "the array").read_frames(request.progress)


def read_npy_faces(path: Path) -> tuple[Int32, Asset]:
    """Triangles of an index array; polygons of equal size are triangulated."""
    source = Source(path)
    with source.open() as file:
        stored = open_array(file, path.stat().st_size, source, "the array").read()
    faces, polygon = triangulate_faces(stored, source)
    if faces.size and (faces.min() < 0 or faces.max() >= 2**31):
        raise source.format_error(f"face indices must not be negative, got {int(faces.min())} … {int(faces.max())}")
    return faces.astype(np.int32), Asset(polygon_of_triangle=polygon)


NPY = SequenceFormat(".npy", "NumPy array", read_npy)
