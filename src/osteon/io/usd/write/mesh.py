"""A mesh and its materials as prims of USD."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, FloatArray, Int32
from osteon.core.mesh import Asset, CornerNormals, Image, Material, Mesh
from osteon.io.meshes.mesh import join_polygons, single_normals
from osteon.io.usd.joints import distinct_identifiers

#: The inputs of the surface that a texture is connected to, and the channels that it uses.
TEXTURE_INPUTS = {
    "base_color": (("diffuseColor", "rgb"),),
    "metallic_roughness": (("roughness", "g"), ("metallic", "b")),
    "normal": (("normal", "rgb"),),
    "occlusion": (("occlusion", "r"),),
    "emissive": (("emissiveColor", "rgb"),),
}
COLORED = ("base_color", "emissive")  # textures with colours; the others have linear data


def vectors(pxr: Any, values: NDArray[Any]) -> Any:
    """Vec3f[] of (n,3)."""
    return pxr.Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))


def extent_of(pxr: Any, points: FloatArray) -> Any:
    """The corners of the bounding box."""
    return vectors(pxr, np.stack([points.min(axis=0), points.max(axis=0)]))


def set_samples(pxr: Any, attribute: Any, codes: Float64, values: Iterable[Any]) -> None:
    """Write a time sample for each code directly to the layer: a stage would process changes after each of them."""
    layer, path = attribute.GetStage().GetRootLayer(), attribute.GetPath()
    with pxr.Sdf.ChangeBlock():
        for code, value in zip(codes.tolist(), values, strict=True):
            layer.SetTimeSample(path, code, value)


def define_mesh(pxr: Any, stage: Any, where: str, faces: Int32, asset: Asset, rest: Float32) -> Any:
    """Define a Mesh prim at `where` with polygons, UVs and colours, in the rest pose."""
    mesh = pxr.UsdGeom.Mesh.Define(stage, where)
    sizes, mask = join_polygons(faces, asset)
    ints = pxr.Vt.IntArray.FromNumpy
    mesh.CreateFaceVertexCountsAttr(ints(sizes.astype(np.int32)))
    mesh.CreateFaceVertexIndicesAttr(ints(np.ascontiguousarray(faces[mask])))
    mesh.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)
    mesh.CreatePointsAttr(vectors(pxr, rest))
    mesh.CreateExtentAttr(extent_of(pxr, rest))
    if asset.materials and all(material.double_sided for material in asset.materials):
        mesh.CreateDoubleSidedAttr(True)
    primvars = pxr.UsdGeom.PrimvarsAPI(mesh)
    if asset.uvs is not None:
        values, index = np.unique(asset.uvs[mask], axis=0, return_inverse=True)
        kind = pxr.Sdf.ValueTypeNames.TexCoord2fArray
        uvs = primvars.CreatePrimvar("st", kind, pxr.UsdGeom.Tokens.faceVarying)
        uvs.Set(pxr.Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(values)))
        uvs.SetIndices(ints(index.reshape(-1).astype(np.int32)))
    if asset.colors is not None:
        mesh.CreateDisplayColorPrimvar(pxr.UsdGeom.Tokens.vertex).Set(vectors(pxr, asset.colors[:, :3]))
        opacity = pxr.Vt.FloatArray.FromNumpy(np.ascontiguousarray(asset.colors[:, 3]))
        mesh.CreateDisplayOpacityPrimvar(pxr.UsdGeom.Tokens.vertex).Set(opacity)
    return mesh


@dataclass(frozen=True, slots=True)
class NormalLayout:
    """The normal of the mesh for each one in the file."""

    interpolation: Literal["vertex", "faceVarying"]
    normals: Int32  # (v,) or (c,)

    @property
    def by_vertex(self) -> bool:
        return self.interpolation == "vertex"

    def define(self, pxr: Any, mesh: Any, values: FloatArray) -> Any:
        """Define the attribute of normals (n,3) of a mesh."""
        attribute = mesh.CreateNormalsAttr(vectors(pxr, values[self.normals]))
        mesh.SetNormalsInterpolation(self.interpolation)
        return attribute


def normal_layout(mesh: Mesh, own: CornerNormals | None) -> NormalLayout:
    """Per vertex if each has one normal; per corner of the polygons if vertices have several at hard edges."""
    shaded = replace(mesh, asset=replace(mesh.asset, normals=own))
    if own is None or single_normals(mesh.faces, own):
        return NormalLayout("vertex", shaded.normal_of_vertex)
    _, mask = join_polygons(mesh.faces, mesh.asset)
    return NormalLayout("faceVarying", np.asarray(own.of_corner[mask]))


def define_materials(pxr: Any, stage: Any, mesh: Any, faces: Int32, asset: Asset, pictures: dict[Image, str]) -> None:
    """Define materials beside the mesh, bound to it, or to subsets of its polygons if there are several."""
    if asset.triangle_material is None or not asset.materials:
        return
    shade, scope = pxr.UsdShade, mesh.GetPath().GetParentPath().AppendChild("Materials")
    pxr.UsdGeom.Scope.Define(stage, scope)
    names = distinct_identifiers([material.name for material in asset.materials], "material")
    _, mask = join_polygons(faces, asset)
    of_polygon = asset.triangle_material[mask[:, 0]]
    for m, (name, material) in enumerate(zip(names, asset.materials, strict=True)):
        made = _define_material(pxr, stage, scope.AppendChild(name), material, pictures)
        polygons = np.flatnonzero(of_polygon == m).astype(np.int32)
        if len(polygons) == len(of_polygon):
            shade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(made)
        elif len(polygons):
            api = shade.MaterialBindingAPI.Apply(mesh.GetPrim())
            subset = api.CreateMaterialBindSubset(name, pxr.Vt.IntArray.FromNumpy(polygons))
            shade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(made)
            api.SetMaterialBindSubsetsFamilyType(pxr.UsdGeom.Tokens.partition)


def _define_material(pxr: Any, stage: Any, where: Any, material: Material, names: dict[Image, str]) -> Any:
    types, shade = pxr.Sdf.ValueTypeNames, pxr.UsdShade
    made = shade.Material.Define(stage, where)
    surface = shade.Shader.Define(stage, where.AppendChild("Surface"))
    surface.CreateIdAttr("UsdPreviewSurface")
    surface.CreateInput("diffuseColor", types.Color3f).Set(pxr.Gf.Vec3f(*material.base_color[:3]))
    surface.CreateInput("opacity", types.Float).Set(material.base_color[3])
    surface.CreateInput("metallic", types.Float).Set(material.metallic)
    surface.CreateInput("roughness", types.Float).Set(material.roughness)
    if any(material.emissive):
        surface.CreateInput("emissiveColor", types.Color3f).Set(pxr.Gf.Vec3f(*material.emissive))
    if material.alpha_mode == "MASK":
        surface.CreateInput("opacityThreshold", types.Float).Set(material.alpha_cutoff)
    if names and material.textures:
        _define_textures(pxr, stage, where, surface, material, names)
    made.CreateSurfaceOutput().ConnectToSource(surface.CreateOutput("surface", types.Token))
    return made


def _define_textures(
    pxr: Any, stage: Any, where: Any, surface: Any, material: Material, names: dict[Image, str]
) -> None:
    """Define a reader of `st`, and textures that are connected to the inputs of the surface."""
    types, shade = pxr.Sdf.ValueTypeNames, pxr.UsdShade
    reader = shade.Shader.Define(stage, where.AppendChild("Coordinates"))
    reader.CreateIdAttr("UsdPrimvarReader_float2")
    reader.CreateInput("varname", types.String).Set("st")
    result = reader.CreateOutput("result", types.Float2)
    factors = {"base_color": (*material.base_color[:3], 1.0), "emissive": (*material.emissive, 1.0)}
    for role, image in material.textures:
        texture = shade.Shader.Define(stage, where.AppendChild(f"Texture_{role}"))
        texture.CreateIdAttr("UsdUVTexture")
        texture.CreateInput("file", types.Asset).Set(pxr.Sdf.AssetPath(names[image]))
        texture.CreateInput("st", types.Float2).ConnectToSource(result)
        texture.CreateInput("sourceColorSpace", types.Token).Set("sRGB" if role in COLORED else "raw")
        for side in ("wrapS", "wrapT"):
            texture.CreateInput(side, types.Token).Set("repeat")
        if role == "normal":  # from 0 … 1 in an image to -1 … 1
            texture.CreateInput("scale", types.Float4).Set(pxr.Gf.Vec4f(2, 2, 2, 1))
            texture.CreateInput("bias", types.Float4).Set(pxr.Gf.Vec4f(-1, -1, -1, 0))
        elif role in factors:
            texture.CreateInput("scale", types.Float4).Set(pxr.Gf.Vec4f(*factors[role]))
        for name, channel in TEXTURE_INPUTS[role]:
            kind = {"normal": types.Normal3f, "rgb": types.Color3f}.get(
                name if name == "normal" else channel, types.Float
            )
            output = texture.CreateOutput(channel, types.Float3 if channel == "rgb" else types.Float)
            surface.CreateInput(name, kind).ConnectToSource(output)
