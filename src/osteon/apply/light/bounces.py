"""Light that a character and its ground reflect onto each other.

    T_0 = direct transfer,    T_i+1 = albedo B T_i,    transfer = sum_i T_i

B_vh is the part of the cosine of point v that falls on point h: the sum over all directions that hit a triangle (or a
square of the ground's grid) of 4 / k max(0, n.d) times the share of h in the point that is hit. Coefficients are in the
frame of the world here. Surfaces reflect with both sides what their front receives.

The light of an empty plane comes from the lower half of the environment (`seen_environment`), so the ground's part of
T_0 is only what the character's shadow takes away from it: T_0 minus the transfer of the empty plane. What the ground
receives from the character is mapped to coefficients of the whole environment, of which its own transfer is.

Based on: Sloan, Kautz and Snyder, Precomputed Radiance Transfer, 2002, section 4 (interreflection passes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from osteon.apply.light.environment import seen_environment
from osteon.apply.light.harmonics import cosine_transfer, rotate_sh, spiral_directions
from osteon.apply.light.options import LightOptions
from osteon.apply.light.rays import Tracer
from osteon.apply.light.scene import OFFSET, Ground, LitScene, PointRays, ShadedPoints, grid_shares, rays_of_points
from osteon.core.arrays import Float64, Int64


def transfer_with_bounces(
    scene: LitScene, parts: Sequence[ShadedPoints], direct: Sequence[Float64], tracer: Tracer, options: LightOptions
) -> list[Float64]:
    """The transfer of each part, in the frames of its points, from its direct transfer."""
    reflect = vstack([_reflections(scene, part, tracer, options.directions) for part in parts], format="csr")
    total = np.concatenate([rotate_sh(own, part.rotations) for own, part in zip(direct, parts, strict=True)])
    last = total.copy()
    if scene.ground is not None:
        last[len(parts[0].points) :] -= cosine_transfer(scene.ground.up, options.bands)
    received = np.zeros_like(total)
    for _ in range(options.bounces):
        last = options.albedo * (reflect @ last)
        received += last
    if scene.ground is not None:  # the transfer of the ground is for the whole environment
        seen = seen_environment(options.bands, scene.ground.up, options.albedo)[:, : total.shape[1]]
        received[len(parts[0].points) :] = received[len(parts[0].points) :] @ seen
    total += received
    stops = np.cumsum([len(part.points) for part in parts])[:-1]
    back = [np.swapaxes(part.rotations, 1, 2) for part in parts]
    return [rotate_sh(own, turned) for own, turned in zip(np.split(total, stops), back, strict=True)]


@dataclass(frozen=True, slots=True)
class _Entries:
    """Entries of B."""

    rows: np.ndarray  # (m,)
    columns: np.ndarray  # (m,)
    values: Float64  # (m,)


def _reflections(scene: LitScene, shaded: ShadedPoints, tracer: Tracer, n_directions: int) -> csr_array:
    """(n,p) the rows of B of some points, for all points of the character and of the ground."""
    found = []
    for rays in rays_of_points(shaded, spiral_directions(n_directions), OFFSET * scene.diagonal):
        hits = tracer.first_hits(rays.origins, rays.directions)
        on_body = hits.triangles >= 0
        v, w = hits.shares[on_body].astype(np.float64).T
        shares = np.stack([1 - v - w, v, w], axis=1) * rays.shares_of_rays[on_body, None]
        rows = rays.block.start + rays.pairs[on_body, 0]
        corners = scene.corners[hits.triangles[on_body]]
        found.append(_Entries(np.repeat(rows, 3), corners.reshape(-1), shares.reshape(-1)))
        if scene.ground is not None:
            downward = ~on_body & (rays.directions @ scene.ground.up.astype(np.float32) < 0)
            found.append(_on_grid(scene.ground, rays, np.flatnonzero(downward), len(scene.shaded.points)))
    width = len(scene.shaded.points) + (0 if scene.ground is None else scene.ground.resolution**2)
    rows, columns, values = (np.concatenate([getattr(e, n) for e in found]) for n in ("rows", "columns", "values"))
    return csr_array((values, (rows, columns)), shape=(len(shaded.points), width))


def _on_grid(ground: Ground, rays: PointRays, downward: Int64, first: int) -> _Entries:
    """The bilinear shares of the points of the grid, numbered from `first` on, in the points that rays meet."""
    origins, directions = rays.origins[downward].astype(np.float64), rays.directions[downward].astype(np.float64)
    away = np.maximum(0, (origins - ground.center) @ ground.up) / -(directions @ ground.up)
    place = (origins + away[:, None] * directions - ground.center) @ ground.axes[:2].T / ground.half
    inside = (np.abs(place) <= 1).all(axis=1)
    points, shares = grid_shares(place[inside], ground.resolution)
    columns = first + points
    shares *= rays.shares_of_rays[downward[inside], None]
    rows = rays.block.start + rays.pairs[downward[inside], 0]
    return _Entries(np.repeat(rows, 4), columns.reshape(-1), shares.reshape(-1))
