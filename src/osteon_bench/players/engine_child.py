"""The child process of `engine_process`: `python -m …players.engine_child MODULE OUTPUT` reads a request on stdin."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np


def main(module: str, output: Path) -> None:
    """Play a file with the engine of a module and write the corners."""
    request = json.load(sys.stdin)
    play = import_module(f"osteon_bench.players.{module}").open_file(Path(request["path"]), **request["options"])
    np.save(output, np.asarray(play(request["clip"], request["times"]), np.float32))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
