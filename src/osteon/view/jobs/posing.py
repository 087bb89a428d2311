"""Posing for the page, as the worker does it: tasks that prepare a mesh, pose it, and write what is to be kept."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.core.deformer import Arrays
from osteon.core.errors import GeometryError
from osteon.core.pose_track import LineTrack, PinTrack, PoseTrack
from osteon.core.progress import Progress, report_progress
from osteon.core.sticks import StickSkeleton
from osteon.view.jobs.posable_mesh import PosableMesh, PoseFiles, posable_mesh
from osteon.view.jobs.pose_request import PoseRequest
from osteon.view.pack.binary import pack_pieces
from osteon.view.pack.own_skin import OwnSkin, cut_track
from osteon.view.pack.schema import OUTLIER

if TYPE_CHECKING:  # imports numba
    from osteon.simplex.poser import Poser

__all__ = ["PoseTask", "check_skeleton", "pose_mesh", "save_mesh", "save_pose", "start_posing"]

#: In place of the name of what was prepared, where only a skin posed.
NO_SEGMENTS = "skin"
#: Writes something about a pose to a file.
PoseTask = Callable[[PoseFiles, PoseRequest, str, Progress], dict[str, Any]]


def start_posing(files: PoseFiles, progress: Progress) -> dict[str, Any]:
    """Prepare a mesh; tells the page its skeleton. A model's own skin needs no preparations."""
    report_progress(progress, "mesh", 0.0)
    mesh = posable_mesh(files)
    poser = mesh.ready((), progress) if mesh.skin is None else None
    moved = mesh.posed_skeleton
    exceptions = () if poser is None or poser.segmentation is None else poser.segmentation.exceptions
    return {
        "skeleton": None if moved is None else _skeleton_json(moved),
        "dimension": 3 if poser is None else int(poser.dimension),
        "exceptions": list(exceptions)[:20],
        "note": mesh.note,
        "seconds": {} if poser is None else {stage: float(value) for stage, value in poser.seconds.items()},
        "methods": list(mesh.methods),
    }


def check_skeleton(files: PoseFiles, progress: Progress) -> dict[str, Any]:
    """Refuse a skeleton that cannot be read or belongs to another mesh."""
    skeleton = posable_mesh(files).skeleton
    assert skeleton is not None  # a file that was named has one, or is refused
    return {"joints": skeleton.n_joints, "bones": skeleton.n_bones}


def pose_mesh(files: PoseFiles, request: PoseRequest, out: str, progress: Progress) -> dict[str, Any]:
    """Pose a mesh and write what was asked for, in the form of a pack."""
    mesh = posable_mesh(files)
    track, poser = _track(mesh, request), _poser(mesh, request, progress)
    arrays: Arrays = {}
    methods: dict[str, dict[str, Any]] = {}
    for method in request.methods:
        if method == "ssd" and poser is not None:
            mesh.blending(poser)  # the weights are found once, which is no part of a pose
        start = time.perf_counter()
        posed = _posed(mesh, poser, track, method)
        methods[method] = {"seconds": time.perf_counter() - start}
        arrays[method] = posed.astype(np.float32)
        ideal = _ideal(mesh, poser, track, method) if request.judge else None
        values, facts = _distortion(mesh, posed, request.measure, ideal)
        methods[method] |= facts
        if values is not None:
            arrays[f"{method}_measure"] = values
    build = NO_SEGMENTS if poser is None else mesh.build
    if poser is not None and request.build != build:
        arrays["segments"] = _segments(poser)
    with Path(out).open("wb") as file:
        file.writelines(pack_pieces({"kind": "pose", "methods": methods, "build": build}, arrays))
    return {"methods": list(methods)}


def save_mesh(files: PoseFiles, request: PoseRequest, out: str, progress: Progress) -> dict[str, Any]:
    """Write the posed mesh as OBJ."""
    from osteon.io.meshes.obj_write import ObjWriter

    mesh = posable_mesh(files)
    posed = _posed(mesh, _poser(mesh, request, progress), _track(mesh, request), request.methods[0])
    Path(out).write_bytes(ObjWriter(mesh.faces, mesh.asset).frame(posed.astype(np.float32)))
    return {"vertices": len(posed)}


