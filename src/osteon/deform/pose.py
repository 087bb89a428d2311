"""Posing, for every family: displacements to the rest pose, blends of the family, and the product of both.

    x_v^f = A_v^f [p_v + sum_d sum_r q_dr^f U_drv; 1]

Based on: James and Twigg, Skinning Mesh Animations, 2005, eq. 2 and 12. Computed in float64, returned as float32.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int64
from osteon.core.deformer import Deformer
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.parallel import available_threads, for_blocks
from osteon.deform.blending import apply_blends

__all__ = ["blends_of", "displaced_rest", "linear_parts", "pose_frames", "pose_points", "pose_vertices"]

#: Vertices that are blended at a time: their matrices stay in the cache of a core.
BLOCK = 2048


def displaced_rest(model: SkinnedModel, start: int, stop: int) -> Float64:
    """(f,v,3) rest positions with displacements of frames start … stop, or (1,v,3) if there are none."""
    rest: Float64 = model.rest.astype(np.float64)[None]
    for displacement in model.character.displacements:
        if displacement.basis.shape[0]:
            q = displacement.coefficients(model.animation)[start:stop].astype(np.float64)
            rest = rest + np.einsum("fr,rvi->fvi", q, displacement.basis.astype(np.float64), optimize=True)
    return rest


def pose_points(deformer: Deformer, points: Float64, transforms: FloatArray, *, threads: int = 0) -> Float32:
    """(f,v,3) rest positions (f,v,3) or (1,v,3) as the bones (f,b,3,4) take them."""
    n_frames, n_vertices = len(transforms), deformer.n_vertices
    out = np.empty((n_frames, n_vertices, 3), np.float32)
    points, palette, moving = np.ascontiguousarray(points), deformer.palette(transforms), len(points) > 1
    numbers = np.arange(n_vertices)

    def work(start: int, stop: int) -> None:
        blends = np.empty((stop - start, 3, 4))
        for f in range(n_frames):
            deformer.blend(palette[f], numbers[start:stop], blends)
            apply_blends(blends, points[f if moving else 0, start:stop], out[f, start:stop])

    for_blocks(work, n_vertices, BLOCK, available_threads(threads))
    return out


def pose_frames(model: SkinnedModel, start: int = 0, stop: int | None = None, *, threads: int = 0) -> Float32:
    """(f,v,3) vertices of frames start … stop of the model's own animation."""
    stop = model.n_frames if stop is None else stop
    if not 0 <= start <= stop <= model.n_frames:
        raise OptionError(f"frames: expected 0 … {model.n_frames}, got {start} … {stop}")
    transforms = model.animation.transforms[start:stop]
    return pose_points(model.deformer, displaced_rest(model, start, stop), transforms, threads=threads)


def pose_vertices(model: SkinnedModel, frame: int) -> Float32:
    """(v,3) vertices of one frame."""
    posed: Float32 = pose_frames(model, frame, frame + 1)[0]
    return posed


def blends_of(deformer: Deformer, transforms: FloatArray, vertices: Int64 | None = None) -> Float64:
    """(n,3,4) what takes some vertices (all of them if none are named) along with the bones (b,3,4) of one frame."""
    chosen = np.arange(deformer.n_vertices) if vertices is None else vertices
    out = np.empty((len(chosen), 3, 4))
    deformer.blend(deformer.palette(transforms[None])[0], chosen, out)
    return out


def linear_parts(model: SkinnedModel, frame: int) -> Float64:
    """(v,3,3) F of every vertex in a frame: how its surroundings turn and stretch."""
    linear: Float64 = blends_of(model.deformer, model.animation.transforms[frame])[..., :3]
    return linear
