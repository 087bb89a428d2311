"""Mesh sequences as NumPy arrays.

An .npz has `frames (f,v,3)`, `faces (t,3)`, and optionally `rest (v,3)` and `fps`. A sequence that Osteon wrote also
has `format`, `version`, and a `header` with clips, materials and names. An .npy has frames `(f,v,3)` or triangles
`(t,3)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Int32
from osteon.core.mesh import Asset
from osteon.core.options import command_text
from osteon.core.sequence import MeshSequence
from osteon.io.archives.archive import (
    Archive,
    open_archive,
    open_array,
    pack_header,
    triangulate_faces,
    write_archive,
    write_array,
)
from osteon.io.formats.format_types import SequenceFormat
from osteon.io.formats.options import ReadRequest
from osteon.io.load.clips import select_clips
from osteon.io.load.source import Source, quote
from osteon.io.metadata.asset import damage_named, pack_asset, pack_clips, unpack_asset, unpack_clips

SEQUENCE_FORMAT = "osteon-sequence"
MODEL_FORMAT = "osteon-model"
SEQUENCE_VERSION = 1


def read_npz(path: Path, request: ReadRequest) -> MeshSequence:
    """The sequence in `path`."""
    source = Source(path)
    with open_archive(source) as archive:
        found = archive.text("format")
        if found not in ("", SEQUENCE_FORMAT):
            raise source.format_error(_not_a_sequence(found, source.path))
        if found:
            check_version(archive, SEQUENCE_FORMAT, SEQUENCE_VERSION)
        frames = archive.frames("frames", request.progress)
        faces, asset = _faces(archive, request, frames.shape[1])
        header = archive.header()
        with damage_named(source):
            rest = _rest(archive, frames)
            sequence = MeshSequence(
                frames,
                faces,
                rest,
                _clips(archive, request, header.get("clips", []), len(frames)),
                asset,
                str(header.get("name", path.stem)),
            )
    return select_clips(sequence, request.options.clips, path)


def _not_a_sequence(found: str, path: Path) -> str:
    """The error message for an archive that holds no mesh sequence."""
    if found != MODEL_FORMAT:
        return f"holds {quote(found)}, not a mesh sequence; name an .npz with frames (f,v,3) and faces (t,3)"
    frames = f"{path.stem}-frames.npz"
    play = command_text("osteon", "play", path, "-o", frames)
    return f"is a skinned model, not a sequence of frames; write its frames first, {play}, and name those"


def check_version(archive: Archive, name: str, *known: int) -> None:
    """Refuse a version that this release does not support."""
    version = archive.number("version")
    if version not in known:
        shown = "no version" if version is None else f"version {version:g}"
        read = " and ".join(str(number) for number in known)
        raise archive.source.format_error(
            f"is {name} {shown}, this release reads version {read}; use the release that wrote it, or write it again"
        )


def _rest(archive: Archive, frames: Float32) -> Float32:
    stored = archive.optional("rest")
    if stored is None:
        return np.asarray(frames[0])
    if stored.shape != frames.shape[1:] or stored.dtype.kind not in "fiu":
        raise archive.source.format_error(
            f"'rest' is {stored.dtype} of shape {stored.shape}, expected numbers of shape {frames.shape[1:]}"
        )
    return archive.source.positions(stored)


def _faces(archive: Archive, request: ReadRequest, n_vertices: int) -> tuple[NDArray[Any], Asset]:
    if "faces" not in archive and request.connectivity is not None:
        return request.connectivity.faces, request.connectivity.asset_for(n_vertices)
    if "faces" not in archive:
        raise archive.source.format_error("lacks the array 'faces'; name a mesh that has them with --faces FILE")
    faces, polygon = triangulate_faces(archive.array("faces"), archive.source)
    with damage_named(archive.source):
        asset = unpack_asset(archive, archive.header())
    if asset.polygon_of_triangle is None and polygon is not None:
        asset = Asset(polygon_of_triangle=polygon)
    return faces, asset


def _clips(archive: Archive, request: ReadRequest, stored: list[dict[str, object]], n_frames: int) -> tuple[Clip, ...]:
    """Clips of the header, or one clip named after the file; the caller's rate wins over the file's."""
    options = request.options
    rate = archive.number("fps") if options.fps == "file" else options.frame_rate
    if not stored:
        return (Clip(archive.source.path.stem, 0, n_frames, options.frame_rate if rate is None else rate),)
    clips = unpack_clips(stored)
    return clips if rate is None else tuple(Clip(c.name, c.start, c.stop, rate) for c in clips)


def write_npz(path: Path, sequence: MeshSequence) -> None:
    """All of a sequence; `read_npz` returns the same."""
    arrays, header = pack_asset(sequence.asset)
    header |= {"name": sequence.name, "clips": pack_clips(sequence.clips)}
    about = {"format": np.array(SEQUENCE_FORMAT), "version": np.array(SEQUENCE_VERSION), "header": pack_header(header)}
    mesh = {"faces": sequence.faces, "rest": sequence.rest}
    write_archive(path, {**arrays, "frames": sequence.source, **mesh, **about})


NPZ = SequenceFormat(".npz", "NumPy archive", read_npz, write_npz, further_sets=True)


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


def write_npy(path: Path, sequence: MeshSequence) -> None:
    """Frames (f,v,3), block by block."""
    with path.open("wb") as file:
        write_array(file, sequence.source)


NPY = SequenceFormat(".npy", "NumPy array", read_npy, write_npy, positions_only=True)
