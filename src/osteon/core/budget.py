"""A bound instead of knobs: what must hold of a fit, and one point of the search for it (`pipeline/budget.py`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from osteon.core.errors import OptionError
from osteon.core.option_checks import check_options
from osteon.core.option_fields import option

__all__ = ["Budget", "Try", "parse_bytes"]


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
    shading: float = 0.0  # mean degrees, as players show it
    normal_rank: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """What must hold. At least one bound is given."""

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
        help="The same for the worst vertex.",
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
        """Whether closeness is bounded, not size alone."""
        return any(bound is not None for bound in (self.max_error, self.max_distance, self.max_shading))

    def close_enough(self, attempt: Try) -> bool:
        """Whether the error and the shading are within their bounds."""
        return self.excess(replace(attempt, bytes=0)) <= 1

    def small_enough(self, attempt: Try) -> bool:
        return self.max_bytes is None or attempt.bytes <= self.max_bytes

    def excess(self, attempt: Try) -> float:
        """How far off the worst bound is, as a factor; at most 1 when all hold."""
        factors = [
            attempt.error_percent / self.max_error if self.max_error else 0.0,
            attempt.worst / self.max_distance if self.max_distance else 0.0,
            attempt.shading / self.max_shading if self.max_shading else 0.0,
            attempt.bytes / self.max_bytes if self.max_bytes else 0.0,
        ]
        return max(factors)
