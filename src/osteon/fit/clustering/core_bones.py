"""Bone transforms from core triangles alone, before any weights.

    rigid:     R = the rotation closest to  sum_t a_t R_t,     v = argmin sum_t a_t || c_t - R c0_t - v ||^2
    flexible:  (F, v) = argmin sum_t a_t || c_t - F c0_t - v ||^2

| symbol | name |
| --- | --- |
| a_t       | rest area of triangle t |
| c0_t, c_t | its centroid at rest, and in the frame |
| R_t       | its rotation, eq. 3 below |

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 4.3 (rigid), 4.4 and appendix A, eq. 14 (flexible).

The flexible normal equations have one 4x4 matrix for all frames. Differs from the paper: a flat or tiny cluster makes
that matrix singular, so F is regularised towards the rigid R with a weight of FLATNESS times the size of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from osteon.core.animation import BoneTrack, BoneType
from osteon.core.arrays import Bool, Float32, Float64, FloatArray, Int32
from osteon.core.frames import FrameSource, frame_blocks
from osteon.core.sequence import MeshSequence
from osteon.core.topology import triangle_areas
from osteon.core.transforms import nearest_rotation
from osteon.fit.skin.scaled_bones import project_scaled

# Rotation of every triangle in every frame relative to the rest pose.
#
#     F = O_frame O_rest^-1,   O = [e1 e2 n],   F = R W  (polar decomposition)
#
# Based on: James and Twigg, Skinning Mesh Animations, 2005, section 4.1, eq. 3.
#
# Both O have the unit normal as third column, so F maps the rest plane to the posed plane and the rest normal to the
# posed normal. In orthonormal frames of the two triangles F is a 2x2 upper triangular block (a b; 0 c) and a one; the
# polar factor of such a block is the rotation by the angle of (a + c, -b). No iteration is needed.
#
# | symbol | name |
# | --- | --- |
# | e1, e2 | edges from corner 0 to corners 1 and 2 |
# | R      | the nine values written out, row-major |
#
# Differs from the paper: a triangle that collapses in a frame takes the rotation of the frame before it
# (at the start: of the first frame in which it has an area).
#
# Notes: 16,843 triangles x 48 frames, one core: 64 ns per rotation in a compiled loop, which took 9 s to compile; NumPy
# on blocks that stay in the cache of a core: 270 ns. Agrees with NumPy's SVD to 7e-6.

#: Twice the area over the squared longest edge below which a posed triangle counts as collapsed.
COLLAPSED = 1e-6
#: Rotations per block.
BLOCK = 4_096


@dataclass(frozen=True, slots=True)
class _Frames:
    """Orthonormal frames of triangles; every array (f,t)."""

    first: tuple[Float64, Float64, Float64]  # unit e1
    second: tuple[Float64, Float64, Float64]  # unit e2 orthogonal to it
    normal: tuple[Float64, Float64, Float64]
    length: Float64  # |e1|
    along: Float64  # e2 along e1
    across: Float64  # e2 across e1
    whole: Bool  # whether the area is not zero


def _frames_of(points: Float32, faces: Int32) -> _Frames:
    """The frames of triangles (t,3) of points (f,v,3)."""
    corners = np.ascontiguousarray(points[:, faces].transpose(2, 3, 0, 1), np.float64)
    (ax, ay, az), (bx, by, bz) = corners[1] - corners[0], corners[2] - corners[0]
    aa = ax * ax + ay * ay + az * az
    bb = bx * bx + by * by + bz * bz
    ab = ax * bx + ay * by + az * bz
    longest = np.maximum(np.maximum(aa, bb), aa + bb - 2 * ab)
    whole = (aa > 0) & (aa * bb - ab * ab > (COLLAPSED * longest) ** 2)
    length = np.sqrt(aa)
    ax, ay, az = ax / length, ay / length, az / length
    along = ab / length
    bx, by, bz = bx - along * ax, by - along * ay, bz - along * az
    across = np.sqrt(bx * bx + by * by + bz * bz)
    bx, by, bz = bx / across, by / across, bz / across
    normal = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return _Frames((ax, ay, az), (bx, by, bz), normal, length, along, across, whole)


def _rotations(rest: Float32, frames: Float32, faces: Int32) -> tuple[Float64, Bool]:
    """(9,f,t) R of triangles in a run of frames, and (f,t) whether it is defined."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        before, after = _frames_of(rest[None], faces), _frames_of(frames, faces)
        cos = after.length / before.length + after.across / before.across
        sin = after.length * before.along / (before.length * before.across) - after.along / before.across
        norm = np.sqrt(cos * cos + sin * sin)
        cos /= norm
        sin /= norm
        out = np.empty((9, *after.whole.shape))
        for row, (a, b, n) in enumerate(zip(after.first, after.second, after.normal, strict=True)):
            u, v = cos * a + sin * b, cos * b - sin * a
            for i in range(3):
                out[3 * row + i] = u * before.first[i] + v * before.second[i] + n * before.normal[i]
    return out, after.whole & before.whole


