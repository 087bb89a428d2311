"""What `osteon lod` tells of levels: facts for machines, a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from osteon.cli.common import size_text
from osteon.cli.wall_time import time_text

if TYPE_CHECKING:
    from rich.console import Console

    from osteon.lod.model_levels import Level
    from osteon.pipeline.levels import BakedLevel, LevelsFit

__all__ = ["describe_levels", "print_levels"]

_HEADINGS = ("level", "bones", "blends", "triangles", "E %", "RMS %", "worst %", "up to", "alone")


def describe_levels(
    found: LevelsFit, sizes: Sequence[int], level: Level | None, baked: BakedLevel | None
) -> dict[str, Any]:
    """All that is known of the levels as plain JSON."""
    model, errors = found.levels.model, found.errors
    facts: dict[str, Any] = {
        "name": model.name,
        "by": found.options.by,
        "bones": {"all": model.n_bones, "used": found.levels.skin.n_ordered},
        "levels": [one.to_json() | {"bytes": size} for one, size in zip(found.levels.levels, sizes, strict=True)],
        "clips": [
            {
                "name": name or None,
                "form": order.form,
                "order": [model.track.names[b] for b in order.order],
                "rms_percent": (100 * errors.rms(number)).tolist(),
                "share_percent": (100 * errors.share(number)).tolist(),
            }
            for number, (name, order) in enumerate(
                zip(errors.clips, (*found.levels.skin.orders, found.levels.skin.all_clips), strict=True)
            )
        ],
        "reached": found.reached,
    }
    if level is not None and baked is not None:
        facts["baked"] = level.to_json() | {
            "joints": baked.model.n_bones,
            "influences": baked.model.skin.n_influences,
            "error_percent": baked.error_percent,
            "rms_percent": baked.rms_percent,
            "worst_percent": baked.worst_percent,
        }
    return facts


def print_levels(
    facts: Mapping[str, Any],
    seconds: Mapping[str, float],
    written: Sequence[str],
    plays: Sequence[tuple[str, str]],
    out: Console,
) -> None:
    """The levels as a table, what was written, and where it plays."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in _HEADINGS:
        table.add_column(heading, justify="right")
    for number, level in enumerate(facts["levels"]):
        table.add_row(*_cells(number, level))
    out.print(table)
    out.print("[dim]percent of the body's size; up to: its size on the screen while the RMS is below a pixel[/]")
    rows = [("bones", f"{facts['bones']['used']} of {facts['bones']['all']} move vertices"), *_baked_rows(facts)]
    rows += [("time", time_text(seconds)), ("written", ", ".join(written)), *plays]
    below = Table(show_header=False, box=None, pad_edge=False)
    below.add_column(style="dim")
    below.add_column()
    for row in rows:
        below.add_row(*row)
    out.print(below)
    for note in facts["notes"]:
        out.print(f"[yellow]note:[/] {note}")


def _cells(number: int, level: Mapping[str, Any]) -> list[str]:
    first = number == 0
    return [
        str(number),
        str(level["bones"]),
        str(level["blends"]),
        f"{level['triangles']:,}",
        "" if first else f"{level['error_percent']:.2f}",
        "" if first else f"{level['rms_percent']:.3f}",
        "" if first else f"{level['worst_percent']:.2f}",
        f"{level['pixels']:,.0f} px" if level["pixels"] else "any",
        size_text(level["bytes"]),
    ]


def _baked_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    baked = facts.get("baked")
    if baked is None:
        return []
    words = (
        f"{baked['bones']} bones in {baked['joints']} joints, {baked['influences']} a vertex, "
        f"{baked['triangles']:,} triangles: E {baked['error_percent']:.2f} %, RMS {baked['rms_percent']:.3f} %, "
        f"worst {baked['worst_percent']:.2f} %"
    )
    return [("baked", words)]
