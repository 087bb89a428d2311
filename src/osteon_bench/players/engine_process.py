"""Run engines in a child process, so that their output, state and crashes stay there.

The child (`engine_child.py`) imports the file once and evaluates all requested times; the corners return as one array.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float32
from osteon.core.errors import OsteonError
from osteon_bench.players.deviation import Play

#: Time limit of an engine for one file, in seconds.
LONGEST = 600


def play_in_process(module: str, path: Path, **options: object) -> Play:
    """Play a file with the engine of a module of this folder, which defines `open_file(path, **options)` -> `Play`."""

    def play(clip: int, times: list[float]) -> Float32:
        with tempfile.TemporaryDirectory(prefix="osteon-engine-") as folder:
            output = Path(folder) / "corners.npy"
            request = json.dumps(
                {"path": str(path.resolve()), "options": options, "clip": clip, "times": [float(t) for t in times]}
            )
            command = [sys.executable, "-m", "osteon_bench.players.engine_child", module, str(output)]
            run_engine(command, module, request)
            corners: Float32 = np.load(output)
        return corners

    return play


def run_engine(command: list[str], name: str, request: str = "", **environment: str) -> str:
    """Run a program and return its standard output; raise an error of one line if it fails."""
    done = subprocess.run(
        command,
        input=request,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LONGEST,
        check=False,
        env={**os.environ, **environment},
    )
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise OsteonError(f"{name} failed with code {done.returncode}: {lines[-1] if lines else 'no message'}")
    return done.stdout
