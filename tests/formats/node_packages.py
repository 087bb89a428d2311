"""Programs of npm's packages, run by node on the files and streams of tests."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from osteon_bench.players.tools import PACKAGES

HERE = Path(__file__).resolve().parent


def run_node(script: Path, *arguments: str, packages: tuple[str, ...], text: str = "") -> str:
    """What a script prints. Skips without node or the packages; where CI=true they must be there."""
    missing = [] if shutil.which("node") else ["node"]
    missing += [name for name in packages if not (PACKAGES / name).is_dir()]
    reason = f"{', '.join(missing)} not installed; run scripts/install-players" if missing else ""
    if reason:
        pytest.skip(reason)
    command = ["node", str(script), *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ask_script(name: str, tasks: list[dict], *packages: str) -> list[dict]:
    """The answers of a script beside this file to a list of tasks; bytes are base64 on the way."""
    text = json.dumps(tasks, default=lambda data: base64.b64encode(data).decode())
    return json.loads(run_node(HERE / name, str(PACKAGES.parent), packages=packages, text=text))


def gltfpack(source: Path, target: Path, *flags: str) -> Path:
    """`target`, made of `source` by gltfpack."""
    run_node(PACKAGES / "gltfpack" / "cli.js", "-i", str(source), "-o", str(target), *flags, packages=("gltfpack",))
    return target
