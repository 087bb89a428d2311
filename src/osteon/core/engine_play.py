"""Which engines play a file, and what the others lack; what each can do is in `engines.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from osteon.core.animation import BoneType
from osteon.core.engines import ENGINES, Engine

__all__ = ["FileFacts", "Played", "played_rows", "where_it_plays"]


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What decides where a file plays."""

    suffix: str  # .glb
    bone_type: BoneType
    influences: int  # of the vertex that follows most bones
    targets: int  # corrections
    attributes: int  # of a vertex, with those of the corrections
    vertices: int = 0
    quantized_positions: bool = False
    short_rotations: bool = False
    keys_between: bool = False
    meshopt: bool = False
    coarse_meshes: bool = False


@dataclass(frozen=True, slots=True)
class Played:
    """How one engine shows a file."""

    engine: Engine
    lacks: tuple[str, ...]  # why it does not play; (): it does
    without_corrections: bool = False  # it plays, but shows none

    @property
    def exact(self) -> bool:
        return not self.lacks and not self.without_corrections


def where_it_plays(facts: FileFacts) -> tuple[Played, ...]:
    """Every engine that reads files of this suffix, and whether it shows the file as Osteon does."""
    readers = [engine for engine in ENGINES.values() if engine.name != "any" and facts.suffix in engine.formats]
    return tuple(
        Played(engine, _lacks(engine, facts), bool(facts.targets) and not engine.morph_targets) for engine in readers
    )


def _lacks(engine: Engine, facts: FileFacts) -> tuple[str, ...]:
    """What of the file it cannot read, in words."""
    found = {
        f"{facts.bone_type} bones": facts.bone_type not in engine.bone_types,
        f"{facts.influences} influences": facts.influences > engine.influences,
        f"{facts.attributes} attributes a vertex": not engine.has_room(facts.attributes),
        f"{facts.vertices:,} vertices": engine.vertices is not None and facts.vertices > engine.vertices,
        "16-bit positions": facts.quantized_positions and not engine.quantized_positions,
        "16-bit rotations": facts.short_rotations and not engine.short_rotations,
        "keys between frames": facts.keys_between and not engine.keys_between,
        "meshopt compression": facts.meshopt and not engine.meshopt,
        "coarse meshes, which it shows at once": facts.coarse_meshes and not engine.hidden_nodes,
    }
    return tuple(words for words, lacking in found.items() if lacking)


def played_rows(played: Sequence[Played], error_without: float | None = None) -> list[tuple[str, str]]:
    """For people: which engines play a file, which after what `docs/engines.md` says of their importers, and the others
    with the reason; E % without corrections, if known."""
    exact = [each.engine for each in played if each.exact]
    at_once, later = ([engine.name for engine in exact if bool(engine.cure) == cured] for cured in (False, True))
    rows = [("plays in", ", ".join(at_once) or "none")]
    if later:
        rows.append(("once set up", f"{', '.join(later)}: import settings in docs/engines.md"))
    reasons: dict[str, list[str]] = {}
    for each in played:
        if not each.exact:
            reasons.setdefault(_reason(each, error_without), []).append(each.engine.name)
    return rows + [("not in", f"{', '.join(names)}: {why}") for why, names in reasons.items()]


def _reason(played: Played, error_without: float | None) -> str:
    """Why it does not play, and at what cost where that is known."""
    words = list(played.lacks)
    if played.without_corrections:
        known = error_without is not None and not words
        words.append(f"no corrections, E {error_without:.3f} %" if known else "no corrections")
    return "; ".join(words)
