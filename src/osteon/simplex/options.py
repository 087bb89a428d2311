"""Options of posing by a skeleton: segmentation, boundaries, energy and bone rotations.

Circumstance in `needs`: `skeleton` (there is one, besides control lines and pins).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from osteon.core.errors import OptionError
from osteon.core.options import check_options, need, option

Method = Literal["simplex", "ssd"]
Stretch = Literal["along", "uniform", "none"]
Turns = Literal["passed-on", "least"]
Twist = Literal["rotate", "section"]
BoundaryMode = Literal["none", "sharp", "all"]
SegmentMethod = Literal["blocks", "traverse", "plain"]

_BONES = need(skeleton=True, reason="applies to bones, but there is no skeleton; omit it")
_SOLVED = need(method="simplex", reason="applies to the simplex method; ssd only blends bones")


@dataclass(frozen=True, slots=True)
class BoneOptions:
    """How bones follow their joints."""

    stretch: Stretch = option(
        "along",
        help="Effect of a longer bone on its part of the mesh: stretch along the bone, scale uniformly, or none.",
        flags=("--stretch",),
        needs=(_BONES,),
    )
    turns: Turns = option(  # from the root outward, or the paper's least rotation
        "passed-on",
        help="Rotation of bones about their own axes if the pose has none: from the parent, or the paper's 'least'.",
        flags=("--turns",),
        needs=(_BONES,),
    )
    twist: Twist = option(  # of bones and control lines
        "rotate",
        help="What a twist does to triangles: rotate them, as in the paper, which narrows the mesh, or also shear them "
        "(section), which keeps every cross-section.",
        flags=("--twist",),
        needs=(_SOLVED,),
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class BoundaryOptions:
    """How boundaries between segments are cut."""

    mode: BoundaryMode = option(  # sharp: only boundaries near a crease; all: every boundary
        "sharp",
        help="Boundaries between segments that are moved to creases by graph cuts.",
        flags=("--boundary",),
        needs=(_BONES,),
    )
    width: float = option(  # paths count from centre to centre of triangles: about a fifth longer than straight ones
        1.25,
        help="Width of the band on each side, over the radius of the boundary.",
        minimum=0,
        maximum=10,
    )
    keep: float = option(0.5, help="Fraction of a segment's area that no cut may remove.", minimum=0, maximum=1)
    convex: float = option(0.2, help="eta of convex edges.", minimum=0, maximum=1)
    stay: float = option(
        0.5,
        help="Additional cost of a cut at the rim of the band, relative to the old boundary.",
        minimum=0,
        maximum=100,
    )
    sharp_angles: tuple[float, float] = (25.0, 60.0)  # degrees; limits of the crease angle
    sharp_factor: float = option(
        3.0, help="Crease angle between those limits, over the typical angle of the mesh.", minimum=0, maximum=100
    )
    sharp_share: float = option(
        0.5, help="Fraction of the length of a cut that must be on creases.", minimum=0, maximum=1
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 <= self.sharp_angles[0] <= self.sharp_angles[1] <= 180:
            raise OptionError(f"sharp_angles: expected two angles, 0 … 180, ascending, got {self.sharp_angles}")


@dataclass(frozen=True, slots=True)
class SegmentOptions:
    """How triangles are assigned to bones."""

    method: SegmentMethod = option(  # traverse: 4.2; blocks and plain always agree
        "blocks",
        help="'blocks' and 'plain' have the same result; 'traverse' is the paper's method, which may miss a bone.",
        flags=("--segmentation",),
        needs=(_BONES,),
    )
    penalty: float = option(
        1.0, help="delta of eq. 6, over the diameter of the mesh.", minimum=1e-6, maximum=1e6, unit="diameters"
    )
    threshold: float = option(  # with penalty
        1.0,
        help="A triangle nearer than this to a bone is visible from it.",
        minimum=1e-6,
        maximum=1e6,
        unit="diameters",
    )
    islands: bool = True  # join islands to the segments around them
    bridges: bool = option(  # between shells of a mesh
        True,
        help="Paths along the mesh end at the edge of each shell, as in the paper; without this they cross to shells "
        "that lie close.",
        flags=("--no-bridges",),
        needs=(_BONES,),
    )
    dimension: Literal["auto", 2, 3] = option("auto", help="auto: 2 where mesh and skeleton each have one z.")

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """How triangles are assigned to bones and control lines."""

    segment: SegmentOptions = field(default_factory=SegmentOptions)
    boundary: BoundaryOptions = field(default_factory=lambda: BoundaryOptions(mode="none"))  # as the paper: on request


@dataclass(frozen=True, slots=True)
class EnergyOptions:
    """The energy that a pose minimises."""

    translation: bool = option(  # the T term of eq. 15; without it eq. 19, which fixes one vertex of each piece
        True,
        help="Omit the translation term and fix one vertex (eq. 19).",
        flags=("--no-translation",),
        needs=(_SOLVED,),
    )
    follow: float = option(  # over alpha
        10.0,
        help="Weight of keeping the mesh near the skeleton; 0 is the paper's energy.",
        flags=("--follow",),
        minimum=0,
        maximum=1e6,
        needs=(_SOLVED, need(translation=True, reason="is part of the translation term; omit --no-translation")),
    )
    follow_lines: float = option(  # which may only translate, so no other term applies
        100.0,
        help="The same for control lines.",
        minimum=0,
        maximum=1e6,
        needs=(_SOLVED, need(translation=True, reason="is part of the translation term; omit --no-translation")),
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
