"""Options of levels of detail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from osteon.core.errors import OptionError
from osteon.core.model import MOST_COARSE
from osteon.core.options import Need, check_options, need, option

LodForm = Literal["advanced", "offset", "mean", "copy"]
#: Quantities that levels can be defined by.
LevelsBy = Literal["bones", "triangles", "error", "pixels"]
_LISTS = {"bones": "bones", "triangles": "triangles", "max_error": "error", "screen": "pixels"}

#: No vertex of a level is farther from the model than so many pixels at the size that the level is for.
FARTHEST = 3.0
#: Default size of the body on the screen, in pixels, of the coarsest level.
USUAL_SCREEN = 100.0


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, or a part of the total."""

    value: float
    is_part: bool = False

    def of(self, whole: int) -> int:
        """As a count of a whole."""
        return max(1, math.floor(self.value * whole + 0.5)) if self.is_part else int(self.value)


def _amounts(text: str) -> tuple[Amount, ...]:
    """Numbers with commas, parts as 50%."""
    return tuple(_amount(word.strip()) for word in text.split(",")) if text else ()


def _amount(word: str) -> Amount:
    try:
        value = float(word.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise OptionError(f"expected positive numbers with commas, got '{word}'")
    return Amount(value / 100, True) if word.endswith("%") else Amount(value)


def _checked(text: str) -> str:
    _amounts(text)
    return text


def _alone(name: str) -> tuple[Need, ...]:
    """Conditions: levels are defined by one quantity only."""
    reason = "levels are defined by --{} already; omit one"
    return tuple(Need(((other, ("",)),), reason.format(other.replace("_", "-"))) for other in _LISTS if other != name)


def _list(name: str, help: str, metavar: str, **known: Any) -> str:
    words = {"flags": (f"--{name.replace('_', '-')}",), "metavar": metavar, "parse": _checked}
    return option("", help=help, needs=(*_alone(name), *known.pop("needs", ())), **(words | known))


@dataclass(frozen=True, slots=True)
class LodOptions:
    """Which levels are made.

    A list defines every level except the first, which is the model itself, from fine to coarse. A single number defines
    the coarsest level, and the levels between have equal ratios. Other quantities (bones, blends, triangles) are as
    coarse as the same error allows.

    Circumstances in `needs`: `listed` (a list defines the levels), `moving` (there is more than one frame).
    """

    levels: int = option(
        4,
        help="Number of levels, including the model itself.",
        flags=("--levels", "-n"),
        minimum=2,
        maximum=MOST_COARSE + 1,
        needs=(need(listed=False, reason="the list defines the levels; omit it"),),
    )
    bones: str = _list(
        "bones",
        "Bones of the levels: counts, or percent of the used ones.",
        "24,12,6|50%,25%",
        needs=(need(moving=True, reason="the model has one frame, so its bones cannot be reduced; omit it"),),
    )
    triangles: str = _list("triangles", "Triangles of the levels: counts, or percent.", "5000,1000|50%,10%")
    max_error: str = _list(
        "max_error", "Error of the levels: RMS distance in the worst clip, in percent of the body's size.", "0.25,0.5,1"
    )
    screen: str = _list(
        "screen",
        "Size of the body on the screen, in pixels, for which each level is: its error stays below one.",
        "400,200,100",
        shown_default=f"{USUAL_SCREEN:g}",
    )
    keep_mesh: bool = option(
        False,
        help="Reduce only bones and blends: all levels keep the mesh of the model.",
        flags=("--keep-mesh",),
        needs=(need(triangles="", reason="--triangles requests coarser meshes; omit one"),),
    )
    form: LodForm = option(
        "advanced",
        help="How inactive bones follow: any bone by a fitted offset; or the rig's parents, by a fitted offset, the"
        " mean over the clip, or as copies.",
        flags=("--form",),
    )
    threads: int = option(0, help="0: all cores.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)
        for name in _LISTS:
            try:
                amounts = _amounts(getattr(self, name))
            except OptionError as error:
                raise OptionError(f"{name}: {error}") from error
            self._check_list(name, amounts)

    def _check_list(self, name: str, amounts: tuple[Amount, ...]) -> None:
        flag, counted = name.replace("_", "-"), name in ("bones", "triangles")
        if len(amounts) > MOST_COARSE:
            raise OptionError(f"{name}: expected {MOST_COARSE} levels at most, got {len(amounts)}")
        for amount in amounts:
            if amount.is_part and (not counted or amount.value > 1):
                known = "at most 100%" if counted else "plain numbers"
                raise OptionError(f"{name}: expected {known}, got {getattr(self, name)}")
            if counted and not amount.is_part and amount.value != int(amount.value):
                raise OptionError(f"{name}: expected whole numbers, or percent as 25%, got {amount.value:g}")
        steps = [b.value - a.value for a, b in pairwise(amounts) if a.is_part == b.is_part]
        rising = name == "max_error"
        if any(step <= 0 if rising else step >= 0 for step in steps):
            raise OptionError(f"{name}: expected --{flag} from fine to coarse, got {getattr(self, name)}")

    @property
    def by(self) -> LevelsBy:
        """The quantity that defines the levels."""
        found: dict[str, LevelsBy] = {"bones": "bones", "triangles": "triangles", "max_error": "error"}
        return next((word for name, word in found.items() if getattr(self, name)), "pixels")

    @property
    def is_list(self) -> bool:
        """Whether a list defines every level."""
        return len(self._asked) > 1

    @property
    def _asked(self) -> tuple[Amount, ...]:
        text = next((getattr(self, name) for name in _LISTS if getattr(self, name)), "")
        return _amounts(text) or (Amount(USUAL_SCREEN),)

    @property
    def n_coarser(self) -> int:
        """Levels besides the model itself."""
        return len(self._asked) if self.is_list else self.levels - 1

    def counts(self, whole: int) -> list[int]:
        """Bones or triangles of every level but the first, out of `whole`."""
        asked = [amount.of(whole) for amount in self._asked]
        if self.is_list:
            return asked
        least, steps = min(asked[0], whole), self.levels - 1
        return [max(1, round(whole * (least / whole) ** (i / steps))) for i in range(1, steps + 1)]

    def tolerances(self) -> list[float]:
        """The RMS distance allowed for every level but the first, as a part of the body's size."""
        values = [1 / a.value if self.by == "pixels" else a.value / 100 for a in self._asked]
        if self.is_list:
            return values
        return [values[0] * 2.0 ** (i - self.levels + 1) for i in range(1, self.levels)]
