"""Engines that judge default files, each at its own import defaults, and under the settings that cure what it lacks.

A judge is called with a file and its clips and gives a player. Where an engine cannot show a kind of file as it comes,
`lacks` says why, so that its figure stands in the bench without a bound; docs/engines.md has the cure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from osteon.core.model import SkinnedModel
from osteon_bench.players.far_players import play_far
from osteon_bench.players.godot_player import play_godot, whole_tracks
from osteon_bench.players.judge import Play
from osteon_bench.players.raylib_player import RATE
from osteon_bench.players.tools import why_no_assimp, why_no_godot, why_no_panda, why_no_raylib

__all__ = ["ENGINES", "EngineJudge"]


def _nothing(model: SkinnedModel) -> str:
    """Of an engine that shows everything."""
    return ""


@dataclass(frozen=True, slots=True)
class EngineJudge:
    """An engine that plays in a process of its own."""

    name: str
    why_not: Callable[[], str]  # why it is not here
    play: Callable[[Path, SkinnedModel], Play]
    lacks: Callable[[SkinnedModel], str] = _nothing  # why it cannot show a model as it comes; empty if it can


def _raylib_lacks(model: SkinnedModel) -> str:
    if model.rank:
        return "it has no morph targets"
    if any(RATE % clip.fps for clip in model.clips):
        return f"it samples at {RATE:g} a second"
    return ""


def _clips(model: SkinnedModel) -> list[str]:
    return [clip.name for clip in model.clips]


def _rate(model: SkinnedModel) -> float:
    """A rate on which the frames of all clips fall."""
    from math import lcm

    return float(lcm(*(round(clip.fps) for clip in model.clips)))


ENGINES = (
    EngineJudge("raylib", why_no_raylib, lambda path, model: play_far("raylib_player", path), _raylib_lacks),
    EngineJudge("assimp", why_no_assimp, lambda path, model: play_far("assimp_player", path)),
    EngineJudge(
        "Godot",
        why_no_godot,
        lambda path, model: play_godot(path, _clips(model)),
        lambda model: "it samples at 15 a second and drops keys",
    ),
    EngineJudge(
        "Godot, whole tracks",
        why_no_godot,
        lambda path, model: play_godot(path, _clips(model), whole_tracks(_rate(model))),
    ),
    EngineJudge(
        "Panda3D",
        why_no_panda,
        lambda path, model: play_far("panda_player", path),
        lambda model: "its importer shows the next key and scales after it turns",
    ),
    EngineJudge(
        "Panda3D, importer mended",
        why_no_panda,
        lambda path, model: play_far("panda_player", path, mended=True, rate=round(_rate(model))),
    ),
)
