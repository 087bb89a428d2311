"""Tangents of the rest pose, which a picture of normals needs: the direction in which u grows, across the normal.

Based on: Lengyel, Foundations of Game Engine Development, volume 2, 2019, section 7.5.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int32

__all__ = ["vertex_tangents"]


def vertex_tangents(points: Float64, normals: Float64, uvs: Float64, corners: Int32) -> Float64:
    """(n,4) unit tangents and their side, +1 or -1, of points, normals (n,3), uvs (n,2) with v down, corners (t,3)."""
    edges = points[corners[:, 1:]] - points[corners[:, :1]]
    steps = uvs[corners[:, 1:]] - uvs[corners[:, :1]]
    area = steps[:, 0, 0] * steps[:, 1, 1] - steps[:, 1, 0] * steps[:, 0, 1]
    sign = np.where(area < 0, -1.0, 1.0)[:, None]  # its size would only favour stretched triangles
    along_u = sign * (edges[:, 0] * steps[:, 1, 1:] - edges[:, 1] * steps[:, 0, 1:])
    along_v = sign * (edges[:, 1] * steps[:, 0, :1] - edges[:, 0] * steps[:, 1, :1])
    tangents, across = np.zeros_like(points), np.zeros_like(points)
    for corner in range(3):
        np.add.at(tangents, corners[:, corner], along_u)
        np.add.at(across, corners[:, corner], along_v)
    tangents = _unit(tangents - normals * (normals * tangents).sum(axis=1, keepdims=True), _sideways(normals))
    # glTF's bitangent points up the picture, against v as it is stored.
    side = np.where((np.cross(normals, tangents) * across).sum(axis=1, keepdims=True) > 0, -1.0, 1.0)
    return np.concatenate([tangents, side], axis=1)


def _unit(vectors: Float64, otherwise: Float64) -> Float64:
    """Vectors of length one; `otherwise` where there is no direction."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    none = length <= 1e-12 * max(1e-300, float(length.max(initial=0.0)))
    return np.asarray(np.where(none, otherwise, vectors / np.where(none, 1, length)))


def _sideways(normals: Float64) -> Float64:
    """Some unit vector across each normal."""
    axis = np.eye(3)[np.abs(normals).argmin(axis=1)]
    across = np.cross(normals, axis)
    return np.asarray(across / np.linalg.norm(across, axis=1, keepdims=True))
