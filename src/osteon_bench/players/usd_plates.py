"""The plates of `normal_plates` as USD, and the normals that UsdSkel's own skinning bakes of them.

A blend shape of USD has offsets for positions and for normals; that it moves no vertex is stored as zeros, or its
offsets are empty.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import OsteonError
from osteon_bench.players.normal_plates import HALF, KEYS, REST, PlateCase, Target, direction


def write_usd_plate(case: PlateCase, path: Path) -> Path:
    """The file of a case."""
    from pxr import Gf, Usd, UsdGeom, UsdSkel, Vt

    stage = Usd.Stage.CreateNew(str(path))
    stage.SetTimeCodesPerSecond(1.0)
    stage.SetStartTimeCode(KEYS[0])
    stage.SetEndTimeCode(KEYS[-1])
    root = UsdSkel.Root.Define(stage, "/root")
    stage.SetDefaultPrim(root.GetPrim())
    joints = [f"joint{b}" for b in range(len(case.bones))]
    skeleton = UsdSkel.Skeleton.Define(stage, "/root/skeleton")
    still = Vt.Matrix4dArray([Gf.Matrix4d(1.0)] * len(joints))
    skeleton.CreateJointsAttr(joints)
    skeleton.CreateBindTransformsAttr(still)
    skeleton.CreateRestTransformsAttr(still)
    mesh = UsdGeom.Mesh.Define(stage, "/root/plate")
    mesh.CreatePointsAttr(HALF * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32))
    mesh.CreateFaceVertexCountsAttr([4])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
    mesh.CreateNormalsAttr(np.tile(direction(REST), (4, 1)).astype(np.float32))
    mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    count = len(joints)
    binding.CreateJointIndicesPrimvar(False, count).Set(np.tile(np.arange(count, dtype=np.int32), 4))
    binding.CreateJointWeightsPrimvar(False, count).Set(np.full(4 * count, 1 / count, np.float32))
    _add_shapes(stage, binding, case)
    _add_animation(stage, skeleton, joints, case)
    stage.Save()
    return path


def _add_shapes(stage: Any, binding: Any, case: PlateCase) -> None:
    from pxr import UsdSkel

    shapes = [UsdSkel.BlendShape.Define(stage, f"/root/plate/shape{i}") for i in range(len(case.targets))]
    for shape, target in zip(shapes, case.targets, strict=True):
        offsets, normals = _offsets(target)
        shape.CreateOffsetsAttr(offsets)
        if normals is not None:
            shape.CreateNormalOffsetsAttr(normals)
    if shapes:
        binding.CreateBlendShapesAttr([f"shape{i}" for i in range(len(shapes))])
        binding.CreateBlendShapeTargetsRel().SetTargets([shape.GetPath() for shape in shapes])


def _offsets(target: Target) -> tuple[Any, Any]:
    """Of positions and of normals; None is an attribute that is not there."""
    zeros = np.zeros((4, 3), np.float32)
    none = target.other == "nothing"
    shift = zeros + np.array([target.shift_x or 0.0, 0.0, 0.0], np.float32)
    positions: Any = [] if target.shift_x is None and none else shift
    if target.angle is None:
        return positions, None if none else zeros
    return positions, zeros + (direction(target.angle) - direction(REST)).astype(np.float32)


def _add_animation(stage: Any, skeleton: Any, joints: list[str], case: PlateCase) -> None:
    from pxr import Gf, UsdSkel, Vt

    animation = UsdSkel.Animation.Define(stage, "/root/skeleton/animation")
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([animation.GetPath()])
    animation.CreateJointsAttr(joints)
    if case.targets:
        animation.CreateBlendShapesAttr([f"shape{i}" for i in range(len(case.targets))])
    for moment in KEYS:
        moved = moment > 0
        matrices = [bone.linear if moved else np.eye(3) for bone in case.bones]
        animation.SetTransforms(Vt.Matrix4dArray([_matrix(Gf, linear) for linear in matrices]), moment)
        weights = [float(moved and i in case.shown) for i in range(len(case.targets))]
        if weights:
            animation.CreateBlendShapeWeightsAttr().Set(weights, moment)


def _matrix(gf: Any, linear: Float64) -> Any:
    """USD multiplies rows from the left."""
    whole = np.eye(4)
    whole[:3, :3] = linear.T
    return gf.Matrix4d(*whole.ravel().tolist())


def baked_plate(path: Path, seconds: float) -> tuple[Float64, Float64]:
    """(4,3) points and (4,3) normals that UsdSkel bakes."""
    from pxr import Sdf, Usd, UsdGeom, UsdSkel

    stage = Usd.Stage.Open(Sdf.Layer.OpenAsAnonymous(str(path)))
    if not UsdSkel.BakeSkinning(UsdSkel.Root.Get(stage, "/root")):
        raise OsteonError(f"{path}: UsdSkel bakes nothing")
    mesh = UsdGeom.Mesh.Get(stage, "/root/plate")
    points, normals = (np.array(attribute.Get(seconds)) for attribute in (mesh.GetPointsAttr(), mesh.GetNormalsAttr()))
    return points.astype(np.float64), normals.astype(np.float64)
