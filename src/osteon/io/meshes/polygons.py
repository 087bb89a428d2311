"""Polygons for files that keep them in flat lists: fans joined again, and corners wound the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Int32
from osteon.core.asset import Asset
from osteon.io.meshes.mesh import join_fans

__all__ = ["IntArray", "join_polygons", "turned_corners"]

IntArray = NDArray[np.signedinteger[Any]]


def join_polygons(faces: Int32, asset: Asset) -> tuple[IntArray, NDArray[np.bool_]]:
    """Like `join_fans`, but a polygon has one material: where it changes inside a fan, another polygon begins."""
    numbers = asset.polygon_of_triangle
    if numbers is not None and asset.triangle_material is not None:
        numbers = (numbers.astype(np.int64) * max(1, len(asset.materials)) + asset.triangle_material).astype(np.int64)
        numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1).astype(np.int32)
    return join_fans(faces, numbers)


def turned_corners(sizes: IntArray) -> IntArray:
    """(c,) where each corner of the turned polygons stands in the list; a b c d becomes a d c b. Its own inverse."""
    sizes = np.asarray(sizes, np.int64)
    starts = np.cumsum(sizes) - sizes
    start = np.repeat(starts, sizes)
    step = np.arange(int(sizes.sum())) - start
    return np.asarray(np.where(step == 0, start, start + np.repeat(sizes, sizes) - step))
