"""The child process of `far_players`: `python -m …players.far_child MODULE ANSWER`, the question on its input."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np


def main(module: str, answer: Path) -> None:
    """Ask the engine of a module, and write what it shows."""
    asked = json.load(sys.stdin)
    play = import_module(f"osteon_bench.players.{module}").open_file(Path(asked["path"]), **asked["options"])
    np.save(answer, np.asarray(play(asked["clip"], asked["times"]), np.float32))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
