"""What engines can play, said once: the writer, the checks, the page and docs/engines.md read this table.

A file is written for one engine, or for `any`: what every engine of the table plays. `any` refuses nothing; what is
asked for beyond it is written, and `where_it_plays` tells which engines then show something else, and at what cost. An
engine that is named refuses what it cannot read.

Engines differ most in what they keep of a joint. Those that keep a matrix play the two nodes of a flexible bone; those
that keep translation, rotation and scale lose the shear between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from osteon.core.animation import BoneType

__all__ = [
    "ENGINES",
    "GLTF",
    "USD",
    "Engine",
    "EngineName",
    "FileFacts",
    "Played",
    "default_bone_types",
    "engine_of",
    "engines_for",
    "engines_that",
    "where_it_plays",
]

EngineName = Literal["any", "web", "blender", "usd", "cesium", "godot", "unreal", "unity", "raylib", "panda3d"]

GLTF = (".glb", ".gltf")
USD = (".usda", ".usdc", ".usdz", ".usd")
#: Attributes that a skinned vertex has before corrections come: position, normal, joints, weights.
SKINNED_ATTRIBUTES = 4

_ALL_BONES: tuple[BoneType, ...] = ("rigid", "scaled", "flexible")
_ONE_NODE: tuple[BoneType, ...] = ("rigid", "scaled")


@dataclass(frozen=True, slots=True)
class Engine:
    """What one engine reads and shows exactly, at its import defaults."""

    name: EngineName
    title: str
    evidence: str  # "tested with … version" or "from its documentation"
    bone_types: tuple[BoneType, ...]  # the best, which it gets by default, is the last
    influences: int  # bones a vertex, at most
    morph_targets: bool  # whether it shows corrections
    vertex_attributes: int | None  # that a vertex may have, morph targets included; None: no limit
    quantized_positions: bool  # KHR_mesh_quantization
    short_rotations: bool  # 16-bit quaternions in tracks
    keys_between: bool  # keys off the frames, which importers that sample at frames would lose
    joint_scale_inherited: bool  # a joint below one that scales is where the file has it
    meshopt: bool  # EXT_meshopt_compression
    joints: str  # what it makes of joints, in words
    formats: tuple[str, ...] = GLTF

    @property
    def bone_type(self) -> BoneType:
        """Of bones that are fitted for it."""
        return self.bone_types[-1]

    def has_room(self, attributes: int) -> bool:
        """Whether a vertex may have so many attributes."""
        return self.vertex_attributes is None or attributes <= self.vertex_attributes

    def most_targets(self, each: int) -> int | None:
        """Corrections that it shows on a mesh without texture coordinates and colours; None: any number.

        Each takes one attribute, or two with normals.
        """
        if not self.morph_targets:
            return 0
        return None if self.vertex_attributes is None else (self.vertex_attributes - SKINNED_ATTRIBUTES) // each


_ROWS = (
    Engine(
        "any",
        "all of these",
        "what all rows below play",
        bone_types=_ONE_NODE,
        influences=4,
        morph_targets=True,
        vertex_attributes=16,
        quantized_positions=False,
        short_rotations=False,
        keys_between=False,
        joint_scale_inherited=False,
        meshopt=False,
        joints="one node a bone; no joint below one that scales",
        formats=(*GLTF, *USD),
    ),
    Engine(
        "web",
        "three.js, Babylon.js, PlayCanvas",
        "tested with three.js 0.187, Babylon.js 9.28",
        bone_types=_ALL_BONES,
        influences=4,
        morph_targets=True,
        vertex_attributes=None,
        quantized_positions=True,
        short_rotations=True,
        keys_between=True,
        joint_scale_inherited=True,
        meshopt=True,
        joints="matrices, composed as the file has them",
    ),
    Engine(
        "blender",
        "Blender",
        "tested with Blender 4.5",
        bone_types=_ALL_BONES,
        influences=8,
        morph_targets=True,
        vertex_attributes=None,
        quantized_positions=True,
        short_rotations=True,
        keys_between=True,
        joint_scale_inherited=True,
        meshopt=False,
        joints="matrices; nodes between joints become bones",
    ),
    Engine(
        "usd",
        "UsdSkel of OpenUSD",
        "tested with usd-core",
        bone_types=_ALL_BONES,
        influences=8,
        morph_targets=True,
        vertex_attributes=None,
        quantized_positions=False,
        short_rotations=False,
        keys_between=False,
        joint_scale_inherited=True,
        meshopt=False,
        joints="matrices; scales in half precision",
        formats=USD,
    ),
    Engine(
        "cesium",
        "CesiumJS",
        "tested with CesiumJS",
        bone_types=_ALL_BONES,
        influences=4,
        morph_targets=True,
        vertex_attributes=16,
        quantized_positions=True,
        short_rotations=False,
        keys_between=True,
        joint_scale_inherited=True,
        meshopt=True,
        joints="matrices, composed as the file has them",
    ),
    Engine(
        "godot",
        "Godot",
        "tested with Godot 3.2",
        bone_types=_ONE_NODE,
        influences=4,
        morph_targets=True,
        vertex_attributes=None,
        quantized_positions=False,
        short_rotations=True,
        keys_between=False,
        joint_scale_inherited=True,
        meshopt=False,
        joints="forgets nodes that are no joints; its optimiser drops keys",
    ),
    Engine(
        "unreal",
        "Unreal Engine 5",
        "from its documentation",
        bone_types=_ONE_NODE,
        influences=8,
        morph_targets=True,
        vertex_attributes=None,
        quantized_positions=False,
        short_rotations=True,
        keys_between=False,
        joint_scale_inherited=False,
        meshopt=False,
        joints="translation, rotation and scale of each; samples tracks at 30 a second",
    ),
    Engine(
        "unity",
        "Unity with glTFast 6",
        "from its documentation",
        bone_types=_ONE_NODE,
        influences=4,
        morph_targets=True,
        vertex_attributes=None,
        quantized_positions=True,
        short_rotations=True,
        keys_between=True,
        joint_scale_inherited=True,
        meshopt=True,
        joints="translation, rotation and scale of each",
    ),
    Engine(
        "raylib",
        "raylib",
        "tested with raylib 5.5",
        bone_types=_ONE_NODE,
        influences=4,
        morph_targets=False,
        vertex_attributes=None,
        quantized_positions=False,
        short_rotations=False,
        keys_between=False,
        joint_scale_inherited=False,
        meshopt=False,
        joints="translation, rotation and scale of each; a track of one key is not read",
    ),
    Engine(
        "panda3d",
        "Panda3D with panda3d-gltf",
        "tested with Panda3D 1.10",
        bone_types=_ONE_NODE,
        influences=4,
        morph_targets=True,
        vertex_attributes=None,
        quantized_positions=False,
        short_rotations=False,
        keys_between=False,
        joint_scale_inherited=False,
        meshopt=False,
        joints="translation, rotation and scale of each",
    ),
)

ENGINES: dict[EngineName, Engine] = {engine.name: engine for engine in _ROWS}


def engine_of(name: EngineName) -> Engine:
    """The row of an engine."""
    return ENGINES[name]


def engines_that(**wanted: bool) -> tuple[EngineName, ...]:
    """Engines whose row has these values, and `any`, which refuses nothing: `engines_that(short_rotations=True)`."""
    unknown = set(wanted) - {field.name for field in fields(Engine)}
    if unknown:
        raise KeyError(f"engines have no {', '.join(sorted(unknown))}")
    rows = [row for row in _ROWS if all(getattr(row, name) == value for name, value in wanted.items())]
    return ("any", *(row.name for row in rows if row.name != "any"))


def engines_for(formats: tuple[str, ...]) -> tuple[EngineName, ...]:
    """Engines that read these formats and no others."""
    return tuple(row.name for row in _ROWS if row.formats == formats)


def default_bone_types() -> str:
    """Which bone type is fitted for which engine, in words: "scaled; flexible for web, blender"."""
    usual = ENGINES["any"].bone_type
    others = [row.name for row in _ROWS if row.bone_type != usual]
    return f"{usual}; {ENGINES[others[0]].bone_type} for {', '.join(others)}" if others else usual


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What decides where a file plays."""

    suffix: str  # .glb
    bone_type: BoneType
    influences: int  # of the vertex that follows most bones
    targets: int  # corrections
    attributes: int  # of a vertex, with those of the corrections
    quantized_positions: bool = False
    short_rotations: bool = False
    keys_between: bool = False
    meshopt: bool = False


