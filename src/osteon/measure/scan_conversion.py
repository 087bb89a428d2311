"""Scan conversion: which triangle every sample of a picture shows, with a depth buffer.

Samples are at the centres of their cells. The top-left rule on shared edges prevents overlaps and gaps between adjacent
triangles; both sides are drawn, triangles without area are not.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.kernels import compiled_by


def scan_triangles(flat: Float64, triangles: Int32, size: tuple[int, int]) -> tuple[Int32, Float32]:
    """For every sample the nearest triangle (h,w), -1 for none, and the weights of its corners (h,w,3).

    `flat` (v,3) has the column and row of every vertex in samples, and its nearness, linear in the picture.
    """
    near = np.full(size, -np.inf)
    hit = np.full(size, -1, np.int32)
    corners = np.zeros((*size, 3), np.float32)
    _scan(np.ascontiguousarray(flat, np.float64), np.ascontiguousarray(triangles, np.int32), near, hit, corners)
    return hit, corners


@compiled_by({"_nrt": False}, "f8.2r i4.2r f8.2 i4.2 f4.3")
def _scan(flat: Float64, triangles: Int32, near: Float64, hit: Int32, corners: Float32) -> None:
    """Depth-tested scan conversion of all triangles; both sides are drawn, triangles without area are not."""
    height, width = near.shape
    for t in range(triangles.shape[0]):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        area = (flat[j, 0] - flat[i, 0]) * (flat[k, 1] - flat[i, 1])
        area -= (flat[j, 1] - flat[i, 1]) * (flat[k, 0] - flat[i, 0])
        if area == 0 or not np.isfinite(area):
            continue
        flipped = area < 0
        if flipped:
            j, k, area = k, j, -area
        ax, ay, bx, by, cx, cy = flat[i, 0], flat[i, 1], flat[j, 0], flat[j, 1], flat[k, 0], flat[k, 1]
        left = max(0, int(np.ceil(min(ax, bx, cx) - 0.5)))
        right = min(width - 1, int(np.floor(max(ax, bx, cx) - 0.5)))
        top = max(0, int(np.ceil(min(ay, by, cy) - 0.5)))
        bottom = min(height - 1, int(np.floor(max(ay, by, cy) - 0.5)))
        # Clockwise on screen: a top edge runs right on the level, a left edge runs up.
        keeps_a = cy < by or (cy == by and cx > bx)
        keeps_b = ay < cy or (ay == cy and ax > cx)
        keeps_c = by < ay or (by == ay and bx > ax)
        for y in range(top, bottom + 1):
            py = y + 0.5
            for x in range(left, right + 1):
                px = x + 0.5
                ea = (cx - bx) * (py - by) - (cy - by) * (px - bx)
                eb = (ax - cx) * (py - cy) - (ay - cy) * (px - cx)
                ec = (bx - ax) * (py - ay) - (by - ay) * (px - ax)
                if ea < 0 or eb < 0 or ec < 0:
                    continue
                if (ea == 0 and not keeps_a) or (eb == 0 and not keeps_b) or (ec == 0 and not keeps_c):
                    continue
                wa, wb, wc = ea / area, eb / area, ec / area
                z = wa * flat[i, 2] + wb * flat[j, 2] + wc * flat[k, 2]
                if z > near[y, x]:
                    near[y, x] = z
                    hit[y, x] = t
                    corners[y, x, 0] = wa
                    corners[y, x, 1] = wc if flipped else wb
                    corners[y, x, 2] = wb if flipped else wc
