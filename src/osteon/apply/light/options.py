"""Options of precomputed light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from osteon.core.options import check_options, need, option

UpAxis = Literal["x", "y", "z"]
#: What stock players show: colours that change with time, their mean, or the model's own colours.
ShownColors = Literal["auto", "morphed", "static", "none"]
_NOT_OCCLUSION = need(occlusion=False, reason="ambient occlusion is one number without an environment; omit it")
_BAKED = need(baked=True, reason="is of colours under one environment; add --baked")
_GROUNDED = need(ground=True, reason="there is no ground; omit it")


@dataclass(frozen=True, slots=True)
class LightColorOptions:
    """The colours of vertices that stock players show."""

    colors: ShownColors = option(
        "auto",
        help="Vertex colours for stock players, on unlit materials: morph targets of colour, their mean, or the model's"
        " own. auto: morphed with --for web, else static.",
        flags=("--colors",),
    )
    exposure: float | Literal["auto"] = option(
        "auto",
        help="Factor of these colours, which players show up to 1.",
        flags=("--exposure",),
        above=0,
        expected="a positive number or 'auto'",
        shown_default="the brightest is 1",
        needs=(need(colors=("auto", "morphed", "static"), reason="the model keeps its own colours; omit it"),),
    )
    rotate: float = option(
        0.0,
        help="Rotate all environments about the axis that points up.",
        flags=("--rotate",),
        metavar="DEGREES",
        minimum=-360,
        maximum=360,
        unit="degrees",
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class LightOptions:
    """How light is precomputed and compressed."""

    order: int = option(
        4,
        help="Order of the spherical harmonics: order^2 numbers per vertex and column. 3 is the smallest.",
        flags=("--order",),
        minimum=3,
        maximum=5,
        needs=(_NOT_OCCLUSION,),
    )
    rank: int = option(
        10,
        help="Columns of the compressed transfer.",
        flags=("--rank", "-r"),
        minimum=0,
    )
    directions: int = option(
        512,
        help="Directions in which each vertex looks, half of them above its surface.",
        flags=("--directions",),
        minimum=32,
        maximum=65536,
    )
    bounces: int = option(
        0,
        help="How often light is reflected by the character and the ground before it counts.",
        flags=("--bounces",),
        minimum=0,
        maximum=8,
        needs=(_NOT_OCCLUSION,),
    )
    albedo: float = option(
        0.5,
        help="Part of the light that a bounce reflects.",
        flags=("--albedo",),
        above=0,
        maximum=1,
        expected="a number above 0, at most 1",
        needs=(need(bounces=(1, 2, 3, 4, 5, 6, 7, 8), reason="is of light that bounces; add --bounces"),),
    )
    occlusion: bool = option(
        False,
        help="Ambient occlusion only: one number per vertex and column, no environment.",
        flags=("--occlusion",),
    )
    ground: bool = option(
        True,
        help="No ground below the character.",
        flags=("--no-ground",),
    )
    ground_points: int = option(
        48,
        help="Points per side of the grid on the ground that carries the shadow.",
        flags=("--ground-points",),
        minimum=8,
        maximum=256,
        needs=(_GROUNDED,),
    )
    up: UpAxis = option(
        "y",
        help="The axis that points up.",
        flags=("--up",),
    )
    every: int = option(
        1,
        help="Compute every N-th frame of each clip; coefficients between are interpolated.",
        flags=("--every",),
        metavar="N",
        minimum=1,
    )
    baked: bool = option(
        False,
        help="Also store colours under the first environment, as non-negative factors.",
        flags=("--baked",),
        needs=(_NOT_OCCLUSION,),
    )
    monochrome: bool = option(
        False,
        help="One channel instead of three for the stored colours.",
        flags=("--monochrome",),
        needs=(_BAKED,),
    )
    threads: int = option(0, help="Number of threads; 0: one per core.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def bands(self) -> int:
        """The order that is computed: ambient occlusion is the first coefficient alone."""
        return 1 if self.occlusion else self.order
