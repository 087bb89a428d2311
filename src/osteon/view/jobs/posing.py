"""Posing tasks of the worker: prepare a mesh, pose it, and write the posed mesh or the pose to a file.

A pose file (docs/poses.md) has the places of joints, which leave the rotation of a bone about its own axis open. The
difference to the rotation that a reader computes is stored as a twist, equal at both ends, added to the twist of the
bone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.character import Arrays
from osteon.core.errors import GeometryError
from osteon.core.pose_track import LineTrack, PinTrack, PoseTrack
from osteon.core.progress import Progress, report_progress
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import nearest_rotation
from osteon.view.jobs.posable_mesh import OwnSkin, PosableMesh, PoseFiles, posable_mesh, truncate_track
from osteon.view.jobs.pose_request import PoseRequest
from osteon.view.pack.schema import OUTLIER, pack_pieces

if TYPE_CHECKING:  # imports numba
    from osteon.simplex.poser import Poser


#: Build name of poses that only use the skin of the model.
NO_SEGMENTS = "skin"
#: Twists below this, in degrees, are rounding errors.
NO_TWIST = 1e-7
#: Writes a result of a pose to a file.
PoseTask = Callable[[PoseFiles, PoseRequest, str, Progress], dict[str, Any]]


def start_posing(files: PoseFiles, progress: Progress) -> dict[str, Any]:
    """Prepare a mesh and return its skeleton for the page. The skin of a model needs no preparation."""
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
    """Pose a mesh and write the requested arrays in the form of a pack."""
    mesh = posable_mesh(files)
    track, poser = _track(mesh, request), _poser(mesh, request, progress)
    arrays: Arrays = {}
    methods: dict[str, dict[str, Any]] = {}
    for method in request.methods:
        if method == "ssd" and poser is not None:
            mesh.blending(poser)  # computes the weights once, outside of the measured time
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
        group = poser.groups.group  # a bone, or a control line, that moves each triangle
        arrays["segments"] = np.where(group == poser.groups.count - 1, OUTLIER, group).astype(np.uint16)
    with Path(out).open("wb") as file:
        file.writelines(pack_pieces({"kind": "pose", "methods": methods, "build": build}, arrays))
    return {"methods": list(methods)}


def save_mesh(files: PoseFiles, request: PoseRequest, out: str, progress: Progress) -> dict[str, Any]:
    """Write the posed mesh as OBJ."""
    from osteon.io.meshes.obj import ObjWriter

    mesh = posable_mesh(files)
    posed = _posed(mesh, _poser(mesh, request, progress), _track(mesh, request), request.methods[0])
    Path(out).write_bytes(ObjWriter(mesh.faces, mesh.asset).frame(posed.astype(np.float32)))
    return {"vertices": len(posed)}


def save_pose(files: PoseFiles, request: PoseRequest, out: str, progress: Progress) -> dict[str, Any]:
    """Write the pose as JSON."""
    mesh = posable_mesh(files)
    track, poser = _track(mesh, request), _poser(mesh, request, progress)
    pose = _skin_of(mesh).pose_json(track) if poser is None else pose_json(poser, _known_to_sticks(mesh, track))
    Path(out).write_text(json.dumps(pose, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return {"joints": int(track.joints.shape[1])}


def _poser(mesh: PosableMesh, request: PoseRequest, progress: Progress | None) -> Poser | None:
    """The poser of the stick skeleton; None where only the skin is used."""
    return None if request.methods == ("skin",) else mesh.ready(request.lines, progress)


def _track(mesh: PosableMesh, request: PoseRequest) -> PoseTrack:
    if len(request.pins) and int(request.pins.max()) >= len(mesh.vertices):
        raise GeometryError(f"pins: vertex {int(request.pins.max())} is beyond the {len(mesh.vertices)} of this mesh")
    bones = mesh.posed_skeleton
    return request.track(0 if bones is None else bones.n_joints, 0 if bones is None else bones.n_bones)


def _known_to_sticks(mesh: PosableMesh, track: PoseTrack) -> PoseTrack:
    """The pose for the stick skeleton of the file."""
    if mesh.skin is None:
        return track
    if mesh.skeleton is None:
        raise GeometryError("this model can only be posed by its own skin: its file has no skeleton for other methods")
    return truncate_track(track, mesh.skeleton)


def _skin_of(mesh: PosableMesh) -> OwnSkin:
    if mesh.skin is None:
        raise GeometryError("this has no skin with its own skeleton; pose it by simplex or ssd")
    return mesh.skin


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
        raise GeometryError("the posed mesh is too far away to be shown; undo the last change")
    return posed


def _ideal(mesh: PosableMesh, poser: Poser | None, track: PoseTrack, method: str) -> Float64:
    """(t,3,4) the transforms that the triangles should follow."""
    if method == "skin" or poser is None:
        return _skin_of(mesh).ideal(track)
    ideal: Float64 = poser.ideal(_known_to_sticks(mesh, track))[0]
    return ideal


def _distortion(
    mesh: PosableMesh, posed: Float64, measure: str | None, ideal: Float64 | None
) -> tuple[Float32 | None, dict[str, Any]]:
    """Distortion values of all triangles, and their summary."""
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


def pose_json(poser: Poser, track: PoseTrack) -> dict[str, Any]:
    """The first pose of a track as JSON that `load_poses` reads."""
    pose: dict[str, Any] = {}
    skeleton = poser.skeleton
    if skeleton is not None:
        moved = np.flatnonzero((track.joints[0] != skeleton.joints).any(axis=1))
        pose["joints"] = {skeleton.names[j]: track.joints[0, j].tolist() for j in moved}
        pose["bones"] = _bones(poser, track)
    pose["lines"] = [_line(track, i) for i in range(len(track.lines.lines))]
    pose["pins"] = {
        str(v): p.tolist() for v, p in zip(track.pins.vertices.tolist(), track.pins.targets[0], strict=True)
    }
    return {key: value for key, value in pose.items() if value}


def _bones(poser: Poser, track: PoseTrack) -> dict[str, Any]:
    """Twist and cross section of the bones that have one."""
    skeleton = poser.skeleton
    assert skeleton is not None
    rolls = np.zeros(skeleton.n_bones) if poser.dimension == 2 else _rolls(poser, track)
    twist = np.zeros((skeleton.n_bones, 2)) if track.twist is None else track.twist[0]
    degrees = np.rad2deg(twist + rolls[:, None])
    found: dict[str, Any] = {}
    for b in range(skeleton.n_bones):
        bone: dict[str, Any] = {}
        if np.abs(degrees[b]).max() > NO_TWIST:
            bone["twist"] = degrees[b].tolist()
        if track.cross_scale is not None and track.cross_scale[0, b] != 1:
            bone["cross_scale"] = float(track.cross_scale[0, b])
        if bone:
            found[skeleton.bone_name(b)] = bone
    return found


def _rolls(poser: Poser, track: PoseTrack) -> Float64:
    """(b,) radians about each posed bone from the rotation that joint places imply to the rotation of the pose."""
    skeleton = poser.skeleton
    assert skeleton is not None
    if track.rotations is None:
        return np.zeros(skeleton.n_bones)
    from osteon.simplex.bone_transforms import bone_transforms  # imports numba

    posed = []
    for rotations in (track.rotations, None):
        plain = replace(track, rotations=rotations, cross_scale=None)
        moved = bone_transforms(skeleton, plain, dimension=poser.dimension, options=poser.options.bones)
        posed.append(nearest_rotation(moved[0, :, :, :3]))
    rotations, implied = posed
    between = rotations @ implied.swapaxes(1, 2)  # about the axis of the posed bone, which both share
    vectors = track.joints[0, skeleton.bones[:, 1]] - track.joints[0, skeleton.bones[:, 0]]
    axis = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    skew = np.stack([between[:, 2, 1] - between[:, 1, 2], between[:, 0, 2] - between[:, 2, 0],
                     between[:, 1, 0] - between[:, 0, 1]], axis=1)  # fmt: skip
    sine = 0.5 * (skew * axis).sum(axis=1)
    cosine = 0.5 * (np.trace(between, axis1=1, axis2=2) - 1)
    rolls: Float64 = np.arctan2(sine, cosine)
    return rolls


def _line(track: PoseTrack, i: int) -> dict[str, Any]:
    line, lines = track.lines.lines[i], track.lines
    posed: dict[str, Any] = {"name": line.name, "rest": [line.start, line.stop], "posed": lines.ends[0, i].tolist()}
    domain = {key: getattr(line.domain, key) for key in ("distance", "tube") if getattr(line.domain, key) is not None}
    if domain:
        posed["domain"] = domain
    if lines.twist[0, i].any():
        posed["twist"] = np.rad2deg(lines.twist[0, i]).tolist()
    if lines.cross_scale[0, i] != 1:
        posed["cross_scale"] = float(lines.cross_scale[0, i])
    return posed
