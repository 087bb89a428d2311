"""A model with all its levels: continuous levels of bones and blends, coarser meshes, and numbered levels.

    ModelLevels
    ├── model       the full character, its slots in the order of blends
    ├── skin        ProgressiveSkin: orders of bones and blends, curves
    ├── coarse      coarser meshes on the same bones, each with an order of blends
    └── levels      numbered levels, each for a size on the screen; the first is the model itself

In a file (`osteon.load_levels`, `save_levels`) the slots are those of the skins, so nothing is stored twice.

**A model at a level.** `model_at_level` returns a model with the matrices and weights of a level.

The result has one clip and as many bones: it can be posed, measured and saved like any other model. With fewer active
bones, displacements that follow joints (EigenSkin) move as with all of them, since a following bone does not have the
rotation of its joint: their coefficients are then baked to a table.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4.1.2 and 4.2.

**Files.** `load_model` reads the model alone from a file with levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np

from osteon.core.animation import Animation, BoneTrack, Clip, bone_type_of
from osteon.core.character import Arrays, Character, Deformer, Skin
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel, StoredLevels, coarse_model
from osteon.deform.registry import restore_deformer
from osteon.io import SaveOptions, load_model, load_stored_levels, save_stored_levels
from osteon.io.engines import GLTF, engine_of
from osteon.io.formats.engine_facts import writes_coarse
from osteon.io.formats.options import DEFAULT_SAVE_OPTIONS
from osteon.io.load.source import PathLike, quote
from osteon.io.metadata.baked import baked_model
from osteon.lod.bake import FRAMES, bake_level
from osteon.lod.bone_order import BoneForm, pose_at_count
from osteon.lod.progressive_skin import BlendOrder, LevelPoint, ProgressiveSkin


def model_at_level(model: SkinnedModel, levels: ProgressiveSkin, clip: str, at: float | LevelPoint) -> SkinnedModel:
    """One clip of a model with the bones and blends of a level 0 … 1, or with those given."""
    number = levels.clip_number(clip)
    order, point = levels.orders[number], at if isinstance(at, LevelPoint) else levels.curves[number].at(at)
    run = model.clips[number]
    deformer = deformer_with_blends(model.deformer, levels, point.blends)
    screws = deformer.bone_types == ("rigid",)
    exact = model.animation.transforms[run.start : run.stop]
    posed = pose_at_count(order, exact, point.bones, screws=screws).astype(np.float32)
    if not np.array_equal(posed, exact):
        model = baked_model(model)
    kind = "rigid" if screws else bone_type_of(posed)
    coefficients = model.animation.coefficients
    animation = Animation(
        BoneTrack(posed, kind, model.track.names),
        (Clip(run.name, 0, run.n_frames, run.fps),),
        None if coefficients is None else coefficients[run.start : run.stop],
    )
    old = model.character
    return SkinnedModel(Character(old.mesh, deformer, old.displacements, old.skeleton, old.fallback), animation)


def deformer_with_blends(deformer: Deformer, levels: ProgressiveSkin, blends: float) -> Deformer:
    """A deformer of the same kind with so many blends per vertex; the deformer itself with all of them."""
    if blends == levels.blends.n_blends:
        return deformer
    skin = Skin(levels.blends.bones, levels.blends.weights(blends))
    return restore_deformer(deformer.kind, {"bones": skin.bones, "weights": skin.weights})


#: Height of the screen in pixels, for sizes stored as a fraction of it.
SCREEN = 1080
#: Errors and sizes that a file stores for each level.
_NUMBERS = ("error_percent", "rms_percent", "worst_percent", "pixels", "mesh_rms_percent", "mesh_worst_percent")


@dataclass(frozen=True, slots=True)
class Level:
    """The bones, blends and mesh of one level, and its error."""

    bones: int  # allowed to be active, in every clip
    blends: int  # per vertex
    mesh: int  # 0: the model's own, else a coarse mesh
    triangles: int
    error_percent: float = 0.0  # error E of bones and blends, in percent of the motion
    rms_percent: float = 0.0  # root mean square distance in the worst clip, of the body's size
    worst_percent: float = 0.0  # largest distance of a vertex, likewise
    pixels: float = 0.0  # size of the body on the screen up to which it looks like the model; 0: any
    mesh_rms_percent: float = 0.0  # part of the mesh in the RMS; squares add up
    mesh_worst_percent: float = 0.0  # part of the mesh in the worst distance

    def __post_init__(self) -> None:
        if self.bones < 0 or self.blends < 1 or self.mesh < 0 or self.triangles < 0:
            raise GeometryError(
                f"level: {self.bones} bones, {self.blends} blends, mesh {self.mesh}: expected 0 or more"
            )
        if any(not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0) for name in _NUMBERS):
            raise GeometryError("level: expected finite numbers, 0 or more")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; raises KeyError, TypeError or ValueError for invalid data."""
        whole = (int(stored[name]) for name in ("bones", "blends", "mesh", "triangles"))
        return cls(*whole, *(float(stored[name]) for name in _NUMBERS))


