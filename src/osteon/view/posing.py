"""Posing for the page, as the worker does it: a mesh with its skeleton is prepared once and then posed many times.

What is prepared stays in the worker between tasks. A worker that was ended meanwhile prepares it again: every task
carries the names of the files it needs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.errors import GeometryError, OsteonError
from osteon.core.pose_track import ControlLine, LineTrack, PinTrack, PoseTrack
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import Asset
from osteon.core.sticks import StickSkeleton
from osteon.view.pack import array_parts, read_arrays
from osteon.view.pack_arrays import OUTLIER, Arrays
from osteon.view.pose_request import PoseRequest

if TYPE_CHECKING:  # imports numba
    from osteon.simplex.poser import Poser

__all__ = [
    "Given",
    "PoseTask",
    "check_place",
    "check_skeleton",
    "pose_mesh",
    "save_mesh",
    "save_pose",
    "start_posing",
]

#: Writes something about a pose to a file.
PoseTask = Callable[["Given", PoseRequest, str, Progress], dict[str, Any]]

#: Meshes that stay prepared: one for each of a few tabs.
KEPT = 2
#: A joint belongs to a mesh if it is no farther from its box than this part of the diagonal.
NEAR = 0.25
#: A skeleton smaller than this part of the mesh's diagonal was made in other units.
SMALLEST = 0.05


@dataclass(frozen=True, slots=True)
class Given:
    """What is posed, as files."""

    pack: str  # the mesh
    skeleton: str | None = None
    implied: bool = False  # the skeleton is looked for in the mesh's own file, which need not have one


@dataclass(slots=True)
class Subject:
    """A mesh with its skeleton, and what was prepared for it."""

    vertices: Float64
    faces: Int32
    asset: Asset
    skeleton: StickSkeleton | None
    note: str  # why there is no skeleton where one was looked for
    poser: Poser | None = None
    blender: Poser | None = None  # the same by blended bones
    builds: int = 0

    @staticmethod
    def load(given: Given) -> Subject:
        arrays = read_arrays(Path(given.pack), ("rest", "faces", "uvs"))
        vertices, faces = arrays["rest"].astype(np.float64), arrays["faces"].astype(np.int32)
        if not len(faces):
            raise GeometryError("this has no triangles, so there is nothing to pose")
        skeleton, note = _skeleton(given, vertices)
        return Subject(vertices, faces, Asset(uvs=arrays.get("uvs")), skeleton, note)

    @property
    def build(self) -> str:
        """The name of what was prepared last: the page has the segments of one of them."""
        return f"b{self.builds}"

    def ready(self, lines: tuple[ControlLine, ...], progress: Progress | None = None) -> Poser:
        """The poser for these lines; another one is made when they differ."""
        from osteon.simplex.poser import Poser

        if self.poser is None or self.poser.lines != lines:
            self.poser = Poser.of(self.vertices, self.faces, self.skeleton, lines=lines, progress=progress)
            self.builds += 1
        return self.poser

    def blend(self, poser: Poser, track: PoseTrack) -> Float64:
        """(v,3) the pose by blended bones, which know neither lines nor pins."""
        from osteon.simplex.inverse_square import inverse_square_weights

        if poser.skeleton is None:
            raise GeometryError("SSD blends bones, and there is no skeleton")
        if self.blender is None:
            weights = inverse_square_weights(poser.points, poser.skeleton)
            options = replace(poser.options, method="ssd")
            self.blender = replace(poser, lines=(), solver=None, weights=weights, options=options)
        posed: Float64 = self.blender.pose(replace(track, lines=LineTrack(), pins=PinTrack()))[0]
        return posed


_subjects: dict[Given, Subject] = {}


def _subject(given: Given) -> Subject:
    """What was prepared before, or else read anew."""
    found = _subjects.pop(given, None) or Subject.load(given)
    while len(_subjects) >= KEPT:
        _subjects.pop(next(iter(_subjects)))
    _subjects[given] = found  # the newest is the last to go
    return found


def start_posing(given: Given, progress: Progress) -> dict[str, Any]:
    """Prepare a mesh; tells the page its skeleton."""
    report_progress(progress, "mesh", 0.0)
    subject = _subject(given)
    poser = subject.ready((), progress)
    skeleton = None if poser.skeleton is None else _skeleton_json(poser.skeleton)
    exceptions = () if poser.segmentation is None else poser.segmentation.exceptions
    seconds = {stage: float(value) for stage, value in poser.seconds.items()}
    return {
        "skeleton": skeleton,
        "dimension": int(poser.dimension),
        "exceptions": list(exceptions)[:20],
        "note": subject.note,
        "seconds": seconds,
    }


def check_skeleton(given: Given, progress: Progress) -> dict[str, Any]:
    """Refuse a skeleton that cannot be read or belongs to another mesh."""
    skeleton = _subject(given).skeleton
    assert skeleton is not None  # a file that was named has one, or is refused
    return {"joints": skeleton.n_joints, "bones": skeleton.n_bones}


def pose_mesh(given: Given, request: PoseRequest, out: str, progress: Progress) -> dict[str, Any]:
    """Pose a mesh and write what was asked for, in the form of a pack."""
    subject = _subject(given)
    poser, track = _prepared(subject, request, progress)
    arrays: Arrays = {}
    methods: dict[str, dict[str, Any]] = {}
    ideal = poser.ideal(track)[0] if request.judge else None
    for method in request.methods:
        start = time.perf_counter()
        posed = _posed(subject, poser, track, method)
        methods[method] = {"seconds": time.perf_counter() - start}
        arrays[method] = posed.astype(np.float32)
        values, facts = _distortion(subject, posed, request.measure, ideal)
        methods[method] |= facts
        if values is not None:
            arrays[f"{method}_measure"] = values
    if request.build != subject.build:
        arrays["segments"] = _segments(poser)
    with Path(out).open("wb") as file:
        file.writelines(array_parts({"methods": methods, "build": subject.build}, arrays))
    return {"methods": list(methods)}


def save_mesh(given: Given, request: PoseRequest, out: str, progress: Progress) -> dict[str, Any]:
    """Write the posed mesh as OBJ."""
    from osteon.io.obj_write import ObjWriter

    subject = _subject(given)
    poser, track = _prepared(subject, request, progress)
    posed = _posed(subject, poser, track, request.methods[0])
    Path(out).write_bytes(ObjWriter(subject.faces, subject.asset).frame(posed.astype(np.float32)))
    return {"vertices": len(posed)}


def save_pose(given: Given, request: PoseRequest, out: str, progress: Progress) -> dict[str, Any]:
    """Write the pose as JSON."""
    from osteon.view.pose_file import pose_json

    subject = _subject(given)
    poser, track = _prepared(subject, request, progress)
    Path(out).write_text(json.dumps(pose_json(poser, track), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return {"joints": int(track.joints.shape[1])}


def _prepared(subject: Subject, request: PoseRequest, progress: Progress | None) -> tuple[Poser, PoseTrack]:
    if len(request.pins) and int(request.pins.max()) >= len(subject.vertices):
        raise GeometryError(
            f"pins: vertex {int(request.pins.max())} is beyond the {len(subject.vertices)} of this mesh"
        )
    poser = subject.ready(request.lines, progress)
    bones = poser.skeleton
    return poser, request.track(0 if bones is None else bones.n_joints, 0 if bones is None else bones.n_bones)


def _segments(poser: Poser) -> NDArray[np.uint16]:
    """(t,) what moves each triangle: a bone, then the lines; 65535 for nothing."""
    group = poser.groups.group
    return np.where(group == poser.groups.count - 1, OUTLIER, group).astype(np.uint16)


def _posed(subject: Subject, poser: Poser, track: PoseTrack, method: str) -> Float64:
    """(v,3) by one method."""
    posed = poser.pose(track)[0] if method == "simplex" else subject.blend(poser, track)
    if not np.isfinite(posed.astype(np.float32)).all():
        raise GeometryError("the mesh goes too far to be shown; undo the last change")
    return posed


def _distortion(
    subject: Subject, posed: Float64, measure: str | None, ideal: Float64 | None
) -> tuple[Float32 | None, dict[str, Any]]:
    """Values of all triangles, and what they come to."""
    from osteon.measure.strain import flipped, triangle_distortion

    facts: dict[str, Any] = {}
    values = None
    if measure is not None:
        found = getattr(triangle_distortion(subject.vertices, posed, subject.faces), measure)
        values = np.minimum(found, 1e30).astype(np.float32)
        facts |= {"measure": measure, "worst": float(values.max()), "mean": float(values.mean())}
    if ideal is not None:
        facts["flipped"] = int(flipped(subject.vertices, posed, subject.faces, ideal).sum())
    return values, facts


def _skeleton(given: Given, vertices: Float64) -> tuple[StickSkeleton | None, str]:
    """The skeleton, or why there is none."""
    from osteon.io.skeleton import load_skeleton

    if given.skeleton is None:
        return None, ""
    try:
        skeleton = load_skeleton(given.skeleton)
        check_place(skeleton, vertices, given.skeleton)
    except OsteonError as error:
        if not given.implied:
            raise
        return None, f"Its own file gives no skeleton ({error}). Drop one, or use lines and pins."
    return skeleton, ""


def check_place(skeleton: StickSkeleton, vertices: Float64, name: str) -> None:
    """Refuse a skeleton that was made for a mesh elsewhere, or of another size."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    axes = slice(0, 2) if low[2] == high[2] else slice(0, 3)  # a drawing's skeleton is put into its plane
    size = float(np.linalg.norm(high - low))
    near = (skeleton.joints >= low - NEAR * size) & (skeleton.joints <= high + NEAR * size)
    n_near = int(near[:, axes].all(axis=1).sum())
    what = f"{name}: is no skeleton of this mesh"
    if 2 * n_near < skeleton.n_joints:
        raise GeometryError(f"{what}: {skeleton.n_joints - n_near} of its {skeleton.n_joints} joints lie away from it")
    if float(np.linalg.norm(np.ptp(skeleton.joints[:, axes], axis=0))) < SMALLEST * size:
        raise GeometryError(f"{what}: it is many times smaller; scale its joints to the size of the mesh")


def _skeleton_json(skeleton: StickSkeleton) -> dict[str, Any]:
    return {
        "name": skeleton.name,
        "joints": skeleton.joints.tolist(),
        "bones": skeleton.bones.tolist(),
        "names": list(skeleton.names),
        "above": skeleton.tree.above.tolist(),
    }
