"""A character with four triangles for each: skin, corrections, normals and attributes interpolated, motion unchanged.

    midpoint   p_ij = (p_i + p_j) / 2, other vertices stay: the rest pose is the same surface
    loop       p_ij = 3/8 (p_i + p_j) + 1/8 (p_k + p_l),   p_i <- (1 - n b) p_i + b sum_j p_j,
               b = 3 / (8 n), or 3/16 for n = 3; at a border (p_i + p_j) / 2 and 3/4 p_i + 1/8 (p_j + p_k)

| symbol | name |
| --- | --- |
| i, j | the ends of an edge; k, l the corners opposite to it |
| n | number of neighbours of a vertex |

A vertex on an edge gets the mean of the ends' weights, columns and attributes in both schemes, so that the blend of a
vertex does not depend on where it is moved. Vertices in one position count as one point: seams stay closed.

Based on: Loop, Smooth Subdivision Surfaces Based on Triangles, 1987; Warren, Subdivision methods for geometric design,
1995 (b).

Families that are linear in the weights of a slot are mixed (`mix_deformer`); of others a new vertex takes the blend of
an end of its edge. A new vertex follows the bones of both ends, up to eight.

Notes. Fitted weights of neighbours often have different bones. The fox with 32 bones and four influences, new vertices
with the four largest of both ends: ripples over the whole skin in every frame but the rest pose. With all of them (up
to eight) the surface is as smooth as before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.apply.edit.options import SubdivisionScheme
from osteon.core.arrays import Bool, Float32, Float64, Int32, Int64
from osteon.core.character import Character, Deformer, Skin
from osteon.core.mesh import Asset, CornerNormals, Mesh
from osteon.core.model import SkinnedModel
from osteon.core.topology import weld_points
from osteon.deform.animation_space import AnimationSpace
from osteon.deform.linear_blend import SkinFamily
from osteon.deform.multi_weight import MultiWeight

#: Influences of a new vertex: as many as glTF players support.
MOST_SLOTS = 8


def subdivide_model(model: SkinnedModel, times: int = 1, scheme: SubdivisionScheme = "midpoint") -> SkinnedModel:
    """The model with 4^times as many triangles."""
    for _ in range(times):
        model = replace(model, character=subdivide_character(model.character, scheme))
    return model


def subdivide_character(character: Character, scheme: SubdivisionScheme = "midpoint") -> Character:
    """The character with each triangle split into four; its vertices keep their numbers, new ones come after them."""
    mesh = character.mesh
    split = EdgeSplit.of(mesh.faces, mesh.n_vertices)
    normals, of_normals = _split_normals(mesh)
    rest = split.mixed(mesh.rest[None])[0] if scheme == "midpoint" else _loop_positions(mesh, split)
    asset = _split_asset(mesh.asset, split, normals)
    columns = tuple(
        one.on_mesh(
            split.mixed(one.basis), None if one.normal_basis is None else of_normals.mixed(one.normal_basis, unit=False)
        )
        for one in character.displacements
    )
    fallback = character.fallback
    return replace(
        character,
        mesh=Mesh(rest, split.faces, asset, mesh.name),
        deformer=mix_deformer(character.deformer, split.parents),
        displacements=columns,
        fallback=None if fallback is None else _mixed_skin(fallback, split.parents),
    )


@dataclass(frozen=True, slots=True)
class EdgeSplit:
    """The vertices and triangles after every edge was split."""

    parents: Int32  # (n,2) the ends of the edge of each vertex; twice itself for one that was there before
    faces: Int32  # (4t,3) triangle 4 i + k is at corner k of triangle i, 4 i + 3 in its middle

    @staticmethod
    def of(corners: Int32, count: int) -> EdgeSplit:
        """Split the edges of triangles with corners (t,3), numbered 0 … count - 1."""
        ends = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
        edges, number = np.unique(ends.astype(np.int64) @ [max(1, count), 1], return_inverse=True)
        middle = (count + number.reshape(corners.shape)).astype(np.int32)  # of the edge after each corner
        own = np.repeat(np.arange(count, dtype=np.int32)[:, None], 2, axis=1)
        added = np.stack([edges // max(1, count), edges % max(1, count)], axis=1).astype(np.int32)
        before = np.roll(middle, 1, axis=1)
        at_corner = np.stack([corners, middle, before], axis=2)  # (t,3,3)
        inside = np.stack([middle[:, 0], middle[:, 1], middle[:, 2]], axis=1)[:, None]
        faces = np.concatenate([at_corner, inside], axis=1).reshape(-1, 3)
        return EdgeSplit(np.concatenate([own, added]), faces.astype(np.int32))

    def mixed(self, columns: Float32, unit: bool = False) -> Float32:
        """(r,n,c) of columns (r,v,c); old ones stay exactly. If `unit`, of unit length."""
        first, second = (columns[:, self.parents[:, i]].astype(np.float64) for i in range(2))
        out = 0.5 * (first + second)
        if unit:
            length = np.linalg.norm(out, axis=2, keepdims=True)
            out = np.where(length > 1e-6, out / np.where(length > 0, length, 1.0), first)
        same = self.parents[:, 0] == self.parents[:, 1]
        return np.where(same[:, None], columns[:, self.parents[:, 0]], out).astype(np.float32)


def _split_normals(mesh: Mesh) -> tuple[CornerNormals | None, EdgeSplit]:
    """The mesh's own normals with those of the new vertices, and how they are mixed."""
    own = mesh.asset.normals
    if own is None:
        return None, EdgeSplit.of(mesh.faces, mesh.n_vertices)
    split = EdgeSplit.of(own.of_corner, len(own.values))
    return CornerNormals(split.mixed(own.values[None], unit=True)[0], split.faces), split


