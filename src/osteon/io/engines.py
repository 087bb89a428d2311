"""Capabilities of engines: the writers, the checks, the page and docs/engines.md use this table.

A file is written for one engine, or for `any`: what the engines of the table support, except where a defect of their
importers prevents it. `any` refuses nothing; what is requested beyond it is written, and `where_it_plays` lists the
engines that then show something else. A named engine refuses what it cannot read.

Engines differ most in how they store a joint. Those that store a matrix play the two nodes of a flexible bone; those
that store translation, rotation and scale lose the shear between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from osteon.core.animation import BoneType

EngineName = Literal["any", "web", "blender", "usd", "cesium", "godot", "unreal", "unity", "raylib", "panda3d"]

#: Transform of a stored normal: by the linear part of the blended matrix, by its inverse transpose, or by the
#: blend of the bones' inverse transposes; "the surface": by the normals of the posed mesh, to which it keeps its angle.
NormalForm = Literal["the linear part", "its inverse transpose", "the bones' inverse transposes", "the surface"]

GLTF = (".glb", ".gltf")
USD = (".usda", ".usdc", ".usdz", ".usd")
#: Attributes of a skinned vertex without corrections: position, normal, joints, weights.
SKINNED_ATTRIBUTES = 4

_ALL_BONES: tuple[BoneType, ...] = ("rigid", "scaled", "flexible")
_ONE_NODE: tuple[BoneType, ...] = ("rigid", "scaled")
_RIGID: tuple[BoneType, ...] = ("rigid",)


@dataclass(frozen=True, slots=True)
class Engine:
    """The features that an engine reads and shows exactly, with its default import settings."""

    name: EngineName
    title: str
    evidence: str  # "tested with … version" or "from its documentation"
    bone_types: tuple[BoneType, ...]  # the last is the best, which files for the engine get by default
    joints: str  # how it stores a joint, in words
    # Below: the defaults are what every engine supports at least.
    influences: int = 4  # bones per vertex, at most
    morph_targets: bool = True  # whether it shows corrections
    vertex_attributes: int | None = None  # per vertex, at most, morph targets included; None: no limit
    quantized_positions: bool = False  # KHR_mesh_quantization
    short_rotations: bool = False  # 16-bit quaternions in tracks
    keys_between: bool = False  # keys between frames, which importers that sample at frames lose
    joint_scale_inherited: bool = False  # the child of a joint that scales is where the file has it
    meshopt: bool = False  # EXT_meshopt_compression
    normals: NormalForm | None = None  # how it transforms normals (osteon bench engine-normals); None: not measured
    normal_targets: bool = False  # whether it shows morph targets of normals, with positions of zero beside them
    empty_accessors: bool = False  # whether these positions may be an accessor without data
    cure: str = ""  # the defect of its import defaults, the resulting error, and what to set
    vertices: int | None = None  # per mesh, at most
    formats: tuple[str, ...] = GLTF
    hidden_nodes: bool = True  # nodes that no scene lists stay hidden, and with them coarse meshes (MSFT_lod)
    hidden_channels: bool = True  # whether such nodes may have channels, which corrections of coarse meshes need

    @property
    def bone_type(self) -> BoneType:
        """The type of bones that are fitted for it."""
        return self.bone_types[-1]

    def has_room(self, attributes: int) -> bool:
        """Whether a vertex may have this number of attributes."""
        return self.vertex_attributes is None or attributes <= self.vertex_attributes

    def most_targets(self, each: int) -> int | None:
        """Number of corrections that it shows on a mesh without texture coordinates and colours; None: no limit.

        Each takes one attribute, or two with normals.
        """
        if not self.morph_targets:
            return 0
        return None if self.vertex_attributes is None else (self.vertex_attributes - SKINNED_ATTRIBUTES) // each


_ROWS = (
    Engine(
        "any",
        "all of these",
        "what the rows below play",
        bone_types=_ONE_NODE,
        vertex_attributes=16,
        joints="one node per bone, and no joint that scales has children",
        normals="the linear part",
        normal_targets=True,
        formats=(*GLTF, *USD),
    ),
    Engine(
        "web",
        "three.js, Babylon.js, PlayCanvas",
        "tested with three.js 0.187, Babylon.js 9.28, PlayCanvas 2.23",
        bone_types=_ALL_BONES,
        quantized_positions=True,
        short_rotations=True,
        keys_between=True,
        joint_scale_inherited=True,
        meshopt=True,
        joints="matrices, composed as the file has them",
        normals="the linear part",
        normal_targets=True,
        empty_accessors=True,
    ),
    Engine(
        "blender",
        "Blender",
        "tested with Blender 4.5",
        bone_types=_ALL_BONES,
        influences=8,
        quantized_positions=True,
        short_rotations=True,
        keys_between=True,
        joint_scale_inherited=True,
        joints="matrices, and nodes between them become bones",
        normals="the surface",
        empty_accessors=True,
        hidden_nodes=False,
    ),
    Engine(
        "usd",
        "UsdSkel of OpenUSD",
        "tested with usd-core 26.11",
        bone_types=_ALL_BONES,
        influences=8,
        joint_scale_inherited=True,
        joints="matrices, with scales in half precision",
        normals="the bones' inverse transposes",
        normal_targets=True,
        formats=USD,
    ),
    Engine(
        "cesium",
        "CesiumJS",
        "tested with CesiumJS 1.140",
        bone_types=_ALL_BONES,
        vertex_attributes=16,
        quantized_positions=True,
        keys_between=True,
        joint_scale_inherited=True,
        meshopt=True,
        joints="matrices, composed as the file has them",
        normals="the linear part",
        normal_targets=True,
        hidden_channels=False,
    ),
    Engine(
        "godot",
        "Godot",
        "tested with Godot 3.2.3",
        bone_types=_ALL_BONES,
        keys_between=True,
        joint_scale_inherited=True,
        joints="matrices",
        hidden_nodes=False,
        cure="samples tracks at 15 frames per second and drops keys, 0.9 % of the diagonal off: set "
        "animation/fps to 60 and animation/optimizer/enabled to false in the import settings",
    ),
    Engine(
        "unreal",
        "Unreal Engine 5",
        "from its documentation",
        bone_types=_ONE_NODE,
        influences=8,
        joints="a translation, a rotation and a scale each",
        cure="samples tracks at 30 frames per second: set the import's sample rate to that of the file",
    ),
    Engine(
        "unity",
        "Unity with glTFast 6",
        "from its documentation",
        bone_types=_ONE_NODE,
        quantized_positions=True,
        short_rotations=True,
        keys_between=True,
        joint_scale_inherited=True,
        meshopt=True,
        joints="a translation, a rotation and a scale each",
    ),
    Engine(
        "raylib",
        "raylib",
        "tested with raylib 6.2",
        bone_types=_ONE_NODE,
        morph_targets=False,
        joints="a translation, a rotation and a scale each; nodes at rest are the bind pose; one key alone is not read",
        normals="the bones' inverse transposes",
        empty_accessors=True,
        cure="samples tracks at 60 frames per second: frames at 60, 30 or 20 per second coincide with samples",
        vertices=65535,
        hidden_nodes=False,
    ),
    Engine(
        "panda3d",
        "Panda3D with panda3d-gltf",
        "tested with Panda3D 1.10.16, panda3d-gltf 1.3",
        bone_types=_RIGID,
        joints="a translation, Euler angles and a scale each",
        cure="scales a joint after rotating it, so unequal scales come out wrong: --for panda3d fits rigid bones; its "
        "importer shows the next key where it should go between two (its issue 143), 3 % of the diagonal off, and "
        "samples at 30 frames per second: fix that line, and set gltf-animation-fps to the rate of the file",
    ),
)

ENGINES: dict[EngineName, Engine] = {engine.name: engine for engine in _ROWS}


def engine_of(name: EngineName) -> Engine:
    """The row of an engine."""
    return ENGINES[name]


def engines_that(**wanted: bool) -> tuple[EngineName, ...]:
    """Engines with these values, and `any`, which refuses nothing: `engines_that(short_rotations=True)`."""
    unknown = set(wanted) - {field.name for field in fields(Engine)}
    if unknown:
        raise KeyError(f"engines have no {', '.join(sorted(unknown))}")
    rows = [row for row in _ROWS if all(getattr(row, name) == value for name, value in wanted.items())]
    return ("any", *(row.name for row in rows if row.name != "any"))


def engines_for(formats: tuple[str, ...]) -> tuple[EngineName, ...]:
    """Engines that read these formats and no others."""
    return tuple(row.name for row in _ROWS if row.formats == formats)


def bone_type_players() -> str:
    """The engines that play each bone type, as text: "scaled: all but panda3d; flexible: web, blender"."""
    named = [row for row in _ROWS if row.name != "any"]
    words = []
    for kind in _ALL_BONES:
        without = [row.name for row in named if kind not in row.bone_types]
        players = [row.name for row in named if kind in row.bone_types]
        few = f"all but {', '.join(without)}" if 2 * len(without) < len(players) else ", ".join(players)
        words.append(f"{kind}: {few if without else 'all'}")
    return "; ".join(words)


def default_bone_types() -> str:
    """The bone type that is fitted for each engine, as text: "scaled; flexible for web, blender"."""
    usual = ENGINES["any"].bone_type
    others: dict[BoneType, list[str]] = {}
    for row in _ROWS:
        others.setdefault(row.bone_type, []).append(row.name)
    kinds = [f"{kind} for {', '.join(names)}" for kind, names in others.items() if kind != usual]
    return "; ".join([usual, *kinds])


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The properties of a file that engines may not support."""

    suffix: str  # .glb
    bone_type: BoneType
    influences: int  # most bones of a vertex
    targets: int  # corrections
    attributes: int  # per vertex, including corrections
    vertices: int = 0
    quantized_positions: bool = False
    short_rotations: bool = False
    keys_between: bool = False
    meshopt: bool = False
    coarse_meshes: bool = False
    coarse_channels: bool = False  # corrections of coarse meshes are animated


