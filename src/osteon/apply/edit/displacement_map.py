"""Displacements of the vertices of a mesh from a picture, through its texture coordinates.

    height    d_v = h (m(u_v) - m0) n_v
    tangent   d_v = h sum_i (m_i(u_v) - m0) / (1 - m0) e_i,   e the tangent, bitangent and normal
    object    d_v = h (m(u_v) - m0) / (1 - m0), in the axes of the rest pose

| symbol | name |
| --- | --- |
| m | the map, 0 … 1, between pixels bilinear, repeated outside 0 … 1 |
| h, m0 | height, and the value that moves nothing |

A vertex at a seam of the texture has several coordinates, and vertices may be stored once for each: all vertices in one
position get the mean over their corners, weighted by the angles of the triangles there, so that seams stay closed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from osteon.apply.edit.options import MapKind
from osteon.core.arrays import Float32, Float64, FloatArray, Int32
from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.mesh import Mesh
from osteon.core.normals import vertex_normals
from osteon.core.topology import weld_points
from osteon.io.gltf.write.mesh import vertex_tangents
from osteon.io.load.source import quote

#: Largest width and height of a picture, in pixels.
MOST_PIXELS = 16_384
#: Pixels that a picture of any size in bytes may have, and further ones per byte: more than any codec reaches.
FEW_PIXELS, PER_BYTE = 1 << 24, 1024


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Without Pillow's warnings: a file is read or refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_map(path: Path) -> Float32:
    """(height,width,1|3) values of a picture, 0 … 1; the first row is at the top."""
    from PIL import Image, UnidentifiedImageError

    try:
        with _without_warnings(), Image.open(path) as picture:
            _check_size(path, picture.size)
            single = len(picture.getbands()) == 1 and picture.mode != "P"
            plain = "L" if picture.mode in ("1", "LA", "La") else None if single else "RGB"
            values = np.asarray(picture if plain is None else picture.convert(plain))
    except UnidentifiedImageError as error:
        raise FileFormatError(f"{path}: is not a picture; expected a PNG, TIFF or JPEG") from error
    except FileNotFoundError as error:
        raise FileFormatError(f"{path}: there is no such file") from error
    except FileFormatError:
        raise
    except MemoryError as error:
        raise FileFormatError(f"{path}: is too large to be decoded, or damaged; save it again, smaller") from error
    except Exception as error:  # decoders have no error in common
        raise FileFormatError(f"{path}: cannot be read as a picture ({quote(str(error))}); save it again") from error
    if not values.size:
        raise FileFormatError(f"{path}: holds no pixels")
    return _unit(values, path)


def _check_size(path: Path, size: tuple[int, int]) -> None:
    """Refuse a picture that is too large, or too large for its file."""
    width, height = size
    if max(size) > MOST_PIXELS:
        raise FileFormatError(f"{path}: has {width} x {height} pixels, expected {MOST_PIXELS} at most")
    if width * height > FEW_PIXELS + PER_BYTE * path.stat().st_size:
        raise FileFormatError(f"{path}: promises {width} x {height} pixels, too many for its size; it is damaged")


def _unit(values: np.ndarray, path: Path) -> Float32:
    """Integers as 0 … 1; real numbers as they are, if they are finite."""
    planes = values[..., None] if values.ndim == 2 else values
    if planes.dtype.kind == "f":
        if not np.isfinite(planes).all():
            raise FileFormatError(f"{path}: has a value that is not finite; repair it")
        return planes.astype(np.float32)
    most = 255.0 if planes.dtype == np.uint8 else 65535.0
    return (planes / most).astype(np.float32)


def sample_map(values: FloatArray, uvs: FloatArray) -> Float64:
    """(n,c) bilinear values of a map (height,width,c) at texture coordinates (n,2), origin at the bottom left."""
    height, width = values.shape[:2]
    x = uvs[:, 0].astype(np.float64) * width - 0.5
    y = (1.0 - uvs[:, 1].astype(np.float64)) * height - 0.5
    column, row = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    fx, fy = (x - column)[:, None], (y - row)[:, None]

    def pixel(dx: int, dy: int) -> Float64:
        return np.asarray(values[(row + dy) % height, (column + dx) % width], np.float64)

    upper = (1 - fx) * pixel(0, 0) + fx * pixel(1, 0)
    lower = (1 - fx) * pixel(0, 1) + fx * pixel(1, 1)
    return np.asarray((1 - fy) * upper + fy * lower)


def map_displacement(
    mesh: Mesh, values: FloatArray, height: float, kind: MapKind = "height", middle: float | None = None
) -> Float64:
    """(v,3) the displacement of every vertex by a map (height,width,1|3)."""
    if mesh.asset.uvs is None:
        raise GeometryError(
            f"'{mesh.name}' has no texture coordinates, which a displacement map needs; add them, or edit its mesh"
        )
    if kind != "height" and values.shape[2] != 3:
        raise GeometryError(f"the map has one channel, expected three for {kind} vectors; use --map-kind height")
    zero = (0.0 if kind == "height" else 0.5) if middle is None else middle
    at = sample_map(values, mesh.asset.uvs.reshape(-1, 2)) - zero
    _, position = weld_points(mesh.rest)
    count = int(position.max(initial=-1)) + 1
    faces = position[mesh.faces]
    points = np.zeros((count, 3))
    points[position] = mesh.rest
    normals = vertex_normals(points, faces)
    if kind == "height":
        of_corner = at.mean(axis=1, keepdims=True) * normals[faces.reshape(-1)]
    else:
        vectors = at / max(1.0 - zero, 1e-12)
        of_corner = vectors if kind == "object" else _from_tangent_frames(mesh, vectors, normals[faces.reshape(-1)])
    angles = _corner_angles(points, faces).reshape(-1)
    sums, total = np.zeros((count, 3)), np.zeros(count)
    np.add.at(sums, faces.reshape(-1), angles[:, None] * of_corner)
    np.add.at(total, faces.reshape(-1), angles)
    mean = sums / np.where(total > 0, total, 1.0)[:, None]
    return np.asarray(height * mean[position])


def _from_tangent_frames(mesh: Mesh, vectors: Float64, normals: Float64) -> Float64:
    """(3t,3) vectors in the frames of texture coordinates as vectors of the rest pose."""
    assert mesh.asset.uvs is not None
    corners = np.arange(3 * mesh.n_triangles, dtype=np.int32).reshape(-1, 3)
    downward = mesh.asset.uvs.reshape(-1, 2).astype(np.float64) * [1, -1] + [0, 1]
    points = mesh.rest[mesh.faces.reshape(-1)].astype(np.float64)
    tangents = vertex_tangents(points, normals, downward, corners)
    across = tangents[:, 3:] * np.cross(normals, tangents[:, :3])
    out: Float64 = vectors[:, :1] * tangents[:, :3] + vectors[:, 1:2] * across + vectors[:, 2:] * normals
    return out


def _corner_angles(points: Float64, faces: Int32) -> Float64:
    """(t,3) the angle of each triangle at each corner."""
    corners = points[faces]
    ahead, behind = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    across = np.linalg.norm(np.cross(ahead, behind), axis=2)
    return np.asarray(np.arctan2(across, np.einsum("tci,tci->tc", ahead, behind)))
