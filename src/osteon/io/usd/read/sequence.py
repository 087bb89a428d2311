"""USD in as a mesh sequence: everything that is shown, merged and posed at every frame."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.arrays import Float32
from osteon.core.clips import Clip
from osteon.core.mesh import Mesh
from osteon.io.formats.options import LoadOptions
from osteon.io.load.source import Source
from osteon.io.meshes.parts import merge_mesh_parts
from osteon.io.native.child import Outlet
from osteon.io.usd.metadata import MISFITS, read_metadata, restore_asset
from osteon.io.usd.read.clips import plan_clips, planned_codes
from osteon.io.usd.read.shown_meshes import ShownMesh, read_meshes, sample_codes
from osteon.io.usd.stage import open_stage

__all__ = ["send_stage_frames"]


def send_stage_frames(path: Path, options: LoadOptions, outlet: Outlet) -> tuple[Mesh, tuple[Clip, ...]]:
    """The meshes of the stage as one, with the clips that Osteon wrote or one clip named after the file.

    Frames leave through the outlet, one after the other.
    """
    source = Source(path)
    with open_stage(path, outlet) as (pxr, stage):
        meshes = read_meshes(pxr, stage, source)
        if not meshes:
            raise source.geometry_error("holds no polygons; export the stage with its meshes")
        metadata = read_metadata(stage) if len(meshes) == 1 else {}
        planned = plan_clips(stage, metadata, sample_codes(pxr, meshes), options, source)
        codes = planned_codes(planned).tolist()
        first = None
        for f, code in enumerate(codes):
            here = Source(path, f)
            frame = here.positions(np.concatenate([shown.points(pxr, code, here) for shown in meshes]))
            outlet.frames(f, len(codes), frame[None])
            first = frame if first is None else first
        assert first is not None
        rest = source.positions(_rest(pxr, meshes, first))
        faces, asset = merge_mesh_parts([shown.part for shown in meshes])
        if metadata:
            with suppress(*MISFITS):
                asset = restore_asset(asset, metadata, meshes[0].mesh).checked(len(first), len(faces))
    with source.naming():
        name = str(metadata.get("name", path.stem))
        return Mesh(rest, faces, asset, name), tuple(p.clip for p in planned)


def _rest(pxr: Any, meshes: list[ShownMesh], first: Float32) -> Float32:
    """The points as they are stored without time or skin, where such are; else the first frame."""
    rest, start = np.array(first), 0
    for shown in meshes:
        stop = start + shown.part.n_vertices
        stored = shown.mesh.GetPointsAttr().Get(pxr.Usd.TimeCode.Default())
        if stored is not None and len(stored) == shown.part.n_vertices:
            rest[start:stop] = shown.rest(pxr, np.array(stored, np.float64))
        start = stop
    return rest
