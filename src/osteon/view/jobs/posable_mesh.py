"""A mesh that the worker poses for the page, with its skeleton and all that was prepared for it.

It stays in the worker between tasks. A worker that was ended meanwhile prepares it again: every task carries the names
of the files it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.asset import Asset
from osteon.core.errors import GeometryError, OsteonError
from osteon.core.option_checks import change_options
from osteon.core.pose_track import ControlLine
from osteon.core.progress import Progress
from osteon.core.skeleton_place import measure_place
from osteon.core.sticks import StickSkeleton
from osteon.view.pack.binary import read_arrays
from osteon.view.pack.own_skin import OwnSkin, own_skin

if TYPE_CHECKING:  # imports numba
    from osteon.simplex.poser import Poser

__all__ = ["PosableMesh", "PoseFiles", "check_place", "posable_mesh"]

#: Meshes that stay prepared: one for each of a few tabs.
KEPT = 2


@dataclass(frozen=True, slots=True)
class PoseFiles:
    """What is posed, as files."""

    pack: str  # the mesh
    skeleton: str | None = None
    implied: bool = False  # the skeleton is looked for in the mesh's own file, which need not have one
    own: bool = False  # that file holds a model, whose own skin poses it if it has a skeleton


@dataclass(slots=True)
class PosableMesh:
    """A mesh with its skeleton, and what was prepared for it."""

    vertices: Float64
    faces: Int32
    asset: Asset
    skeleton: StickSkeleton | None
    note: str  # why there is no skeleton where one was looked for, or what is left out
    skin: OwnSkin | None = None  # of a model that is posed by itself
    poser: Poser | None = None
    blender: Poser | None = None  # the same by blended bones
    builds: int = 0

    @staticmethod
    def load(files: PoseFiles) -> PosableMesh:
        arrays = read_arrays(Path(files.pack), ("rest", "faces", "uvs"))
        vertices, faces = arrays["rest"].astype(np.float64), arrays["faces"].astype(np.int32)
        if not len(faces):
            raise GeometryError("this has no triangles, so there is nothing to pose")
        skin = own_skin(files.skeleton) if files.own and files.skeleton is not None else None
        if skin is not None and len(skin.model.rest) == len(vertices):
            note = "Its corrections belong to its own frames; poses are without them." if skin.model.rank else ""
            return PosableMesh(vertices, faces, Asset(uvs=arrays.get("uvs")), skin.file_sticks, note, skin)
        skeleton, note = _skeleton(files, vertices)
        return PosableMesh(vertices, faces, Asset(uvs=arrays.get("uvs")), skeleton, note)

    @property
    def methods(self) -> tuple[str, ...]:
        """How it can be posed, the first as a rule, the second beside it."""
        others = () if self.skeleton is None else ("simplex",)
        if self.skin is not None:
            return ("skin", *others)
        return ("simplex",) if self.skeleton is None else ("simplex", "ssd")

    @property
    def posed_skeleton(self) -> StickSkeleton | None:
        """What poses of the page move."""
        return self.skeleton if self.skin is None else self.skin.sticks.sticks

    @property
    def build(self) -> str:
        """The name of what was prepared last: the page has the segments of one of them."""
        return f"b{self.builds}"

    def ready(self, lines: tuple[ControlLine, ...], progress: Progress | None = None) -> Poser:
        """The poser for these lines; another one is made when they differ."""
        from osteon.simplex.poser import Poser

        if self.poser is None:
            self.poser = Poser.of(self.vertices, self.faces, self.skeleton, lines=lines, progress=progress)
            self.builds += 1
        elif self.poser.lines != lines:
            self.poser = self.poser.with_lines(lines, progress=progress)
            self.builds += 1
        return self.poser

    def blending(self, poser: Poser) -> Poser:
        """The same mesh by blended bones, which know neither lines nor pins."""
        from osteon.simplex.inverse_square import inverse_square_weights

        if poser.skeleton is None:
            raise GeometryError("SSD blends bones, and there is no skeleton")
        if self.blender is None:
            weights = inverse_square_weights(poser.points, poser.skeleton)
            options = change_options(poser.options, method="ssd")
            self.blender = replace(poser, lines=(), solver=None, weights=weights, options=options)
        return self.blender


_prepared_meshes: dict[PoseFiles, PosableMesh] = {}


def posable_mesh(files: PoseFiles) -> PosableMesh:
    """What was prepared before, or else read anew."""
    found = _prepared_meshes.pop(files, None) or PosableMesh.load(files)
    while len(_prepared_meshes) >= KEPT:
        _prepared_meshes.pop(next(iter(_prepared_meshes)))
    _prepared_meshes[files] = found  # the newest is the last to go
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
        return None, f"Its own file gives no skeleton ({error}). Drop one, or use lines and pins."
    return skeleton, ""


def check_place(skeleton: StickSkeleton, vertices: Float64, name: str) -> None:
    """Refuse a skeleton that was made for a mesh elsewhere, or of another size."""
    place = measure_place(skeleton, vertices)
    what = f"{name}: is no skeleton of this mesh"
    if place.is_elsewhere:
        raise GeometryError(f"{what}: {len(place.far)} of its {place.n_joints} joints lie away from it")
    if place.is_tiny:
        raise GeometryError(f"{what}: it is many times smaller; scale its joints to the size of the mesh")
