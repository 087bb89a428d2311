"""Reading USD as a skinned model. Nothing is fitted.

A stage that Osteon wrote returns the model it was made from, unless another program changed it so that its metadata do
not match. Of any other stage the first SkelRoot with skinned meshes is read: bones are the joints of its skeletons
(and, for a mesh with blend shapes alone, the mesh itself), the rest pose is the bind pose at the earliest time, and
blend shapes with their inbetweens are corrections. For joint j UsdSkel moves bound points by X_j in the space of the
skeleton, whose placement in the world is L, so bone j takes rest to pose by T_j = L X_j L0^-1, with L0 the earliest L.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.animation import BoneTrack, bone_type_of, distinct_names
from osteon.core.arrays import Float64
from osteon.core.character import Corrections, Skeleton, Skin
from osteon.core.model import SkinnedModel
from osteon.core.transforms import compose, identity, invert
from osteon.deform.linear_blend import linear_blend_model
from osteon.io.formats.options import LoadOptions
from osteon.io.load.source import Source, as_float32
from osteon.io.meshes.mesh import merge_mesh_parts
from osteon.io.native.child import Outlet
from osteon.io.usd.metadata import MISFITS, as_bound, read_metadata
from osteon.io.usd.read.restored import is_written_by_osteon, restore_model
from osteon.io.usd.read.sequence import plan_clips, planned_codes
from osteon.io.usd.read.shown_meshes import ShownMesh, column_matrix, read_meshes, sample_codes, skinned_prims
from osteon.io.usd.stage import open_stage


def stage_holds_model(path: Path, outlet: Outlet) -> bool:
    """Whether the stage has a skinned mesh."""
    with open_stage(path, outlet) as (pxr, stage):
        return any(True for _ in skinned_prims(pxr, stage))


def read_stage_model(path: Path, options: LoadOptions, outlet: Outlet) -> SkinnedModel:
    """The model that Osteon wrote, or what the first SkelRoot of the stage shows."""
    source = Source(path)
    with open_stage(path, outlet) as (pxr, stage):
        meshes = _first_root(pxr, read_meshes(pxr, stage, source))
        if not meshes:
            raise source.geometry_error("has no skinned mesh; a mesh sequence can be skinned with osteon skin")
        metadata = read_metadata(stage)
        planned = plan_clips(stage, metadata, sample_codes(pxr, meshes), options, source)
        clips, codes = tuple(p.clip for p in planned), planned_codes(planned)
        if is_written_by_osteon(meshes, metadata):
            with suppress(*MISFITS):
                return restore_model(pxr, meshes[0], metadata, clips, codes, source)
        bones = _Bones(pxr, meshes)
        faces, asset = merge_mesh_parts([shown.part for shown in meshes])
        transforms = as_float32(bones.transforms(codes, outlet))
        with source.naming():
            model = linear_blend_model(
                rest=source.positions(np.concatenate([_rest(pxr, shown) for shown in meshes])),
                faces=faces,
                skin=_skin(meshes, bones),
                track=BoneTrack(transforms, bone_type_of(transforms), bones.names),
                clips=clips,
                corrections=_corrections(pxr, meshes, codes),
                skeleton=bones.skeleton(),
                asset=asset,
                name=path.stem,
            )
            return as_bound(pxr, meshes[0].mesh, model) if len(meshes) == 1 else model


def _first_root(pxr: Any, meshes: list[ShownMesh]) -> list[ShownMesh]:
    skinned = [shown for shown in meshes if shown.skin is not None]
    roots = [str(pxr.UsdSkel.Root.Find(shown.mesh.GetPrim()).GetPath()) for shown in skinned]
    return [shown for shown, root in zip(skinned, roots, strict=True) if root == roots[0]]


def _rest(pxr: Any, shown: ShownMesh) -> Float64:
    stored = shown.mesh.GetPointsAttr().Get(pxr.Usd.TimeCode.EarliestTime())
    return shown.rest(pxr, np.array(stored, np.float64).reshape(-1, 3))


class _Bones:
    """Joints of all skeletons one after the other, then the meshes that follow none."""

    def __init__(self, pxr: Any, meshes: list[ShownMesh]) -> None:
        self._pxr = pxr
        self._queries: dict[str, Any] = {}
        self._alone = [shown for shown in meshes if not shown.follows_joints]
        for shown in meshes:
            if shown.follows_joints and shown.skeleton is not None:
                self._queries.setdefault(str(shown.skeleton.GetPrim().GetPath()), shown.skeleton)
        self._orders = {path: [str(j) for j in query.GetJointOrder()] for path, query in self._queries.items()}
        leaves = [joint.rpartition("/")[2] for order in self._orders.values() for joint in order]
        self.names = distinct_names(leaves + [shown.part.name for shown in self._alone])

    def first_of(self, shown: ShownMesh) -> int:
        """The bone of a mesh that follows no joints, or of joint 0 of its skeleton."""
        start = 0
        for path, order in self._orders.items():
            if shown.follows_joints and shown.skeleton is not None and path == str(shown.skeleton.GetPrim().GetPath()):
                return start
            start += len(order)
        return start + self._alone.index(shown)

    def _place(self, prim: Any, code: Any) -> Float64:
        return column_matrix(self._pxr.UsdGeom.XformCache(code).GetLocalToWorldTransform(prim))

    def transforms(self, codes: Float64, outlet: Outlet) -> Float64:
        """(f,b,3,4) posed_from_rest."""
        earliest = self._pxr.Usd.TimeCode.EarliestTime()
        out = np.empty((len(codes), len(self.names), 3, 4))
        for f, code in enumerate(codes.tolist()):
            outlet.alive()
            start = 0
            for query in self._queries.values():
                moves = np.stack([column_matrix(m) for m in query.ComputeSkinningTransforms(code)])
                back = invert(self._place(query.GetPrim(), earliest))
                out[f, start : start + len(moves)] = compose(compose(self._place(query.GetPrim(), code), moves), back)
                start += len(moves)
            for i, shown in enumerate(self._alone):
                prim = shown.mesh.GetPrim()
                out[f, start + i] = compose(self._place(prim, code), invert(self._place(prim, earliest)))
        return out

    def skeleton(self) -> Skeleton:
        earliest = self._pxr.Usd.TimeCode.EarliestTime()
        parents: list[int] = []
        rest = [np.zeros((0, 3, 4))]
        for query in self._queries.values():
            topology, start = query.GetTopology(), len(parents)
            above = [topology.GetParent(j) for j in range(len(topology))]
            parents += [parent + start if parent >= 0 else -1 for parent in above]
            bind = np.stack([column_matrix(m) for m in query.GetJointWorldBindTransforms()])
            rest.append(compose(self._place(query.GetPrim(), earliest), bind))
        parents += [-1] * len(self._alone)
        rest += [identity(len(self._alone))]
        return Skeleton(self.names, np.array(parents, np.int32), as_float32(np.concatenate(rest)))


def _skin(meshes: list[ShownMesh], bones: _Bones) -> Skin:
    """Influences of all meshes; weights are scaled to a sum of one."""
    found = [_influences(shown, bones) for shown in meshes]
    width = max(numbers.shape[1] for numbers, _ in found)
    numbers = np.concatenate([np.pad(n, ((0, 0), (0, width - n.shape[1]))) for n, _ in found])
    weights = np.concatenate([np.pad(w, ((0, 0), (0, width - w.shape[1]))) for _, w in found])
    sums = weights.sum(axis=1, keepdims=True)
    free = np.abs(sums[:, 0]) < 1e-12
    weights = weights / np.where(free[:, None], 1, sums)
    weights[free, 0] = 1
    return Skin(numbers.astype(np.int32), as_float32(weights))


def _influences(shown: ShownMesh, bones: _Bones) -> tuple[np.ndarray, Float64]:
    n, first = shown.part.n_vertices, bones.first_of(shown)
    if not shown.follows_joints or shown.skin is None or shown.skeleton is None:
        return np.full((n, 1), first), np.ones((n, 1))
    numbers, weights = shown.skin.ComputeVaryingJointInfluences(n)
    local = shown.skin.GetJointOrder()
    order = {str(joint): j for j, joint in enumerate(shown.skeleton.GetJointOrder())}
    names = [str(joint) for joint in local] if local else list(order)
    table = np.array([order.get(name, 0) for name in names])
    index = np.array(numbers, np.int64).reshape(n, -1).clip(0, len(table) - 1)
    return table[index] + first, np.array(weights, np.float64).reshape(n, -1)


def _corrections(pxr: Any, meshes: list[ShownMesh], codes: Float64) -> Corrections | None:
    """One column for each shape and inbetween that moves a vertex."""
    total = sum(shown.part.n_vertices for shown in meshes)
    basis, columns, start = [], [], 0
    for shown in meshes:
        stop = start + shown.part.n_vertices
        if shown.shapes is not None and shown.skeleton is not None and shown.skeleton.GetAnimQuery():
            linear = shown.world_from_mesh(pxr)[:, :3]
            weights = _shape_weights(shown, codes)
            for i, offsets in enumerate(shown.shapes.offsets):
                if not len(offsets):
                    continue
                moved = np.zeros((total, 3))
                points = np.array(shown.shapes.indices[shown.shapes.query.GetBlendShapeIndex(i)], np.int64)
                rows = points if len(points) else np.arange(shown.part.n_vertices)
                moved[start + rows] = np.array(offsets, np.float64) @ linear.T
                basis.append(moved)
                columns.append(weights[:, i])
        start = stop
    return Corrections(np.stack(basis), np.stack(columns, axis=1)) if basis else None


def _shape_weights(shown: ShownMesh, codes: Float64) -> Float64:
    """(f,s) weights of shapes and inbetweens."""
    assert shown.shapes is not None
    assert shown.skeleton is not None
    out = np.zeros((len(codes), len(shown.shapes.offsets)))
    for f, code in enumerate(codes.tolist()):
        weights, _, numbers = shown.shapes.weights(shown.skin, shown.skeleton.GetAnimQuery(), code)
        out[f, np.array(numbers, np.int64)] = np.array(weights, np.float64)
    return out
