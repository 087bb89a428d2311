"""Meshes of one character in known poses, simulated, scanned or sculpted, to which EigenSkin is fitted.

    poses = load_pose_set("poses/")                      # or the path of its poses.json
    learned = poses.take(poses.of_kind("train", "pair"))
    transforms = poses.bone_transforms()                 # (p,b,3,4)

A pose is the rotation R_j of each joint relative to its parent, in the axes of the rest
pose, and the shift of the root; `core/kinematics.py` has how bones follow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

import numpy as np

from osteon.core.arrays import Bool, Float32, Float64, Int32, checked
from osteon.core.errors import GeometryError, OptionError
from osteon.core.kinematics import pose_joints
from osteon.core.mesh import Asset, Mesh
from osteon.core.progress import Progress, report_progress
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import nearest_rotation, quaternions_from_matrices
from osteon.io.formats.format_types import FrameWriter
from osteon.io.load.sequences import load_sequence, read_mesh_file, read_next_file
from osteon.io.load.source import PathLike, Source, numbered
from osteon.io.poses.pose_list import (
    LIST_NAME,
    ClipMoment,
    ListedPose,
    PoseKind,
    PoseList,
    pose_list_text,
    read_pose_list,
)
from osteon.io.save.atomic import atomic_folder, check_folder
from osteon.io.save.sequences import frame_writer

#: Largest difference of `turns` from exact rotations, in any entry of a matrix.
OFF_ROTATION = 1e-6
#: Rotations that differ from the identity by less, in any entry of a matrix, do not count.
STILL = 1e-9


@dataclass(frozen=True)
class PoseSet:
    """A mesh at rest, its skeleton, and the mesh in poses of that skeleton."""

    mesh: Mesh  # at rest
    skeleton: StickSkeleton
    frames: Float32  # (p,v,3) the mesh in each pose
    turns: Float64  # (p,j,3,3) rotation of each joint relative to its parent, axes of the rest pose; identity at ends
    kinds: tuple[PoseKind, ...] = ()  # (p,) (): all are for fitting
    names: tuple[str, ...] = ()  # (p,) (): numbered
    shifts: Float64 = field(default_factory=lambda: np.zeros((0, 3)))  # (p,3) of the root; none: it stays
    hinges: Float64 = field(default_factory=lambda: np.zeros((0, 3)))  # (j,3) unit axis of joints with one axis, else 0

    def __post_init__(self) -> None:
        def put(key: str, value: object) -> None:
            object.__setattr__(self, key, value)

        put("frames", checked("frames", self.frames, (None, self.mesh.n_vertices, 3)))
        n, n_joints = len(self.frames), self.skeleton.n_joints
        if not n:
            raise GeometryError("poses: there are none; expected at least one")
        put("turns", checked("turns", self.turns, (n, n_joints, 3, 3), np.float64))
        put("kinds", tuple(self.kinds) or ("train",) * n)
        put("names", tuple(self.names) or tuple(f"pose{p}" for p in range(n)))
        put("shifts", checked("shifts", self.shifts if len(self.shifts) else np.zeros((n, 3)), (n, 3), np.float64))
        hinges = self.hinges if len(self.hinges) else np.zeros((n_joints, 3))
        put("hinges", checked("hinges", hinges, (n_joints, 3), np.float64))
        self._check()

    def _check(self) -> None:
        for what, values in (("kinds", self.kinds), ("names", self.names)):
            if len(values) != self.n_poses:
                raise GeometryError(f"{what}: expected one for each of {self.n_poses} poses, got {len(values)}")
        unknown = sorted(set(self.kinds) - set(get_args(PoseKind)))
        if unknown:
            raise GeometryError(f"kinds: expected {', '.join(get_args(PoseKind))}, got '{unknown[0]}'")
        off = np.abs(self.turns - nearest_rotation(self.turns)).max(axis=(1, 2, 3))
        if off.max() > OFF_ROTATION:
            raise GeometryError(f"turns: those of '{self.names[int(off.argmax())]}' are no rotations; expected (3,3)")

    @property
    def n_poses(self) -> int:
        return len(self.frames)

    @property
    def parents(self) -> Int32:
        """(j,) the parent of each joint, -1 at a root."""
        return self.skeleton.tree.above

    def turned(self) -> Bool:
        """(p,j) whether a joint rotates in a pose."""
        return np.asarray(np.abs(self.turns - np.eye(3)).max(axis=(2, 3)) > STILL)

    def hinge_degrees(self) -> Float64:
        """(p,j) signed angles of hinges, NaN of other joints; of other rotations only the part about that axis."""
        quaternions = quaternions_from_matrices(self.turns)
        about = np.einsum("pjk,jk->pj", quaternions[..., :3], self.hinges)
        degrees = np.rad2deg(2 * np.arctan2(about, quaternions[..., 3]))
        wrapped = degrees - 360 * np.round(degrees / 360)
        return np.where(self.hinges.any(axis=1), wrapped, np.nan)

    def bone_transforms(self) -> Float64:
        """(p,b,3,4) posed_from_rest of each bone of the skeleton."""
        head = self.skeleton.tree.head
        out = np.empty((self.n_poses, self.skeleton.n_bones, 3, 4))
        for p, (joint_rotations, shift) in enumerate(zip(self.turns, self.shifts, strict=True)):
            places, rotations = pose_joints(self.skeleton, dict(enumerate(joint_rotations)), {})
            carried = np.einsum("bik,bk->bi", rotations, self.skeleton.joints[head])
            out[p] = np.concatenate([rotations, (places[head] + shift - carried)[..., None]], axis=-1)
        return out

    def of_kind(self, *kinds: PoseKind) -> Int32:
        """Numbers of the poses of these kinds, ascending."""
        return np.flatnonzero([kind in kinds for kind in self.kinds]).astype(np.int32)

    def take(self, poses: Sequence[int] | Int32) -> PoseSet:
        """The same character in some of the poses."""
        chosen = np.asarray(poses, np.int64)
        return PoseSet(
            self.mesh,
            self.skeleton,
            self.frames[chosen],
            self.turns[chosen],
            tuple(self.kinds[p] for p in chosen),
            tuple(self.names[p] for p in chosen),
            self.shifts[chosen],
            self.hinges,
        )


def load_pose_set(path: PathLike, *, progress: Progress | None = None) -> PoseSet:
    """The poses that a `poses.json`, or the folder that holds one, lists."""
    file = pose_list_file(path)
    listed = read_pose_list(file)
    mesh, frames = _read_frames(listed, file, progress)
    return _set_of(listed, mesh, frames, file)


@dataclass(frozen=True, slots=True)
class ListedFrames:
    """Meshes of a list whose poses are frames of the character's clips."""

    mesh: Mesh  # of the rest pose, or, without one in the list, the connectivity of the poses on the first of them
    has_rest: bool
    frames: Float32  # (p,v,3)
    moments: tuple[ClipMoment, ...]  # (p,)
    kinds: tuple[PoseKind, ...]
    names: tuple[str, ...]


