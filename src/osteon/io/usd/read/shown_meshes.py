"""The meshes that a stage shows, and their points at a given time: skinned by UsdSkel, or as stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.transforms import compose
from osteon.io.load.source import Source, numbered
from osteon.io.meshes.mesh import MeshPart
from osteon.io.usd.read.mesh_parts import read_part


@dataclass(frozen=True, slots=True)
class Shapes:
    """The blend shapes of a mesh."""

    query: Any  # UsdSkel.BlendShapeQuery
    indices: Any  # points of each shape
    offsets: Any  # of each shape and inbetween

    def weights(self, skin: Any, animation: Any, code: float) -> tuple[Any, Any, Any]:
        """Weights of shapes and inbetweens, and their indices."""
        weights = animation.ComputeBlendShapeWeights(code)
        mapper = skin.GetBlendShapeMapper()
        if mapper is not None and not mapper.IsIdentity():
            weights = mapper.Remap(weights)
        return self.query.ComputeSubShapeWeights(weights)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class ShownMesh:
    """A mesh of the stage; `skin` and `skeleton` are the queries of UsdSkel where it is skinned."""

    mesh: Any
    part: MeshPart
    skin: Any | None = None
    skeleton: Any | None = None
    shapes: Shapes | None = None

    @property
    def follows_joints(self) -> bool:
        return self.skin is not None and bool(self.skin.HasJointInfluences())

    @property
    def owner(self) -> Any:
        """The prim whose transform applies to deformed points: the skeleton if they follow joints, else the mesh."""
        return self.skeleton.GetPrim() if self.skeleton is not None and self.follows_joints else self.mesh.GetPrim()

    def points(self, pxr: Any, code: float, source: Source) -> Float64:
        """(v,3) in world space."""
        stored = self.mesh.GetPointsAttr().Get(code)
        if stored is None or len(stored) != self.part.n_vertices:
            raise source.geometry_error(
                f"mesh '{self.mesh.GetPath()}' has {numbered(len(stored or ()), 'vertex')} at time code {code:g}, "
                f"expected {self.part.n_vertices}; all frames must share one mesh"
            )
        points, places = pxr.Vt.Vec3fArray(stored), pxr.UsdGeom.XformCache(code)
        self._deform(points, code)
        matrix = column_matrix(places.GetLocalToWorldTransform(self.owner))
        return _moved(matrix, np.array(points, np.float64).reshape(-1, 3))

    def rest(self, pxr: Any, points: Float64) -> Float64:
        """Stored points (v,3) in world space, in the bind pose if they are skinned."""
        return _moved(self.world_from_mesh(pxr), points)

    def world_from_mesh(self, pxr: Any) -> Float64:
        """(3,4) from stored points to the rest pose."""
        places = pxr.UsdGeom.XformCache(pxr.Usd.TimeCode.EarliestTime())
        world = column_matrix(places.GetLocalToWorldTransform(self.owner))
        if self.skin is None or not self.follows_joints:
            return world
        return compose(world, column_matrix(self.skin.GetGeomBindTransform()))

    def _deform(self, points: Any, code: float) -> None:
        """Apply blend shapes, then the skin, in place."""
        animation = self.skeleton.GetAnimQuery() if self.skeleton is not None else None
        if self.shapes is not None and animation:
            weights = self.shapes.weights(self.skin, animation, code)
            self.shapes.query.ComputeDeformedPoints(*weights, self.shapes.indices, self.shapes.offsets, points)
        if self.skin is not None and self.skeleton is not None and self.follows_joints:
            self.skin.ComputeSkinnedPoints(self.skeleton.ComputeSkinningTransforms(code), points, code)


def _moved(matrix: Float64, points: Float64) -> Float64:
    return np.asarray(points @ matrix[:, :3].T + matrix[:, 3])


def column_matrix(matrix: Any) -> Float64:
    """(3,4) of a Matrix4d, which has row vectors."""
    return np.array(matrix, np.float64).T[:3]


def read_meshes(pxr: Any, stage: Any, source: Source) -> list[ShownMesh]:
    """All meshes with faces that are shown by default, in the order of the stage."""
    skins = dict(skinned_prims(pxr, stage))
    places = pxr.UsdGeom.XformCache(pxr.Usd.TimeCode.EarliestTime())
    found: list[ShownMesh] = []
    for prim in stage.Traverse(pxr.Usd.TraverseInstanceProxies()):
        if not prim.IsA(pxr.UsdGeom.Mesh) or not _is_shown(pxr, prim):
            continue
        mesh = pxr.UsdGeom.Mesh(prim)
        points = mesh.GetPointsAttr().Get(pxr.Usd.TimeCode.EarliestTime())
        if not points or not mesh.GetFaceVertexCountsAttr().Get(pxr.Usd.TimeCode.EarliestTime()):
            continue
        skin, skeleton = skins.get(str(prim.GetPath()), (None, None))
        owner = prim if skin is None or not skin.HasJointInfluences() else skeleton.GetPrim()
        mirrored = places.GetLocalToWorldTransform(owner).GetDeterminant3() < 0
        part = read_part(pxr, mesh, len(points), bool(mirrored), source)
        found.append(_placed(pxr, ShownMesh(mesh, part, skin, skeleton, _shapes(pxr, prim, skin))))
    return found


def _placed(pxr: Any, shown: ShownMesh) -> ShownMesh:
    """The mesh with its normals in world space, in the rest pose."""
    if shown.part.normals is None:
        return shown
    linear = shown.world_from_mesh(pxr)[:, :3]
    regular = np.isfinite(linear).all() and np.linalg.det(linear) != 0
    normals = shown.part.normals @ np.linalg.inv(linear) if regular else None  # by the inverse transpose
    return replace(shown, part=replace(shown.part, normals=normals))


def _is_shown(pxr: Any, prim: Any) -> bool:
    imageable = pxr.UsdGeom.Imageable(prim)
    hidden = imageable.ComputeVisibility(pxr.Usd.TimeCode.EarliestTime()) == pxr.UsdGeom.Tokens.invisible
    return not hidden and imageable.ComputePurpose() in (pxr.UsdGeom.Tokens.default_, pxr.UsdGeom.Tokens.render)


def skinned_prims(pxr: Any, stage: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The queries of every skinned mesh by its path."""
    cache = pxr.UsdSkel.Cache()
    for prim in stage.Traverse(pxr.Usd.TraverseInstanceProxies()):
        if not prim.IsA(pxr.UsdSkel.Root):
            continue
        root = pxr.UsdSkel.Root(prim)
        cache.Populate(root, pxr.Usd.TraverseInstanceProxies())
        for binding in cache.ComputeSkelBindings(root, pxr.Usd.TraverseInstanceProxies()):
            skeleton = cache.GetSkelQuery(binding.GetSkeleton())
            for skin in binding.GetSkinningTargets():
                yield str(skin.GetPrim().GetPath()), (skin, skeleton)


