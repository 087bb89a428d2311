"""A mesh that the worker poses for the page, with its skeleton and everything that is prepared for it.

It stays in the worker between tasks. A worker that was restarted prepares it again: every task has the names of the
files it needs.

A model with a skeleton can be posed by its own skin (`OwnSkin`). The page rotates the joints of all sticks
(`sticks_for`), including short end bones, so that every joint can be rotated. Skeleton files have no end bones; they
come last, and methods that use such a file get the sticks and the pose without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.errors import GeometryError, OsteonError
from osteon.core.mesh import Asset
from osteon.core.model import SkinnedModel
from osteon.core.options import change_options
from osteon.core.pose_track import ControlLine, LineTrack, PinTrack, PoseTrack
from osteon.core.progress import Progress
from osteon.core.sticks import StickSkeleton, measure_place
from osteon.io import holds_model, load_model
from osteon.io.skeletons import load_skeleton
from osteon.pipeline.pose_model import ModelSticks, sticks_for
from osteon.view.pack.schema import read_arrays

if TYPE_CHECKING:
    from osteon.simplex.poser import Poser


#: Number of meshes that stay prepared, for several tabs.
KEPT = 2


@dataclass(frozen=True, slots=True)
class PoseFiles:
    """The files of a mesh to pose."""

    pack: str  # the mesh
    skeleton: str | None = None
    implied: bool = False  # the skeleton is searched in the file of the mesh, which may have none
    own: bool = False  # that file holds a model, which is posed by its own skin if it has a skeleton


@dataclass(slots=True)
class PosableMesh:
    """A mesh with its skeleton, and everything that is prepared for it."""

    vertices: Float64
    faces: Int32
    asset: Asset
    skeleton: StickSkeleton | None
    note: str  # why there is no skeleton, or what the poses omit
    skin: OwnSkin | None = None  # of a model that is posed by its own skin
    poser: Poser | None = None
    blender: Poser | None = None  # the same mesh with blended bones
    builds: int = 0

    @staticmethod
    def load(files: PoseFiles) -> PosableMesh:
        arrays = read_arrays(Path(files.pack), ("rest", "faces", "uvs"))
        vertices, faces = arrays["rest"].astype(np.float64), arrays["faces"].astype(np.int32)
        if not len(faces):
            raise GeometryError("this has no triangles to pose")
        skin = own_skin(files.skeleton) if files.own and files.skeleton is not None else None
        if skin is not None and len(skin.model.rest) == len(vertices):
            note = "Its corrections belong to its own frames; poses omit them." if skin.model.rank else ""
            return PosableMesh(vertices, faces, Asset(uvs=arrays.get("uvs")), skin.file_sticks, note, skin)
        skeleton, note = _skeleton(files, vertices)
        return PosableMesh(vertices, faces, Asset(uvs=arrays.get("uvs")), skeleton, note)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods to pose it: the default first, then the one for comparison."""
        others = () if self.skeleton is None else ("simplex",)
        if self.skin is not None:
            return ("skin", *others)
        return ("simplex",) if self.skeleton is None else ("simplex", "ssd")

    @property
    def posed_skeleton(self) -> StickSkeleton | None:
        """The skeleton that poses of the page refer to."""
        return self.skeleton if self.skin is None else self.skin.sticks.sticks

    @property
    def build(self) -> str:
        """The name of the latest preparation: the page caches the segments of one of them."""
        return f"b{self.builds}"

    def ready(self, lines: tuple[ControlLine, ...], progress: Progress | None = None) -> Poser:
        """The poser for these control lines; a new one is made when they differ."""
        from osteon.simplex.poser import Poser

        if self.poser is None:
            self.poser = Poser.of(self.vertices, self.faces, self.skeleton, lines=lines, progress=progress)
            self.builds += 1
        elif self.poser.lines != lines:
            self.poser = self.poser.with_lines(lines, progress=progress)
            self.builds += 1
        return self.poser

    def blending(self, poser: Poser) -> Poser:
        """The same mesh with blended bones, which support neither control lines nor pins."""
        from osteon.simplex.poser import inverse_square_weights

        if poser.skeleton is None:
            raise GeometryError("SSD blends bones, and there is no skeleton")
        if self.blender is None:
            weights = inverse_square_weights(poser.points, poser.skeleton)
            options = change_options(poser.options, method="ssd")
            self.blender = replace(poser, lines=(), solver=None, weights=weights, options=options)
        return self.blender


_prepared_meshes: dict[PoseFiles, PosableMesh] = {}


def posable_mesh(files: PoseFiles) -> PosableMesh:
    """The prepared mesh of these files; loaded on a cache miss."""
    found = _prepared_meshes.pop(files, None) or PosableMesh.load(files)
    while len(_prepared_meshes) >= KEPT:
        _prepared_meshes.pop(next(iter(_prepared_meshes)))
    _prepared_meshes[files] = found  # the latest is evicted last
    return found


