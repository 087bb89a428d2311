"""A trial of a third-party file: inspect it, skin it, play the result, and skin it again on its own rig."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osteon_bench.foreign.command import CommandRun, run_command
from osteon_bench.foreign.sources import ForeignSource

#: Largest number of influences per vertex of a stock rig for the round trip.
INFLUENCES = 4
#: Messages of `skin` for files that it reads but that contain nothing to skin.
ONE_FRAME, NOTHING_MOVES, CLIPS_ONLY = "has one frame", "nothing moves", "--rig"


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial."""

    source: ForeignSource
    runs: tuple[CommandRun, ...]
    animated: bool = False
    error_percent: float | None = None  # of bones that Osteon found
    round_trip_percent: float | None = None  # on the file's own rig, from the frames of both files
    agrees: bool = True  # `info` and `skin` both read the source, or both refuse it

    @property
    def refused(self) -> CommandRun | None:
        return next((run for run in self.runs if run.code == 2 and not run.broke), None)

    @property
    def broken(self) -> list[CommandRun]:
        return [run for run in self.runs if run.broke]

    @property
    def seconds(self) -> float:
        return max(run.seconds for run in self.runs)

    @property
    def megabytes(self) -> float:
        return max(run.megabytes for run in self.runs)


def try_source(source: ForeignSource, folder: Path, threads: int) -> Trial:
    """Run every step that the file allows, up to the first failure."""
    names = [str(file) for file in source.files]
    info = run_command("info", *names, "--json", "-")
    facts = info.facts() if info.done else {}
    skinned, played = folder / "skinned.glb", folder / "played.npz"
    skin = run_command("skin", *names, "-o", str(skinned), "--force", "--threads", str(threads), "--json", "-")
    agrees = agree(facts if info.done else None, skin)
    if not _is_animated(facts) and agrees and not skin.broke:
        return Trial(source, (info,))
    if not skin.done:
        return Trial(source, (info, skin), animated=_is_animated(facts), agrees=agrees)
    play = run_command("play", str(skinned), "-o", str(played), "--force", "--quiet")
    error = float(skin.facts()["error_percent"])
    runs = (info, skin, play)
    if not (play.done and _is_stock_rig(facts)):
        return Trial(source, runs, True, error)
    again, round_trip = _round_trip(names[0], folder, threads)
    return Trial(source, (*runs, *again), True, error, round_trip)


def agree(facts: dict[str, Any] | None, skin: CommandRun) -> bool:
    """Whether `skin` reads what `info` reads: frames are skinned; one pose, equal frames and clips are known as such.

    `facts` are those of `info`; None where it refuses the source.
    """
    if facts is None:
        return skin.code == 2
    if _is_animated(facts):
        return skin.done or (skin.code == 2 and NOTHING_MOVES in skin.reason)
    return skin.code == 2 and (CLIPS_ONLY if facts.get("kind") == "clips" else ONE_FRAME) in skin.reason


def _is_animated(facts: dict[str, Any]) -> bool:
    return facts.get("kind") != "clips" and facts.get("frames", 1) > 1


def _is_stock_rig(facts: dict[str, Any]) -> bool:
    """A character of rigid joints and up to four influences, without corrections."""
    if facts["kind"] != "model":
        return False
    rigid: bool = facts["bone_type"] == "rigid" and facts["rank"] == 0
    return rigid and facts["influences_used"]["max"] <= INFLUENCES


def _round_trip(name: str, folder: Path, threads: int) -> tuple[tuple[CommandRun, ...], float | None]:
    """Sample the character to frames, skin these on its rig, evaluate the result: E % between both lists of frames."""
    sampled, again, back = folder / "sampled.npz", folder / "again.glb", folder / "back.npz"
    steps = (
        ("play", name, "-o", str(sampled), "--force", "--quiet"),
        ("skin", str(sampled), "--rig", name, "-o", str(again), "--force", "--threads", str(threads), "--quiet"),
        ("play", str(again), "-o", str(back), "--force", "--quiet"),
    )
    runs: list[CommandRun] = []
    for step in steps:
        runs.append(run_command(*step))
        if not runs[-1].done:
            return tuple(runs), None
    return tuple(runs), _error_between(sampled, back)


def _error_between(source: Path, result: Path) -> float:
    from osteon.io import load_sequence
    from osteon.measure.distortion import measure_distortion

    sequence, frames = load_sequence(source), load_sequence(result).frames
    return measure_distortion(sequence, sequence.faces, lambda start, stop: frames[start:stop]).error_percent
