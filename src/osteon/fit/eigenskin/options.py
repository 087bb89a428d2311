"""Options of EigenSkin; the command line and docs/options.md are made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from osteon.core.options import GIVEN, check_options, need, option

EigenSkinPreset = Literal["default", "paper"]
RigWeights = Literal["distance", "harmonic"]
BasisBits = Literal[32, 8]

#: Supports are where displacements exceed this part of the longest one of a joint.
SUPPORT = {"default": 0.01, "paper": 0.04}
#: The threshold of normals relative to that of displacements: small angles are more visible.
NORMAL_SUPPORT = {"default": 0.25, "paper": 1.0}
_PAIRS = "the paper has no pairs of joints; omit it, or use the default preset"


@dataclass(frozen=True, slots=True)
class EigenSkinOptions:
    """Options of learning displacements that follow joints."""

    preset: EigenSkinPreset = option(
        "default",
        help="Paper: EigenSkin as printed, supports of 4 %, no pairs, the same number for each joint, one radius.",
        flags=("--preset",),
    )
    per_joint: int = option(
        2,
        help="Eigendisplacements per joint and rotation axis, on average; assigned where they reduce the error most.",
        flags=("--per-joint", "-n"),
        minimum=0,
        needs=(
            need(total=0, reason="--total sets the number already; omit one of them"),
            need(max_error=0.0, reason="--max-error finds the number; omit one of them"),
        ),
    )
    total: int = option(
        0,
        help="Eigendisplacements in total, assigned where they reduce the error most.",
        flags=("--total",),
        minimum=0,
        shown_default="as --per-joint makes",
        needs=(need(max_error=0.0, reason="--max-error finds the number; omit one of them"),),
    )
    max_error: float = option(
        0.0,
        help="As many eigendisplacements as reduce the error of the skin in the poses to this part.",
        flags=("--max-error",),
        minimum=0.0,
        maximum=1.0,
        scale=100.0,
        unit="of the error of the skin",
        shown_default="no bound",
    )
    per_pair: int = option(
        2,
        help="Eigendisplacements per pair of joints that move together in some pose; 0: no pairs.",
        flags=("--per-pair",),
        minimum=0,
        needs=(need(preset="default", reason=_PAIRS),),
    )
    eigennormals: int | None = option(
        None,
        help="Eigennormals per joint and rotation axis, and per pair; 0: none, normals follow the skin.",
        flags=("--eigennormals",),
        minimum=0,
        shown_default="as many as eigendisplacements",
        needs=(need(shaded=True, reason="--no-normals writes positions only; omit one of them"),),
    )
    support: float | None = option(
        None,
        help="The support of a joint: vertices that it displaces by more than this.",
        flags=("--support",),
        minimum=0.0,
        maximum=1.0,
        scale=100.0,
        unit="of its longest displacement",
        shown_default="1; 4 with --preset paper",
    )
    limit: int = option(
        10,
        help="Eigendisplacements per vertex at most, a limit of shaders, and the same of eigennormals; 0: no limit.",
        flags=("--limit",),
        minimum=0,
    )
    basis_bits: BasisBits = option(
        32,
        help="Bits per number of the basis: 8 takes less than a quarter of the size.",
        flags=("--basis-bits",),
        needs=(need(written=".npz", reason="only .npz holds them; glTF has --quantize and --compress"),),
    )
    refit_weights: bool = option(
        False,
        help="Fit the skin's weights to the poses first, so that displacements are small.",
        flags=("--refit-weights",),
    )
    weights: RigWeights = option(
        "distance",
        help="Weights of a stick skeleton: by distance, smoothed, or by heat diffusion on the surface.",
        flags=("--weights",),
        needs=(need(sticks=True, reason="the rig has its own weights; it is for a mesh and --skeleton"),),
    )
    influences: int = option(
        4,
        help="Bones per vertex, 1 to 8.",
        flags=("--influences", "-k"),
        minimum=1,
        maximum=8,
        needs=(
            need(
                sticks=True,
                refit_weights=GIVEN,
                reason="the rig keeps its influences; it is for --skeleton or --refit-weights",
            ),
        ),
    )
    threads: int = option(0, help="0: all cores.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def threshold(self) -> float:
        """Part of a joint's longest displacement above which a vertex is in its support."""
        return SUPPORT[self.preset] if self.support is None else self.support

    @property
    def normal_threshold(self) -> float:
        """The same for normals."""
        return self.threshold * NORMAL_SUPPORT[self.preset]
