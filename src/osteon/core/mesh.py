"""A mesh in its rest pose: positions, triangles, its asset (all that an input holds besides), and the scale of a rig.

An `Asset` has texture coordinates, colours, normals, materials with their pictures, and polygons.

The scale of a rig is the size of the posed body relative to its rest pose. Exporters often store a mesh in centimetres
with bones of scale 0.01. The posed size is the unit of all tolerances and percentages, and regularisers such as
stiffness compare bones with rotations at that size. The scale is the median ratio of edge lengths. Ratios near one
count as one, because bodies stretch; others are rounded to the ratio of two common units if one is near.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, checked, checked_indices
from osteon.core.errors import GeometryError
from osteon.core.frames import FrameSource
from osteon.core.topology import bounding_diagonal

AlphaMode = Literal["OPAQUE", "MASK", "BLEND"]
TextureRole = Literal["base_color", "metallic_roughness", "normal", "occlusion", "emissive"]
#: Kinds that all programs read.
PLAIN_PICTURES = ("image/png", "image/jpeg")


@dataclass(frozen=True, slots=True)
class Image:
    """An encoded picture, copied from input to output without decoding."""

    name: str  # without a suffix
    mime: str  # "image/png" or "image/jpeg", which all programs read; or one that only some do, such as "image/ktx2"
    data: bytes = field(repr=False)
    others: tuple[Image, ...] = field(default=(), repr=False)  # the same picture in other formats

    def as_one_of(self, kinds: Container[str]) -> Image | None:
        """The picture in one of these formats; None if it has none of them."""
        found = next((image for image in (self, *self.others) if image.mime in kinds), None)
        return replace(found, others=()) if found is not None and found.others else found


@dataclass(frozen=True, slots=True)
class Material:
    """How a group of triangles is shaded: the properties that exporters write."""

    name: str
    base_color: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    metallic: float = 0.0
    roughness: float = 0.9
    double_sided: bool = False
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    alpha_mode: AlphaMode = "OPAQUE"
    alpha_cutoff: float = 0.5  # counts only with alpha_mode MASK
    textures: tuple[tuple[TextureRole, Image], ...] = ()  # at most one per role
    uv_sets: tuple[tuple[TextureRole, int], ...] = ()  # of textures that use another set of uvs than the first, 0

    def __post_init__(self) -> None:
        if self.alpha_mode not in get_args(AlphaMode):
            raise GeometryError(f"material '{self.name}': alpha mode must be OPAQUE, MASK or BLEND")
        roles = [role for role, _ in self.textures]
        if len(set(roles)) != len(roles) or not set(roles) <= set(get_args(TextureRole)):
            known = ", ".join(get_args(TextureRole))
            raise GeometryError(f"material '{self.name}': a texture has one of the roles {known}, each at most once")

    def texture(self, role: TextureRole) -> Image | None:
        """The image of a role, if there is one."""
        return dict(self.textures).get(role)

    def uv_set(self, role: TextureRole) -> int:
        """The set of texture coordinates that the texture of a role uses."""
        return dict(self.uv_sets).get(role, 0)

    def on_sets(self, count: int) -> Material:
        """The same material without textures that use a later set than the first `count`, at least 1."""
        kept = tuple((role, image) for role, image in self.textures if self.uv_set(role) < max(1, count))
        roles = [role for role, _ in kept]
        return replace(self, textures=kept, uv_sets=tuple(one for one in self.uv_sets if one[0] in roles))


@dataclass(frozen=True, slots=True)
class Origin:
    """The files of an asset, and what was lost when they were read."""

    files: tuple[Path, ...] = ()
    lost: tuple[str, ...] = ()  # one sentence each


@dataclass(frozen=True, slots=True)
class CornerNormals:
    """Normals of the rest pose that a mesh is shaded with, shared between corners of triangles."""

    values: Float32  # (n,3) unit vectors
    of_corner: Int32  # (t,3) the normal of each corner; all that share a normal share a position

    def checked(self, n_triangles: int) -> CornerNormals:
        """The same normals, checked against the mesh."""
        values = checked("normals", self.values, (None, 3))
        return CornerNormals(values, checked_indices("normals", self.of_corner, (n_triangles, 3), len(values)))


@dataclass(frozen=True, slots=True)
class Asset:
    """Data of the input besides positions. Every field may be absent (None or empty)."""

    uvs: Float32 | None = None  # (t,3,2) one texture coordinate per triangle corner, origin at the bottom left
    colors: Float32 | None = None  # (v,4) RGBA in 0 … 1
    more_uvs: tuple[Float32, ...] = ()  # (t,3,2) each: the second set of texture coordinates, and those after it
    more_colors: tuple[Float32, ...] = ()  # (v,4) each: the second set of colours, and those after it
    normals: CornerNormals | None = None  # authored or fitted; None: smooth ones of the rest pose
    faceted: bool = False  # triangles are shaded flat, without normals
    materials: tuple[Material, ...] = ()
    triangle_material: Int32 | None = None  # (t,) index into materials
    polygon_of_triangle: Int32 | None = None  # (t,) consecutive triangles of one fan share a number
    primitive_of_triangle: Int32 | None = None  # (t,) which primitive of the input file
    primitive_names: tuple[str, ...] = ()
    joint_of_vertex: Int32 | None = None  # (v,) the joint of the input's own rig that moved it most; never written
    joint_names: tuple[str, ...] = ()
    origin: Origin = field(default_factory=Origin, compare=False)  # never written

    def read_from(self, files: Sequence[Path]) -> Asset:
        """The same asset with the files that it was read from."""
        return replace(self, origin=replace(self.origin, files=tuple(files)))

    def with_pictures(self, kinds: Container[str] = PLAIN_PICTURES) -> Asset:
        """The same asset with pictures in these formats only; others are omitted."""
        as_one: dict[Image, Image | None] = {}
        for image in (image for material in self.materials for _, image in material.textures):
            if image not in as_one:
                as_one[image] = image.as_one_of(kinds)
        kept = [tuple((r, found) for r, i in m.textures if (found := as_one[i]) is not None) for m in self.materials]
        same = (replace(m, textures=textures) for m, textures in zip(self.materials, kept, strict=True))
        return replace(self, materials=tuple(same))

    @property
    def all_uvs(self) -> tuple[Float32, ...]:
        """(t,3,2) every set of texture coordinates."""
        return () if self.uvs is None else (self.uvs, *self.more_uvs)

    @property
    def shown_sets(self) -> tuple[int, ...]:
        """The sets of texture coordinates that textures of the materials use; the first if there are no textures."""
        used = {material.uv_set(role) for material in self.materials for role, _ in material.textures} or {0}
        return tuple(sorted(used & set(range(len(self.all_uvs)))))

    def with_first_sets(self) -> Asset:
        """The same asset with one set of texture coordinates and one of colours, for files that hold no more."""
        materials = tuple(material.on_sets(1) for material in self.materials)
        return replace(self, more_uvs=(), more_colors=(), materials=materials)

    def checked(self, n_vertices: int, n_triangles: int) -> Asset:
        """The same asset with every array checked against the mesh."""

        def per_triangle(name: str, value: Int32 | None, count: int) -> Int32 | None:
            return None if value is None else checked_indices(name, value, (n_triangles,), count)

        joints = self.joint_of_vertex
        return replace(
            self,
            uvs=None if self.uvs is None else checked("uvs", self.uvs, (n_triangles, 3, 2)),
            colors=None if self.colors is None else checked("colors", self.colors, (n_vertices, 4)),
            more_uvs=tuple(checked("more_uvs", uvs, (n_triangles, 3, 2)) for uvs in self.more_uvs),
            more_colors=tuple(checked("more_colors", colors, (n_vertices, 4)) for colors in self.more_colors),
            normals=None if self.normals is None else self.normals.checked(n_triangles),
            triangle_material=per_triangle("triangle_material", self.triangle_material, max(1, len(self.materials))),
            polygon_of_triangle=per_triangle("polygon_of_triangle", self.polygon_of_triangle, max(1, n_triangles)),
            primitive_of_triangle=per_triangle(
                "primitive_of_triangle", self.primitive_of_triangle, max(1, len(self.primitive_names))
            ),
            joint_of_vertex=None
            if joints is None
            else checked_indices("joint_of_vertex", joints, (n_vertices,), len(self.joint_names)),
        )


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh in its rest pose."""

    rest: Float32  # (v,3) the undeformed pose
    faces: Int32  # (t,3) vertex indices, counter-clockwise seen from outside
    asset: Asset = field(default_factory=Asset)
    name: str = "mesh"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rest", checked("rest", self.rest, (None, 3)))
        object.__setattr__(self, "faces", checked_indices("faces", self.faces, (None, 3), self.n_vertices))
        object.__setattr__(self, "asset", self.asset.checked(self.n_vertices, self.n_triangles))

    @property
    def n_vertices(self) -> int:
        return int(self.rest.shape[0])

    @property
    def n_triangles(self) -> int:
        return int(self.faces.shape[0])

    @property
    def n_normals(self) -> int:
        """Number of normals that it is shaded with: its own, or one per vertex."""
        return self.n_vertices if self.asset.normals is None else len(self.asset.normals.values)

    @property
    def vertex_of_normal(self) -> Int32:
        """(n,) the vertex of each normal that the mesh is shaded with."""
        own = self.asset.normals
        if own is None:
            return np.arange(self.n_vertices, dtype=np.int32)
        return _first_of(own.of_corner, self.faces, len(own.values))

    @property
    def normal_of_vertex(self) -> Int32:
        """(v,) the first normal of each vertex; 0 for a vertex without triangles."""
        own = self.asset.normals
        if own is None:
            return np.arange(self.n_vertices, dtype=np.int32)
        return _first_of(self.faces, own.of_corner, self.n_vertices)

    @property
    def diagonal(self) -> float:
        """Length of the rest pose's bounding-box diagonal, the unit of all tolerances."""
        return bounding_diagonal(self.rest)