def _split_asset(asset: Asset, split: EdgeSplit, normals: CornerNormals | None) -> Asset:
    """Texture coordinates and colours interpolated; materials and primitives of each triangle's four parts the same."""

    def per_triangle(values: Int32 | None) -> Int32 | None:
        return None if values is None else np.repeat(values, 4)

    def per_vertex(values: Float32) -> Float32:
        return np.asarray(np.clip(split.mixed(values[None])[0], 0, 1))

    joints = asset.joint_of_vertex
    return replace(
        asset,
        uvs=None if asset.uvs is None else _split_uvs(asset.uvs),
        more_uvs=tuple(_split_uvs(uvs) for uvs in asset.more_uvs),
        colors=None if asset.colors is None else per_vertex(asset.colors),
        more_colors=tuple(per_vertex(colors) for colors in asset.more_colors),
        normals=normals,
        triangle_material=per_triangle(asset.triangle_material),
        primitive_of_triangle=per_triangle(asset.primitive_of_triangle),
        polygon_of_triangle=None,
        joint_of_vertex=None if joints is None else joints[split.parents[:, 0]],
    )


def _split_uvs(uvs: Float32) -> Float32:
    """(4t,3,2)"""
    after = 0.5 * (uvs.astype(np.float64) + np.roll(uvs, -1, axis=1))
    at_corner = np.stack([uvs, after, np.roll(after, 1, axis=1)], axis=2)  # (t,3,3,2)
    return np.concatenate([at_corner, after[:, None]], axis=1).reshape(-1, 3, 2).astype(np.float32)


