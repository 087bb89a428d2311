"""Options of skeleton recovery, checked on construction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from osteon.core.option_checks import check_options
from osteon.core.option_fields import option

__all__ = ["RigForm", "RigOptions"]

RigForm = Literal["articulated", "free"]


@dataclass(frozen=True, slots=True)
class RigOptions:
    """How a skeleton is found in a sequence."""

    form: RigForm = option(
        "articulated",
        help="Articulated: constant bone lengths, only the root moves, all joints turn. Free: bones move as they like.",
        flags=("--form",),
    )
    bones: int = option(
        0,
        help="Exactly this many; 0 finds the number.",
        flags=("--bones", "-b"),
        minimum=0,
        expected="1 or more (or 0 to find the number)",
        shown_default="as many as carry a part of their own",
    )
    symmetric: bool = option(
        False, help="Joints of the left mirror those of the right; needs a symmetric rest pose.", flags=("--symmetric",)
    )
    root: int | None = option(
        None,
        help="The root is the bone of this vertex.",
        flags=("--root",),
        metavar="VERTEX",
        minimum=0,
        shown_default="the middle of the body",
    )
    influences: int = option(4, help="Bones a vertex, 1 to 8.", flags=("--influences", "-k"), minimum=1, maximum=8)
    seed: int = option(0, help="Same seed, same result.", flags=("--seed",), minimum=0, maximum=2**63)
    threads: int = option(0, help="0: all there are.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)