def _first_of(keys: Int32, values: Int32, count: int) -> Int32:
    """(count,) the value of the first corner that has each key; keys and values (t,3)."""
    out = np.zeros(count, np.int32)
    out[keys.reshape(-1)[::-1]] = values.reshape(-1)[::-1]
    return out


#: Up to this factor a body may stretch or curl up; beyond it the rig carries a scale.
STRETCH = 2.0
#: Ratios of units up to powers of ten (metres, inches, feet), with the tolerance in the logarithm.
UNITS = {1.0: 0.1, 2.54: 0.02, 3.048: 0.02, 3.2808399: 0.02, 3.9370079: 0.02}
#: Frames and triangles that are sampled.
FRAMES, TRIANGLES = 8, 4096


def scale_of_frames(rest: FloatArray, faces: Int32, frames: FrameSource) -> float:
    """The posed size of a body over that of its rest pose; 1 unless its rig has a scale."""
    step = max(1, len(faces) // TRIANGLES)
    before = _edge_lengths(rest, faces[::step])
    solid = before > 0
    if not solid.any():
        return 1.0
    chosen = np.unique(np.linspace(0, frames.n_frames - 1, FRAMES).astype(np.int64))
    ratios = [_edge_lengths(frames.read(int(f), int(f) + 1)[0], faces[::step])[solid] / before[solid] for f in chosen]
    return _plain_scale(float(np.median(ratios)))


def scale_of_bones(transforms: FloatArray) -> float:
    """The common scale of posed_from_rest transforms (f,b,3,4); 1 unless they have one."""
    if not transforms.size:
        return 1.0
    step = max(1, len(transforms) // FRAMES)
    volumes = np.abs(np.linalg.det(transforms[::step, :, :, :3].astype(np.float64)))
    ratio = float(np.cbrt(np.median(volumes)))
    return 1.0 if _is_stretch(ratio) else ratio


def _edge_lengths(points: FloatArray, faces: Int32) -> Float64:
    corners = points[faces].astype(np.float64)
    lengths: Float64 = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).reshape(-1)
    return lengths


def _is_stretch(ratio: float) -> bool:
    """Whether a ratio is not the scale of a rig: near one, or invalid."""
    return not np.isfinite(ratio) or ratio <= 0 or 1 / STRETCH <= ratio <= STRETCH


def _plain_scale(ratio: float) -> float:
    """The ratio rounded to a ratio of units if one is near; 1 if it is near one or invalid."""
    if _is_stretch(ratio):
        return 1.0
    power = 10.0 ** np.floor(np.log10(ratio))
    usual = [(unit * tens, near) for unit, near in UNITS.items() for tens in (power, 10 * power)]
    fitting = [float(scale) for scale, near in usual if abs(np.log(ratio / scale)) <= near]
    return min(fitting, key=lambda scale: abs(np.log(ratio / scale)), default=ratio)
