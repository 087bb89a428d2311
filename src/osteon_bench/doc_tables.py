"""The tables of docs/options.md and docs/engines.md, written from the options classes and `io/engines.py`.

`scripts/write-options` replaces what is between `<!-- options NAME -->`, or `<!-- engines -->`, and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from osteon.apply.collide.bodies_options import BodyFiles, BodyOptions
from osteon.apply.collide.options import CollideOptions
from osteon.apply.edit.options import EditOptions
from osteon.apply.light.options import LightColorOptions, LightOptions
from osteon.cli.batch import BatchPlace
from osteon.cli.compare import CompareFiles
from osteon.cli.edit import EditFiles
from osteon.cli.eigenskin import EigenSkinFiles
from osteon.cli.light import LightFiles
from osteon.cli.lod import LodFiles
from osteon.cli.paper import PaperFiles
from osteon.cli.pose import PoseFiles
from osteon.cli.rig import RigFiles
from osteon.cli.simulate import SimulateFiles
from osteon.cli.skin import SkinFiles
from osteon.cli.study import StudyReportFiles, StudyServing
from osteon.core.options import Need, OptionField, needed_flags, options_in
from osteon.core.skin_options import SkinOptions
from osteon.elastic.options import FleshOptions, SweepOptions
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.io import LoadOptions, SaveOptions
from osteon.io.engines import ENGINES, Engine
from osteon.io.formats.options import ClipOptions
from osteon.lod.options import LodOptions
from osteon.papers.run import PaperOptions
from osteon.pipeline.options import Budget, CompareOptions, RigOptions
from osteon.scale.batch import BatchOptions
from osteon.simplex.options import PoserOptions

_CLASSES = (
    *(SkinFiles, SkinOptions, Budget, SaveOptions, LoadOptions, ClipOptions),
    *(RigFiles, RigOptions),
    *(CompareFiles, CompareOptions),
    *(EigenSkinFiles, EigenSkinOptions),
    *(SimulateFiles, SweepOptions, FleshOptions),
    *(LodFiles, LodOptions),
    *(EditFiles, EditOptions),
    *(LightFiles, LightOptions, LightColorOptions),
    *(CollideOptions, BodyFiles, BodyOptions),
    *(PoseFiles, PoserOptions),
    *(PaperFiles, PaperOptions),
    *(BatchPlace, BatchOptions),
    *(StudyServing, StudyReportFiles),
)
_PLACE = re.compile(r"(<!-- options (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write_tables(text: str) -> str:
    """The text with its tables as they should be."""
    by_name = {cls.__name__: cls for cls in _CLASSES}
    return _PLACE.sub(lambda place: place[1] + _table(by_name[place[2]]) + place[3], text)


def _table(cls: type) -> str:
    rows = [_row(cls, of) for of in options_in(cls) if of.option.flags]
    head = ["option", "default", "value", "what it does", "refused where it has no effect"]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *rows])


def _row(cls: type, of: OptionField) -> list[str]:
    flags = " ".join(f"`{flag}`" for flag in of.option.flags)
    reasons = [_reason(need, of, cls) for need in of.option.needs]
    return [flags, _default(of), _value(of), _plain(of.option.help), _plain("<br>".join(reasons))]


def _reason(need: Need, of: OptionField, cls: type) -> str:
    why = need.reason or f"needs {needed_flags(need, of.path, cls)}"
    return f"{', '.join(f'`{value}`' for value in need.only_for)} {why}" if need.only_for else why


def _default(of: OptionField) -> str:
    if of.option.shown_default:
        return of.option.shown_default
    if of.kind.base is bool or of.option.required or of.default is None:
        return "required" if of.option.required else ""
    return str(of.default * of.option.scale if of.option.scale != 1 else of.default)


def _value(of: OptionField) -> str:
    """The valid values: words, or a range with its unit."""
    if of.kind.base is None:
        return ", ".join(f"`{choice}`" for choice in of.choices)
    if of.kind.base not in (int, float):
        return f"`{_plain(of.option.metavar)}`" if of.option.metavar else ""
    if of.option.scale != 1:
        return f"0 … {of.option.scale:g} percent {of.option.unit}"
    return f"{of.expected()}, {of.option.unit}" if of.option.unit else of.expected()


def _plain(text: str) -> str:
    return text.replace("|", "\\|")


_ENGINES = re.compile(r"(<!-- engines -->\n).*?(<!-- end -->)", re.DOTALL)
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
    rows = [_HEAD, ("---",) * len(_HEAD), *map(_engine_row, ENGINES.values())]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in rows) + "\n"
    table += "".join(map(_remarks, ENGINES.values()))
    return _ENGINES.sub(lambda place: place[1] + table + place[2], text)


def _engine_row(engine: Engine) -> tuple[str, ...]:
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
    """Whether they are shown, and the note that they need."""
    if engine.normals is None:
        return "not measured"
    if not engine.normal_targets:
        return "not shown"
    return "shown" if engine.empty_accessors else "shown, zeros stored"


def _remarks(engine: Engine) -> str:
    """Its joints and its settings, as a line of a list."""
    cure = f" At its import defaults it {engine.cure}." if engine.cure else ""
    return f"- `{engine.name}`: joints are {engine.joints}.{cure}\n"


def _count(number: int | None) -> str:
    return "any number" if number is None else str(number) if number else "not shown"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(write_engine_table(write_tables(path.read_text(encoding="utf-8"))), encoding="utf-8")
