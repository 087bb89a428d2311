"""`--compress` against gltfpack: the bytes of the same model, plain and gzipped, and the loss of accuracy.

gltfpack receives the plain file and at most our precision: 16 bits for positions, 8 for normals; it always stores
weights in 8 bits. Osteon evaluates both files and compares them with the source frames; the vertices, which gltfpack
reorders, are matched by their motion.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from osteon.core.arrays import Float32
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.io import load_sequence, save_model
from osteon.io.formats.options import SaveOptions
from osteon_bench.players.deviation import TOLERANCE, read_reference, worst_deviation
from osteon_bench.players.tools import PACKAGES, why_no_browser
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, horse_or_fox

BONES, RANK = 30, 5
#: Largest size over that of gltfpack.
BYTES = 1.05
GLTFPACK = ("-cc", "-vp", "16", "-vn", "8")
#: Frames by which vertices are matched.
MARKS = 6


def compress_rows(run: BenchRun) -> list[Row]:
    """Rows for the horse, or for the built-in fox if the horse is missing."""
    sequence = horse_or_fox(run)
    run.report(f"{sequence.name}: {BONES} bones, rank {RANK}, compressed")
    model = _fit(sequence, run.threads)
    case = f"{sequence.name}, {BONES} {model.track.bone_type} bones, rank {RANK}, --compress"
    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as name:
        plain, ours, theirs = (Path(name) / f"{way}.glb" for way in ("plain", "ours", "gltfpack"))
        save_model(model, plain)
        save_model(model, ours, options=SaveOptions(compress=True))
        rows = _own_rows(case, sequence, model, ours)
        if _pack(run, plain, theirs, sequence.clips[0].fps):
            rows += _peer_rows(case, sequence, model, (ours, theirs))
        return rows + _player_rows(run, case, ours)


def _fit(sequence: MeshSequence, threads: int) -> SkinnedModel:
    from osteon.pipeline.skin import skin_sequence

    return skin_sequence(sequence, options=SkinOptions(bones=BONES, rank=RANK, threads=threads)).model


def _own_rows(case: str, sequence: MeshSequence, model: SkinnedModel, ours: Path) -> list[Row]:
    """The loss of accuracy by compression, and the largest displacement of a vertex."""
    from osteon.deform.pose import pose_frames
    from osteon.io.gltf.write.precision import COMPRESS_ERROR

    exact, shown = pose_frames(model), _shown(ours, pose_frames(model))
    moved = float(np.linalg.norm(shown - exact, axis=2).max()) / sequence.diagonal
    return [
        at_most(case, "a vertex moves at most, part of the diagonal", moved, COMPRESS_ERROR),
        figure(case, "E %", _error(sequence, shown)),
        figure(case, "E % before compression", _error(sequence, exact)),
        figure(case, "kB", ours.stat().st_size / 1000),
        figure(case, "kB, gzipped", _gzipped(ours) / 1000),
    ]


def _peer_rows(case: str, sequence: MeshSequence, model: SkinnedModel, files: tuple[Path, Path]) -> list[Row]:
    """Bytes and error over gltfpack's."""
    from osteon.deform.pose import pose_frames

    ours, theirs = files
    errors = [_error(sequence, _shown(path, pose_frames(model))) for path in files]
    return [
        at_most(case, "bytes / gltfpack's", ours.stat().st_size / theirs.stat().st_size, BYTES),
        at_most(case, "bytes / gltfpack's, both gzipped", _gzipped(ours) / _gzipped(theirs), BYTES),
        at_most(case, "E / gltfpack's", errors[0] / errors[1], 1.0),
        figure(case, "E % of gltfpack", errors[1]),
    ]


def _player_rows(run: BenchRun, case: str, ours: Path) -> list[Row]:
    """Deviation of three.js and Babylon.js from `osteon play`."""
    reason = why_no_browser()
    if reason:
        run.report_missing(f"three.js and Babylon.js: omitted, {reason}")
        return []
    from osteon_bench.players.browser import start_players

    rows: list[Row] = []
    with start_players() as players:
        for engine, player in players.items():
            if engine not in ("three", "babylon"):
                continue
            player.open(ours)
            deviation = worst_deviation(read_reference(ours, player.corners), player.corners)
            rows.append(at_most(case, f"{engine}, from osteon play, part of the diagonal", deviation, TOLERANCE))
    return rows


def _pack(run: BenchRun, source: Path, target: Path, fps: float) -> bool:
    """Convert `source` to `target` with gltfpack, with one key per frame; whether gltfpack is installed."""
    node, script = shutil.which("node"), PACKAGES / "gltfpack" / "cli.js"
    if node is None or not script.is_file():
        run.report_missing("gltfpack: omitted, because it is not installed; run scripts/install-players")
        return False
    command = [node, str(script), "-i", str(source), "-o", str(target), *GLTFPACK, "-af", f"{fps:g}"]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    return True


def _shown(path: Path, exact: Float32) -> Float32:
    """(f,v,3) frames of a file, its vertices matched with those of `exact (f,v,3)` by their motion."""
    frames = load_sequence(path).frames
    marks = np.unique(np.linspace(0, len(exact) - 1, MARKS).round().astype(np.int64))
    ways = [np.swapaxes(way[marks], 0, 1).reshape(way.shape[1], -1) for way in (frames, exact)]
    return np.asarray(frames[:, cKDTree(ways[0]).query(ways[1])[1]])


def _error(sequence: MeshSequence, shown: Float32) -> float:
    from osteon.measure.distortion import measure_distortion

    return measure_distortion(sequence.frames, sequence.faces, lambda a, b: shown[a:b]).error_percent


def _gzipped(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 9, mtime=0))
