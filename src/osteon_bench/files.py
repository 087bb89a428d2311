"""Size and accuracy of files: bytes, the cost of 16 bits, and the agreement of third-party players.

Sizes are fractions of the same sequence as float32 positions. Players that are not installed are reported and omitted.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.io import load_model, save_model
from osteon.io.formats.options import SaveOptions
from osteon_bench.players.cases import Case, make_cases
from osteon_bench.players.deviation import TOLERANCE, read_reference, worst_detour, worst_deviation
from osteon_bench.players.tools import why_no_browser, why_no_usd, why_no_validator
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, horse_or_fox

BONES = 30
#: Largest relative change of E % when a model is written with 16 bits.
ERROR_CHANGE = 0.01
#: Formats whose sizes are compared with glTF.
OTHERS = (".glb", ".npz", ".usdc")


@dataclass(frozen=True, slots=True)
class _Size:
    """Bounds of a quantised file."""

    rank: int
    normals: bool
    bound: float  # part of the float32 positions

    @property
    def name(self) -> str:
        return f"rank {self.rank}" + ("" if self.normals else ", positions only")


SIZES = (_Size(0, True, 1 / 12), _Size(5, False, 1 / 6))


def bench_files(run: BenchRun) -> list[Row]:
    """Rows for the horse, or for the built-in fox if it is missing, and for every case of the players."""
    sequence = horse_or_fox(run)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as name:
        folder = Path(name)
        fitted = []
        for size in SIZES:
            run.report(f"{sequence.name}: {BONES} bones, {size.name}")
            model = _fit(sequence, size.rank, run.threads)
            rows += _size_rows(run, sequence, model, size, folder)
            fitted.append(
                Case(
                    f"{sequence.name} {size.name}",
                    model,
                    SaveOptions(quantize=True, short_rotations=True, normals=size.normals),
                )
            )
        return rows + player_rows(run, (*make_cases(), *fitted), folder)


def _fit(sequence: MeshSequence, rank: int, threads: int) -> SkinnedModel:
    from osteon.pipeline.skin import skin_sequence

    return skin_sequence(
        sequence, options=SkinOptions(bones=BONES, bone_type="flexible", rank=rank, threads=threads)
    ).model


def _size_rows(run: BenchRun, sequence: MeshSequence, model: SkinnedModel, size: _Size, folder: Path) -> list[Row]:
    case = f"{sequence.name}, {BONES} flexible bones, {size.name}"
    path = folder / f"rank{size.rank}.glb"
    save_model(model, path, options=SaveOptions(quantize=True, short_rotations=True, normals=size.normals))
    before, after = _error(sequence, model), _error(sequence, load_model(path))
    ratio = path.stat().st_size / sequence.frames.nbytes
    rows = [
        at_most(case, "quantised .glb / float32 positions", ratio, round(size.bound, 6)),
        at_most(case, "change of E by quantisation, part of E", abs(after - before) / before, ERROR_CHANGE),
        figure(case, "E %", before),
        figure(case, "E % quantised", after),
        figure(case, "kB, quantised .glb", path.stat().st_size / 1000),
    ]
    for suffix in OTHERS:
        kilobytes = _kilobytes(run, model, folder / f"rank{size.rank}-plain{suffix}", size)
        if kilobytes is not None:
            rows.append(figure(case, f"kB, {suffix}", kilobytes))
    return rows


def _kilobytes(run: BenchRun, model: SkinnedModel, path: Path, size: _Size) -> float | None:
    """Size of the model in that format; None if the format cannot be written here."""
    if path.suffix == ".usdc" and _misses(run, "USD", why_no_usd()):
        return None
    save_model(model, path, options=SaveOptions(normals=size.normals))
    return path.stat().st_size / 1000


def _misses(run: BenchRun, player: str, reason: str) -> bool:
    """Report the reason, if any, why a player cannot play, and return whether there is one."""
    if reason:
        run.report_missing(f"{player}: omitted, {reason}")
    return bool(reason)


def _error(sequence: MeshSequence, model: SkinnedModel) -> float:
    from osteon.deform.pose import pose_frames
    from osteon.measure.distortion import measure_distortion

    return measure_distortion(sequence.frames, sequence.faces, lambda a, b: pose_frames(model, a, b)).error_percent


def player_rows(run: BenchRun, cases: tuple[Case, ...], folder: Path) -> list[Row]:
    """Messages of the validator, and deviations of players from `osteon play`."""
    files = [(case, case.save(folder)) for case in cases]
    rows: list[Row] = []
    for name, reason, measure in (
        ("gltf-validator", why_no_validator(), _validator_rows),
        ("three.js and Babylon.js", why_no_browser(), _web_rows),
        ("USD", why_no_usd(), _usd_rows),
    ):
        if not _misses(run, name, reason):
            run.report(name)
            rows += measure(files)
    return rows


def _validator_rows(files: list[tuple[Case, Path]]) -> list[Row]:
    from osteon_bench.players.validator import validate_all

    found = validate_all([path for _, path in files])
    counts = [(case.name, len(messages)) for (case, _), messages in zip(files, found, strict=True)]
    return [at_most("gltf-validator, errors and warnings", name, count, 0) for name, count in counts]


def _web_rows(files: list[tuple[Case, Path]]) -> list[Row]:
    from osteon_bench.players.browser import start_players

    rows: list[Row] = []
    with start_players() as players:
        for engine, player in players.items():
            for case, path in files:
                player.open(path, eight_influences=case.eight)
                reference = read_reference(path, player.corners)
                name = f"{case.name}, with the plugin" if case.eight and engine == "three" else case.name
                deviation = worst_deviation(reference, player.corners)
                rows.append(at_most(f"{engine}, from osteon play, part of the diagonal", name, deviation, TOLERANCE))
                detour = worst_detour(reference, player.corners)
                title = f"{engine}, halfway beyond the next frame, part of the diagonal"
                rows.append(at_most(title, name, detour, TOLERANCE))
    return rows


def _usd_rows(files: list[tuple[Case, Path]]) -> list[Row]:
    from osteon_bench.players.usd_player import play_usd, validate_usd

    rows: list[Row] = []
    for case, beside in files:
        path = case.save(beside.parent, ".usdc")
        rows.append(at_most("UsdValidation, messages", case.name, len(validate_usd(path)), 0))
        play = play_usd(path, load_model(path))
        deviation = worst_deviation(read_reference(path, play), play)
        rows.append(at_most("USD, from osteon play, part of the diagonal", case.name, deviation, TOLERANCE))
    return rows