def save_pose(files: PoseFiles, request: PoseRequest, out: str, progress: Progress) -> dict[str, Any]:
    """Write the pose as JSON."""
    from osteon.view.jobs.pose_file import pose_json

    mesh = posable_mesh(files)
    track, poser = _track(mesh, request), _poser(mesh, request, progress)
    told = _skin_of(mesh).pose_json(track) if poser is None else pose_json(poser, _known_to_sticks(mesh, track))
    Path(out).write_text(json.dumps(told, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return {"joints": int(track.joints.shape[1])}


def _poser(mesh: PosableMesh, request: PoseRequest, progress: Progress | None) -> Poser | None:
    """What poses by sticks, where it is needed: a skin does without."""
    return None if request.methods == ("skin",) else mesh.ready(request.lines, progress)


def _track(mesh: PosableMesh, request: PoseRequest) -> PoseTrack:
    if len(request.pins) and int(request.pins.max()) >= len(mesh.vertices):
        raise GeometryError(f"pins: vertex {int(request.pins.max())} is beyond the {len(mesh.vertices)} of this mesh")
    bones = mesh.posed_skeleton
    return request.track(0 if bones is None else bones.n_joints, 0 if bones is None else bones.n_bones)


def _known_to_sticks(mesh: PosableMesh, track: PoseTrack) -> PoseTrack:
    """The pose as sticks of a file tell it."""
    if mesh.skin is None:
        return track
    if mesh.skeleton is None:
        raise GeometryError("this model is posed by its own skin alone: its file gives other methods no such skeleton")
    return cut_track(track, mesh.skeleton)


def _skin_of(mesh: PosableMesh) -> OwnSkin:
    if mesh.skin is None:
        raise GeometryError("this has no skin with a skeleton of its own; pose it by simplex or ssd")
    return mesh.skin


def _segments(poser: Poser) -> NDArray[np.uint16]:
    """(t,) what moves each triangle: a bone, then the lines; 65535 for nothing."""
    group = poser.groups.group
    return np.where(group == poser.groups.count - 1, OUTLIER, group).astype(np.uint16)


def _posed(mesh: PosableMesh, poser: Poser | None, track: PoseTrack, method: str) -> Float64:
    """(v,3) by one method."""
    if method == "skin" or poser is None:
        posed = _skin_of(mesh).pose(track)
    elif method == "ssd":
        known = _known_to_sticks(mesh, track)
        posed = mesh.blending(poser).pose(replace(known, lines=LineTrack(), pins=PinTrack()))[0]
    else:
        posed = poser.pose(_known_to_sticks(mesh, track))[0]
    if not np.isfinite(posed.astype(np.float32)).all():
        raise GeometryError("the mesh goes too far to be shown; undo the last change")
    return posed


def _ideal(mesh: PosableMesh, poser: Poser | None, track: PoseTrack, method: str) -> Float64:
    """(t,3,4) what the triangles were asked to follow."""
    if method == "skin" or poser is None:
        return _skin_of(mesh).ideal(track)
    ideal: Float64 = poser.ideal(_known_to_sticks(mesh, track))[0]
    return ideal


def _distortion(
    mesh: PosableMesh, posed: Float64, measure: str | None, ideal: Float64 | None
) -> tuple[Float32 | None, dict[str, Any]]:
    """Values of all triangles, and what they come to."""
    from osteon.measure.strain import flipped, triangle_distortion

    facts: dict[str, Any] = {}
    values = None
    if measure is not None:
        found = getattr(triangle_distortion(mesh.vertices, posed, mesh.faces), measure)
        values = np.minimum(found, 1e30).astype(np.float32)
        facts |= {"measure": measure, "worst": float(values.max()), "mean": float(values.mean())}
    if ideal is not None:
        facts["flipped"] = int(flipped(mesh.vertices, posed, mesh.faces, ideal).sum())
    return values, facts


def _skeleton_json(skeleton: StickSkeleton) -> dict[str, Any]:
    return {
        "name": skeleton.name,
        "joints": skeleton.joints.tolist(),
        "bones": skeleton.bones.tolist(),
        "names": list(skeleton.names),
        "above": skeleton.tree.above.tolist(),
    }
