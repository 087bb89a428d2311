"""Options of comparing models, checked on construction; the command line and docs/options.md are made from them."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.errors import OptionError
from osteon.core.option_checks import check_options
from osteon.core.option_fields import need, option

__all__ = ["CompareOptions"]


def _parse_poses(text: str) -> str:
    """Frame numbers with commas, as they are; refuses other text."""
    _numbers(text)
    return text


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"poses: expected frame numbers with commas, such as 0,4,7, got {text!r}") from None
    return numbers


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Which models are compared, and what they are trained with."""

    models: str = option(
        "",
        help="Words with commas, such as ssd,dqs.",
        flags=("--models",),
        metavar="WORDS",
        shown_default="all there are",
    )
    train: int = option(
        10,
        help="Poses to train with, chosen so that they cover the motion.",
        flags=("--train",),
        minimum=1,
        needs=(need(poses=None, says="the training poses are named with --poses; omit it"),),
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
        help="Bones a vertex of ssd and dqs, 1 to 8.",
        flags=("--influences", "-k"),
        minimum=1,
        maximum=8,
    )
    seed: int = option(0, help="Same seed, same result.", flags=("--seed",), minimum=0, maximum=2**63)
    threads: int = option(0, help="0: all there are.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)
        if self.poses is not None:
            _numbers(self.poses)

    @property
    def words(self) -> tuple[str, ...]:
        """The models asked for, as they were written; () for all."""
        return tuple(word.strip() for word in self.models.split(",")) if self.models else ()

    @property
    def frames(self) -> tuple[int, ...]:
        """The training poses asked for; () where they are to be chosen."""
        return () if self.poses is None else _numbers(self.poses)
