"""Options of comparing models, recovering skeletons and searching for a bound, checked on construction.

The command line and docs/options.md are made from them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Literal

from osteon.core.errors import OptionError
from osteon.core.options import check_options, need, option
from osteon.core.skin_options import SkinOptions
from osteon.fit.models.registry import CONTESTANTS, Contestant
from osteon.io.engines import EngineName, engine_of


def _parse_poses(text: str) -> str:
    """Check that a text is a list of frame numbers with commas; returns it unchanged."""
    _numbers(text)
    return text


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"poses: expected frame numbers with commas, such as 0,4,7, got {text!r}") from None
    return numbers


def _parse_strengths(text: str) -> str:
    """Check that a text is a list of positive numbers with commas; returns it unchanged."""
    _strengths(text)
    return text


def _strengths(text: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(0 < number < math.inf for number in numbers):
        raise OptionError(f"strength: expected positive numbers with commas, such as 0.01 or 0.001,0.1, got {text!r}")
    if len(set(numbers)) < len(numbers):
        raise OptionError(f"strength: a number is listed twice in {text!r}")
    return numbers


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Options of comparing models: the models, and the poses that they are fitted to."""

    models: str = option(
        "",
        help="Words with commas, such as ssd,dqs.",
        flags=("--models",),
        metavar="WORDS",
        shown_default="all",
    )
    train: int = option(
        10,
        help="Poses to train with, chosen so that they cover the motion.",
        flags=("--train",),
        minimum=1,
        needs=(need(poses=None, reason="the training poses are named with --poses; omit it"),),
    )
    poses: str | None = option(
        None,
        help="Train with these frames instead: numbers with commas; negative ones count back.",
        flags=("--poses",),
        metavar="0,4,7",
        parse=_parse_poses,
    )
    bones: int = option(
        0,
        help="Exactly this many, the same for all models; 0 finds the number.",
        flags=("--bones", "-b"),
        minimum=0,
        expected="1 or more (or 0 to find the number)",
        shown_default="as many as mean shift finds",
    )
    influences: int = option(
        4,
        help="Bones per vertex of ssd and dqs, 1 to 8.",
        flags=("--influences", "-k"),
        minimum=1,
        maximum=8,
    )
    strength: str | None = option(
        None,
        help="Strength of the regularisation of as, mwe, as-zero and mwe-zero: one number for all, or several with "
        "commas, of which each model gets the best for held-out training poses.",
        flags=("--lambda",),
        metavar="NUMBERS",
        parse=_parse_strengths,
        unit="of the squared RMS radius of the rest pose",
        shown_default="the best of 17 from 1e-6 to 100",
    )
    seed: int = option(0, help="Same seed, same result.", flags=("--seed",), minimum=0, maximum=2**63)
    threads: int = option(0, help="0: all cores.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)
        if self.poses is not None:
            _numbers(self.poses)
        if self.strength is not None:
            _strengths(self.strength)

    @property
    def strengths(self) -> tuple[float, ...]:
        """The requested values of lambda; () for those of the models."""
        return () if self.strength is None else _strengths(self.strength)

    @property
    def words(self) -> tuple[str, ...]:
        """The requested models, as they were written; () for all."""
        return tuple(word.strip() for word in self.models.split(",")) if self.models else ()

    @property
    def frames(self) -> tuple[int, ...]:
        """The requested training poses; () chooses them automatically."""
        return () if self.poses is None else _numbers(self.poses)


def check_strengths(options: CompareOptions, contestants: dict[str, Contestant]) -> None:
    """Refuse lambda where no model has one."""
    if options.strengths and not any(each.regularised for each in contestants.values()):
        known = ", ".join(word for word, each in CONTESTANTS.items() if each.regularised)
        raise OptionError(f"strength: no selected model is regularised; add one of {known} to models, or omit it")


RigForm = Literal["articulated", "free"]
NameStandard = Literal["plain", "mixamo", "vrm", "unreal"]


@dataclass(frozen=True, slots=True)
class RigOptions:
    """Options of recovering a skeleton from a sequence."""

    form: RigForm = option(
        "articulated",
        help="Articulated: constant bone lengths, only the root moves, joints rotate. Free: bones move independently.",
        flags=("--form",),
    )
    bones: int = option(
        0,
        help="Exactly this many; 0 finds the number.",
        flags=("--bones", "-b"),
        minimum=0,
        expected="1 or more (or 0 to find the number)",
        shown_default="as many as have a rigid part",
    )
    symmetric: bool = option(
        False, help="Joints of the left mirror those of the right; needs a symmetric rest pose.", flags=("--symmetric",)
    )
    root: int | None = option(
        None,
        help="The root is the bone that moves this vertex.",
        flags=("--root",),
        metavar="VERTEX",
        minimum=0,
        shown_default="the middle of the body",
    )
    names: NameStandard = option(
        "plain",
        help="Names of joints: plain words by anatomy, or those of a humanoid standard, where the tree is a humanoid.",
        flags=("--names",),
    )
    influences: int = option(4, help="Bones per vertex, 1 to 8.", flags=("--influences", "-k"), minimum=1, maximum=8)
    seed: int = option(0, help="Same seed, same result.", flags=("--seed",), minimum=0, maximum=2**63)
    threads: int = option(0, help="0: all cores.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)


def parse_bytes(text: str) -> int:
    """A number of bytes: 400k, 2M, 1.5 MB, 300000. A thousand is 1000."""
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d*)?)\s*([kKmMgG]?)[bB]?\s*", text)
    if found is None:
        raise OptionError(f"expected bytes such as 400k, 2M or 300000, got '{text}'")
    return int(float(found[1]) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[found[2].lower()])


