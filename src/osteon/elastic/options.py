"""Options of simulating flesh.

Conditions that `needs` may refer to: `solid`, the elements of the flesh (`tetrahedra` or `lattice`); `given`, whether
pose files are named.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from osteon.core.options import GIVEN, check_options, need, option

ElementsWord = Literal["auto", "tetrahedra", "lattice", "quadratic"]
KindWord = Literal["auto", "train", "validate"]

_SWEEP = need(sweep=GIVEN)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """Choice of the simulated poses."""

    sweep: bool = option(
        False,
        help="Rotate every joint through its range, one by one; every pair of neighbours; and all at random.",
        flags=("--sweep",),
    )
    limits: Path | None = option(
        None,
        help="Joint limits: a .json, or the poses.json of an earlier run.",
        flags=("--limits",),
        metavar="FILE.json",
        shown_default="guessed from names and from how limbs are bent at rest",
        needs=(_SWEEP,),
    )
    joints: tuple[str, ...] | None = option(
        None,
        help="Only these, by commas.",
        flags=("--joints",),
        metavar="A,B,…",
        parse=_names,
        shown_default="all that have limits",
        needs=(_SWEEP,),
    )
    each: int = option(
        6,
        help="Poses for each axis of a joint.",
        flags=("--each",),
        minimum=1,
        maximum=1000,
        needs=(_SWEEP,),
    )
    pairs: bool = option(True, help="No poses of two neighbouring joints.", flags=("--no-pairs",), needs=(_SWEEP,))
    validate: int = option(
        25,
        help="Random poses of all joints, for validation only.",
        flags=("--validate",),
        minimum=0,
        maximum=100_000,
        needs=(_SWEEP,),
    )
    seed: int = option(0, help="Of the random poses.", flags=("--seed",), minimum=0, maximum=2**63, needs=(_SWEEP,))
    kind: KindWord = option(
        "auto",
        help="Use of the poses in files; auto: train, or pair if two neighbouring joints rotate.",
        flags=("--kind",),
        needs=(need(given=True, reason="applies to poses in files, and none is named; omit it"),),
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class FleshOptions:
    """Material and discretisation of flesh."""

    poisson: float = option(
        0.45,
        help="Poisson's ratio: near 0.5 flesh that is pressed keeps its volume and bulges.",
        flags=("--poisson",),
        minimum=0.0,
        maximum=0.495,
    )
    stiffness: float = option(
        20_000.0,
        help="Young's modulus. Energies in poses.json grow with it; shapes do not depend on it.",
        flags=("--stiffness",),
        above=0.0,
        unit="pascals",
    )
    elements: ElementsWord = option(
        "auto",
        help="The file's own tetrahedra, or a lattice around its surface; auto: tetrahedra if there are any; "
        "quadratic: as auto, with ten nodes per tetrahedron in place of four.",
        flags=("--elements",),
    )
    cells: int = option(
        0,
        help="Cells of the lattice along the longest side.",
        flags=("--cells",),
        minimum=0,
        maximum=1000,
        expected="1 or more (or 0 to find the number)",
        shown_default="as few as hold the thinnest bone",
        needs=(
            need(solid="lattice", reason="applies to lattices, and the file has tetrahedra; add --elements lattice"),
        ),
    )
    load_steps: int = option(
        1,
        help="Steps in which joints are rotated; doubled automatically for poses that do not converge.",
        flags=("--load-steps",),
        minimum=1,
        maximum=32,
    )

    def __post_init__(self) -> None:
        check_options(self)