def _skeleton(files: PoseFiles, vertices: Float64) -> tuple[StickSkeleton | None, str]:
    """The skeleton, or why there is none."""
    from osteon.io.skeletons import load_skeleton

    if files.skeleton is None:
        return None, ""
    try:
        skeleton = load_skeleton(files.skeleton)
        check_place(skeleton, vertices, files.skeleton)
    except OsteonError as error:
        if not files.implied:
            raise
        return None, f"Its own file has no skeleton ({error}). Drop one, or use lines and pins."
    return skeleton, ""


def check_place(skeleton: StickSkeleton, vertices: Float64, name: str) -> None:
    """Refuse a skeleton at another place, or of another size, than the mesh."""
    place = measure_place(skeleton, vertices)
    what = f"{name}: is no skeleton of this mesh"
    if place.is_elsewhere:
        raise GeometryError(f"{what}: {len(place.far)} of its {place.n_joints} joints are away from it")
    if place.is_tiny:
        raise GeometryError(f"{what}: it is many times smaller; scale its joints to the size of the mesh")


@dataclass(frozen=True, slots=True)
class OwnSkin:
    """A model with its sticks, posed by its own skin."""

    model: SkinnedModel
    sticks: ModelSticks
    file_sticks: StickSkeleton | None  # of the file, for other methods; None if these differ
    strongest: Int64  # (t,) the joint that moves each triangle most

    def pose(self, track: PoseTrack) -> Float64:
        """(v,3) the first pose of a track."""
        from osteon.deform.pose import pose_character  # imports numba

        posed: Float64 = pose_character(self.model.character, self._transforms(track))[0].astype(np.float64)
        return posed

    def ideal(self, track: PoseTrack) -> Float64:
        """(t,3,4) the transform with the largest weight for each triangle."""
        moved: Float64 = self._transforms(track)[0, self.strongest]
        return moved

    def _transforms(self, track: PoseTrack) -> Float64:
        return self.sticks.transforms(bones_alone(track).frame(0))

    def pose_json(self, track: PoseTrack) -> dict[str, object]:
        """The pose as joint rotations, which `osteon pose MODEL POSE` reads."""
        from osteon.io.poses.pose_json import poses_as_json

        return poses_as_json(bones_alone(track), self.sticks.sticks)


def own_skin(file: str) -> OwnSkin | None:
    """The skin of a model with a skeleton, if the file has both."""
    try:
        if not holds_model(file):
            return None
        model = load_model(file)
        sticks = sticks_for(model, file)
    except OsteonError:  # no usable skeleton: the mesh can still be posed by other methods
        return None
    return OwnSkin(model, sticks, _file_sticks(Path(file), sticks.sticks), _strongest(model))


def bones_alone(track: PoseTrack) -> PoseTrack:
    """The pose without twists, scales, control lines and pins, which a skin does not support."""
    return replace(track, twist=None, cross_scale=None, lines=LineTrack(), pins=PinTrack())


def truncate_track(track: PoseTrack, sticks: StickSkeleton) -> PoseTrack:
    """The pose of the first joints and bones, which these sticks have."""
    j, b = sticks.n_joints, sticks.n_bones

    def first(array: Float64 | None) -> Float64 | None:
        return None if array is None else array[:, :b]

    return replace(
        track,
        joints=track.joints[:, :j],
        cross_scale=first(track.cross_scale),
        twist=first(track.twist),
        rotations=first(track.rotations),
    )


def _file_sticks(file: Path, all_sticks: StickSkeleton) -> StickSkeleton | None:
    """The sticks of the file, if they are the first ones of all."""
    try:
        found = load_skeleton(file)
    except OsteonError:
        return None
    j, b = found.n_joints, found.n_bones
    same = found.names == all_sticks.names[:j] and np.array_equal(found.bones, all_sticks.bones[:b])
    near = same and np.allclose(found.joints, all_sticks.joints[:j], rtol=0, atol=1e-5 * np.ptp(all_sticks.joints))
    return found if near and found.root == all_sticks.root else None


def _strongest(model: SkinnedModel) -> Int64:
    """(t,) the joint with the largest weight over the corners of each triangle."""
    skin, faces = model.skin, model.faces
    bones, weights = skin.bones[faces].reshape(len(faces), -1), skin.weights[faces].reshape(len(faces), -1)
    same = bones[:, :, None] == bones[:, None, :]
    total = np.einsum("tij,tj->ti", same, weights)
    out: Int64 = np.take_along_axis(bones, total.argmax(axis=1)[:, None], axis=1)[:, 0].astype(np.int64)
    return out
