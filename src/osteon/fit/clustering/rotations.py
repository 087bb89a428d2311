"""Rotation of every triangle in every frame relative to the rest pose.

    F = O_frame O_rest^-1,   O = [e1 e2 n],   F = R W  (polar decomposition)

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 4.1, eq. 3.

Both O have the unit normal as third column, so F maps the rest plane to the posed plane and the rest normal to the
posed normal. In orthonormal frames of the two triangles F is a 2x2 upper triangular block (a b; 0 c) and a one; the
polar factor of such a block is the rotation by the angle of (a + c, -b). No iteration is needed.

| symbol | name |
| --- | --- |
| e1, e2 | edges from corner 0 to corners 1 and 2 |
| R      | the nine values written out, row-major |

Differs from the paper: a triangle that collapses in a frame takes the rotation of the frame before it
(at the start: of the first frame in which it has an area).

Notes: 16,843 triangles x 48 frames, one core: 64 ns a rotation, with the copying of collapsed frames; the bare formula
28 to 40 ns. Agrees with NumPy's SVD to 7e-6. Vectors held in small arrays instead of scalars made it five times slower.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from osteon.core.arrays import Bool, Float32, Float64, FloatArray, Int32
from osteon.core.frame_blocks import frame_blocks
from osteon.core.frames import FrameSource
from osteon.core.kernels import kernel

__all__ = ["mean_rotations", "triangle_rotations"]

#: Twice the area over the squared longest edge below which a posed triangle counts as collapsed.
COLLAPSED = 1e-6

#: What `_orthonormal_frame` returns: nine numbers of the frame, three lengths, and whether there is an area.
_Frame = tuple[float, float, float, float, float, float, float, float, float, float, float, float, bool]


@kernel
def _orthonormal_frame(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> _Frame:
    """Unit e1, unit e2 orthogonal to it, normal; then |e1|, e2 along e1, e2 across e1; then whether it has an area.

    Vectors are passed as scalars: arrays of three made this several times slower.
    """
    aa = ax * ax + ay * ay + az * az
    bb = bx * bx + by * by + bz * bz
    ab = ax * bx + ay * by + az * bz
    longest = max(aa, bb, aa + bb - 2 * ab)
    whole = aa > 0 and aa * bb - ab * ab > (COLLAPSED * longest) ** 2
    length = np.sqrt(aa)
    ax, ay, az = ax / length, ay / length, az / length
    along = ab / length
    bx, by, bz = bx - along * ax, by - along * ay, bz - along * az
    across = np.sqrt(bx * bx + by * by + bz * bz)
    bx, by, bz = bx / across, by / across, bz / across
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return ax, ay, az, bx, by, bz, nx, ny, nz, length, along, across, whole


@kernel
def _frame_of(points: Float32, f: int, i: int, j: int, k: int) -> _Frame:
    """The orthonormal frame of triangle (i, j, k) of points[f]."""
    x, y, z = np.float64(points[f, i, 0]), np.float64(points[f, i, 1]), np.float64(points[f, i, 2])
    ax, ay, az = points[f, j, 0] - x, points[f, j, 1] - y, points[f, j, 2] - z
    bx, by, bz = points[f, k, 0] - x, points[f, k, 1] - y, points[f, k, 2] - z
    return _orthonormal_frame(ax, ay, az, bx, by, bz)


@kernel
def _rotate(
    out: FloatArray,
    t: int,
    f: int,
    row: int,
    u: float,
    v: float,
    w: float,
    r0: float,
    r1: float,
    r2: float,
    r3: float,
    r4: float,
    r5: float,
    r6: float,
    r7: float,
    r8: float,
) -> None:
    """One row of R = [u v w] [rest frame]'."""
    out[t, f, row] = u * r0 + v * r3 + w * r6
    out[t, f, row + 1] = u * r1 + v * r4 + w * r7
    out[t, f, row + 2] = u * r2 + v * r5 + w * r8


@kernel
def _copy(out: FloatArray, t: int, target: int, source: int) -> None:
    for i in range(9):
        out[t, target, i] = out[t, source, i]


