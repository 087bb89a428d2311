"""Loads any inputs as one MeshSequence.

With one file per frame the peak memory is that of the float32 sequence and one frame, because all clips share one array
from the start. Several files that each hold an animation are joined at the end, which takes twice the memory.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Int32
from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence, join_clips
from osteon.io.archives.sequences import read_npy_faces, read_npy_frames
from osteon.io.formats.format_types import MeshFormat, Outline, SequenceFormat
from osteon.io.formats.options import DEFAULT_LOAD_OPTIONS, Connectivity, LoadOptions, ReadRequest
from osteon.io.formats.registry import format_of
from osteon.io.load.clips import choose_sequence_frames
from osteon.io.load.inputs import Take, resolve_inputs
from osteon.io.load.origin import read_from
from osteon.io.load.source import PathLike, Source
from osteon.io.meshes.mesh import LoadedMesh, read_mesh, read_next_vertices

NO_TRIANGLES = "holds no triangles; export the mesh with its faces, or name a file that has them with --faces FILE"


def load_sequence(
    paths: PathLike | Sequence[PathLike],
    *,
    options: LoadOptions = DEFAULT_LOAD_OPTIONS,
    progress: Progress | None = None,
) -> MeshSequence:
    """One mesh with all its frames; several inputs are several clips on one rig.

    `load_sequence("walk/")`, `load_sequence("fox.glb")`, `load_sequence(["walk/", "run/"])`
    """
    named = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    takes = resolve_inputs(named)
    connectivity = None if options.faces is None else _read_connectivity(Path(options.faces))
    request = ReadRequest(options, connectivity, progress)
    if all(take.is_frames for take in takes):
        sequences = [_read_frames(takes, request)]
    else:
        sequences = [_read_take(take, request) for take in takes]
    sequence = join_clips(sequences) if len(sequences) > 1 else sequences[0]
    if not sequence.n_triangles:
        raise GeometryError(f"{named[0]}: {NO_TRIANGLES}")
    if connectivity is not None and not any(np.shares_memory(s.faces, connectivity.faces) for s in sequences):
        raise OptionError(f"faces: {named[0]} holds its own triangles; omit --faces")
    chosen = choose_sequence_frames(_with_rest(sequence, options), options.frames, options.step)
    files = [file for take in takes for file in take.files]
    files += [path for path in (options.rest, options.faces) if isinstance(path, Path)]
    return chosen.with_parts(asset=read_from(chosen.asset, files))


def load_outline(paths: Sequence[PathLike], *, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> Outline | None:
    """Mesh and clips of one file, if its format can be read without the frames; else None."""
    takes = resolve_inputs(paths)
    found = format_of(takes[0].files[0])
    whole = (options.rest, options.faces, options.frames, options.step) == (None, None, None, 1)
    if len(takes) > 1 or not whole or not isinstance(found, SequenceFormat) or found.outline is None:
        return None
    outline = found.outline(takes[0].files[0], ReadRequest(options))
    if not outline.mesh.n_triangles:
        raise GeometryError(f"{paths[0]}: {NO_TRIANGLES}")
    return outline


def _read_take(take: Take, request: ReadRequest) -> MeshSequence:
    found = format_of(take.files[0])
    if isinstance(found, MeshFormat):
        return _read_frames([take], request)
    return found.read(take.files[0], request)


def _read_frames(takes: list[Take], request: ReadRequest) -> MeshSequence:
    """Read one file per frame, of all takes, into one array, which is allocated after the first frame."""
    if request.options.clips:
        raise OptionError("clips: a folder of frames is one clip; omit the folders that you do not need")
    total = sum(len(take.files) for take in takes)
    first = read_mesh_file(takes[0].files[0], 0 if total > 1 else None, request.connectivity)
    if not len(first.faces):
        raise first.source.geometry_error(NO_TRIANGLES)
    frames = np.empty((total, *first.vertices.shape), np.float32)
    frames[0] = first.vertices
    clips: list[Clip] = []
    done = 0
    for take in takes:
        for f, path in enumerate(take.files):
            if done:
                frames[done] = read_next_file(Source(path, f), first)
            done += 1
            report_progress(request.progress, "load", done / total)
        name = take.name
        while name in [clip.name for clip in clips]:
            name += "_"
        clips.append(Clip(name, done - len(take.files), done, request.options.frame_rate))
    return MeshSequence(frames, first.faces, first.vertices, tuple(clips), first.asset, takes[0].name)


def read_mesh_file(path: Path, frame: int | None = None, connectivity: Connectivity | None = None) -> LoadedMesh:
    """One mesh of a file that holds one, with its triangles from elsewhere if it has none."""
    source = Source(path, frame)
    mesh = read_mesh(_mesh_format(path).scan(source.read(), source), source)
    if len(mesh.faces) or connectivity is None:
        return mesh
    if connectivity.faces.size and connectivity.faces.max() >= len(mesh.vertices):
        raise GeometryError(
            f"{connectivity.origin}: its triangles name vertex {connectivity.faces.max()} "
            f"but {source} has {len(mesh.vertices)} vertices"
        )
    return replace(mesh, faces=connectivity.faces, asset=connectivity.asset_for(len(mesh.vertices)))


def read_next_file(source: Source, first: LoadedMesh) -> Float32:
    """(v,3) of a file with the triangles of the first."""
    return read_next_vertices(_mesh_format(source.path).scan(source.read(), source), source, first)


def _mesh_format(path: Path) -> MeshFormat:
    found = format_of(path)
    if not isinstance(found, MeshFormat):
        raise FileFormatError(f"{path}: is {found.name}, expected one mesh per file")
    return found


def _read_connectivity(path: Path) -> Connectivity:
    """Triangles from any file that has some."""
    found = format_of(path)
    if isinstance(found, MeshFormat):
        mesh = read_mesh_file(path)
        faces, asset = mesh.faces, mesh.asset
    elif path.suffix.lower() == ".npy":
        faces, asset = read_npy_faces(path)
    else:
        sequence = found.read(path, ReadRequest())
        faces, asset = sequence.faces, sequence.asset
    if not len(faces):
        raise GeometryError(f"{path}: holds no triangles; name a mesh that has faces")
    return Connectivity(faces, asset, path)


def _with_rest(sequence: MeshSequence, options: LoadOptions) -> MeshSequence:
    """The sequence with the rest pose of the options."""
    if options.rest is None:
        return sequence
    if isinstance(options.rest, int):
        if not -sequence.n_frames <= options.rest < sequence.n_frames:
            raise OptionError(
                f"rest: frame {options.rest} of {sequence.n_frames}; expected 0 … {sequence.n_frames - 1}"
            )
        return _posed(sequence, sequence.frames[options.rest])
    path = Path(options.rest)
    vertices, faces = _read_pose(path)
    if len(vertices) != sequence.n_vertices:
        raise GeometryError(f"{path}: the rest pose has {len(vertices)} vertices, the frames {sequence.n_vertices}")
    if faces is not None and len(faces) and not np.array_equal(faces, sequence.faces):
        raise GeometryError(f"{path}: the rest pose connects its vertices differently from the frames")
    return _posed(sequence, vertices)


def _posed(sequence: MeshSequence, rest: Float32) -> MeshSequence:
    """The sequence with another rest pose; authored normals go along with the surface."""
    if sequence.asset.normals is None:
        return sequence.with_parts(rest=rest)
    from osteon.measure.shading import source_normals_of  # compiled

    source = source_normals_of(sequence)
    asset = replace(sequence.asset, normals=source.as_stored(source.at(rest)))
    return sequence.with_parts(rest=rest, asset=asset)


def _read_pose(path: Path) -> tuple[Float32, Int32 | None]:
    """Vertices of a rest pose, and its triangles if the file has some."""
    found = format_of(path)
    if isinstance(found, MeshFormat):
        mesh = read_mesh_file(path)
        return mesh.vertices, mesh.faces
    if path.suffix.lower() == ".npy":
        return read_npy_frames(path, ReadRequest())[0], None
    sequence = found.read(path, ReadRequest())
    return sequence.rest, sequence.faces
