"""USD's own skinning: UsdSkel bakes blend shapes and joints of a file into points, as its viewers do."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from osteon.core.animation import frame_times
from osteon.core.arrays import Float32
from osteon.core.errors import OsteonError
from osteon.core.model import SkinnedModel
from osteon_bench.players.deviation import Play
from osteon_bench.players.tools import why_no_usd


def _need_usd() -> None:
    reason = why_no_usd()
    if reason:
        raise OsteonError(f"USD cannot play: {reason}")


def validate_usd(path: Path) -> list[str]:
    """Messages of USD's own validators about a file."""
    _need_usd()
    from pxr import Sdf, Usd, UsdValidation

    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    if not validators:
        raise OsteonError("USD has no validators; install another build of usd-core")
    stage = Usd.Stage.Open(Sdf.Layer.FindOrOpen(str(path)))
    return [error.GetErrorAsString() for error in UsdValidation.ValidationContext(validators).Validate(stage)]


def play_usd(path: Path, model: SkinnedModel) -> Play:
    """Open a file written by Osteon; its corners are in the triangle order of the model."""
    _need_usd()
    from pxr import Sdf, Usd, UsdGeom, UsdSkel

    # An anonymous copy of the layer, so that the baked points are not shared with later users of the file.
    stage = Usd.Stage.Open(Sdf.Layer.OpenAsAnonymous(str(path)))
    roots = [UsdSkel.Root(prim) for prim in stage.Traverse() if prim.IsA(UsdSkel.Root)]
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    if len(roots) != 1 or len(meshes) != 1 or not UsdSkel.BakeSkinning(roots[0]):
        raise OsteonError(f"{path}: USD finds no skinned mesh in it")
    rate = stage.GetTimeCodesPerSecond()
    starts = frame_times(model.clips, rate)[[clip.start for clip in model.clips]]
    where, vertices = meshes[0].GetPath(), model.faces.ravel()

    def play(clip: int, times: list[float]) -> Float32:
        points = UsdGeom.Mesh.Get(stage, where).GetPointsAttr()  # looked up in the stage, which must stay alive
        shown = [np.array(points.Get(float(starts[clip] + rate * t)), np.float32) for t in times]
        return np.stack(shown)[:, vertices]

    return play
