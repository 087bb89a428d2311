"""Whether triangles turn over: in every pose, the rest pose too, before and after a point moves.

A triangle turns over if its normal turns by more than 78 degrees, if it loses its area, or if it then faces away from
what the source faces at all three of its corners, which many small turns would bring about. One without area may gain
some on the side to which the source faces there.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import compiled_by
from osteon.lod.mesh.state import AFTER, FIRST, LAST, NEXT, NORMAL, POINT, POSED

__all__ = ["turns_over"]

#: The least cosine between a normal before and after.
LEAST_COSINE = 0.2
#: A triangle has no area if that is less than this, of its longest edge squared.
FLAT = 1e-6


@compiled_by({"_nrt": False}, "i4.2r i4.2r f8.3r f8.2r i8 i8")
def turns_over(corners: Int32, heads: Int32, poses: Float64, places: Float64, i: int, j: int) -> bool:
    """Whether some triangle around edge ij turns over if both ends go to the places (f,3)."""
    for v in (i, j):
        c = heads[v, FIRST]
        while c >= 0:
            u, w = np.int64(corners[corners[c, NEXT], POINT]), np.int64(corners[corners[c, LAST], POINT])
            c = corners[c, AFTER]
            if u == i or u == j or w == i or w == j:
                continue
            for f in range(poses.shape[1]):
                x, y, z = poses[u, f, POSED], poses[u, f, POSED + 1], poses[u, f, POSED + 2]
                ex, ey, ez = poses[w, f, POSED] - x, poses[w, f, POSED + 1] - y, poses[w, f, POSED + 2] - z
                ax, ay, az = poses[v, f, POSED] - x, poses[v, f, POSED + 1] - y, poses[v, f, POSED + 2] - z
                bx, by, bz = places[f, 0] - x, places[f, 1] - y, places[f, 2] - z
                nx, ny, nz = ey * az - ez * ay, ez * ax - ex * az, ex * ay - ey * ax
                mx, my, mz = ey * bz - ez * by, ez * bx - ex * bz, ex * by - ey * bx
                side, was, now = ex * ex + ey * ey + ez * ez, nx * nx + ny * ny + nz * nz, mx * mx + my * my + mz * mz
                flat = was <= (FLAT * (side + ax * ax + ay * ay + az * az)) ** 2
                stays_flat = now <= (FLAT * (side + bx * bx + by * by + bz * bz)) ** 2
                if stays_flat:
                    if not flat:
                        return True
                    continue
                if not flat and nx * mx + ny * my + nz * mz <= LEAST_COSINE * np.sqrt(was * now):
                    return True
                away, was_away = True, not flat
                for corner in (i, j, u, w):
                    x, y, z = poses[corner, f, NORMAL], poses[corner, f, NORMAL + 1], poses[corner, f, NORMAL + 2]
                    away = away and mx * x + my * y + mz * z <= 0
                    was_away = was_away and nx * x + ny * y + nz * z <= 0
                if away and not was_away:
                    return True
    return False