@kernel
def _run_of_triangle(
    rest: Float32, frames: Float32, i: int, j: int, k: int, out: FloatArray, t: int, start: int, seen: bool
) -> bool:
    """Rotations out[t] (f,9) of one triangle in a run of frames that begins at `start`; whether it has any by then.

    `seen` says whether it had one before. The first that it has is that of all frames before, too.
    """
    r0, r1, r2, r3, r4, r5, r6, r7, r8, length, along, across, whole = _frame_of(rest, 0, i, j, k)
    if not whole:
        return False
    for n in range(frames.shape[0]):
        f = start + n
        ax, ay, az, bx, by, bz, nx, ny, nz, length_f, along_f, across_f, whole = _frame_of(frames, n, i, j, k)
        if not whole:
            if seen:
                _copy(out, t, f, f - 1)
            continue
        cos = length_f / length + across_f / across
        sin = length_f * along / (length * across) - along_f / across
        norm = np.sqrt(cos * cos + sin * sin)
        cos /= norm
        sin /= norm
        _rotate(out, t, f, 0, cos * ax + sin * bx, cos * bx - sin * ax, nx, r0, r1, r2, r3, r4, r5, r6, r7, r8)
        _rotate(out, t, f, 3, cos * ay + sin * by, cos * by - sin * ay, ny, r0, r1, r2, r3, r4, r5, r6, r7, r8)
        _rotate(out, t, f, 6, cos * az + sin * bz, cos * bz - sin * az, nz, r0, r1, r2, r3, r4, r5, r6, r7, r8)
        if not seen:
            seen = True
            for g in range(f):
                _copy(out, t, g, f)
    return seen


@kernel
def _rotations(rest: Float32, frames: Float32, faces: Int32, start: int, out: FloatArray, valid: Bool) -> None:
    for t in range(faces.shape[0]):
        valid[t] = _run_of_triangle(rest, frames, faces[t, 0], faces[t, 1], faces[t, 2], out, t, start, valid[t])


@kernel
def _add_rotations(
    rest: Float32,
    frames: Float32,
    faces: Int32,
    labels: Int32,
    areas: Float64,
    start: int,
    last: Float64,
    valid: Bool,
    out: Float64,
) -> None:
    """Adds a run of frames; `last` (t,9) holds the rotations of the frame before it, where `valid`."""
    n_frames = frames.shape[0]
    one = np.empty((1, 1 + n_frames, 9))  # begins with the last frame of the run before
    for t in range(faces.shape[0]):
        if labels[t] < 0:
            continue
        one[0, 0] = last[t]
        seen = valid[t]
        valid[t] = _run_of_triangle(rest, frames, faces[t, 0], faces[t, 1], faces[t, 2], one, 0, 1, seen)
        if not valid[t]:
            continue
        last[t] = one[0, n_frames]
        for f in range(0 if seen else start):  # only now it is known how it stood before
            for i in range(9):
                out[f, labels[t], i] += areas[t] * one[0, 0, i]
        for f in range(n_frames):
            for i in range(9):
                out[start + f, labels[t], i] += areas[t] * one[0, 1 + f, i]


def triangle_rotations(rest: Float32, frames: Float32 | FrameSource, faces: Int32) -> tuple[Float32, np.ndarray]:
    """(t,f,9) rotations as float32 and (t,) whether a triangle has any; the others hold zeros."""
    n_frames = frames.n_frames if isinstance(frames, FrameSource) else len(frames)
    out = np.zeros((len(faces), n_frames, 9), np.float32)
    valid = np.zeros(len(faces), np.bool_)
    for start, run in _runs(frames):
        _rotations(rest[None], run, faces, start, out, valid)
    return out, valid


def mean_rotations(
    rest: Float32, frames: Float32 | FrameSource, faces: Int32, labels: Int32, areas: Float64
) -> Float64:
    """(f,b,3,3) area-weighted arithmetic means of the rotations of each bone's triangles (labels >= 0)."""
    n_frames = frames.n_frames if isinstance(frames, FrameSource) else len(frames)
    n_bones = int(labels.max(initial=-1)) + 1
    out = np.zeros((n_frames, n_bones, 9))
    last, valid = np.zeros((len(faces), 9)), np.zeros(len(faces), np.bool_)
    for start, run in _runs(frames):
        _add_rotations(rest[None], run, faces, labels, areas, start, last, valid, out)
    total = np.bincount(labels[labels >= 0], weights=areas[labels >= 0], minlength=n_bones)
    out /= np.maximum(total, 1e-300)[:, None]
    return out.reshape(n_frames, n_bones, 3, 3)


def _runs(frames: Float32 | FrameSource) -> Iterator[tuple[int, Float32]]:
    """Runs of frames, each with the number of its first; an array is one run."""
    if not isinstance(frames, FrameSource):
        yield 0, frames
        return
    for block in frame_blocks(frames):
        yield block.start, block.frames
