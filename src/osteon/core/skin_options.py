"""Options of skinning. A new option is one field here and the code that uses it.

The command line, the form of the page and docs/options.md are made from the fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from osteon.core.animation import BoneType
from osteon.core.errors import OptionError
from osteon.core.options import GIVEN, check_options, need, option

Preset = Literal["default", "paper"]
SkinModel = Literal["lbs", "dqs", "as", "mwe"]
WeightMethod = Literal["tsvd", "nnls", "bounded"]
NeighborSearch = Literal["exact", "lsh"]
NormalChoice = Literal["keep", "smooth", "faceted"]

LONGEST_PREFIX = 40
#: Models that a linear blend skin is refitted for.
_FITTED = ("dqs", "as", "mwe")
_KEPT = "the rig defines the motion of every frame"


@dataclass(frozen=True, slots=True)
class SkinOptions:
    """How a sequence is skinned.

    Circumstances in `needs`: `rig` (there is one), `motion` ("kept" from the rig, or "found"), `bound` (bones and rank
    are searched for).
    """

    preset: Preset = option(
        "default",
        help="'paper': Skinning Mesh Animations (2005) step by step; with a rig, its influences and weights (section 5)"
        " for the joints.",
        flags=("--preset",),
        needs=(need(bound=False, only_for=("paper",), reason="has no search for a bound; use the default preset"),),
    )
    model: SkinModel = option(
        "lbs",
        help="How bones are blended: linearly; (dqs) as dual quaternions, which keep the volume of twisted joints; "
        "(as) in Animation Space or (mwe) by Multi-Weight Enveloping, with more numbers per bone, closer on new poses.",
        flags=("--model",),
        page="Model",
        needs=(
            need(bone_type="rigid", only_for=("dqs", "mwe"), reason="blends rigid bones; add --bone-type rigid"),
            need(preset="default", only_for=_FITTED, reason="the paper preset blends linearly; use the default preset"),
            need(bound=False, only_for=_FITTED, reason="a bound is searched for with linear blending; omit it"),
        ),
    )
    bones: int = option(
        0,
        help="Exactly this many; 0 finds the number.",
        flags=("--bones", "-b"),
        minimum=0,
        expected="1 or more (or 0 to find the number)",
        shown_default="as many as the motion needs, at most 64 more than mean shift finds",
        page="Bones",
        needs=(
            need(bound=False, reason="a bound finds the number of bones itself; omit --bones"),
            need(rig=False, reason="a rig has its own number; add bones with --helpers N"),
        ),
    )
    bone_type: BoneType = option(
        "scaled",
        help="Rigid bones rotate and translate, scaled ones also scale along their own axes, flexible ones also shear.",
        flags=("--bone-type",),
        page="Bone type",
        needs=(need(motion="found", helpers=GIVEN, reason=f"{_KEPT}, so its bones keep their type; omit it"),),
    )
    influences: int = option(
        4,
        help="Bones per vertex, 1 to 8; as and mwe double them, up to 8.",
        flags=("--influences", "-k"),
        minimum=1,
        maximum=8,
        page="Influences per vertex",
    )
    rank: int = option(
        0,
        help="Progressive corrections: morph targets that reduce the error of the skin.",
        flags=("--rank", "-r"),
        minimum=0,
        page="Rank of corrections",
        needs=(
            need(bound=False, reason="a bound finds the rank itself; omit --rank"),
            need(model="lbs", reason="corrections are fitted on top of linear blending only; omit --model"),
        ),
    )
    shading: float = option(
        3.0,
        help="How much E may grow so that the shading follows the source; 0 fits positions only, as the paper"
        " does, and writes the normals of the rest pose.",
        flags=("--shading",),
        metavar="PERCENT",
        minimum=0,
        maximum=100,
        unit="percent of E",
        page="Shading",
        needs=(
            need(preset="default", reason="the paper preset fits positions only; omit it"),
            need(normals=("keep", "smooth"), reason="faceted meshes have no normals to fit; omit it"),
        ),
    )
    normal_rank: int = option(
        -1,
        help="Morph targets that correct normals only; -1: as many as the shading needs, at most 5.",
        flags=("--normal-rank",),
        metavar="N",
        minimum=-1,
        shown_default="0 to 5, as the shading needs",
        page="Rank of normal corrections",
        needs=(need(normals=("keep", "smooth"), reason="faceted meshes have no normals to correct; omit it"),),
    )
    normals: NormalChoice = option(
        "keep",
        help="Keep the normals of the input (hard edges and custom normals; smooth where it has none), smooth all, or"
        " write none, which players show as facets.",
        flags=("--normals",),
    )
    helpers: int = option(
        0,
        help="Bones to add to the rig.",
        flags=("--helpers",),
        minimum=0,
        needs=(
            need(rig=True, reason="adds bones to a rig; name one with --rig FILE"),
            need(preset="default", reason="the paper preset adds no bones; use the default preset"),
        ),
    )
    tolerance: float = option(
        0.05,
        help="eps of mean shift; a larger value finds fewer bones.",
        flags=("--tolerance", "--eps"),
        above=0,
        below=2,
        unit="entries of a rotation matrix",
        needs=(
            need(
                preset="default",
                bones=0,
                reason="the paper preset finds it from the number of bones; omit it or --bones",
            ),
        ),
    )
    weights: WeightMethod = option(
        "nnls",
        help="Least squares of the paper preset.",
        flags=("--weights",),
        needs=(need(preset="paper", reason="needs --preset paper; the default preset keeps weights >= 0"),),
    )
    delta: float = option(
        0.0,
        help="Weights >= -delta, with 'bounded'.",
        flags=("--delta",),
        minimum=0,
        maximum=1e6,
        needs=(need(weights="bounded"),),
    )
    tsvd_threshold: float = option(
        1e-5,
        help="Singular values dropped, with 'tsvd'.",
        flags=("--tsvd-threshold",),
        minimum=0,
        maximum=1,
        unit="of the largest",
        needs=(need(weights="tsvd"),),
    )
    search: NeighborSearch = option(
        "exact",
        help="Neighbours in mean shift: exact, or by locality-sensitive hashing, as the paper recommends, which is"
        " faster and misses some.",
        flags=("--search",),
        needs=(need(preset="paper", reason="needs --preset paper; the default preset clusters a sample only"),),
    )
    rounds: int = option(
        24,
        help="Rounds of refinement.",
        flags=("--rounds",),
        minimum=0,
        maximum=1e6,
        page="Refining rounds",
        needs=(
            need(preset="default", reason="the paper preset does not refine; use the default preset"),
            need(motion="found", reason=f"{_KEPT}, so nothing is refined; omit it"),
        ),
    )
    stiffness: float = option(
        5e-3,
        help="Regulariser of scaled and flexible bones towards rotations.",
        flags=("--stiffness",),
        minimum=0,
        maximum=1e6,
        unit="of the weight of the data",
        needs=(
            need(
                bone_type=("scaled", "flexible"),
                reason="rigid bones are rotations already; use --bone-type scaled or flexible",
            ),
            need(
                preset="default",
                holdout=GIVEN,
                reason="the paper preset has no stiffness; use the default preset",
            ),
            need(motion="found", helpers=GIVEN, reason=f"{_KEPT}, so no bone is fitted; omit it"),
        ),
    )
    smooth_weights: float = option(
        0.0,
        help="Smoothness of weights between neighbours; try 0.01.",
        flags=("--smooth-weights",),
        minimum=0,
        maximum=1e6,
        page="Smooth weights",
        needs=(
            need(preset="default", reason="the paper preset has no smoothness term; use the default preset"),
            need(model="lbs", reason="smooth weights need linear blending; omit --model"),
            need(rig=False, reason="weights for a rig are not smoothed; omit it"),
        ),
    )
    prefix: str | None = option(
        None,
        help="Name bones PREFIX and a region of the source or a number; pairs of a symmetric shape end in _L and _R.",
        flags=("--prefix",),
        metavar="TEXT",
        shown_default="bone_0, bone_1, …",
        needs=(need(rig=False, reason="a rig keeps the names of its joints; omit it"),),
    )
    holdout: int = option(
        0,
        help="Hold out every K-th frame from the fit and report its error.",
        flags=("--holdout",),
        metavar="K",
        minimum=0,
        but=(1,),
        expected="0 (none) or 2 and more",
        needs=(
            need(bound=False, reason="not available with a bound; fit again with the bones and rank that it finds"),
            need(rig=False, reason="not available with a rig; its joints are given for all frames"),
        ),
    )
    seed: int = option(0, help="Same seed, same result.", flags=("--seed",), minimum=0, maximum=2**63)
    threads: int = option(0, help="0: all cores.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)
        if self.prefix is not None and not (self.prefix.isprintable() and len(self.prefix) <= LONGEST_PREFIX):
            raise OptionError(f"prefix: expected at most {LONGEST_PREFIX} printable characters, got {self.prefix!r}")