def _fill(rotations: Float64, whole: Bool, last: FloatArray, seen: Bool) -> Bool:
    """Replace rotations of collapsed frames by the previous one, else by the first defined one.

    last (9,t) are the rotations before this run, defined for the triangles in `seen`. Returns (t,) the updated mask.
    """
    now: Bool = seen | whole.any(axis=0)
    torn = np.flatnonzero(~whole.all(axis=0))
    if len(torn):
        source = np.where(whole[:, torn], np.arange(len(whole))[:, None], -1)
        source = np.maximum.accumulate(source, axis=0)
        first = whole[:, torn].argmax(axis=0)
        taken = rotations[:, np.where(source < 0, first, source), torn]
        early = (source < 0) & seen[torn]
        taken[:, early] = np.broadcast_to(last[:, None, torn], taken.shape)[:, early]
        rotations[:, :, torn] = np.where(now[torn], taken, 0.0)
    return now


def triangle_rotations(rest: Float32, frames: Float32 | FrameSource, faces: Int32) -> tuple[Float32, np.ndarray]:
    """(t,f,9) rotations as float32 and (t,) whether a triangle has any; the others are zero."""
    n_frames = _count(frames)
    out = np.zeros((len(faces), n_frames, 9), np.float32)
    valid = np.zeros(len(faces), np.bool_)
    for start, run in _runs(frames):
        for block in _blocks(len(faces), n_frames):
            found, whole = _rotations(rest, run, faces[block])
            now = _fill(found, whole, out[block, start - 1].T, valid[block])
            out[block, start : start + len(run)] = found.transpose(2, 1, 0)
            new = np.flatnonzero(now & ~valid[block])
            out[block.start + new, :start] = found[:, 0, new].T[:, None]
            valid[block] = now
    return out, valid


def mean_rotations(
    rest: Float32, frames: Float32 | FrameSource, faces: Int32, labels: Int32, areas: Float64
) -> Float64:
    """(f,b,3,3) area-weighted arithmetic means of the rotations of each bone's triangles (labels >= 0)."""
    n_frames, n_bones = _count(frames), int(labels.max(initial=-1)) + 1
    order = np.argsort(labels, kind="stable")[int((labels < 0).sum()) :]  # triangles grouped by bone
    faces, bones, weights = faces[order], labels[order], areas[order]
    out = np.zeros((n_frames, n_bones, 9))
    last, valid = np.zeros((9, len(faces))), np.zeros(len(faces), np.bool_)
    for start, run in _runs(frames):
        for block in _blocks(len(faces), n_frames):
            found, whole = _rotations(rest, run, faces[block])
            now = _fill(found, whole, last[:, block], valid[block])
            new = now & ~valid[block]
            last[:, block], valid[block] = found[:, -1], now
            found *= weights[block]
            begins = np.flatnonzero(np.diff(bones[block], prepend=-1))
            of_bones = bones[block][begins]
            out[start : start + len(run), of_bones] += np.add.reduceat(found, begins, axis=2).transpose(1, 2, 0)
            if start and new.any():  # earlier frames of triangles that have just got their first rotation
                out[:start, of_bones] += np.add.reduceat(found[:, 0] * new, begins, axis=1).T
    total = np.bincount(labels[labels >= 0], weights=areas[labels >= 0], minlength=n_bones)
    out /= np.maximum(total, 1e-300)[:, None]
    return out.reshape(n_frames, n_bones, 3, 3)


