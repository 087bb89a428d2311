"""Diffuse transfer of one frame: how every point of a surface reflects light from each part of an environment.

    t_v = 1 / pi  integral over d of  V_v(d) max(0, n_v.d) y(d)        (order^2 coefficients)

so that under an environment with the coefficients L a surface of albedo 1 has the radiance t_v . L. V is 0 where the
character itself or the ground blocks the direction. Light that it reflects onto itself and the ground adds, per bounce,

    t' = albedo / pi  integral over d of  (1 - V_v(d)) max(0, n_v.d) t_h(d)            h: the point that is hit

What nothing blocks is known in closed form (`harmonics`): only the blocked part is summed, over k directions that are
fixed in the frame of the point (`vertex_frames`),

    t_v = t_v(unblocked) - 4 / k  sum over blocked d of max(0, n_v.d) y(d)

Hence an unblocked point is exact, and a part of the body that moves rigidly blocks the same directions in all frames.

**Ground.** A square grid on a plane follows the character and carries the transfer of the ground, which fades to that
of an empty plane at the border of the grid. The plane also hides the lower half of the environment from the character.
That is the same for all points, so it is left to the environment (`seen_environment`) and not part of the transfer:
in the frames of the bones the horizon would move, and the columns of the compression would have to follow it.

| symbol | name |
| --- | --- |
| k | directions |
| t | transfer (n,c), c = order^2 |

Based on: Sloan, Kautz and Snyder, Precomputed Radiance Transfer, 2002, sections 4 and 5.
Differs from the paper: directions are a spiral and not random; the closed form of what is not blocked (see above).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.apply.light.bounces import transfer_with_bounces
from osteon.apply.light.harmonics import cosine_transfer, sh_basis, spiral_directions
from osteon.apply.light.options import LightOptions
from osteon.apply.light.rays import Tracer, TracerName, make_tracer
from osteon.apply.light.scene import OFFSET, Ground, LitScene, ShadedPoints, rays_of_points
from osteon.core.arrays import Float64


@dataclass(frozen=True, slots=True)
class FrameTransfer:
    """The transfer of one frame."""

    transfer: Float64  # (n,c) in the frames of the points
    ground: Float64 | None = None  # (g,c) in the frame of the world


def unblocked_transfer(shaded: ShadedPoints, order: int) -> Float64:
    """(n,c) in the points' frames: the transfer of points that nothing blocks."""
    return cosine_transfer(np.einsum("nji,nj->ni", shaded.rotations, shaded.normals), order)


def frame_transfer(scene: LitScene, options: LightOptions, rays: TracerName = "auto") -> FrameTransfer:
    """The transfer of the character's points, and of the ground's."""
    around = scene.centered()
    tracer = make_tracer(around.vertices, around.faces, rays)
    parts = [around.shaded] if around.ground is None else [around.shaded, around.ground.shaded()]
    found = [_direct(around, part, tracer, options) for part in parts]
    if options.bounces:
        found = transfer_with_bounces(around, parts, found, tracer, options)
    if around.ground is None:
        return FrameTransfer(found[0])
    return FrameTransfer(found[0], _faded(around.ground, found[1], options.bands))


def _direct(scene: LitScene, shaded: ShadedPoints, tracer: Tracer, options: LightOptions) -> Float64:
    """(n,c) transfer without bounces."""
    local = spiral_directions(options.directions)
    basis = sh_basis(local, options.bands)
    out = unblocked_transfer(shaded, options.bands)
    for rays in rays_of_points(shaded, local, OFFSET * scene.diagonal):
        blocked = rays.pairs[tracer.any_hits(rays.origins, rays.directions)]
        lost = np.zeros_like(rays.shares)
        lost[blocked[:, 0], blocked[:, 1]] = rays.shares[blocked[:, 0], blocked[:, 1]]
        out[rays.block] -= lost @ basis
    return out


def _faded(ground: Ground, transfer: Float64, order: int) -> Float64:
    empty = cosine_transfer(ground.up, order)
    return np.asarray(empty + ground.fade()[:, None] * (transfer - empty))
