"""Options of posing by a skeleton, from what a triangle follows to how a bone turns.

Circumstance that `needs` speak of: `skeleton` (there is one, besides control lines and pins).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from osteon.core.errors import OptionError
from osteon.core.options import check_options, need, option

__all__ = [
    "BoneOptions",
    "BoundaryMode",
    "BoundaryOptions",
    "EnergyOptions",
    "GroupOptions",
    "Method",
    "PoserOptions",
    "SegmentMethod",
    "SegmentOptions",
    "Stretch",
    "Turns",
]

Method = Literal["simplex", "ssd"]
Stretch = Literal["along", "uniform", "none"]
Turns = Literal["passed-on", "least"]
BoundaryMode = Literal["none", "sharp", "all"]
SegmentMethod = Literal["blocks", "traverse", "plain"]

_BONES = need(skeleton=True, says="is about bones, and there is no skeleton; omit it")
_SOLVED = need(method="simplex", says="is about the simplex method; ssd only blends bones")


@dataclass(frozen=True, slots=True)
class BoneOptions:
    """How bones follow their joints."""

    stretch: Stretch = option(  # a longer bone: lengthens what it carries, scales it as a whole, or does neither
        "along",
        help="What a longer bone does to its part of the mesh.",
        flags=("--stretch",),
        needs=(_BONES,),
    )
    turns: Turns = option(  # from the root outward, or the paper's least rotation
        "passed-on",
        help="Turn of a bone about itself where the pose does not tell it; 'least' is the paper's.",
        flags=("--turns",),
        needs=(_BONES,),
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class BoundaryOptions:
    """How boundaries between segments are cut."""

    mode: BoundaryMode = option(  # sharp: only where there is a crease to cut along; all: every boundary
        "sharp",
        help="Which borders between segments are moved to creases by graph cut.",
        flags=("--boundary",),
        needs=(_BONES,),
    )
    width: float = option(  # paths count from centre to centre of triangles: about a fifth longer than straight ones
        1.25,
        help="Of the band on each side, over the radius of the boundary.",
        minimum=0,
        maximum=10,
    )
    keep: float = option(0.5, help="Part of a segment's area that no cut may take away.", minimum=0, maximum=1)
    convex: float = option(0.2, help="eta of convex edges.", minimum=0, maximum=1)
    stay: float = option(
        0.5,
        help="How much more a cut costs at the rim of the band than at the old boundary.",
        minimum=0,
        maximum=100,
    )
    sharp_angles: tuple[float, float] = (25.0, 60.0)  # degrees; creases turn by at least the first, at most the second
    sharp_factor: float = option(
        3.0, help="Creases between those turn by this many times the mesh's typical angle.", minimum=0, maximum=100
    )
    sharp_share: float = option(0.5, help="Of the cut's length that must lie on creases.", minimum=0, maximum=1)

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 <= self.sharp_angles[0] <= self.sharp_angles[1] <= 180:
            raise OptionError(f"sharp_angles: expected two angles, 0 … 180, ascending, got {self.sharp_angles}")


@dataclass(frozen=True, slots=True)
class SegmentOptions:
    """How triangles find their bones."""

    method: SegmentMethod = option(  # traverse: 4.2; blocks and plain always agree
        "blocks",
        help="'blocks' and 'plain' give the same; 'traverse' is the paper's, and may miss a bone.",
        flags=("--segmentation",),
        needs=(_BONES,),
    )
    penalty: float = option(
        1.0, help="delta of eq. 6, over the diameter of the mesh.", minimum=1e-6, maximum=1e6, unit="diameters"
    )
    threshold: float = option(  # with penalty
        1.0, help="A triangle nearer than this is seen.", minimum=1e-6, maximum=1e6, unit="diameters"
    )
    islands: bool = True  # join islands to the segments around them
    dimension: Literal["auto", 2, 3] = option("auto", help="auto: 2 where mesh and skeleton each have one z.")

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """How triangles find what moves them."""

    segment: SegmentOptions = field(default_factory=SegmentOptions)
    boundary: BoundaryOptions = field(default_factory=lambda: BoundaryOptions(mode="none"))  # as the paper: on request


@dataclass(frozen=True, slots=True)
class EnergyOptions:
    """What a pose is asked for."""

    translation: bool = option(  # the T term of eq. 15; without it eq. 19, which holds one vertex of each piece
        True,
        help="Leave the translation term out and hold one vertex (eq. 19).",
        flags=("--no-translation",),
        needs=(_SOLVED,),
    )
    follow: float = option(  # over alpha
        10.0,
        help="How strongly the mesh stays with the skeleton; 0 is the paper's energy.",
        flags=("--follow",),
        minimum=0,
        maximum=1e6,
        needs=(_SOLVED, need(translation=True, says="is part of the translation term; omit --no-translation")),
    )
    follow_lines: float = option(  # which may only shift and so have nothing else to pull by
        100.0,
        help="The same for control lines.",
        minimum=0,
        maximum=1e6,
        needs=(_SOLVED, need(translation=True, says="is part of the translation term; omit --no-translation")),
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class PoserOptions:
    """How a mesh is posed."""

    method: Method = option(
        "simplex",
        help="'ssd': blend bones with inverse-square weights, for comparison.",
        flags=("--method",),
    )
    dimension: Literal["auto", 2, 3] = option(
        "auto", help="auto: 2 where mesh and skeleton are flat.", flags=("--dimension",)
    )
    energy: EnergyOptions = field(default_factory=EnergyOptions)
    groups: GroupOptions = field(default_factory=GroupOptions)
    bones: BoneOptions = field(default_factory=BoneOptions)

    def __post_init__(self) -> None:
        check_options(self)
