"""The files of `bench seen`: plain `osteon skin`, the same without normals in the fit, and Dem Bones with equally many
bones, written by our writer."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from osteon.core.errors import OsteonError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.io import load_model, save_model, save_sequence
from osteon_bench.dem_bones import dem_bones_model
from osteon_bench.run import BenchRun

#: Options with which `osteon skin` fits positions only and stores the normals of the rest pose.
BEFORE = ("--shading", "0", "--normal-rank", "0", "--normals", "smooth")
INFLUENCES = 4


@dataclass(frozen=True, slots=True)
class SeenFiles:
    """Files of one sequence."""

    ours: Path
    before: Path
    dem_bones: Path | None  # None: it is not installed
    model: SkinnedModel  # that of `ours`
    nbytes: int  # of `ours`


def make_files(run: BenchRun, sequence: MeshSequence, folder: Path) -> SeenFiles:
    """Fit and write all of them."""
    source = folder / f"{sequence.name or 'sequence'}.npz"
    save_sequence(sequence, source)
    run.report(f"{sequence.name}: osteon skin")
    ours = _skin(run, source, folder / "ours.glb")
    run.report(f"{sequence.name}: osteon skin {' '.join(BEFORE)}")
    before = _skin(run, source, folder / "before.glb", *BEFORE)
    model = load_model(ours)
    if find_spec("py_dem_bones") is None:
        run.report_missing("Dem Bones: omitted, because it is not installed; install the extra osteon[bench]")
        return SeenFiles(ours, before, None, model, ours.stat().st_size)
    run.report(f"{sequence.name}: Dem Bones, {model.n_bones} bones")
    peer = folder / "dem_bones.glb"
    save_model(dem_bones_model(sequence, model.n_bones, influences=INFLUENCES), peer)
    return SeenFiles(ours, before, peer, model, ours.stat().st_size)


def _skin(run: BenchRun, source: Path, out: Path, *options: str) -> Path:
    """Run `osteon` in a separate process."""
    command = [sys.executable, "-m", "osteon", "skin", str(source), "-o", str(out), "--quiet", *options]
    done = subprocess.run([*command, "--threads", str(run.threads)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OsteonError(f"osteon skin {source.name} failed: {done.stderr.strip()}")
    return out
