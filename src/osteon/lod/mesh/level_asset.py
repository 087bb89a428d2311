"""What a level carries besides positions: textures by wedges, colours by vertices, materials by triangles."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32, IntArray
from osteon.core.asset import Asset
from osteon.lod.mesh.level_shape import LevelShape
from osteon.lod.mesh.sequence import CollapseSequence, Cut
from osteon.lod.mesh.transfer import OnSource, closest_of_own

__all__ = ["Ownership", "level_asset", "numbers"]


@dataclass(frozen=True, slots=True)
class Ownership:
    """Whose the corners of the source are by now."""

    sequence: CollapseSequence
    cut: Cut

    def points(self, left: Int32, places: Float64) -> OnSource:
        """Points of the source for the points that are left (n,), which lie at places (n,3)."""
        return self._closest(places, self.cut.point_roots[self.sequence.corners.faces], left)

    def vertices(self, left: Int32, places: Float64) -> OnSource:
        """The same for vertices."""
        return self._closest(places, self.cut.vertex_roots[self.sequence.corners.vertices.reshape(-1, 3)], left)

    def wedges(self, left: Int32, places: Float64) -> OnSource:
        """The same for wedges."""
        return self._closest(places, self.cut.wedge_roots[self.sequence.corners.wedges.reshape(-1, 3)], left)

    def _closest(self, places: Float64, owners: Int32, left: Int32) -> OnSource:
        number = numbers(left, int(owners.max(initial=0)) + 1)
        return closest_of_own(places, number[owners], self.sequence.places[self.sequence.corners.faces])


def level_asset(asset: Asset, owned: Ownership, points: Int32, vertices: Int32, shape: LevelShape) -> Asset:
    """The asset of a level of which points (n,) and vertices (m,) are left, the points in the given shape."""
    corners, cut = owned.sequence.corners, owned.cut
    number = numbers(points, corners.n_points)
    triangles = corners.triangles[cut.triangles]
    out = replace(
        asset,
        uvs=None,
        colors=None,
        more_uvs=(),
        more_colors=(),
        normals=None,
        triangle_material=None if asset.triangle_material is None else asset.triangle_material[triangles],
        polygon_of_triangle=None,
        primitive_of_triangle=None if asset.primitive_of_triangle is None else asset.primitive_of_triangle[triangles],
        joint_of_vertex=None,
    )
    if asset.uvs is not None:
        uvs, *more_uvs = (_uvs(each, owned, number, shape) for each in (asset.uvs, *asset.more_uvs))
        out = replace(out, uvs=uvs, more_uvs=tuple(more_uvs))
    if asset.colors is None and asset.joint_of_vertex is None:
        return out
    point_of_vertex = cut.point_roots[corners.point_of_vertex[vertices]]
    on = owned.vertices(vertices, shape.places[number[point_of_vertex]])
    around, touched = corners.vertices.reshape(-1, 3), cut.touched[point_of_vertex]
    if asset.colors is not None:
        mixed = [np.clip(on.mix(each[around]), 0.0, 1.0) for each in (asset.colors, *asset.more_colors)]
        colors, *more_colors = (
            np.where(touched[:, None], new, old[vertices]).astype(np.float32)
            for new, old in zip(mixed, (asset.colors, *asset.more_colors), strict=True)
        )
        out = replace(out, colors=colors, more_colors=tuple(more_colors))
    if asset.joint_of_vertex is not None:
        nearest = np.where(touched, on.nearest(around), vertices)
        out = replace(out, joint_of_vertex=asset.joint_of_vertex[nearest])
    return out


def _uvs(uvs: Float32, owned: Ownership, number: Int32, shape: LevelShape) -> Float32:
    """(t,3,2) those of the source at its own corners, of wedges at points to which something was merged."""
    corners, cut = owned.sequence.corners, owned.cut
    left = np.unique(cut.wedge_of_corner)
    point_of_wedge = np.empty(corners.n_wedges, np.int32)
    point_of_wedge[corners.wedges] = corners.points
    on = owned.wedges(left, shape.places[number[cut.point_roots[point_of_wedge[left]]]])
    mixed = on.mix(uvs[corners.triangles])[numbers(left, corners.n_wedges)[cut.wedge_of_corner]]
    kept = uvs[corners.triangles[cut.triangles]]
    out = np.where(cut.touched[cut.point_of_corner][:, :, None], mixed, kept).astype(np.float32)
    return out.reshape(-1, 2)[shape.corners]


def numbers(left: IntArray, count: int) -> Int32:
    """(count,) the place of each in the list of those that are left, -1: it is not there."""
    out = np.full(count, -1, np.int32)
    out[left] = np.arange(len(left), dtype=np.int32)
    return out
