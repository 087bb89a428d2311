"""A skinned model: a character (mesh, deformer, displacements, skeleton) and an animation that moves its bones.

    model = linear_blend_model(rest, faces, skin, track)        # osteon.deform.linear_blend
    model = SkinnedModel(Character(mesh, deformer), Animation(track))
    model = model.with_mesh(name="horse").with_corrections(None)

Models are immutable. `with_mesh`, `with_character`, `with_animation` and `with_corrections` return changed copies that
share all arrays which stay the same.

`StoredLevels` are the levels of detail that a file holds beside a model. `osteon.lod` interprets their arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from osteon.core.animation import Animation, BoneTrack, BoneType, Clip
from osteon.core.arrays import Float32, Int32, checked
from osteon.core.character import (
    Arrays,
    Character,
    Corrections,
    Deformer,
    Displacement,
    Skeleton,
    Skin,
    StoredDisplacement,
    position_rank,
)
from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset, Mesh, scale_of_bones

__all__ = [
    "MOST_COARSE",
    "BoneTrack",
    "BoneType",
    "CharacterFields",
    "Corrections",
    "Skeleton",
    "Skin",
    "SkinnedModel",
    "StoredLevels",
    "coarse_model",
]


class CharacterFields(TypedDict, total=False):
    """The fields of a `Character` that `with_character` replaces; None removes a skeleton or a fallback."""

    deformer: Deformer
    displacements: tuple[Displacement, ...]
    skeleton: Skeleton | None
    fallback: Skin | None


@dataclass(frozen=True, slots=True)
class SkinnedModel:
    """A character and its animation; `pose_vertices(model, frame)` returns the vertices of a frame."""

    character: Character
    animation: Animation

    def __post_init__(self) -> None:
        """Refuse a character and an animation that do not fit each other."""
        character, animation = self.character, self.animation
        deformer, track = character.deformer, animation.track
        if deformer.n_bones > animation.n_bones:
            raise GeometryError(f"skin: names bone {deformer.n_bones - 1} of {animation.n_bones}")
        if character.fallback is not None and character.fallback.bones.max(initial=-1) >= animation.n_bones:
            raise GeometryError(f"fallback: names bone {character.fallback.bones.max()} of {animation.n_bones}")
        if track.bone_type not in deformer.bone_types:
            known = ", ".join(deformer.bone_types)
            raise GeometryError(f"bones: a {deformer.kind} deformer blends {known} bones, not {track.bone_type} ones")
        if deformer.bone_types == ("rigid",) and scale_of_bones(track.transforms) != 1:
            raise GeometryError(f"bones: a {deformer.kind} deformer blends rotations, but these bones carry a scale")
        first = animation.take_frames(np.zeros(1, np.int32))  # enough: an animation checks its coefficients itself
        for displacement in character.displacements:
            checked("coefficients", displacement.coefficients(first), (1, displacement.basis.shape[0]))

    def with_mesh(
        self,
        *,
        rest: ArrayLike | None = None,
        faces: ArrayLike | None = None,
        asset: Asset | None = None,
        name: str | None = None,
    ) -> SkinnedModel:
        """The same model with these fields of its mesh replaced."""
        old = self.mesh
        mesh = Mesh(
            np.asarray(old.rest if rest is None else rest),
            np.asarray(old.faces if faces is None else faces),
            old.asset if asset is None else asset,
            old.name if name is None else name,
        )
        return replace(self, character=replace(self.character, mesh=mesh))

    def with_character(self, **fields: Unpack[CharacterFields]) -> SkinnedModel:
        """The same model with these fields of its character replaced."""
        return replace(self, character=replace(self.character, **fields))

    def with_animation(self, *, track: BoneTrack | None = None, clips: Iterable[Clip] | None = None) -> SkinnedModel:
        """The same model with another track or other clips; `clips=()` makes one clip of all frames."""
        track = self.track if track is None else track
        clips = self.clips if clips is None else tuple(clips)
        return replace(self, animation=replace(self.animation, track=track, clips=clips))

    def with_corrections(self, corrections: Corrections | None) -> SkinnedModel:
        """The same model with these corrections, or without any; other displacements stay."""
        displacements = tuple(d for d in self.character.displacements if d.kind != StoredDisplacement.kind)
        coefficients = None
        if corrections is not None:
            stored = StoredDisplacement(corrections.basis, corrections.normal_basis)
            displacements, coefficients = (stored, *displacements), corrections.coefficients
        character = replace(self.character, displacements=displacements)
        return SkinnedModel(character, replace(self.animation, coefficients=coefficients))

    def __repr__(self) -> str:
        clips = ", ".join(f"{clip.name} ({clip.n_frames})" for clip in self.clips)
        kind = self.deformer.kind.replace("_", " ")
        return (
            f"SkinnedModel('{self.name}': {self.n_vertices:,} vertices, {len(self.faces):,} triangles, "
            f"{self.n_bones} {self.track.bone_type} bones, {kind}, rank {self.rank}; frames: {clips})"
        )

    @property
    def mesh(self) -> Mesh:
        return self.character.mesh

    @property
    def rest(self) -> Float32:
        return self.character.mesh.rest

    @property
    def faces(self) -> Int32:
        return self.character.mesh.faces

    @property
    def asset(self) -> Asset:
        return self.character.mesh.asset

    @property
    def name(self) -> str:
        return self.character.mesh.name

    @property
    def diagonal(self) -> float:
        """Bounding-box diagonal of the rest pose times the scale of the bones: the unit of all tolerances."""
        return scale_of_bones(self.animation.transforms) * self.character.mesh.diagonal

    @property
    def deformer(self) -> Deformer:
        return self.character.deformer

    @property
    def skin(self) -> Skin:
        """Bones and weights per vertex; for families other than linear blending, the share of each bone."""
        return self.character.deformer.bone_weights()

    @property
    def skeleton(self) -> Skeleton | None:
        return self.character.skeleton

    @property
    def track(self) -> BoneTrack:
        return self.animation.track

    @property
    def clips(self) -> tuple[Clip, ...]:
        return self.animation.clips

    @property
    def _stored(self) -> Displacement | None:
        return self.character.displacement(StoredDisplacement.kind)

    @property
    def corrections(self) -> Corrections | None:
        stored = self._stored
        if stored is None:
            return None
        return Corrections(stored.basis, stored.coefficients(self.animation), stored.normal_basis)

    @property
    def n_frames(self) -> int:
        return self.animation.n_frames

    @property
    def n_vertices(self) -> int:
        return self.character.mesh.n_vertices

    @property
    def n_bones(self) -> int:
        return self.animation.n_bones

    @property
    def n_columns(self) -> int:
        """Columns of the corrections, each a morph target; 0 without corrections."""
        stored = self._stored
        return 0 if stored is None else int(stored.basis.shape[0])

    @property
    def rank(self) -> int:
        """Columns of the corrections that move positions."""
        stored = self._stored
        return 0 if stored is None else position_rank(stored.basis)

    @property
    def normal_rank(self) -> int:
        """Columns of the corrections that move normals only."""
        return self.n_columns - self.rank

    def truncate(self, rank: int) -> SkinnedModel:
        """The same model with the first `rank` corrections that move positions; those of normals alone stay."""
        corrections = self.corrections
        if corrections is None or rank >= corrections.rank:
            return self
        kept = corrections.truncate(rank)
        return self.with_corrections(kept if kept.n_columns else None)

    def take_frames(self, frames: Int32) -> SkinnedModel:
        """The same character in only the given frames, as one clip."""
        return SkinnedModel(self.character, self.animation.take_frames(frames))


#: Coarse meshes that a model can have.
MOST_COARSE = 16


@dataclass(frozen=True, slots=True)
class StoredLevels:
    """All that a file holds of a model's levels besides the model."""

    arrays: Arrays  # by name; float64, float32 and whole numbers of 32 bits
    header: Mapping[str, Any] = field(default_factory=dict)  # plain JSON
    coarse: tuple[Character, ...] = ()  # coarser and coarser meshes that follow the model's bones
    coverage: tuple[float, ...] = ()  # of the model and each: down to which part of the screen's height it is for

    def __post_init__(self) -> None:
        if len(self.coarse) > MOST_COARSE:
            raise GeometryError(f"coarse: expected {MOST_COARSE} meshes at most, got {len(self.coarse)}")
        if len(self.coverage) != (len(self.coarse) + 1 if self.coarse else 0):
            raise GeometryError(f"coverage: expected one for the model and each of {len(self.coarse)} coarse meshes")
        falling = np.array(self.coverage, np.float64)
        if not np.isfinite(falling).all() or (falling < 0).any() or (np.diff(falling) > 0).any():
            raise GeometryError("coverage: expected numbers from 0 that never rise")

    def check_fit(self, model: SkinnedModel) -> None:
        """Refuse coarse meshes that another model was made for."""
        own = _shared_properties(model.character)
        for number, character in enumerate(self.coarse, 1):
            found = _shared_properties(character)
            for what in own:
                if found[what] != own[what]:
                    raise GeometryError(f"coarse mesh {number}: its {what} are not the model's")
            if character.deformer.n_bones > model.n_bones:
                raise GeometryError(
                    f"coarse mesh {number}: names bone {character.deformer.n_bones - 1} of {model.n_bones}"
                )


