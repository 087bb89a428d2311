"""Posing, for every family: displacements to the rest pose, blends of the family, and the product of both.

    x_v^f = A_v^f [p_v + sum_d sum_r q_dr^f U_drv; 1]

Based on: James and Twigg, Skinning Mesh Animations, 2005, eq. 2 and 12. Computed in float64, returned as float32.
Displacements of small supports are added per block of vertices and frames, next to the blends of the block.

Three kernels blend bone matrices and apply the blends:

    A_v = sum_k w_vk T_bone(v,k),   x_v = A_v [p_v; 1]                      blend_matrices, apply_blends
    x_v = sum_b w_vb T_b [p_v; 1]                                           blend_dense: every vertex follows all bones

Posing, normals, conditioning, errors by rank and the readers of skins all use `blend_matrices`; fits, which hold
weights in double precision and need all frames of some vertices, use `blend_frames` of fit/corrections/columns.py.

Notes
8,431 vertices, 48 frames, 4 influences, one core: both loops 10 ms in blocks of 2,048 vertices, one loop that poses
without matrices 17 ms, twelve sums in an array 15 ms, a function that takes rows of the arrays 49 ms: each row becomes
an array first.
Dense, 43,243 vertices, 30 bones, 24 frames, two cores: one product of (v,4b) and (4b,3f) 53 ms, the same in blocks of
vertices 45 ms (its factor then stays in the cache, and memory is bounded), blended matrices frame by frame 61 ms, one
einsum 2.5 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.animation import Animation, BoneTrack, bone_type_of
from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, checked
from osteon.core.character import Character, Deformer, Displacement, StoredDisplacement, VertexColumns
from osteon.core.errors import OptionError
from osteon.core.kernels import kernel
from osteon.core.model import SkinnedModel
from osteon.core.parallel import available_threads, for_blocks
from osteon.deform.column_rows import apply_displaced


@kernel("i4.2r f4.2r f8.3r i8.1r f8.3")
def blend_matrices(bones: Int32, weights: Float32, transforms: Float64, vertices: Int64, out: Float64) -> None:
    """out (n,3,4): the blends of some vertices. Each row of a matrix is summed in scalars, which stay in registers."""
    for n in range(vertices.shape[0]):
        v = vertices[n]
        ax = ay = az = aw = bx = by = bz = bw = cx = cy = cz = cw = 0.0
        for k in range(bones.shape[1]):
            b = bones[v, k]
            w = np.float64(weights[v, k])
            ax += w * transforms[b, 0, 0]
            ay += w * transforms[b, 0, 1]
            az += w * transforms[b, 0, 2]
            aw += w * transforms[b, 0, 3]
            bx += w * transforms[b, 1, 0]
            by += w * transforms[b, 1, 1]
            bz += w * transforms[b, 1, 2]
            bw += w * transforms[b, 1, 3]
            cx += w * transforms[b, 2, 0]
            cy += w * transforms[b, 2, 1]
            cz += w * transforms[b, 2, 2]
            cw += w * transforms[b, 2, 3]
        out[n, 0, 0], out[n, 0, 1], out[n, 0, 2], out[n, 0, 3] = ax, ay, az, aw
        out[n, 1, 0], out[n, 1, 1], out[n, 1, 2], out[n, 1, 3] = bx, by, bz, bw
        out[n, 2, 0], out[n, 2, 1], out[n, 2, 2], out[n, 2, 3] = cx, cy, cz, cw


@kernel("f8.3r f8.2r f4.2")
def apply_blends(blends: Float64, points: Float64, out: Float32) -> None:
    """out (n,3) = A [p; 1]."""
    for n in range(points.shape[0]):
        x, y, z = points[n, 0], points[n, 1], points[n, 2]
        for i in range(3):
            out[n, i] = blends[n, i, 0] * x + blends[n, i, 1] * y + blends[n, i, 2] * z + blends[n, i, 3]


#: Vertices blended at once.
BLOCK = 4096


def blend_dense(vertices: FloatArray, weights: FloatArray, transforms: FloatArray) -> Float64:
    """(f,v,3) vertices moved by the blends of bone transforms (f,b,3,4) with weights (v,b)."""
    points: Float64 = checked("vertices", vertices, (None, 3), np.float64)
    blend: Float64 = checked("weights", weights, (len(points), None), np.float64)
    n_bones = blend.shape[1]
    bones: Float64 = checked("transforms", transforms, (None, n_bones, 3, 4), np.float64)
    n_frames = len(bones)
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    columns = bones.transpose(1, 3, 0, 2).reshape(4 * n_bones, 3 * n_frames)
    posed = np.empty((n_frames, len(points), 3))
    for start in range(0, len(points), BLOCK):
        block = slice(start, start + BLOCK)
        rows = (blend[block, :, None] * homogeneous[block, None]).reshape(-1, 4 * n_bones)
        posed[:, block] = (rows @ columns).reshape(-1, n_frames, 3).swapaxes(0, 1)  # eq. 1
    return posed


#: Vertices per block: their matrices stay in the cache of a core, and threads get equal shares.
THREAD_BLOCK = 1024
#: Frames per block of displacements.
FRAMES = 48


@dataclass(frozen=True, slots=True)
class ColumnMotion:
    """Columns of small supports, and their coefficients in every frame."""

    columns: VertexColumns
    coefficients: Float32  # (f,r)

    def of_frames(self, start: int, stop: int) -> Float32:
        """(r,n) the coefficients of frames start … stop, as `VertexColumns.add` expects them."""
        return np.ascontiguousarray(self.coefficients[start:stop].T, np.float32)


def displaced_rest(model: SkinnedModel, start: int, stop: int) -> Float64:
    """(f,v,3) rest positions with displacements of frames start … stop, or (1,v,3) if there are none."""
    if start == stop:
        return np.empty((0, model.n_vertices, 3))
    played = model.animation.take_frames(np.arange(start, stop, dtype=np.int32))
    moved = _added(model.rest, model.character.displacements, played)
    frames = stop - start if any(len(one.basis) for one in model.character.displacements) else 1
    return np.broadcast_to(moved, (frames, *moved.shape[1:]))


def _added(points: Float32, displacements: Sequence[Displacement], played: Animation) -> Float64:
    """(f|1,v,3) rest positions plus these displacements."""
    rest: Float64 = points.astype(np.float64)[None]
    for displacement in displacements:
        q = displacement.position_coefficients(played).astype(np.float64)
        if q.shape[1]:
            q = q[:1] if len(q) and (q == q[0]).all() else q  # an edit is the same in all frames
            basis = displacement.basis[: q.shape[1]].astype(np.float64)
            rest = rest + np.einsum("fr,rvi->fvi", q, basis, optimize=True)
    return rest


def pose_points(
    deformer: Deformer,
    points: Float64,
    transforms: FloatArray,
    *,
    threads: int = 0,
    moved_by: Sequence[ColumnMotion] = (),
) -> Float32:
    """(f,v,3) rest positions (f,v,3) or (1,v,3), displaced by columns and posed by bones (f,b,3,4)."""
    n_frames, n_vertices = len(transforms), deformer.n_vertices
    out = np.empty((n_frames, n_vertices, 3), np.float32)
    points, palette, moving = np.ascontiguousarray(points), deformer.palette(transforms), len(points) > 1
    numbers = np.arange(n_vertices)

    def work(start: int, stop: int) -> None:
        blends = np.empty((stop - start, 3, 4))
        for f in range(n_frames):
            deformer.blend(palette[f], numbers[start:stop], blends)
            rest = points[f if moving else 0, start:stop]
            if not moved_by:
                apply_blends(blends, rest, out[f, start:stop])
                continue
            if f % FRAMES == 0:
                moved = _moved(moved_by, (f, min(f + FRAMES, n_frames)), (start, stop))
            apply_displaced(blends, rest, moved, f % FRAMES, out[f, start:stop])

    for_blocks(work, n_vertices, THREAD_BLOCK, available_threads(threads))
    return out


def _moved(moved_by: Sequence[ColumnMotion], frames: tuple[int, int], vertices: tuple[int, int]) -> Float32:
    """(n,3,f) displacements of some vertices in some frames."""
    out = np.zeros((vertices[1] - vertices[0], 3, frames[1] - frames[0]), np.float32)
    for one in moved_by:
        one.columns.add(one.of_frames(*frames), vertices[0], out)
    return out


def pose_frames(model: SkinnedModel, start: int = 0, stop: int | None = None, *, threads: int = 0) -> Float32:
    """(f,v,3) vertices of frames start … stop of the model's animation."""
    stop = model.n_frames if stop is None else stop
    if not 0 <= start <= stop <= model.n_frames:
        raise OptionError(f"frames: expected 0 … {model.n_frames}, got {start} … {stop}")
    if start == stop:
        return np.empty((0, model.n_vertices, 3), np.float32)
    played = model.animation.take_frames(np.arange(start, stop, dtype=np.int32))
    by_vertex = [(one, one.by_vertex()) for one in model.character.displacements]
    rest = _added(model.rest, [one for one, columns in by_vertex if columns is None], played)
    moved_by = [
        ColumnMotion(columns, one.position_coefficients(played)) for one, columns in by_vertex if columns is not None
    ]
    return pose_points(model.deformer, rest, played.transforms, threads=threads, moved_by=moved_by)


