"""Options of `osteon collide`."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.options import check_options, option


@dataclass(frozen=True, slots=True)
class CollideOptions:
    """Which frames are searched, which depth is accepted, and the report."""

    frames: str | None = option(
        None,
        help="Search only these frames, counted from 0 over the selected clips: '10:20', '0,5,9'.",
        flags=("--frames",),
        metavar="A:B|LIST",
        shown_default="all",
    )
    max_depth: float | None = option(
        None,
        help="Exit with code 1 if a surface is deeper in another than this; 0: if any triangles intersect.",
        flags=("--max-depth",),
        metavar="PERCENT",
        minimum=0.0,
        unit="percent of the diagonal of A",
        shown_default="no bound",
    )

    report: str | None = option(
        None,
        help="Write a page with charts of all frames and pictures of the worst ones.",
        flags=("--report",),
        metavar="FILE.html",
    )

    def __post_init__(self) -> None:
        check_options(self)
