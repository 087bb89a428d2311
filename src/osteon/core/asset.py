"""What an input carries besides positions: texture coordinates, colours, materials with their pictures, polygons."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from osteon.core.arrays import Float32, Int32, checked, checked_indices
from osteon.core.errors import GeometryError

__all__ = ["AlphaMode", "Asset", "Image", "Material", "TextureRole"]

AlphaMode = Literal["OPAQUE", "MASK", "BLEND"]
TextureRole = Literal["base_color", "metallic_roughness", "normal", "occlusion", "emissive"]


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as its file holds it; never decoded, only carried."""

    name: str  # without a suffix
    mime: str  # "image/png" or "image/jpeg"
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Material:
    """How a group of triangles looks; enough to come out again on export."""

    name: str
    base_color: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    metallic: float = 0.0
    roughness: float = 0.9
    double_sided: bool = False
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    alpha_mode: AlphaMode = "OPAQUE"
    alpha_cutoff: float = 0.5  # counts only with alpha_mode MASK
    textures: tuple[tuple[TextureRole, Image], ...] = ()  # at most one a role, all on the asset's uvs

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


@dataclass(frozen=True, slots=True)
class Asset:
    """What the input carried besides positions. Every field may be absent (None or empty)."""

    uvs: Float32 | None = None  # (t,3,2) one texture coordinate per triangle corner, origin at the bottom left
    colors: Float32 | None = None  # (v,4) RGBA in 0 … 1
    materials: tuple[Material, ...] = ()
    triangle_material: Int32 | None = None  # (t,) index into materials
    polygon_of_triangle: Int32 | None = None  # (t,) consecutive triangles of one fan share a number
    primitive_of_triangle: Int32 | None = None  # (t,) which primitive of the input file
    primitive_names: tuple[str, ...] = ()
    joint_of_vertex: Int32 | None = None  # (v,) the joint of the input's own rig that moved it most; never written
    joint_names: tuple[str, ...] = ()

    def checked(self, n_vertices: int, n_triangles: int) -> Asset:
        """The same asset with every array checked against the mesh it belongs to."""

        def per_triangle(name: str, value: Int32 | None, count: int) -> Int32 | None:
            return None if value is None else checked_indices(name, value, (n_triangles,), count)

        joints = self.joint_of_vertex
        return replace(
            self,
            uvs=None if self.uvs is None else checked("uvs", self.uvs, (n_triangles, 3, 2)),
            colors=None if self.colors is None else checked("colors", self.colors, (n_vertices, 4)),
            triangle_material=per_triangle("triangle_material", self.triangle_material, max(1, len(self.materials))),
            polygon_of_triangle=per_triangle("polygon_of_triangle", self.polygon_of_triangle, max(1, n_triangles)),
            primitive_of_triangle=per_triangle(
                "primitive_of_triangle", self.primitive_of_triangle, max(1, len(self.primitive_names))
            ),
            joint_of_vertex=None
            if joints is None
            else checked_indices("joint_of_vertex", joints, (n_vertices,), len(self.joint_names)),
        )