def pose_character(character: Character, transforms: FloatArray, *, threads: int = 0) -> Float32:
    """(f,v,3) vertices for bones (f,b,3,4), with the displacements that follow bones, without stored ones."""
    live = [one for one in character.displacements if one.kind != StoredDisplacement.kind]
    moved_by, rest = [], character.mesh.rest.astype(np.float64)[None]
    if live:
        played = Animation(BoneTrack(np.asarray(transforms, np.float32), bone_type_of(transforms)))
        by_vertex = [(one, one.by_vertex()) for one in live]
        rest = _added(character.mesh.rest, [one for one, columns in by_vertex if columns is None], played)
        moved_by = [
            ColumnMotion(columns, one.position_coefficients(played))
            for one, columns in by_vertex
            if columns is not None
        ]
    return pose_points(character.deformer, rest, transforms, threads=threads, moved_by=moved_by)


def pose_vertices(model: SkinnedModel, frame: int) -> Float32:
    """(v,3) vertices of one frame."""
    posed: Float32 = pose_frames(model, frame, frame + 1)[0]
    return posed


def blends_of(deformer: Deformer, transforms: FloatArray, vertices: Int64 | None = None) -> Float64:
    """(n,3,4) the blends of some or all vertices for bones (b,3,4) of one frame."""
    chosen = np.arange(deformer.n_vertices) if vertices is None else vertices
    out = np.empty((len(chosen), 3, 4))
    deformer.blend(deformer.palette(transforms[None])[0], chosen, out)
    return out


def linear_parts(model: SkinnedModel, frame: int) -> Float64:
    """(v,3,3) F, the linear part of every vertex's blend in a frame."""
    linear: Float64 = blends_of(model.deformer, model.animation.transforms[frame])[..., :3]
    return linear