@dataclass(frozen=True, slots=True)
class CoarseMesh:
    """A coarser mesh on the model's bones."""

    character: Character  # its slots are those of the blends
    blends: BlendOrder

    def __post_init__(self) -> None:
        if self.character.mesh.n_vertices != self.blends.skin.n_vertices:
            raise GeometryError(
                f"blends: {self.blends.skin.n_vertices} rows for {self.character.mesh.n_vertices} vertices"
            )


@dataclass(frozen=True, slots=True)
class ModelLevels:
    """A model and all its levels."""

    model: SkinnedModel
    skin: ProgressiveSkin
    levels: tuple[Level, ...]  # from fine to coarse; the first is the model itself
    coarse: tuple[CoarseMesh, ...] = ()

    def __post_init__(self) -> None:
        found = (self.skin.n_bones, len(self.skin.orders), self.skin.blends.skin.n_vertices)
        expected = (self.model.n_bones, len(self.model.clips), self.model.n_vertices)
        if found != expected:
            words = "{} bones, {} clips, {} vertices".format
            raise GeometryError(f"levels: created for {words(*found)}, but the model has {words(*expected)}")
        for level in self.levels:
            if level.mesh > len(self.coarse):
                raise GeometryError(f"levels: refer to mesh {level.mesh} of {len(self.coarse)}")
            if level.bones > self.skin.n_ordered or level.blends > self.blends_of(level.mesh).n_blends:
                raise GeometryError(f"levels: {level.bones} bones and {level.blends} blends exceed those of the model")

    def mesh_model(self, mesh: int) -> SkinnedModel:
        """The model's own mesh (0) or a coarse one, with all bones."""
        return self.model if mesh == 0 else coarse_model(self.model, self.coarse[mesh - 1].character)

    def blends_of(self, mesh: int) -> BlendOrder:
        """The order of blends of the model's own mesh (0) or of a coarse one."""
        return self.skin.blends if mesh == 0 else self.coarse[mesh - 1].blends

    def level(self, number: int) -> Level:
        """A level by its number; 0 is the model itself."""
        if not 0 <= number < len(self.levels):
            raise OptionError(f"level: expected 0 … {len(self.levels) - 1}, got {number}")
        return self.levels[number]

    def clip_at(self, level: Level, clip: str) -> SkinnedModel:
        """One clip at a level, by its order of bones."""
        skin = replace(self.skin, blends=self.blends_of(level.mesh))
        return model_at_level(self.mesh_model(level.mesh), skin, clip, LevelPoint(level.bones, level.blends))

    def baked(self, level: Level) -> SkinnedModel:
        """A level as a separate model, with only the bones that it computes."""
        return self.baked_on(self.coarse[level.mesh - 1] if level.mesh else None, level.bones, level.blends)

    def baked_on(self, mesh: CoarseMesh | None, bones: int, blends: int, frames: int = FRAMES) -> SkinnedModel:
        """The same for a mesh that need not be one of the levels; None is the model's own."""
        order = self.skin.blends if mesh is None else mesh.blends
        fewer = Skin(order.bones, order.weights(blends))
        return bake_level(self.model_on(mesh), self.skin.all_clips, bones, fewer, frames=frames)

    def model_on(self, mesh: CoarseMesh | None) -> SkinnedModel:
        """The model on a coarser mesh, with all bones."""
        return self.model if mesh is None else coarse_model(self.model, mesh.character)

    def on_own_mesh(self) -> Self:
        """The same levels of bones and blends, all on the model's own mesh."""
        whole, most = len(self.model.faces), self.skin.blends.n_blends
        levels = (replace(o, mesh=0, triangles=whole, blends=min(o.blends, most)) for o in self.levels)
        return replace(self, levels=tuple(levels), coarse=())

    @property
    def coverage(self) -> tuple[float, ...]:
        """The smallest fraction of the screen's height for which each mesh is used; () if there is one mesh."""
        if not self.coarse:
            return ()
        first = [next((o for o in self.levels if o.mesh >= m), self.levels[-1]) for m in range(1, len(self.coarse) + 1)]
        parts = np.array([min(1.0, level.pixels / SCREEN) if level.pixels else 1.0 for level in first])
        return (*np.minimum.accumulate(parts).tolist(), 0.0)

    def to_stored(self) -> StoredLevels:
        """The levels as stored in files; slots of blends are those of the skins."""
        arrays = {name: array for name, array in self.skin.arrays().items() if name not in _SLOTS}
        for number, mesh in enumerate(self.coarse, 1):
            own = mesh.blends.arrays()
            arrays |= {f"coarse{number}.{name}": own[name] for name in own if f"blends.{name}" not in _SLOTS}
        header = {
            "clips": [list(words) for words in self.skin.clips],
            "all_form": self.skin.all_clips.form,
            "levels": [level.to_json() for level in self.levels],
        }
        return StoredLevels(arrays, header, tuple(mesh.character for mesh in self.coarse), self.coverage)

    @classmethod
    def from_stored(cls, model: SkinnedModel, stored: StoredLevels) -> Self:
        """The inverse of `to_stored`; raises GeometryError if the levels do not fit the model."""
        try:
            stored.check_fit(model)
            clips = tuple((str(name), _form(form)) for name, form in stored.header["clips"])
            own = {name: array for name, array in stored.arrays.items() if not name.startswith("coarse")}
            skin = ProgressiveSkin.from_arrays(own | _slots(model.skin, "blends."), clips)
            skin = replace(skin, all_clips=replace(skin.all_clips, form=_form(stored.header["all_form"])))
            coarse = tuple(_coarse(stored, number) for number in range(1, len(stored.coarse) + 1))
            levels = tuple(Level.from_json(each) for each in stored.header["levels"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            cause = f"{type(error).__name__}: {quote(str(error))}"
            raise GeometryError(f"levels: they cannot be used ({cause}); write the file again") from error
        return cls(model, skin, levels, coarse)


#: Arrays that a file stores as its skin.
_SLOTS = ("blends.bones", "blends.weights")


def _slots(skin: Skin, prefix: str = "") -> Arrays:
    return {f"{prefix}bones": skin.bones, f"{prefix}weights": skin.weights}


def _form(word: Any) -> BoneForm:
    found: BoneForm | None = next((form for form in get_args(BoneForm) if form == word), None)
    if found is None:
        raise ValueError(f"form: expected {', '.join(get_args(BoneForm))}, got {word!r}")
    return found


def _coarse(stored: StoredLevels, number: int) -> CoarseMesh:
    character, prefix = stored.coarse[number - 1], f"coarse{number}."
    own = {name.removeprefix(prefix): array for name, array in stored.arrays.items() if name.startswith(prefix)}
    return CoarseMesh(character, BlendOrder.from_arrays(own | _slots(character.deformer.bone_weights())))


def with_slots(character: Character, skin: Skin) -> Character:
    """The character with the slots of its skin in another order."""
    return replace(character, deformer=type(character.deformer).from_skin(skin))


def save_levels(levels: ModelLevels, path: PathLike, *, options: SaveOptions = DEFAULT_SAVE_OPTIONS) -> None:
    """Write a model with its levels as .glb, .gltf or .npz; stock players show the model.

    A glTF for an engine that shows all meshes of a file at once has only the model's own.
    """
    if Path(path).suffix.lower() in GLTF and not writes_coarse(engine_of(options.engine)):
        levels = levels.on_own_mesh()
    save_stored_levels(levels.model, levels.to_stored(), path, options=options)


def load_levels(path: PathLike) -> ModelLevels | None:
    """The model in a file with its levels; None if it has none."""
    stored = load_stored_levels(path)
    if stored is None:
        return None
    try:
        return ModelLevels.from_stored(load_model(path), stored)
    except GeometryError as error:
        raise GeometryError(str(error) if str(error).startswith(str(path)) else f"{path}: {error}") from error
