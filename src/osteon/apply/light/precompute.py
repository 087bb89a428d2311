"""Transfer of the frames of an animation: which frames, on which ground, and the frames one by one.

Every frame is computed alone and may be kept in a folder, so that a run that was stopped continues. The key of a frame
is a hash of everything that its transfer depends on.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.apply.light.options import LightOptions, UpAxis
from osteon.apply.light.rays import TracerName
from osteon.apply.light.scene import Ground, LitScene, ShadedPoints
from osteon.apply.light.transfer import FrameTransfer, frame_transfer
from osteon.apply.light.vertex_frames import bone_rotations, vertex_rotations
from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.normals import SourceNormals
from osteon.core.parallel import available_threads, for_blocks, single_threaded_blas
from osteon.core.progress import Progress, report_progress
from osteon.core.topology import bounding_diagonal, weld_points
from osteon.core.transforms import unit_vectors
from osteon.deform.pose import pose_frames
from osteon.io.save.atomic import atomic_file

#: Changes with the method, so that frames of an earlier one are not used.
METHOD = "1"
#: Half the side of the ground's grid, relative to the diagonal.
GROUND_REACH = 0.8
#: Embree holds the interpreter lock; with more threads than this the tree of our own is faster.
EMBREE_THREADS = 2
NO_FRAMES = "light: the model has no frames; light needs at least one"


def key_frames(clips: Sequence[Clip], every: int) -> Int64:
    """(k,) every n-th frame of each clip, and its last one."""
    frames = [[*range(clip.start, clip.stop - 1, every), clip.stop - 1] for clip in clips]
    return np.array([f for own in frames for f in own], np.int64)


def between_keys(values: FloatArray, keys: Int64, clips: Sequence[Clip]) -> Float32:
    """(f,r) values (k,r) of the key frames for all frames: linear between the keys of a clip."""
    out = np.empty((clips[-1].stop, values.shape[1]), np.float32)
    for clip in clips:
        own = (keys >= clip.start) & (keys < clip.stop)
        frames = np.arange(clip.start, clip.stop)
        for r in range(values.shape[1]):
            out[clip.start : clip.stop, r] = np.interp(frames, keys[own], values[own, r])
    return out


def axes_with(up: UpAxis) -> Float64:
    """(3,3) rows: two axes of the ground, and the one that points up; right-handed."""
    return np.roll(np.eye(3), 2 - "xyz".index(up), axis=0)


def ground_centers(model: SkinnedModel, up: UpAxis) -> Float64:
    """(f,3) the point on the plane under the middle of the vertices; the plane is below all frames."""
    axis = "xyz".index(up)
    centers, lowest = np.empty((model.n_frames, 3)), np.inf
    for f in range(model.n_frames):
        posed = pose_frames(model, f, f + 1)[0]
        centers[f] = posed.mean(axis=0, dtype=np.float64)
        lowest = min(lowest, float(posed[:, axis].min()))
    centers[:, axis] = lowest
    return centers


@dataclass(frozen=True, slots=True)
class LightPlan:
    """The data that all frames share."""

    model: SkinnedModel
    options: LightOptions
    keys: Int64  # (k,) frames that are computed
    corners: Int32  # (t,3) the shaded point at each corner: the normals of the mesh
    normals: SourceNormals
    group: Int32  # (n,) the normal of each shaded point among these
    rotations: Float32  # (f,b,4) of the bones
    centers: Float64 | None  # (f,3) of the ground
    diagonal: float  # of the first frame

    @staticmethod
    def of(model: SkinnedModel, options: LightOptions) -> LightPlan:
        if not model.n_frames:
            raise GeometryError(NO_FRAMES)
        if not len(model.faces):
            raise GeometryError("light: the model has no triangles, which light could meet")
        own = model.asset.normals
        corners = model.faces if own is None else own.of_corner
        normals = SourceNormals.of(model.mesh, weld_points(model.rest)[1], own)
        group = np.zeros(model.mesh.n_normals, np.int32)
        group[corners.reshape(-1)] = normals.of_corner.reshape(-1)
        centers = ground_centers(model, options.up) if options.ground else None
        diagonal = bounding_diagonal(pose_frames(model, 0, 1)[0])
        if not diagonal > 0:
            raise GeometryError("light: the vertices of the first frame coincide, so nothing can be lit")
        keys = key_frames(model.clips, options.every)
        return LightPlan(model, options, keys, corners, normals, group, bone_rotations(model), centers, diagonal)

    def scene(self, frame: int) -> LitScene:
        """A frame with its ground."""
        posed = pose_frames(self.model, frame, frame + 1)[0].astype(np.float64)
        own = self.model.mesh.vertex_of_normal
        normals = self.normals.at(posed)[self.group]
        normals = np.where(normals.any(axis=1, keepdims=True), unit_vectors(normals), axes_with(self.options.up)[2])
        turned = vertex_rotations(self.model.deformer.bone_weights(), self.rotations[frame])
        shaded = ShadedPoints(posed[own], normals, turned[own])
        return LitScene(posed, self.model.faces, shaded, self.corners, self.diagonal, self.ground(frame))

    def ground(self, frame: int) -> Ground | None:
        """The ground of a frame."""
        if self.centers is None:
            return None
        half = GROUND_REACH * self.diagonal
        return Ground(self.centers[frame], axes_with(self.options.up), half, self.options.ground_points)


@dataclass(frozen=True, slots=True)
class KeyTransfers:
    """The transfer of all key frames."""

    transfer: Float32  # (k,n,c) in the frames of the points
    ground: Float32 | None  # (k,g,c)


@dataclass(frozen=True, slots=True)
class FrameFolder:
    """Finished frames of a run, kept until it is complete."""

    path: Path
    found: list[Path] = field(default_factory=list)  # frames that were read from the folder

    def read(self, frame: int, key: str) -> FrameTransfer | None:
        """A frame with this key; None if it is missing, damaged or of another run."""
        path = self._file(frame)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                if str(stored["key"]) != key:
                    return None
                self.found.append(path)
                return FrameTransfer(stored["transfer"], stored.get("ground"))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def write(self, frame: int, key: str, done: FrameTransfer) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        ground = {} if done.ground is None else {"ground": done.ground.astype(np.float32)}
        with atomic_file(self._file(frame)) as temporary, temporary.open("wb") as file:
            np.savez(file, key=np.array(key), transfer=done.transfer.astype(np.float32), **ground)  # type: ignore[arg-type]

    def remove(self) -> None:
        """Delete the frames, and the folder if it then is empty."""
        if not self.path.is_dir():
            return
        for path in self.path.glob("frame_*.npz"):
            path.unlink()
        if not any(self.path.iterdir()):
            self.path.rmdir()

    def _file(self, frame: int) -> Path:
        return self.path / f"frame_{frame:06d}.npz"


def transfer_of_keys(
    plan: LightPlan,
    *,
    folder: FrameFolder | None = None,
    rays: TracerName = "auto",
    progress: Progress | None = None,
) -> KeyTransfers:
    """The transfer of all key frames, several at a time."""
    threads = available_threads(plan.options.threads)
    rays = "tree" if rays == "auto" and threads > EMBREE_THREADS else rays
    done: list[FrameTransfer | None] = [None] * len(plan.keys)

    def work(begin: int, start: int, stop: int) -> None:
        for number in range(begin + start, begin + stop):
            done[number] = _of_frame(plan, int(plan.keys[number]), folder, rays)

    report_progress(progress, "light", 0.0)
    with single_threaded_blas():
        for start in range(0, len(done), threads):
            count = min(threads, len(done) - start)
            for_blocks(partial(work, start), count, 1, threads)
            report_progress(progress, "light", (start + count) / len(done))
    transfers = [one for one in done if one is not None]
    grounds = [one.ground for one in transfers if one.ground is not None]
    transfer = np.stack([one.transfer.astype(np.float32) for one in transfers])
    return KeyTransfers(transfer, np.stack(grounds).astype(np.float32) if grounds else None)


def _of_frame(plan: LightPlan, frame: int, folder: FrameFolder | None, rays: TracerName) -> FrameTransfer:
    scene = plan.scene(frame)
    if folder is None:
        return frame_transfer(scene, plan.options, rays)
    key = _key(scene, plan.options)
    found = folder.read(frame, key)
    if found is None:
        found = frame_transfer(scene, plan.options, rays)
        folder.write(frame, key, found)
    return found


def _key(scene: LitScene, options: LightOptions) -> str:
    """A hash of all that the transfer of a frame depends on."""
    used = (METHOD, options.bands, options.directions, options.bounces, options.albedo, scene.diagonal)
    found = hashlib.sha256(repr(used).encode())
    arrays: list[NDArray[Any]] = [
        scene.vertices,
        scene.faces,
        scene.corners,
        scene.shaded.normals,
        scene.shaded.rotations,
    ]
    if scene.ground is not None:
        found.update(repr((scene.ground.half, scene.ground.resolution)).encode())
        arrays += [scene.ground.center, scene.ground.axes]
    for array in arrays:
        found.update(str(array.shape).encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
