"""Engines that play default files, each with its import defaults and with settings that avoid its limitations.

Where an engine cannot show a kind of file with its defaults, `limitation` returns the reason, and its figure has no
bound in the benchmark; docs/engines.md lists the settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from osteon.core.model import SkinnedModel
from osteon_bench.players.deviation import Play
from osteon_bench.players.engine_process import play_in_process
from osteon_bench.players.godot_player import play_godot, whole_tracks
from osteon_bench.players.raylib_player import RATE
from osteon_bench.players.tools import why_no_assimp, why_no_godot, why_no_panda, why_no_raylib


def _nothing(model: SkinnedModel) -> str:
    """For engines without a limitation."""
    return ""


@dataclass(frozen=True, slots=True)
class ReferenceEngine:
    """An engine that plays in a separate process."""

    name: str
    why_not: Callable[[], str]  # why it is not available
    play: Callable[[Path, SkinnedModel], Play]
    limitation: Callable[[SkinnedModel], str] = _nothing  # why its defaults cannot show a model


def _raylib_limitation(model: SkinnedModel) -> str:
    if model.rank:
        return "it has no morph targets"
    if any(RATE % clip.fps for clip in model.clips):
        return f"it samples {RATE:g} times per second"
    return ""


def _clips(model: SkinnedModel) -> list[str]:
    return [clip.name for clip in model.clips]


def _rate(model: SkinnedModel) -> float:
    """A frame rate that contains the frames of all clips."""
    from math import lcm

    return float(lcm(*(round(clip.fps) for clip in model.clips)))


ENGINES = (
    ReferenceEngine(
        "raylib", why_no_raylib, lambda path, model: play_in_process("raylib_player", path), _raylib_limitation
    ),
    ReferenceEngine("assimp", why_no_assimp, lambda path, model: play_in_process("assimp_player", path)),
    ReferenceEngine(
        "Godot",
        why_no_godot,
        lambda path, model: play_godot(path, _clips(model)),
        lambda model: "it samples 15 times per second and drops keys",
    ),
    ReferenceEngine(
        "Godot, whole tracks",
        why_no_godot,
        lambda path, model: play_godot(path, _clips(model), whole_tracks(_rate(model))),
    ),
    ReferenceEngine(
        "Panda3D",
        why_no_panda,
        lambda path, model: play_in_process("panda_player", path),
        lambda model: "its importer shows the next key and scales after it turns",
    ),
    ReferenceEngine(
        "Panda3D, importer mended",
        why_no_panda,
        lambda path, model: play_in_process("panda_player", path, fixed=True, rate=round(_rate(model))),
    ),
)
