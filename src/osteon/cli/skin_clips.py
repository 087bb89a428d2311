"""`osteon skin` with clips that have no mesh: the clips are added to the character without a fit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osteon.cli.common import WallTime, console, print_json, size_text, time_text, write_json
from osteon.cli.option_flags import refuse_given, refuse_unused
from osteon.cli.outputs import Outputs
from osteon.core.errors import OptionError
from osteon.core.options import drop_unused
from osteon.io import MODEL_FORMATS, SaveOptions, save_model, save_played
from osteon.io.engines import GLTF
from osteon.io.formats.engine_facts import file_plays, plays_json, plays_rows
from osteon.io.load.rig_files import PlayedClips, save_clips_on_rig
from osteon.io.load.source import numbered
from osteon.io.save.atomic import written_path

_NOT_FITTED = "clips without a mesh are played on the rig as it is, and nothing is fitted; omit it"


@dataclass(frozen=True, slots=True)
class ClipRun:
    """Outputs and options of the run."""

    outputs: tuple[str, ...]
    report: str | None
    save: SaveOptions
    planned: Outputs
    clock: WallTime
    json_file: str | None
    quiet: bool


def write_clips(played: PlayedClips, run: ClipRun) -> None:
    """Write the character with its clips to all outputs, and print the matched joints."""
    refuse_given("options", _NOT_FITTED)
    if run.report is not None:
        raise OptionError(f"--report: {_NOT_FITTED}")
    refuse_unused(clips=True, kept=any(Path(path).suffix.lower() in GLTF for path in run.outputs))
    with run.clock.stage("measure"):
        size = _size(played)
    with run.planned.writing():
        with run.clock.stage("write"):
            for path in run.outputs:
                _write(played, path, run.save)
        facts = _facts(played, size, run)
        write_json(facts, run.json_file)
    print_json(facts, run.json_file)
    if not run.quiet and run.json_file != "-":
        _print(played, facts, run)


def _size(played: PlayedClips) -> float:
    from osteon.io.gltf.read.bones import rest_pose
    from osteon.pipeline.rig_match import size_of_rest

    return size_of_rest(played.model, rest_pose(played.character.scene))


def _write(played: PlayedClips, path: str, options: SaveOptions) -> None:
    suffix = Path(path).suffix.lower()
    if suffix in GLTF:
        save_clips_on_rig(played, path)
    elif suffix in MODEL_FORMATS:
        save_model(played.model, path, options=drop_unused(options, written=suffix))
    else:
        save_played(played.model, path)


def _facts(played: PlayedClips, size: float, run: ClipRun) -> dict[str, Any]:
    first = Path(run.outputs[0])
    there = written_path(first)
    plays = file_plays(played.model, run.outputs, run.save, None)
    return {
        "kind": "clips",
        "clips": [{"name": c.name, "frames": c.n_frames, "fps": c.fps} for c in played.model.clips],
        "joints": {
            "moved": sum(one.n_joints for one in played.matched),
            "matched": sum(one.n_matched for one in played.matched),
        },
        "files": [
            {
                "file": str(one.path),
                "joints": one.n_joints,
                "matched": one.n_matched,
                "bone_length_ratio": one.ratio.lengths,
                "root_ratio": one.ratio.root,
                "translations_scaled": one.ratio.scaled,
            }
            for one in played.matched
        ],
        "size_of_rest": size,
        "output_bytes": there.stat().st_size if there.is_file() else None,
        "warnings": list(played.notes),
        "seconds": run.clock.seconds(),
        "plays": plays_json(plays),
    }


def _print(played: PlayedClips, facts: dict[str, Any], run: ClipRun) -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    names = ", ".join(f"{clip['name']} ({numbered(clip['frames'], 'frame')})" for clip in facts["clips"])
    rows = [("clips", names)]
    for one in played.matched:
        start = f"{one.path.name}: " if len(played.matched) > 1 else ""
        size = f", size {facts['size_of_rest']:.2f} of rest"
        rows.append(("joints", f"{start}{one.n_matched} of {one.n_joints} joints matched{size}"))
    rows += [
        ("size", "" if facts["output_bytes"] is None else size_text(facts["output_bytes"])),
        ("time", time_text(run.clock.seconds())),
        ("written", ", ".join(run.outputs)),
        *plays_rows(file_plays(played.model, run.outputs, run.save, None)),
    ]
    for name, value in rows:
        if value:
            table.add_row(name, value)
    out = console()
    out.print(table)
    for note in played.notes:
        out.print(f"[yellow]note:[/] {note}")
