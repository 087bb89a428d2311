"""A skinned model: a character (what does not move, how it moves) and an animation (what makes it move).

`SkinnedModel(character, animation)` is what it is. Most models are a linear blend skin with or without corrections, and
for these the parts may be given one by one: `SkinnedModel(rest, faces, skin, track, clips, corrections, …)`. The same
names are properties, and `replace(model, corrections=None)` changes one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict, Unpack, overload

from numpy.typing import ArrayLike

from osteon.core.animation import Animation, BoneTrack, BoneType
from osteon.core.arrays import Float32, Int32, checked
from osteon.core.asset import Asset
from osteon.core.character import Character
from osteon.core.clips import Clip
from osteon.core.corrections import Corrections, position_rank
from osteon.core.deformer import Deformer, Displacement, restore_deformer, restore_displacement
from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.core.play_scale import scale_of_bones
from osteon.core.skeleton import Skeleton
from osteon.core.skin import Skin

__all__ = ["BoneTrack", "BoneType", "Corrections", "ModelParts", "Skeleton", "Skin", "SkinnedModel"]

#: The kinds that parts given one by one stand for.
PLAIN_DEFORMER, PLAIN_DISPLACEMENT = "linear_blend", "corrections"


class ModelParts(TypedDict, total=False):
    """What `SkinnedModel` takes, and `with_parts` changes, by name."""

    rest: ArrayLike  # (v,3)
    faces: ArrayLike  # (t,3)
    skin: Skin  # a linear blend skin; another family comes as `deformer`
    track: BoneTrack
    clips: Iterable[Clip]  # cover all frames in order; () means one clip
    corrections: Corrections | None
    skeleton: Skeleton | None
    asset: Asset
    name: str
    deformer: Deformer
    fallback: Skin | None


#: Names of the parts in the order in which they may come without a name.
_ORDER = ("rest", "faces", "skin", "track", "clips", "corrections", "skeleton", "asset", "name")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class SkinnedModel:
    """All that is needed to play a character: pose_vertices(model, frame) gives vertices."""

    character: Character
    animation: Animation

    @overload
    def __init__(self, character: Character, animation: Animation, /) -> None: ...

    @overload
    def __init__(
        self,
        rest: ArrayLike,
        faces: ArrayLike,
        skin: Skin,
        track: BoneTrack,
        clips: Iterable[Clip] = (),
        corrections: Corrections | None = None,
        skeleton: Skeleton | None = None,
        asset: Asset = ...,
        name: str = "mesh",
    ) -> None: ...

    def __init__(self, *values: Any, **parts: Any) -> None:
        names = ("character", "animation") if values and isinstance(values[0], Character) else _ORDER
        parts |= dict(zip(names, values, strict=False))
        character, animation = parts.pop("character", None), parts.pop("animation", None)
        if character is None or animation is None:
            character, animation = _assemble(parts)
        elif parts:
            character, animation = _changed(character, animation, parts)
        _check_fit(character, animation)
        object.__setattr__(self, "character", character)
        object.__setattr__(self, "animation", animation)

    def with_parts(self, **parts: Unpack[ModelParts]) -> Self:
        """The same model with some of its parts replaced."""
        character, animation = _changed(self.character, self.animation, dict(parts))
        return type(self)(character, animation)

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
        """Bounding-box diagonal of the rest pose at the size of the body as it plays: the unit of all tolerances."""
        return scale_of_bones(self.animation.transforms) * self.character.mesh.diagonal

    @property
    def deformer(self) -> Deformer:
        return self.character.deformer

    @property
    def skin(self) -> Skin:
        """Bones and weights of every vertex: of a linear blend its own, of other families how much belongs to whom."""
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
    def corrections(self) -> Corrections | None:
        stored = self.character.displacement(PLAIN_DISPLACEMENT)
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
        """Columns of the corrections, each a morph target; 0 without any."""
        stored = self.character.displacement(PLAIN_DISPLACEMENT)
        return 0 if stored is None else int(stored.basis.shape[0])

    @property
    def rank(self) -> int:
        """Columns of the corrections that move positions."""
        stored = self.character.displacement(PLAIN_DISPLACEMENT)
        return 0 if stored is None else position_rank(stored.basis)

    @property
    def normal_rank(self) -> int:
        """Columns of the corrections that move normals only."""
        return self.n_columns - self.rank

    def cut(self, rank: int) -> SkinnedModel:
        """The same model with only the first `rank` corrections; those of normals alone stay."""
        corrections = self.corrections
        if corrections is None or rank >= corrections.rank:
            return self
        kept = corrections.cut(rank)
        return self.with_parts(corrections=kept if kept.n_columns else None)

    def take_frames(self, frames: Int32) -> SkinnedModel:
        """The same character in only the given frames, as one clip."""
        return SkinnedModel(self.character, self.animation.take_frames(frames))


def _assemble(parts: dict[str, Any]) -> tuple[Character, Animation]:
    """A character and an animation from parts alone."""
    needed = [name for name in ("rest", "faces", "track") if name not in parts]
    needed += [] if {"skin", "deformer"} & set(parts) else ["skin"]
    if needed:
        raise TypeError(f"SkinnedModel: missing {', '.join(needed)}")
    mesh = Mesh(parts.pop("rest"), parts.pop("faces"), parts.pop("asset", None) or Asset(), parts.pop("name", "mesh"))
    deformer = parts.pop("deformer", None) or _linear_blend(parts.pop("skin"))
    animation = Animation(parts.pop("track"), parts.pop("clips", ()))
    return _changed(Character(mesh, deformer), animation, parts)


def _changed(character: Character, animation: Animation, parts: dict[str, Any]) -> tuple[Character, Animation]:
    """Both halves with the named parts in place of their own."""
    unknown = set(parts) - set(ModelParts.__annotations__)
    if unknown:
        raise TypeError(f"SkinnedModel: does not know {', '.join(sorted(unknown))}")
    mesh: dict[str, Any] = {key: parts[key] for key in ("rest", "faces", "asset", "name") if key in parts}
    moves: dict[str, Any] = {key: parts[key] for key in ("track", "clips") if key in parts}
    fixed: dict[str, Any] = {key: parts[key] for key in ("skeleton", "fallback", "deformer") if key in parts}
    if "skin" in parts:
        fixed["deformer"] = _linear_blend(parts["skin"])
    if "corrections" in parts:
        fixed["displacements"], moves["coefficients"] = _corrected(character, parts["corrections"])
    if mesh:
        fixed["mesh"] = replace(character.mesh, **mesh)
    return replace(character, **fixed), replace(animation, **moves)


def _linear_blend(skin: Skin) -> Deformer:
    return restore_deformer(PLAIN_DEFORMER, {"bones": skin.bones, "weights": skin.weights})


def _corrected(
    character: Character, corrections: Corrections | None
) -> tuple[tuple[Displacement, ...], Float32 | None]:
    """The displacements with these corrections in place of those before, and their coefficients."""
    others = tuple(d for d in character.displacements if d.kind != PLAIN_DISPLACEMENT)
    if corrections is None:
        return others, None
    arrays = {"basis": corrections.basis}
    if corrections.normal_basis is not None:
        arrays["normal_basis"] = corrections.normal_basis
    return (restore_displacement(PLAIN_DISPLACEMENT, arrays), *others), corrections.coefficients


def _check_fit(character: Character, animation: Animation) -> None:
    """Refuse halves that do not belong together."""
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
    for displacement in character.displacements:
        rank = displacement.basis.shape[0]
        checked("coefficients", displacement.coefficients(animation), (animation.n_frames, rank))
