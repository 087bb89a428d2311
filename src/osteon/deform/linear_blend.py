"""Linear blend skinning with rigid or flexible bones, and rest-frame corrections.

    x_v^f = (sum_k w_vk T_bone(v,k)^f) (p_v + sum_r q_r^f U_rv)

Based on: James and Twigg, Skinning Mesh Animations, 2005, eq. 1, 2 and 12. Computed in float64, returned as float32.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.errors import OptionError
from osteon.core.kernels import kernel
from osteon.core.model import SkinnedModel
from osteon.core.parallel import available_threads, for_blocks

__all__ = ["pose_frames", "pose_vertices"]


@kernel
def _blend(rest, bones, weights, transforms, start, stop, out):
    """out[f] = posed vertices start … stop; rest is (1,v,3) or (f,v,3)."""
    moving = rest.shape[0] > 1
    for f in range(transforms.shape[0]):
        source = f if moving else 0
        for v in range(start, stop):
            x = np.float64(rest[source, v, 0])
            y = np.float64(rest[source, v, 1])
            z = np.float64(rest[source, v, 2])
            for i in range(3):
                total = 0.0
                for k in range(bones.shape[1]):
                    b = bones[v, k]
                    total += weights[v, k] * (
                        transforms[f, b, i, 0] * x
                        + transforms[f, b, i, 1] * y
                        + transforms[f, b, i, 2] * z
                        + transforms[f, b, i, 3]
                    )
                out[f, v, i] = total


def corrected_rest(model: SkinnedModel, start: int, stop: int) -> Float64:
    """(f,v,3) rest positions with corrections of frames start … stop, or (1,v,3) if there are none."""
    rest = model.rest.astype(np.float64)[None]
    if model.corrections is None or model.corrections.rank == 0:
        return rest
    moved: Float64 = rest + np.einsum(
        "fr,rvi->fvi",
        model.corrections.coefficients[start:stop].astype(np.float64),
        model.corrections.basis.astype(np.float64),
        optimize=True,
    )
    return moved


def pose_frames(model: SkinnedModel, start: int = 0, stop: int | None = None, *, threads: int = 0) -> Float32:
    """(f,v,3) vertices of frames start … stop of the model's own track."""
    stop = model.n_frames if stop is None else stop
    if not 0 <= start <= stop <= model.n_frames:
        raise OptionError(f"frames: expected 0 … {model.n_frames}, got {start} … {stop}")
    out = np.empty((stop - start, model.n_vertices, 3), np.float32)
    rest = corrected_rest(model, start, stop)
    transforms = model.track.transforms[start:stop].astype(np.float64)
    skin = model.skin

    def work(begin: int, end: int) -> None:
        _blend(rest, skin.bones, skin.weights, transforms, begin, end, out)

    for_blocks(work, model.n_vertices, 4096, available_threads(threads))
    return out


def pose_vertices(model: SkinnedModel, frame: int) -> Float32:
    """(v,3) vertices of one frame."""
    posed: Float32 = pose_frames(model, frame, frame + 1)[0]
    return posed