def load_listed_poses(
    path: PathLike, skeleton: StickSkeleton, *, progress: Progress | None = None
) -> tuple[PoseSet | None, ListedFrames | None]:
    """Poses of a list for a character with this skeleton: those with joint rotations, and frames of its clips."""
    file = pose_list_file(path)
    listed = read_pose_list(file, skeleton)
    mesh, frames = _read_frames(listed, file, progress)
    typed = [p for p, pose in enumerate(listed.poses) if pose.moment is None]
    timed = [p for p, pose in enumerate(listed.poses) if pose.moment is not None]
    known = None
    if typed:
        if not listed.rest:
            raise Source(file).geometry_error("has poses with joint rotations, but no 'rest'; name the mesh at rest")
        chosen = replace(listed, poses=tuple(listed.poses[p] for p in typed))
        known = _set_of(chosen, mesh, frames[typed], file)
    if not timed:
        return known, None
    poses = [listed.poses[p] for p in timed]
    moments = tuple(pose.moment for pose in poses if pose.moment is not None)
    kinds, names = tuple(pose.kind for pose in poses), tuple(pose.name for pose in poses)
    return known, ListedFrames(mesh, bool(listed.rest), frames[timed], moments, kinds, names)


def pose_list_file(path: PathLike) -> Path:
    """The list: the file itself, or that of a folder."""
    file = Path(path)
    return file / LIST_NAME if file.is_dir() else file


def _set_of(listed: PoseList, mesh: Mesh, frames: Float32, file: Path) -> PoseSet:
    n_joints = listed.skeleton.n_joints
    rotations = np.tile(np.eye(3), (len(frames), n_joints, 1, 1))
    for p, pose in enumerate(listed.poses):
        for j, matrix in pose.joint_rotations.items():
            rotations[p, j] = matrix
    hinges = np.zeros((n_joints, 3))
    for j, axis in listed.hinges.items():
        hinges[j] = axis
    with Source(file).naming():
        return PoseSet(
            mesh,
            listed.skeleton,
            frames,
            rotations,
            tuple(pose.kind for pose in listed.poses),
            tuple(pose.name for pose in listed.poses),
            np.array([pose.shift for pose in listed.poses], np.float64),
            hinges,
        )


