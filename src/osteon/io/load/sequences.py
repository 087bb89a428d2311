"""Loads any inputs as one MeshSequence.

With one file per frame the peak memory is that of the float32 sequence and one frame, because all clips share one array
from the start. Several files that each hold an animation are joined at the end, which takes twice the memory.

Paths are resolved to files in order, and these to clips:

- A folder, or a quoted pattern such as 'walk/*.obj', is one clip.
- Mesh files named one by one are the frames of one clip for each folder they are in, because a shell that expands
  walk/*.obj names them one by one. Files in alphabetical order are put in natural order (frame2 before frame10); any
  other order is kept.
- A file that holds an animation is its own clip or clips.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
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
from osteon.io.formats.registry import FORMATS, format_of, mesh_suffixes
from osteon.io.load.clips import choose_sequence_frames
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
    return chosen.with_parts(asset=chosen.asset.read_from(files))


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
    n_vertices: int | None = None
    if isinstance(found, MeshFormat):
        mesh = read_mesh_file(path)
        faces, asset, n_vertices = mesh.faces, mesh.asset, len(mesh.vertices)
    elif path.suffix.lower() == ".npy":
        faces, asset = read_npy_faces(path)
    else:
        sequence = found.read(path, ReadRequest())
        faces, asset, n_vertices = sequence.faces, sequence.asset, sequence.n_vertices
    if not len(faces):
        raise GeometryError(f"{path}: holds no triangles; name a mesh that has faces")
    return Connectivity(faces, asset, path, n_vertices)


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


@dataclass(frozen=True, slots=True)
class Take:
    """One clip to load: one file per frame, or one file that holds an animation."""

    name: str
    files: tuple[Path, ...]

    @property
    def is_frames(self) -> bool:
        return isinstance(format_of(self.files[0]), MeshFormat)


def natural_key(path: Path) -> tuple[tuple[int, int, str], ...]:
    """Sorts frame2 before frame10."""
    parts = re.split(r"(\d+)", str(path).casefold())
    return (*((1, int(p), p) if p.isdecimal() else (0, 0, p) for p in parts), (0, 0, str(path)))


def resolve_inputs(paths: Sequence[PathLike]) -> list[Take]:
    """The takes of the inputs, in order."""
    if not paths:
        raise FileFormatError("no input; name a file, a folder of meshes, or a pattern such as 'walk/*.obj'")
    named: list[Take | Path] = []
    for text in paths:
        path = Path(text)
        if path.is_dir():
            named.append(_folder(path))
        elif not path.exists() and glob.has_magic(str(path)):
            named += _pattern(path)
        elif not path.exists():
            raise FileFormatError(f"{path}: there is no such file or folder")
        else:
            format_of(path)  # refuses unknown suffixes before anything is read
            named.append(path)
    return _group(named)


def _group(named: list[Take | Path]) -> list[Take]:
    """Neighbouring mesh files of one folder become one take."""
    takes: list[Take] = []

    def group_of(item: Take | Path) -> tuple[str, object]:
        if isinstance(item, Take):
            return "take", id(item)
        return ("frames", item.parent) if isinstance(format_of(item), MeshFormat) else ("file", id(item))

    for (kind, _), run in groupby(named, group_of):
        for_clip = list(run)
        files = [item for item in for_clip if isinstance(item, Path)]
        takes += [item for item in for_clip if isinstance(item, Take)]
        if kind == "frames":
            _one_suffix(files, str(files[0].parent))
            name = files[0].stem if len(files) == 1 else _folder_name(files[0].parent)
            takes.append(Take(name, tuple(_in_order(files))))
        elif kind == "file":
            takes.append(Take(files[0].stem, tuple(files)))
    return takes


def _in_order(files: list[Path]) -> list[Path]:
    """Natural order if the files are in alphabetical order, else the order of the caller."""
    names = [str(f) for f in files]
    listed = names in (sorted(names), sorted(names, key=str.casefold))
    return sorted(files, key=natural_key) if listed else files


def _folder(path: Path) -> Take:
    try:
        entries = sorted(path.iterdir(), key=natural_key)
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be listed ({error.strerror})") from error
    files = [f for f in entries if _is_mesh(f) and f.is_file() and not f.name.startswith(".")]
    if not files:
        raise FileFormatError(f"{path}: {_why_nothing(entries)}")
    _one_suffix(files, str(path))
    return Take(_folder_name(path), tuple(files))


def _is_mesh(path: Path) -> bool:
    """Whether the suffix names a format of one pose; other formats are looked up only if none of Osteon's has it."""
    suffix = path.suffix.lower()
    own = FORMATS.own.get(suffix)
    return isinstance(own, MeshFormat) or (own is None and suffix != "" and suffix in mesh_suffixes())


def _why_nothing(entries: list[Path]) -> str:
    wanted = f"expected frames ({', '.join(mesh_suffixes())})"
    if not entries:
        return f"the folder is empty; {wanted}"
    known = set(FORMATS)
    files = [f.name for f in entries if f.suffix.lower() in known and f.is_file()]
    if files:
        return f"holds no frames; name the files in it one by one, such as {files[0]}"
    folders = [f.name for f in entries if f.is_dir()]
    return f"holds no frames but folders; name them, such as {folders[0]}" if folders else f"holds no mesh; {wanted}"


def _pattern(path: Path) -> list[Take | Path]:
    """A pattern of mesh files is one take; one of folders or of animations is as if each was named."""
    found = sorted((Path(name) for name in glob.glob(str(path), recursive=True)), key=natural_key)
    known = set(FORMATS)
    files = [f for f in found if f.suffix.lower() in known and f.is_file()]
    if not files:
        folders = [f for f in found if f.is_dir()]
        if folders:
            return [_folder(f) for f in folders]
        raise FileFormatError(f"{path}: the pattern matches no mesh file")
    if not all(isinstance(format_of(f), MeshFormat) for f in files):
        return list(files)
    _one_suffix(files, str(path))
    literal = re.split(r"[*?\[]", path.name)[0].rstrip("_-. ")
    return [Take(literal or _folder_name(path.parent), tuple(files))]


def _one_suffix(files: list[Path], where: str) -> None:
    suffixes = sorted({f.suffix.lower() for f in files})
    if len(suffixes) > 1:
        raise FileFormatError(
            f"{where}: holds both {suffixes[0]} and {suffixes[1]} files; name one kind, such as '*{suffixes[0]}'"
        )


def _folder_name(path: Path) -> str:
    return path.resolve().name or "mesh"