@dataclass(frozen=True, slots=True)
class Played:
    """Support of a file by an engine."""

    engine: Engine
    lacks: tuple[str, ...]  # unsupported features of the file
    without_corrections: bool = False  # it plays without the corrections

    @property
    def exact(self) -> bool:
        return not self.lacks and not self.without_corrections


def where_it_plays(facts: FileFacts) -> tuple[Played, ...]:
    """Every engine that reads files of this suffix, with the features that it lacks to show the file exactly."""
    readers = [engine for engine in ENGINES.values() if engine.name != "any" and facts.suffix in engine.formats]
    return tuple(
        Played(engine, _lacks(engine, facts), bool(facts.targets) and not engine.morph_targets) for engine in readers
    )


def _lacks(engine: Engine, facts: FileFacts) -> tuple[str, ...]:
    """Features of the file that the engine does not support."""
    found = {
        f"{facts.bone_type} bones": facts.bone_type not in engine.bone_types,
        f"{facts.influences} influences": facts.influences > engine.influences,
        f"{facts.attributes} attributes per vertex": not engine.has_room(facts.attributes),
        f"{facts.vertices:,} vertices": engine.vertices is not None and facts.vertices > engine.vertices,
        "16-bit positions": facts.quantized_positions and not engine.quantized_positions,
        "16-bit rotations": facts.short_rotations and not engine.short_rotations,
        "keys between frames": facts.keys_between and not engine.keys_between,
        "meshopt compression": facts.meshopt and not engine.meshopt,
        "coarse meshes, which it shows at once": facts.coarse_meshes and not engine.hidden_nodes,
        "corrections of coarse meshes": facts.coarse_channels and not engine.hidden_channels,
    }
    return tuple(words for words, lacking in found.items() if lacking)


def played_rows(played: Sequence[Played], error_without: float | None = None) -> list[tuple[str, str]]:
    """Rows of text: engines that play a file, those that need import settings (docs/engines.md), and the others with
    the reason. `error_without` is E % without corrections, if known."""
    exact = [each.engine for each in played if each.exact]
    at_once, later = ([engine.name for engine in exact if bool(engine.cure) == cured] for cured in (False, True))
    rows = [("plays in", ", ".join(at_once) or "none")]
    if later:
        rows.append(("once set up", f"{', '.join(later)}: import settings in docs/engines.md"))
    reasons: dict[str, list[str]] = {}
    for each in played:
        if not each.exact:
            reasons.setdefault(_reason(each, error_without), []).append(each.engine.name)
    return rows + [("not in", f"{', '.join(names)}: {why}") for why, names in reasons.items()]


def _reason(played: Played, error_without: float | None) -> str:
    """The features that an engine lacks, with the error without corrections if it is known."""
    words = list(played.lacks)
    if played.without_corrections:
        known = error_without is not None and not words
        words.append(f"no corrections, E {error_without:.3f} %" if known else "no corrections")
    return "; ".join(words)