def _loop_positions(mesh: Mesh, split: EdgeSplit) -> Float32:
    """(n,3) positions by Loop's rules, computed on points: vertices in one position stay together."""
    first, point_of_vertex = weld_points(mesh.rest)
    points, faces = mesh.rest[first].astype(np.float64), point_of_vertex[mesh.faces].astype(np.int64)
    count = len(points)
    along = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    opposite = np.roll(faces, -2, axis=1).reshape(-1)
    low, high = along.min(axis=1), along.max(axis=1)
    keys, number, sides = np.unique(low * count + high, return_inverse=True, return_counts=True)
    ends = np.stack([keys // max(1, count), keys % max(1, count)], axis=1)
    across = np.zeros((len(keys), 3))
    np.add.at(across, number.reshape(-1), points[opposite])
    plain = points[ends].mean(axis=1)
    inner = sides == 2
    middle = np.where(inner[:, None], 0.75 * plain + 0.125 * across, plain)
    moved = _even_points(points, ends, inner)
    ends_of_new = point_of_vertex[split.parents].astype(np.int64)
    place = np.searchsorted(keys, ends_of_new.min(axis=1) * count + ends_of_new.max(axis=1))
    is_new = split.parents[:, 0] != split.parents[:, 1]
    at = middle[np.minimum(place, max(0, len(keys) - 1))]
    out: Float32 = np.where(is_new[:, None], at, moved[ends_of_new[:, 0]]).astype(np.float32)
    return out


def _even_points(points: Float64, ends: Int64, inner: Bool) -> Float64:
    """(n,3) the old points, smoothed; those of a border along it, and others with a border of odd form stay."""

    def sums(chosen: Bool) -> tuple[Float64, Float64]:
        pairs = np.concatenate([ends[chosen], ends[chosen][:, ::-1]])
        total, degree = np.zeros_like(points), np.zeros(len(points))
        np.add.at(total, pairs[:, 0], points[pairs[:, 1]])
        np.add.at(degree, pairs[:, 0], 1)
        return total, degree

    around, degree = sums(np.ones(len(ends), bool))
    along, borders = sums(~inner)
    with np.errstate(divide="ignore"):
        beta = np.where(degree == 3, 3 / 16, np.where(degree > 0, 3 / (8 * np.maximum(degree, 1)), 0.0))
    smooth = (1 - degree * beta)[:, None] * points + beta[:, None] * around
    at_border = 0.75 * points + 0.125 * along
    stay = np.where((borders == 2)[:, None], at_border, points)
    return np.where(((borders == 0) & (degree > 0))[:, None], smooth, stay)


def mix_deformer(deformer: Deformer, parents: Int32) -> Deformer:
    """The deformer of vertices that are halfway between two others (n,2)."""
    if isinstance(deformer, SkinFamily):
        return type(deformer)(_mixed_skin(deformer.skin, parents))
    if isinstance(deformer, AnimationSpace):
        slots = np.concatenate([deformer.weights[..., None], deformer.offsets], axis=2)
        bones, mixed = _mixed_slots(deformer.bones, slots, parents)
        return AnimationSpace(bones, mixed[..., 0], mixed[..., 1:])
    if isinstance(deformer, MultiWeight):
        reference = deformer.reference[parents]
        # Weights of different axes have no mean.
        alike = np.where((reference[:, :1] == reference[:, 1:]), parents, parents[:, :1])
        bones, mixed = _mixed_slots(deformer.bones, deformer.weights, alike)
        return MultiWeight(bones, mixed, reference[:, 0], deformer.frames)
    return deformer.take(parents[:, 0])


def _mixed_skin(skin: Skin, parents: Int32) -> Skin:
    bones, mixed = _mixed_slots(skin.bones, skin.weights[..., None], parents)
    return Skin(bones, mixed[..., 0])


def _mixed_slots(bones: Int32, slots: Float32, parents: Int32) -> tuple[Int32, Float32]:
    """(n,m) bones and (n,m,c) values halfway between two vertices.

    All slots are kept that are used, up to MOST_SLOTS. What the smallest ones beyond hold is added to the largest one,
    so that sums over the slots stay.
    """
    k = bones.shape[1]
    both = bones[parents].reshape(len(parents), 2 * k).copy()
    values = 0.5 * slots[parents].reshape(len(parents), 2 * k, -1).astype(np.float64)
    for later in range(k, 2 * k):
        for first in range(k):
            same = (both[:, later] == both[:, first]) & values[:, first].any(axis=1)
            values[same, first] += values[same, later]
            values[same, later] = 0.0
    order = np.argsort(-np.abs(values).sum(axis=2), axis=1, kind="stable")
    both, values = np.take_along_axis(both, order, axis=1), np.take_along_axis(values, order[..., None], axis=1)
    used = values.any(axis=2)
    width = max(k, min(MOST_SLOTS, int(used.sum(axis=1).max(initial=0))))
    values[:, 0] += values[:, width:].sum(axis=1)
    both, values = np.where(used, both, 0)[:, :width], values[:, :width]
    own = np.flatnonzero(parents[:, 0] == parents[:, 1])
    both[own, :k], both[own, k:] = bones[parents[own, 0]], 0
    values[own, :k], values[own, k:] = slots[parents[own, 0]], 0.0
    return both.astype(np.int32), values.astype(np.float32)
