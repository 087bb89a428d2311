"""The data of a Mesh prim besides its points: polygons, UVs, colours, normals and materials."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.arrays import Float32, Int32
from osteon.core.mesh import Image, Material, TextureRole
from osteon.io.load.source import Source, inside
from osteon.io.meshes.mesh import IntArray, MeshPart, Polygons, reversed_corners
from osteon.io.meshes.mtl import picture_mime

ROLES: dict[str, TextureRole] = {
    "diffuseColor": "base_color",
    "roughness": "metallic_roughness",
    "normal": "normal",
    "occlusion": "occlusion",
    "emissiveColor": "emissive",
}
#: Larger images are omitted.
LARGEST_IMAGE = 1 << 28  # bytes


def read_part(pxr: Any, mesh: Any, n_vertices: int, mirrored: bool, source: Source) -> MeshPart:
    """The mesh with its polygons counter-clockwise; `mirrored` if the transforms of its ancestors reflect it."""
    earliest = pxr.Usd.TimeCode.EarliestTime()
    sizes = np.array(mesh.GetFaceVertexCountsAttr().Get(earliest) or [], np.int64)
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get(earliest) or [], np.int64)
    where = str(mesh.GetPath())
    if (sizes < 0).any() or sizes.sum() != len(corners):
        raise source.format_error(f"mesh '{where}' has {len(corners)} corners, its faces need {sizes.sum()}")
    Polygons(sizes, corners).checked(source, n_vertices)
    _check_topology(mesh, source)
    left = mesh.GetOrientationAttr().Get() == pxr.UsdGeom.Tokens.leftHanded
    order = reversed_corners(sizes) if left != mirrored else np.arange(len(corners))
    materials, numbers = _materials(pxr, mesh, len(sizes), source)
    return MeshPart(
        mesh.GetPrim().GetName(),
        n_vertices,
        Polygons(sizes, corners[order]),
        _uvs(pxr, mesh, corners, order, n_vertices),
        _colors(pxr, mesh, n_vertices),
        materials,
        numbers,
        _normals(pxr, mesh, Polygons(sizes, corners), order, n_vertices),
    )


def _check_topology(mesh: Any, source: Source) -> None:
    """Refuse faces that change over time."""
    for attribute in (mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr()):
        times = attribute.GetTimeSamples()
        for time in times[1:]:
            if not np.array_equal(attribute.Get(times[0]), attribute.Get(time)):
                raise source.geometry_error(
                    f"the faces of '{mesh.GetPath()}' change at time code {time:g}; "
                    "all frames must share one connectivity"
                )


def _uvs(pxr: Any, mesh: Any, corners: IntArray, order: IntArray, n_vertices: int) -> Float32 | None:
    """(c,2) from `st`, or from the first primvar of texture coordinates."""
    kinds = (pxr.Sdf.ValueTypeNames.TexCoord2fArray, pxr.Sdf.ValueTypeNames.Float2Array)
    found = [p for p in pxr.UsdGeom.PrimvarsAPI(mesh).GetPrimvarsWithValues() if p.GetTypeName() in kinds]
    found.sort(key=lambda p: p.GetPrimvarName() != "st")
    if not found:
        return None
    flat = found[0].ComputeFlattened(pxr.Usd.TimeCode.EarliestTime())
    values = np.array(flat if flat is not None else [], np.float32).reshape(-1, 2)
    if found[0].GetInterpolation() == pxr.UsdGeom.Tokens.faceVarying and len(values) == len(corners):
        return np.asarray(values[order])
    return values[corners[order]] if len(values) == n_vertices else None


def _colors(pxr: Any, mesh: Any, n_vertices: int) -> Float32 | None:
    """(v,4) from displayColor and displayOpacity by vertex."""
    color = mesh.GetDisplayColorPrimvar()
    if not color or not color.HasAuthoredValue() or color.GetInterpolation() not in ("vertex", "varying"):
        return None
    earliest = pxr.Usd.TimeCode.EarliestTime()
    rgb = np.array(color.ComputeFlattened(earliest) or [], np.float32).reshape(-1, 3)
    alpha = np.array(mesh.GetDisplayOpacityPrimvar().ComputeFlattened(earliest) or [], np.float32)
    if len(rgb) != n_vertices:
        return None
    filled = alpha if len(alpha) == n_vertices else np.ones(n_vertices, np.float32)
    return np.asarray(np.concatenate([rgb, filled[:, None]], axis=1).clip(0, 1))


def _normals(pxr: Any, mesh: Any, polygons: Polygons, order: IntArray, n_vertices: int) -> Float32 | None:
    """(c,3) in the space of the mesh, of the rest pose; None for a subdivided mesh."""
    if mesh.GetSubdivisionSchemeAttr().Get() != pxr.UsdGeom.Tokens.none:
        return None
    code = pxr.Usd.TimeCode.Default()
    if mesh.GetPointsAttr().Get(code) is None:
        code = pxr.Usd.TimeCode.EarliestTime()
    primvar = pxr.UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals")  # takes precedence over the attribute
    if primvar and primvar.HasAuthoredValue():
        values, kind = primvar.ComputeFlattened(code), primvar.GetInterpolation()
    else:
        values, kind = mesh.GetNormalsAttr().Get(code), mesh.GetNormalsInterpolation()
    if not values or not isinstance(values, (pxr.Vt.Vec3fArray, pxr.Vt.Vec3dArray, pxr.Vt.Vec3hArray)):
        return None
    found, tokens = np.array(values, np.float32).reshape(-1, 3), pxr.UsdGeom.Tokens
    by_corner = {
        tokens.faceVarying: np.arange(len(polygons.corners)),
        tokens.uniform: np.repeat(np.arange(len(polygons.sizes)), polygons.sizes),
        tokens.constant: np.zeros(len(polygons.corners), np.int64),
    }.get(kind, polygons.corners)
    expected = {tokens.faceVarying: len(polygons.corners), tokens.uniform: len(polygons.sizes), tokens.constant: 1}
    return np.asarray(found[by_corner][order]) if len(found) == expected.get(kind, n_vertices) else None


def _materials(pxr: Any, mesh: Any, n_polygons: int, source: Source) -> tuple[tuple[Material, ...], Int32 | None]:
    """The materials that the mesh and its subsets are bound to, and the index of that of each polygon."""
    binding = pxr.UsdShade.MaterialBindingAPI(mesh)
    found: list[Material] = []
    numbers = np.full(n_polygons, -1, np.int32)
    whole, _ = binding.ComputeBoundMaterial()
    if whole:
        found.append(_material(pxr, whole, source))
        numbers[:] = 0
    for subset in binding.GetMaterialBindSubsets():
        material, _ = pxr.UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()
        faces = np.array(subset.GetIndicesAttr().Get() or [], np.int64)
        if material and len(faces):
            numbers[faces[(faces >= 0) & (faces < n_polygons)]] = len(found)
            found.append(_material(pxr, material, source))
    return tuple(found), numbers if found else None


def _material(pxr: Any, material: Any, source: Source) -> Material:
    surface = material.ComputeSurfaceSource()[0]
    name = material.GetPrim().GetName()
    if not surface or surface.GetShaderId() != "UsdPreviewSurface":
        return Material(name)

    def value(key: str, default: Any) -> Any:
        entry = surface.GetInput(key)
        got = entry.Get() if entry else None
        return default if got is None else got

    red, green, blue = (float(c) for c in value("diffuseColor", (0.18, 0.18, 0.18)))
    glow = tuple(float(c) for c in value("emissiveColor", (0.0, 0.0, 0.0)))
    threshold, opacity = float(value("opacityThreshold", 0.0)), float(value("opacity", 1.0))
    return Material(
        name,
        (red, green, blue, opacity),
        float(value("metallic", 0.0)),
        float(value("roughness", 0.5)),
        emissive=(glow[0], glow[1], glow[2]),
        alpha_mode="MASK" if threshold > 0 else "BLEND" if opacity < 1 else "OPAQUE",
        alpha_cutoff=threshold if threshold > 0 else 0.5,
        textures=_textures(pxr, surface, source),
    )


def _textures(pxr: Any, surface: Any, source: Source) -> tuple[tuple[TextureRole, Image], ...]:
    """The images connected to the surface, if they are in the package or in the folder of the file."""
    found: list[tuple[TextureRole, Image]] = []
    for key, role in ROLES.items():
        entry = surface.GetInput(key)
        connected = entry.GetConnectedSources()[0] if entry else []
        if not connected:
            continue
        file = pxr.UsdShade.Shader(connected[0].source).GetInput("file")
        asset = file.Get() if file else None
        if not isinstance(asset, pxr.Sdf.AssetPath):  # absent, or of another type
            continue
        data = _image_bytes(pxr, asset.resolvedPath, source)
        mime = picture_mime(data) if data else None
        if data and mime:
            found.append((role, Image(Path(asset.path).stem, mime, data)))
    return tuple(found)


def _image_bytes(pxr: Any, address: str, source: Source) -> bytes | None:
    """The bytes of an image; None if it is not in the folder of the input or cannot be read."""
    outer, inner = pxr.Ar.SplitPackageRelativePathOuter(address)
    file = Path(outer or address)
    if not address or not inside(source.path.resolve().parent, file) or not file.is_file():
        return None
    try:
        if not inner:
            return file.read_bytes() if file.stat().st_size <= LARGEST_IMAGE else None
        with zipfile.ZipFile(file) as package:
            info = package.getinfo(inner)
            fits = info.file_size <= LARGEST_IMAGE and info.compress_type == zipfile.ZIP_STORED  # as packages require
            return package.read(inner) if fits else None
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