def _shared_properties(character: Character) -> dict[str, Any]:
    """Properties that all meshes of a model must share."""
    return {
        "blends": (character.deformer.kind, character.fallback is None),
        "corrections": [
            (d.kind, d.basis.shape[0], d.normal_basis is None) for d in character.displacements if d.basis.shape[0]
        ],
        "materials": character.mesh.asset.materials,
    }


@dataclass(frozen=True, slots=True)
class VertexColors:
    """Colours that a stock player multiplies with those of the material: a static part, and morph targets of colour."""

    base: Float32  # (n,3) of the normals of the mesh: the mean over all frames
    columns: Float32  # (k,n,3) added to it
    weights: Float32  # (f,k) of the columns in every frame
    lit: bool = False  # whether the player lights the material as well; False: the colours are all its light

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", checked("base", self.base, (None, 3)))
        object.__setattr__(self, "columns", checked("columns", self.columns, (None, len(self.base), 3)))
        object.__setattr__(self, "weights", checked("weights", self.weights, (None, len(self.columns))))

    def static(self) -> VertexColors:
        """The static part alone."""
        return VertexColors(self.base, self.columns[:0], self.weights[:, :0], self.lit)


@dataclass(frozen=True, slots=True)
class StoredLight:
    """All that a file holds of a model's precomputed light (`osteon.apply.light.model_light`)."""

    arrays: Arrays  # by name; float16 and float32
    header: Mapping[str, Any] = field(default_factory=dict)  # plain JSON
    shown: tuple[VertexColors, ...] = ()  # for stock players: of the model, and the static part of its coarse meshes


def coarse_model(model: SkinnedModel, coarse: Character) -> SkinnedModel:
    """A coarse mesh on the model's joints, which plays its animation."""
    return SkinnedModel(replace(coarse, skeleton=model.skeleton), model.animation)
