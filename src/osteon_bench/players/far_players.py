"""Engines that play in a process of their own: what they print, keep or break stays there.

A child (`far_child.py`) imports the file once and answers all that it is asked; the corners come back as one array.
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
from osteon_bench.players.judge import Play

__all__ = ["play_far", "run_engine"]

#: Seconds that an engine may take for a file.
LONGEST = 600


def play_far(module: str, path: Path, **options: object) -> Play:
    """A player of a file by the engine of a module of this folder, which has `open_file(path, **options)` -> `Play`."""

    def play(clip: int, times: list[float]) -> Float32:
        with tempfile.TemporaryDirectory(prefix="osteon-engine-") as folder:
            answer = Path(folder) / "corners.npy"
            asked = json.dumps(
                {"path": str(path.resolve()), "options": options, "clip": clip, "times": [float(t) for t in times]}
            )
            command = [sys.executable, "-m", "osteon_bench.players.far_child", module, str(answer)]
            run_engine(command, module, asked)
            corners: Float32 = np.load(answer)
        return corners

    return play


def run_engine(command: list[str], name: str, asked: str = "", **environment: str) -> str:
    """What a program says when it is run; an error of one line if it fails."""
    done = subprocess.run(
        command,
        input=asked,
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