@dataclass(frozen=True, slots=True)
class Try:
    """One point of the search."""

    bones: int
    rank: int
    error_percent: float
    worst: float
    bytes: int
    shading: float = 0.0  # mean degrees, as players shade
    normal_rank: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds that a fit must meet; at least one is set."""

    max_error: float | None = option(
        None,
        help="Find bones and rank for this E, with few bytes.",
        flags=("--max-error",),
        metavar="PERCENT",
        above=0,
        unit="percent",
    )
    max_distance: float | None = option(
        None,
        help="The same for the distance of the worst vertex.",
        flags=("--max-distance",),
        metavar="UNITS",
        above=0,
        unit="units of the input",
    )
    max_shading: float | None = option(
        None,
        help="The same for the shading that players show, on average.",
        flags=("--max-shading",),
        metavar="DEGREES",
        above=0,
        maximum=90,
        unit="degrees",
    )
    max_bytes: int | None = option(
        None,
        help="The least error in a file of this size: 400k, 2M.",
        flags=("--max-bytes",),
        metavar="SIZE",
        above=0,
        unit="bytes of the first output",
        parse=parse_bytes,
    )
    time: float | None = option(
        None,
        help="Stop searching after this time and take the best so far.",
        flags=("--time",),
        metavar="SECONDS",
        above=0,
        unit="seconds",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not self.bounds_error and self.max_bytes is None:
            if self.time is not None:
                known = "--max-error, --max-distance, --max-shading or --max-bytes"
                raise OptionError(f"time: bounds a search; add what to search for: {known}")
            raise OptionError("budget: give max_error, max_distance, max_shading or max_bytes")

    @property
    def bounds_error(self) -> bool:
        """Whether the error or the shading is bounded, not only the size."""
        return any(bound is not None for bound in (self.max_error, self.max_distance, self.max_shading))

    def close_enough(self, attempt: Try) -> bool:
        """Whether the error and the shading are within their bounds."""
        return self.excess(replace(attempt, bytes=0)) <= 1

    def small_enough(self, attempt: Try) -> bool:
        return self.max_bytes is None or attempt.bytes <= self.max_bytes

    def excess(self, attempt: Try) -> float:
        """The largest ratio of a value to its bound; at most 1 if all bounds hold."""
        factors = [
            attempt.error_percent / self.max_error if self.max_error else 0.0,
            attempt.worst / self.max_distance if self.max_distance else 0.0,
            attempt.shading / self.max_shading if self.max_shading else 0.0,
            attempt.bytes / self.max_bytes if self.max_bytes else 0.0,
        ]
        return max(factors)


def options_for(options: SkinOptions, name: EngineName, *, has_bone_type: bool, has_rig: bool = False) -> SkinOptions:
    """The options with the best bones that the engine supports, or those of the paper, unless the user chose them.

    Bones of a rig are chosen when it is read. A named engine refuses more influences than it reads; bones that it does
    not support are never refused.
    """
    engine = engine_of(name)
    if name != "any" and options.influences > engine.influences:
        raise OptionError(
            f"influences: files for {name} have at most {engine.influences} bones per vertex, got "
            f"{options.influences}; use {engine.influences}, or write for another engine"
        )
    if has_bone_type or has_rig:
        return options
    return replace(options, bone_type=engine.bone_type if options.preset == "default" else "flexible")
