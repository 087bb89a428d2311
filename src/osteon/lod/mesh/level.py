"""Build the model of a level: the mesh after some collapses, with the attributes, skin and animation of the source.

Points into which no other was merged keep their vertices exactly. Bones, animation and skeleton are those of the
source, so that all levels share one matrix palette. Polygons become triangles.

Texture coordinates are transferred by wedge, colours by vertex, and materials by triangle. Normals, and the texture
coordinates that textures use, are then fitted to the source (`level_normals.py`, `level_texture.py`).

Models without normals stay so: players shade the triangles of each pose. Normals per corner that are fitted to them in
the rest pose would move with the bones: on Fox, to 564 of 576 triangles, the 95th percentile of FLIP is .291 with these
and .002 without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from osteon.core.arrays import Bool, Float32, Float64, Int32, IntArray
from osteon.core.character import Deformer, Displacement, Skin
from osteon.core.mesh import Asset, CornerNormals, Mesh
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import LinearBlend
from osteon.lod.mesh.corners import PLAIN, edge_kinds, following
from osteon.lod.mesh.level_normals import fit_normals
from osteon.lod.mesh.level_samples import LevelSamples
from osteon.lod.mesh.level_shape import LevelShape, OnSource, closest_of_own, mix_skin
from osteon.lod.mesh.level_texture import charts_of, fit_texture
from osteon.lod.mesh.poses import Poses
from osteon.lod.mesh.sequence import CollapseSequence, Cut
from osteon.lod.mesh.surface import point_influences


@dataclass(frozen=True, slots=True)
class Ownership:
    """The point, vertex and wedge of a level into which each corner of the source was merged."""

    sequence: CollapseSequence
    cut: Cut

    def points(self, left: Int32, places: Float64) -> OnSource:
        """Closest positions on the source for the remaining points (n,), at positions (n,3)."""
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
    """The asset of a level with the remaining points (n,), in the given shape, and the remaining vertices (m,)."""
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
    """(t,3,2) texture coordinates: of the source at unchanged points, else of wedges at the merged points."""
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
    """(count,) index of each element in the list of remaining ones; -1 if it was removed."""
    out = np.full(count, -1, np.int32)
    out[left] = np.arange(len(left), dtype=np.int32)
    return out


@dataclass(frozen=True)
class LevelDraft:
    """A level before its model is built. Remaining elements are renumbered in the order of the source."""

    source: SkinnedModel
    poses: Poses
    sequence: CollapseSequence
    steps: int

    @cached_property
    def cut(self) -> Cut:
        return self.sequence.cut(self.steps)

    @cached_property
    def points(self) -> Int32:
        """(n,) remaining points of the source."""
        return np.unique(self.cut.point_of_corner)

    @cached_property
    def vertices(self) -> Int32:
        """(m,) remaining vertices of the source."""
        return np.unique(self.cut.vertex_of_corner)

    @cached_property
    def point_of_vertex(self) -> Int32:
        """(m,) index of the point of each vertex of the level."""
        roots = self.cut.point_roots[self.sequence.corners.point_of_vertex[self.vertices]]
        return numbers(self.points, self.sequence.corners.n_points)[roots]

    @cached_property
    def touched(self) -> Bool:
        """(m,) whether other points were merged into the point of a vertex."""
        return self.cut.touched[self.points][self.point_of_vertex]

    @cached_property
    def point_of_source(self) -> Int32:
        """(v,) the point of the level for each vertex of the source; -1 if its shell was dropped."""
        corners = self.sequence.corners
        return numbers(self.points, corners.n_points)[self.cut.point_roots[corners.point_of_vertex]]

    @cached_property
    def vertex_of_source(self) -> Int32:
        """(v,) the vertex of the level for each of the source; if it was removed, another one of the same point."""
        own = numbers(self.vertices, self.sequence.corners.n_vertices)[self.cut.vertex_roots]
        of_point = np.full(len(self.points) + 1, -1, np.int32)  # the last element is the result for index -1
        of_point[self.point_of_vertex[::-1]] = np.arange(len(self.vertices), dtype=np.int32)[::-1]
        found: Int32 = np.where(own >= 0, own, of_point[self.point_of_source])
        return found

    @cached_property
    def shape(self) -> LevelShape:
        """The shape after the collapses, before fitting."""
        cut, points = self.cut, self.points
        corners = cut.point_of_corner.reshape(-1)
        number = numbers(points, self.sequence.corners.n_points)
        odd = np.flatnonzero(edge_kinds(corners, cut.wedge_of_corner.reshape(-1)) != PLAIN)
        stiff = np.zeros(self.sequence.corners.n_points, bool)
        stiff[corners[odd]] = stiff[corners[following(odd)]] = True
        moves = point_influences(self.source, self.sequence.corners, self.poses)
        part = [
            k for k in (self.source.asset.triangle_material, self.source.asset.primitive_of_triangle) if k is not None
        ]
        triangle = np.repeat(self.sequence.corners.triangles[cut.triangles], 3)
        labels = (cut.vertex_of_corner.reshape(-1), cut.wedge_of_corner.reshape(-1), *(k[triangle] for k in part))
        return LevelShape(
            number[corners],
            np.stack(labels, axis=1).astype(np.int32),
            np.arange(len(corners)).reshape(-1, 3),
            cut.places[points],
            cut.influences[points],
            cut.weights[points],
            moves.transforms,
            self._shifts(),
            cut.touched[points],
            stiff[points],
            moves.mixes,
        )

    @cached_property
    def _columns(self) -> tuple[tuple[Float64, Float64 | None], ...]:
        """(r,n,3) columns of every displacement and of its normals, interpolated like the points."""
        found = self.source.character.displacements
        return tuple(
            (self._mixed(d.basis), None if d.normal_basis is None else self._mixed(self._by_vertex(d.normal_basis)))
            for d in found
        )

    def _by_vertex(self, normals: Float32) -> Float32:
        """(r,v,3) columns per vertex from those of the source's normals (r,n,3): the first normal of each vertex."""
        return normals[:, self.source.mesh.normal_of_vertex]

    def _normals(self, samples: LevelSamples) -> CornerNormals | None:
        """Normals that shade the level like the source, one per vertex; those of unchanged surroundings are kept.

        None if the source has none: its triangles are flat in every pose, or have smooth normals of their own.
        """
        source, faces = self.source.mesh, samples.faces
        if source.asset.normals is None:
            return None
        around = np.zeros(len(self.vertices), bool)
        around[faces[self.touched[faces].any(axis=1)]] = True
        kept = self._by_vertex(source.asset.normals.values[None])[0, self.vertices]
        fitted = fit_normals(source, samples, faces)
        return CornerNormals(np.where((around | self.touched)[:, None], fitted, kept).astype(np.float32), faces)

    def _textured(self, asset: Asset, shape: LevelShape, samples: LevelSamples) -> Asset:
        """The asset with texture coordinates that show the source's texture where the source does."""
        own, corners, cut = self.source.asset, self.sequence.corners, self.cut
        if own.uvs is None or asset.uvs is None:
            return asset
        charts = np.full(len(self.source.faces), -1, np.int32)
        charts[corners.triangles] = charts_of(corners.wedges.reshape(-1, 3), corners.n_wedges)
        source_triangle = corners.triangles[cut.triangles][shape.corners[:, 0] // 3]
        wedges = cut.wedge_of_corner.reshape(-1)[shape.corners]
        left = np.unique(wedges)
        owners = numbers(left, corners.n_wedges)[wedges]
        touched = np.zeros(len(left), bool)
        touched[owners] = cut.touched[cut.point_of_corner].reshape(-1)[shape.corners]
        same = charts[samples.triangles] == np.repeat(charts[source_triangle], len(samples.triangles) // len(owners))
        uvs, *more = (
            fit_texture(self.source.mesh, samples, each, level, owners, same, touched)
            if number in own.shown_sets
            else level
            for number, (each, level) in enumerate(zip(own.all_uvs, asset.all_uvs, strict=True))
        )
        return replace(asset, uvs=uvs, more_uvs=tuple(more))

    def _mixed(self, columns: Float32) -> Float64:
        """(r,n,3) from columns of the source's vertices (r,v,3)."""
        of_points = columns[:, self.sequence.corners.vertex_of_point].swapaxes(0, 1).astype(np.float64)
        return self.sequence.mix(of_points, self.steps)[self.points].swapaxes(0, 1)

    def _shifts(self) -> Float64:
        if not self._columns:
            return np.zeros((self.poses.n_poses, 0, 3))
        pairs = zip(self.poses.coefficients, self._columns, strict=True)
        moved = sum(np.tensordot(q, basis, axes=1) for q, (basis, _) in pairs)
        return (self.poses.scale / self.poses.diagonal) * np.asarray(moved)

    def model(self, shape: LevelShape) -> SkinnedModel:
        """The level with its points in the given shape."""
        source, owned = self.source, Ownership(self.sequence, self.cut)
        places = self.poses.to_rest(shape.places)[self.point_of_vertex]
        rest = np.where(self.touched[:, None], places, source.rest[self.vertices]).astype(np.float32)
        asset = level_asset(source.asset, owned, self.points, self.vertices, shape)
        faces = numbers(self.vertices, self.sequence.corners.n_vertices)[
            self.cut.vertex_of_corner.reshape(-1)[shape.corners]
        ]
        if source.asset.uvs is not None or source.asset.normals is not None:
            samples = LevelSamples.of(source.mesh, rest, faces)
            asset = replace(self._textured(asset, shape, samples), normals=self._normals(samples))
        fallback = source.character.fallback
        if fallback is not None:
            on = owned.points(self.points, shape.places)
            around = self.sequence.corners.vertices.reshape(-1, 3)[on.triangles]
            fallback = self._skin(mix_skin(fallback, around, on.shares), fallback)
        character = replace(
            source.character,
            mesh=Mesh(rest, faces, asset, source.name),
            deformer=self._deformer(shape),
            displacements=self._displacements(),
            fallback=fallback,
        )
        return SkinnedModel(character, source.animation)

    def _deformer(self, shape: LevelShape) -> Deformer:
        """The deformer with mixed weights, or with those of single source vertices where they cannot be mixed."""
        if shape.mixes:
            mixed = Skin(shape.influences, shape.weights.astype(np.float32))
            return LinearBlend(self._skin(mixed, self.source.skin))
        taken = self.sequence.corners.vertex_of_point[shape.influences[self.point_of_vertex, 0]]
        return self.source.deformer.take(np.where(self.touched, taken, self.vertices).astype(np.int32))

    def _skin(self, of_points: Skin, of_source: Skin) -> Skin:
        """The skin per vertex from that per point; vertices of unchanged points keep the skin of the source."""
        mixed, kept, own = of_points.take(self.point_of_vertex), of_source.take(self.vertices), self.touched[:, None]
        return Skin(np.where(own, mixed.bones, kept.bones), np.where(own, mixed.weights, kept.weights))

    def _displacements(self) -> tuple[Displacement, ...]:
        """The displacements on the vertices of the level; those of unchanged points are copied from the source."""
        out = []
        for displacement, (basis, normals) in zip(self.source.character.displacements, self._columns, strict=True):
            own = displacement.normal_basis
            moved = None if own is None or normals is None else self._on_vertices(normals, self._by_vertex(own))
            out.append(displacement.on_mesh(self._on_vertices(basis, displacement.basis), moved))
        return tuple(out)

    def _on_vertices(self, of_points: Float64, of_source: Float32) -> Float32:
        """(r,m,3) columns of vertices from those of points (r,n,3) and of the source's vertices (r,v,3)."""
        new, old = of_points[:, self.point_of_vertex], of_source[:, self.vertices]
        return np.where(self.touched[:, None], new, old).astype(np.float32)