def _shapes(pxr: Any, prim: Any, skin: Any | None) -> Shapes | None:
    if skin is None or not skin.HasBlendShapes():
        return None
    query = pxr.UsdSkel.BlendShapeQuery(pxr.UsdSkel.BindingAPI(prim))
    if not query.GetNumBlendShapes():
        return None
    return Shapes(query, query.ComputeBlendShapePointIndices(), query.ComputeSubShapePointOffsets())


def sample_codes(pxr: Any, meshes: list[ShownMesh]) -> list[float]:
    """All time codes with a sample of points, joints, blend shapes or transforms of the meshes."""
    codes: set[float] = set()
    for shown in meshes:
        codes.update(shown.mesh.GetPointsAttr().GetTimeSamples())
        animation = shown.skeleton.GetAnimQuery() if shown.skeleton is not None else None
        if animation:
            codes.update(animation.GetJointTransformTimeSamples())
            codes.update(animation.GetBlendShapeWeightTimeSamples())
        prim = shown.mesh.GetPrim() if shown.skeleton is None else shown.skeleton.GetPrim()
        while prim and not prim.IsPseudoRoot():
            if prim.IsA(pxr.UsdGeom.Xformable):
                codes.update(pxr.UsdGeom.Xformable(prim).GetTimeSamples())
            prim = prim.GetParent()
    return sorted(codes) if len(codes) > 1 else []