@dataclass(frozen=True, slots=True)
class Played:
    """How one engine shows a file."""

    engine: Engine
    lacks: tuple[str, ...]  # why it does not play; (): it does
    without_corrections: bool = False  # it plays, but shows none

    @property
    def exact(self) -> bool:
        return not self.lacks and not self.without_corrections


def where_it_plays(facts: FileFacts) -> tuple[Played, ...]:
    """Every engine that reads files of this suffix, and whether it shows the file as Osteon does."""
    readers = [engine for engine in _ROWS if engine.name != "any" and facts.suffix in engine.formats]
    return tuple(
        Played(engine, _lacks(engine, facts), bool(facts.targets) and not engine.morph_targets) for engine in readers
    )


def _lacks(engine: Engine, facts: FileFacts) -> tuple[str, ...]:
    """What of the file it cannot read, in words."""
    found = {
        f"{facts.bone_type} bones": facts.bone_type not in engine.bone_types,
        f"{facts.influences} influences": facts.influences > engine.influences,
        f"{facts.attributes} attributes a vertex": not engine.has_room(facts.attributes),
        "16-bit positions": facts.quantized_positions and not engine.quantized_positions,
        "16-bit rotations": facts.short_rotations and not engine.short_rotations,
        "keys between frames": facts.keys_between and not engine.keys_between,
        "meshopt compression": facts.meshopt and not engine.meshopt,
    }
    return tuple(words for words, lacking in found.items() if lacking)