def _read_frames(listed: PoseList, file: Path, progress: Progress | None) -> tuple[Mesh, Float32]:
    alone = listed.poses[0].file if listed.poses else ""
    if not listed.rest and not alone:
        raise Source(file).geometry_error("has no 'rest'; name the mesh at rest beside the 'frames' of all poses")
    first = read_mesh_file(file.parent / (listed.rest or alone))
    if not len(first.faces):
        raise first.source.geometry_error("holds no triangles; export the mesh with its faces")
    mesh = Mesh(first.vertices, first.faces, first.asset, file.parent.resolve().name or "poses")
    if listed.frames:
        return mesh, _frames_of_one_file(file.parent / listed.frames, mesh, len(listed.poses))
    frames = np.empty((len(listed.poses), *first.vertices.shape), np.float32)
    for p, pose in enumerate(listed.poses):
        frames[p] = read_next_file(Source(file.parent / pose.file), first)
        report_progress(progress, "load", (p + 1) / len(frames))
    return mesh, frames


def _frames_of_one_file(path: Path, mesh: Mesh, n_poses: int) -> Float32:
    sequence = load_sequence(path)
    if (sequence.n_frames, sequence.n_vertices) != (n_poses, mesh.n_vertices):
        raise GeometryError(
            f"{path}: holds {numbered(sequence.n_frames, 'frame')} of {numbered(sequence.n_vertices, 'vertex')}, "
            f"expected {n_poses} of {mesh.n_vertices}: a frame for each pose, the vertices of the rest pose"
        )
    if not np.array_equal(sequence.faces, mesh.faces):
        raise GeometryError(f"{path}: connects its vertices differently from the rest pose; export both from one mesh")
    return sequence.frames


def save_pose_set(poses: PoseSet, folder: PathLike, *, suffix: str = ".obj") -> None:
    """Write a folder with the rest pose, a mesh for each pose, and the list of them; `load_pose_set` reads it."""
    bad = [name for name in poses.names if Path(name).name != name or name.startswith(".") or name == "rest"]
    if bad or len(set(poses.names)) < poses.n_poses:
        called = f"'{bad[0]}' cannot be the name of a file" if bad else "two poses share a name"
        raise OptionError(f"{folder}: {called}; rename it before saving")
    mesh, rotated = poses.mesh, poses.turned()
    listed = tuple(
        ListedPose(
            poses.names[p],
            f"{poses.names[p]}{suffix}",
            poses.kinds[p],
            {j: poses.turns[p, j] for j in np.flatnonzero(rotated[p]).tolist()},
            (float(poses.shifts[p, 0]), float(poses.shifts[p, 1]), float(poses.shifts[p, 2])),
        )
        for p in range(poses.n_poses)
    )
    hinges = {j: poses.hinges[j] for j in np.flatnonzero(poses.hinges.any(axis=1)).tolist()}
    files = mesh_files(mesh, "rest", suffix)
    writer = pose_writer(mesh, suffix)
    files |= {pose.file: writer.frame(frame) for pose, frame in zip(listed, poses.frames, strict=True)}
    text = pose_list_text(PoseList(f"rest{suffix}", poses.skeleton, listed, hinges))
    with atomic_folder(folder, _check_folder) as temporary:
        for name, data in {**files, LIST_NAME: text.encode()}.items():
            (temporary / name).write_bytes(data)


def mesh_files(mesh: Mesh, stem: str, suffix: str) -> dict[str, bytes]:
    """The mesh at rest with its asset, and the files that it refers to, by name."""
    writer = frame_writer(suffix, mesh.faces, mesh.asset, stem)
    return {f"{stem}{suffix}": writer.frame(mesh.rest), **writer.extra_files()}


def pose_writer(mesh: Mesh, suffix: str) -> FrameWriter:
    """Writes meshes of poses: places and polygons alone."""
    return frame_writer(suffix, mesh.faces, Asset(polygon_of_triangle=mesh.asset.polygon_of_triangle), "pose")


#: Files that an earlier pose set may hold.
_EXPECTED = re.compile(rf"{re.escape(LIST_NAME)}|[^/]+\.(obj|ply|mtl|png|jpg)")


def _check_folder(path: Path) -> None:
    """Refuse a folder that holds anything but an earlier pose set."""
    if path.is_dir() and not (path / LIST_NAME).exists():
        check_folder(path, re.compile(re.escape(LIST_NAME)))
    check_folder(path, _EXPECTED)
