"""Options of EigenSkin, checked on construction; the command line and docs/options.md are made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from osteon.core.options import GIVEN, check_options, need, option

__all__ = ["EigenSkinOptions"]

EigenSkinPreset = Literal["default", "paper"]
RigWeights = Literal["distance", "harmonic"]
BasisBits = Literal[32, 8]

#: Supports are where displacements exceed this part of the longest one of a joint.
SUPPORT = {"default": 0.01, "paper": 0.04}
#: The threshold of normals over that of displacements: an angle is seen where a displacement of that part is not.
NORMAL_SUPPORT = {"default": 0.25, "paper": 1.0}
_PAIRS = "the paper has no pairs of joints; omit it, or use the default preset"


@dataclass(frozen=True, slots=True)
class EigenSkinOptions:
    """How displacements that follow joints are learned."""

    preset: EigenSkinPreset = option(
        "default",
        help="Paper: EigenSkin as printed, supports of 4 %, joints alone, the same number for each, one radius.",
        flags=("--preset",),
    )
    per_joint: int = option(
        2,
        help="Eigendisplacements a joint, for each axis that it turns about; as many in all, each where it helps most.",
        flags=("--per-joint", "-n"),
        minimum=0,
        needs=(
            need(total=0, says="--total shares out as many as it says; leave one of them away"),
            need(max_error=0.0, says="--max-error takes as many as it needs; leave one of them away"),
        ),
    )
    total: int = option(
        0,
        help="Eigendisplacements in all, each where it helps most.",
        flags=("--total",),
        minimum=0,
        shown_default="as --per-joint makes",
        needs=(need(max_error=0.0, says="--max-error takes as many as it needs; leave one of them away"),),
    )
    max_error: float = option(
        0.0,
        help="As many eigendisplacements as leave at most this of what the skin misses in the poses.",
        flags=("--max-error",),
        minimum=0.0,
        maximum=1.0,
        scale=100.0,
        unit="of what the skin misses",
        shown_default="no bound",
    )
    per_pair: int = option(
        2,
        help="Eigendisplacements a pair of joints that moves together in some pose; 0: joints alone.",
        flags=("--per-pair",),
        minimum=0,
        needs=(need(preset="default", says=_PAIRS),),
    )
    eigennormals: int | None = option(
        None,
        help="Eigennormals a joint, for each axis that it turns about, and a pair; 0: none, normals follow the skin.",
        flags=("--eigennormals",),
        minimum=0,
        shown_default="as many as eigendisplacements",
        needs=(need(shaded=True, says="--no-normals writes positions only; leave one of them away"),),
    )
    support: float | None = option(
        None,
        help="A joint moves vertices that it displaces by more than this.",
        flags=("--support",),
        minimum=0.0,
        maximum=1.0,
        scale=100.0,
        unit="of its longest displacement",
        shown_default="1; 4 with --preset paper",
    )
    limit: int = option(
        10,
        help="Eigendisplacements a vertex at most, as shaders have room for, and as many eigennormals; 0: any number.",
        flags=("--limit",),
        minimum=0,
    )
    basis_bits: BasisBits = option(
        32,
        help="Bits of a number of the basis: 8 takes less than a quarter of the room.",
        flags=("--basis-bits",),
        needs=(need(written=".npz", says="only .npz holds them; glTF has --quantize and --compress"),),
    )
    refit_weights: bool = option(
        False,
        help="Fit the skin's weights to the poses first, so that displacements are small.",
        flags=("--refit-weights",),
    )
    weights: RigWeights = option(
        "distance",
        help="How bones of a stick skeleton share vertices: by distance, smoothed, or by heat through the surface.",
        flags=("--weights",),
        needs=(need(sticks=True, says="the rig has weights of its own; it is for a mesh and --skeleton"),),
    )
    influences: int = option(
        4,
        help="Bones a vertex, 1 to 8.",
        flags=("--influences", "-k"),
        minimum=1,
        maximum=8,
        needs=(
            need(
                sticks=True,
                refit_weights=GIVEN,
                says="the rig keeps its influences; it is for --skeleton or --refit-weights",
            ),
        ),
    )
    threads: int = option(0, help="0: all there are.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def threshold(self) -> float:
        """Part of a joint's longest displacement above which a vertex belongs to its support."""
        return SUPPORT[self.preset] if self.support is None else self.support

    @property
    def normal_threshold(self) -> float:
        """The same of normals."""
        return self.threshold * NORMAL_SUPPORT[self.preset]