def _count(frames: Float32 | FrameSource) -> int:
    return frames.n_frames if isinstance(frames, FrameSource) else len(frames)


def _blocks(n_triangles: int, n_frames: int) -> Iterator[slice]:
    """Blocks of triangles."""
    size = max(1, BLOCK // max(1, n_frames))
    return (slice(start, min(start + size, n_triangles)) for start in range(0, n_triangles, size))


def _runs(frames: Float32 | FrameSource) -> Iterator[tuple[int, Float32]]:
    """Runs of frames with the index of their first frame; an array is one run."""
    if not isinstance(frames, FrameSource):
        yield 0, frames
        return
    for block in frame_blocks(frames):
        yield block.start, block.frames


#: Weight of the rigid fit, relative to the mean squared extent of the cluster.
FLATNESS = 1e-6


def fit_core_bones(sequence: MeshSequence, labels: Int32, bone_type: BoneType) -> BoneTrack:
    """One bone per label >= 0, from the triangles with that label."""
    n_bones = int(labels.max(initial=-1)) + 1
    areas = triangle_areas(sequence.rest, sequence.faces)
    rotations = nearest_rotation(mean_rotations(sequence.rest, sequence.source, sequence.faces, labels, areas))
    transforms = np.empty((sequence.n_frames, n_bones, 3, 4))
    cores = [np.flatnonzero(labels == bone) for bone in range(n_bones)]
    for block in sequence.blocks():
        run = slice(block.start, block.stop)
        for bone, core in enumerate(cores):
            faces, mass = sequence.faces[core], areas[core] / areas[core].sum()
            transforms[run, bone] = _fit_bone(
                sequence.rest[faces].mean(axis=1, dtype=np.float64),
                block.frames[:, faces].mean(axis=2, dtype=np.float64),
                mass,
                rotations[run, bone],
                bone_type,
            )
    if bone_type == "scaled":
        centers = [np.average(sequence.rest[sequence.faces[core]].mean(axis=1), 0, areas[core]) for core in cores]
        transforms = project_scaled(transforms, centers=np.array(centers).reshape(-1, 3))
    return BoneTrack(transforms.astype(np.float32), bone_type)


def _fit_bone(rest: Float64, posed: Float64, mass: Float64, rotations: Float64, bone_type: BoneType) -> Float64:
    """(f,3,4) from the centroids of a bone's triangles at rest (t,3) and in some frames (f,t,3)."""
    rest_mean, posed_mean = mass @ rest, np.einsum("t,fti->fi", mass, posed)
    linear = rotations
    if bone_type != "rigid":
        linear = _fit_linear(rest - rest_mean, posed - posed_mean[:, None], mass, linear)
    return np.concatenate([linear, (posed_mean - linear @ rest_mean)[..., None]], axis=2)


def _fit_linear(rest: Float64, posed: Float64, mass: Float64, rotations: Float64) -> Float64:
    """F (f,3,3) of eq. 14 for centred centroids (the translation equations are then solved by the centring)."""
    moment = np.einsum("t,ti,tj->ij", mass, rest, rest)
    strength = FLATNESS * np.trace(moment) + 1e-300
    right = np.einsum("t,fti,tj->fij", mass, posed, rest, optimize=True) + strength * rotations
    return np.asarray(np.swapaxes(np.linalg.solve(moment + strength * np.eye(3), np.swapaxes(right, 1, 2)), 1, 2))
