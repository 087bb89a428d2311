"""Levels in files: no messages from Khronos' validator, and three.js evaluates every level as Osteon does.

For every character these files are validated, plain, in 16 bits and compressed:

- the model with its levels: a stock player must show the model;
- its coarse meshes, which a player with MSFT_lod would show: the scene of a copy lists their node instead;
- every level alone, as `--bake-level` writes it.

Distances are fractions of the body's size. Players that are not installed are reported and omitted.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.pose import pose_frames
from osteon.io import SaveOptions, load_model, save_model
from osteon_bench.level_characters import level_characters
from osteon_bench.lod_held import held_rows, is_textured, look_rows
from osteon_bench.players.deviation import TOLERANCE, Play, Reference, match_corners, worst_deviation
from osteon_bench.players.tools import why_no_browser, why_no_validator
from osteon_bench.rows import Row, at_most
from osteon_bench.run import BenchRun

if TYPE_CHECKING:
    from osteon.lod.model_levels import ModelLevels
    from osteon.pipeline.levels import LevelsFit
    from osteon_bench.players.browser import WebPlayer


FORMS = {"": SaveOptions(), "16 bits": SaveOptions(quantize=True), "compressed": SaveOptions(compress=True)}
MODEL, COARSE, BAKED = "model with levels", "coarse meshes", "levels alone"


@dataclass(frozen=True, slots=True)
class LevelFile:
    """A file, and the model that a stock player must show."""

    kind: str
    form: str
    path: Path
    shown: SkinnedModel

    @property
    def metric(self) -> str:
        return f"{self.kind}, {self.form}" if self.form else self.kind


def file_rows(run: BenchRun) -> list[Row]:
    """Rows of every character."""
    from osteon.pipeline.levels import fit_levels

    rows: list[Row] = []
    textured: dict[str, LevelsFit] = {}
    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as name:
        files: dict[str, list[LevelFile]] = {}
        for case, model in level_characters(run):
            run.report(f"{case}: files of levels")
            folder = Path(name) / case.replace(" ", "-")
            folder.mkdir()
            found = fit_levels(model)
            files[case] = list(level_files(found.levels, folder))
            rows += held_rows(case, found)
            if is_textured(model):
                textured[case] = found
            rows.append(
                at_most(f"{case}, levels", "levels that do not come back from a file", _lost(found.levels, folder), 0)
            )
        return rows + _validator_rows(run, files) + _three_rows(run, files) + look_rows(run, textured)


def level_files(levels: ModelLevels, folder: Path) -> Iterator[LevelFile]:
    """All files that `osteon lod` writes of these levels."""
    from osteon.lod.model_levels import load_levels, save_levels

    for form, options in FORMS.items():
        path = folder / f"levels-{form.replace(' ', '-')}.gltf"
        save_levels(levels, path, options=options)
        again = load_levels(path)
        assert again is not None
        yield LevelFile(MODEL, form, path, _stock(again.model))
        for number, node in enumerate(_coarse_nodes(path), 1):
            shown = _stock(again.mesh_model(number))
            yield LevelFile(COARSE, form, show_node(path, node, path.with_stem(f"{path.stem}-coarse-{number}")), shown)
        for number, level in enumerate(levels.levels):
            alone = folder / f"alone-{number}-{form.replace(' ', '-')}.glb"
            save_model(levels.baked(level), alone, options=options)
            yield LevelFile(BAKED, form, alone, _stock(load_model(alone)))


def _stock(model: SkinnedModel) -> SkinnedModel:
    """The model as a stock player shows it: with its fallback, if any."""
    fallback = model.character.fallback
    return model if fallback is None else model.with_character(deformer=LinearBlend(fallback), fallback=None)


def _root(path: Path) -> dict[str, Any]:
    root: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return root


def _coarse_nodes(path: Path) -> list[int]:
    found: list[int] = _root(path)["nodes"][0].get("extensions", {}).get("MSFT_lod", {}).get("ids", [])
    return found


def show_node(path: Path, node: int, out: Path) -> Path:
    """A copy of a .gltf whose scene shows this node in place of the model."""
    root = _root(path)
    root["scenes"][0]["nodes"] = [node if n == 0 else n for n in root["scenes"][0]["nodes"]]
    out.write_text(json.dumps(root), encoding="utf-8")
    return out


def _lost(levels: ModelLevels, folder: Path) -> int:
    """Levels and arrays that change when a file is read back."""
    from osteon.lod.model_levels import load_levels, save_levels

    save_levels(levels, folder / "levels.npz")
    again = load_levels(folder / "levels.npz")
    if again is None or again.levels != levels.levels:
        return len(levels.levels)
    found, expected = again.skin.arrays(), levels.skin.arrays()
    return sum(not np.array_equal(found[name], array) for name, array in expected.items())


def _validator_rows(run: BenchRun, files: dict[str, list[LevelFile]]) -> list[Row]:
    from osteon_bench.players.validator import validate_all

    if reason := why_no_validator():
        run.report_missing(f"gltf-validator: omitted, {reason}")
        return []
    run.report("gltf-validator")
    rows = []
    for case, written in files.items():
        messages = validate_all([file.path for file in written if file.kind != COARSE])
        count = sum(len(found) for found in messages)
        rows.append(at_most(f"{case}, levels", f"gltf-validator, messages on {len(messages)} files", count, 0))
    return rows


def _three_rows(run: BenchRun, files: dict[str, list[LevelFile]]) -> list[Row]:
    from osteon_bench.players.browser import start_players

    if reason := why_no_browser(("three",)):
        run.report_missing(f"three.js: omitted, {reason}")
        return []
    rows: list[Row] = []
    with start_players(("three",)) as players:
        for case, written in files.items():
            run.report(f"{case}: three.js")
            worst: dict[str, float] = {}
            for file in written:
                apart = measure_file(file, players["three"])
                worst[file.metric] = max(worst.get(file.metric, 0.0), apart)
            title = f"{case}, three.js, part of the size"
            rows += [at_most(title, metric, value, TOLERANCE) for metric, value in worst.items()]
    return rows


def measure_file(file: LevelFile, player: WebPlayer) -> float:
    """The largest deviation of the player, as a fraction of the body's size."""
    player.open(file.path, eight_influences=file.shown.skin.n_influences > 4)
    play: Play = player.corners
    corners = match_corners(play(0, [0.0])[0], pose_frames(file.shown, 0, 1)[0], file.shown.faces)
    reference = Reference(file.shown, corners)
    return worst_deviation(reference, play) * reference.diagonal / (file.shown.diagonal or 1.0)
