"""What a collapse would do to the triangles around an edge, in every pose, the rest pose too.

**Turned over.** A triangle turns over if its normal turns by more than 78 degrees, if it loses its area, or if it then
faces away from what the source faces at all three of its corners, which many small turns would bring about. One
without area may gain some on the side to which the source faces there.

**Cut off.** How far both ends lie from the surface that would be there. Planes do not see it when a thin tip goes: what
is left lies in them.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import Point, compiled_by, inlined
from osteon.lod.mesh.state import AFTER, FIRST, LAST, NEXT, NORMAL, POINT, POSED

__all__ = ["turns_over"]

#: The least cosine between a normal before and after.
LEAST_COSINE = 0.2
#: A triangle has no area if that is less than this, of its longest edge squared.
FLAT = 1e-6


@compiled_by({"_nrt": False}, "i4.2r i4.2r f8.3r f8.2 i8 i8")
def turns_over(corners: Int32, heads: Int32, poses: Float64, places: Float64, i: int, j: int) -> bool:
    """Whether some triangle around edge ij turns over if both ends go to the places (f,:3).

    Leaves (f,3) and (f,4), how far i and j lie from those triangles then, squared.
    """
    for f in range(poses.shape[1]):
        places[f, 3] = places[f, 4] = np.inf
    for v in (i, j):
        c = heads[v, FIRST]
        while c >= 0:
            u, w = np.int64(corners[corners[c, NEXT], POINT]), np.int64(corners[corners[c, LAST], POINT])
            c = corners[c, AFTER]
            if u in (i, j) or w in (i, j):
                continue
            for f in range(poses.shape[1]):
                x, y, z = poses[u, f, POSED], poses[u, f, POSED + 1], poses[u, f, POSED + 2]
                ex, ey, ez = poses[w, f, POSED] - x, poses[w, f, POSED + 1] - y, poses[w, f, POSED + 2] - z
                ax, ay, az = poses[v, f, POSED] - x, poses[v, f, POSED + 1] - y, poses[v, f, POSED + 2] - z
                bx, by, bz = places[f, 0] - x, places[f, 1] - y, places[f, 2] - z
                nx, ny, nz = ey * az - ez * ay, ez * ax - ex * az, ex * ay - ey * ax
                mx, my, mz = ey * bz - ez * by, ez * bx - ex * bz, ex * by - ey * bx
                side, was, now = ex * ex + ey * ey + ez * ez, nx * nx + ny * ny + nz * nz, mx * mx + my * my + mz * mz
                for end in range(2):
                    far = _off_triangle(poses, i if end == 0 else j, f, (x, y, z), (ex, ey, ez), (bx, by, bz))
                    places[f, 3 + end] = min(places[f, 3 + end], far)
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


@inlined
def _off_triangle(poses: Float64, v: int, f: int, corner: Point, one: Point, other: Point) -> float:
    """Squared distance of a point from a triangle with a corner and two sides; a little more outside its corners."""
    x, y, z = poses[v, f, POSED] - corner[0], poses[v, f, POSED + 1] - corner[1], poses[v, f, POSED + 2] - corner[2]
    aa = one[0] * one[0] + one[1] * one[1] + one[2] * one[2]
    ab = one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
    bb = other[0] * other[0] + other[1] * other[1] + other[2] * other[2]
    pa, pb = x * one[0] + y * one[1] + z * one[2], x * other[0] + y * other[1] + z * other[2]
    det = aa * bb - ab * ab
    s = (bb * pa - ab * pb) / det if det > 0 else 0.0
    t = (aa * pb - ab * pa) / det if det > 0 else 0.0
    if s < 0:
        s, t = 0.0, pb / bb if bb > 0 else 0.0
    elif t < 0:
        s, t = pa / aa if aa > 0 else 0.0, 0.0
    s, t = max(s, 0.0), max(t, 0.0)
    if s + t > 1:
        s, t = s / (s + t), t / (s + t)
    x, y, z = x - s * one[0] - t * other[0], y - s * one[1] - t * other[1], z - s * one[2] - t * other[2]
    squared: float = x * x + y * y + z * z
    return squared
