"""The table of docs/engines.md and its remarks, written from `io/engines.py`: `scripts/write-options`.

It stands between `<!-- engines -->` and `<!-- end -->`; what is between them is replaced.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from osteon.io.engines import ENGINES, Engine

__all__ = ["write_engine_table"]

_PLACE = re.compile(r"(<!-- engines -->\n).*?(<!-- end -->)", re.DOTALL)
_HEAD = (
    "`--for`",
    "engine",
    "known",
    "bones",
    "influences",
    "corrections",
    "with normals",
    "16-bit positions",
    "16-bit rotations",
    "keys between frames",
    "meshopt",
    "hides coarse meshes",
    "normals are turned by",
    "targets of normals",
)


def write_engine_table(text: str) -> str:
    """The text with its table as it should be."""
    rows = [_HEAD, ("---",) * len(_HEAD), *map(_row, ENGINES.values())]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in rows) + "\n"
    table += "".join(map(_remarks, ENGINES.values()))
    return _PLACE.sub(lambda place: place[1] + table + place[2], text)


def _row(engine: Engine) -> tuple[str, ...]:
    return (
        f"`{engine.name}`",
        engine.title,
        engine.evidence,
        ", ".join(engine.bone_types),
        str(engine.influences),
        _count(engine.most_targets(1)),
        _count(engine.most_targets(2)),
        _yes(engine.quantized_positions),
        _yes(engine.short_rotations),
        _yes(engine.keys_between),
        _yes(engine.meshopt),
        _yes(engine.hidden_nodes),
        engine.normals or "not measured",
        _normal_targets(engine),
    )


def _normal_targets(engine: Engine) -> str:
    """Whether they are shown, and what must stand beside them."""
    if engine.normals is None:
        return "not measured"
    if not engine.normal_targets:
        return "not shown"
    return "shown" if engine.empty_accessors else "shown, zeros stored"


def _remarks(engine: Engine) -> str:
    """What its joints are, and what to set, as a line of a list."""
    cure = f" At its import defaults it {engine.cure}." if engine.cure else ""
    return f"- `{engine.name}`: joints are {engine.joints}.{cure}\n"


def _count(number: int | None) -> str:
    return "any number" if number is None else str(number) if number else "not shown"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(write_engine_table(path.read_text(encoding="utf-8")), encoding="utf-8")
