"""Godot 3 (Debian's `godot3-server`): imported by its headless editor, played by its own AnimationPlayer.

A script (`godot_dump.gd`) writes the vertices, bones, weights and blend shapes of the imported scene and, at the
requested times, the poses of all bones. Positions are computed from these here.

With its import defaults Godot samples tracks 15 times per second and removes keys with an optimiser; `whole_tracks` are
the settings that do neither (docs/engines.md).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.errors import OsteonError
from osteon_bench.players.deviation import Play
from osteon_bench.players.engine_process import run_engine
from osteon_bench.players.imported_mesh import ImportedMesh
from osteon_bench.players.tools import SCRIPTS

PROGRAM = "godot3-server"
#: Time limit of an import, and the interval between two checks for its end, in seconds.
LONGEST, PAUSE = 120.0, 0.1
_PROJECT = 'config_version=4\n[application]\nconfig/name="reference"\n'


def whole_tracks(rate: float) -> dict[str, str]:
    """Import settings under which Godot keeps every frame."""
    return {"animation/fps": f"{rate:g}", "animation/optimizer/enabled": "false"}


def play_godot(path: Path, clips: list[str], settings: Mapping[str, str] | None = None) -> Play:
    """Open a file with the animations `clips`, imported with the defaults or with other settings."""

    def play(clip: int, times: list[float]) -> Float32:
        with tempfile.TemporaryDirectory(prefix="osteon-godot-") as name:
            folder = Path(name)
            _import(path, folder, settings or {})
            request = {"file": path.name, "clips": clips, "clip": clip, "times": [float(t) for t in times]}
            (folder / "request.json").write_text(json.dumps(request))
            shutil.copy(SCRIPTS / "godot_dump.gd", folder)
            home = {"HOME": name, "XDG_DATA_HOME": name, "XDG_CONFIG_HOME": name, "XDG_CACHE_HOME": name}
            run_engine([PROGRAM, "--path", name, "--script", "godot_dump.gd"], "Godot", **home)
            header = json.loads((folder / "header.json").read_text())
            if not header["found"]:
                raise OsteonError(f"{path}: Godot has no animation '{clips[clip]}', only {header['clips']}")
            return _corners(header, np.fromfile(folder / "numbers.bin", "<f4").astype(np.float64), len(times))

    return play


def _import(path: Path, folder: Path, settings: Mapping[str, str]) -> None:
    """Import the file with the editor in a new project. The editor does not exit by itself and is killed afterwards."""
    (folder / "project.godot").write_text(_PROJECT)
    shutil.copy(path, folder)
    if settings:
        lines = "".join(f"{key}={value}\n" for key, value in settings.items())
        (folder / f"{path.name}.import").write_text(f'[remap]\n\nimporter="scene"\n\n[params]\n\n{lines}')
    command = [PROGRAM, "--path", str(folder), "--editor"]
    home = {"HOME": str(folder), "PATH": "/usr/bin:/bin:/usr/games"}
    editor = subprocess.Popen(command, env=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + LONGEST
        while not list(folder.glob(".import/*.md5")):
            if editor.poll() is not None or time.monotonic() > end:
                raise OsteonError(f"{path}: Godot does not import it")
            time.sleep(PAUSE)
    finally:
        editor.kill()
        editor.wait()


def _corners(header: dict[str, Any], numbers: Float64, count: int) -> Float32:
    """(f,c,3) corners from the output of the script."""
    meshes, at = [], 0
    for surface in header["surfaces"]:
        mesh, at = _mesh(surface, numbers, at)
        meshes.append(mesh)
    nodes = list({surface["node"]: surface for surface in header["surfaces"]}.values())
    shown = []
    for _ in range(count):
        parts = {}
        for node in nodes:
            stop = at + 12 * (1 + node["binds"])
            matrices = numbers[at:stop].reshape(-1, 3, 4)
            at = stop + node["shapes"]
            parts[node["node"]] = matrices, numbers[stop:at]
        for surface, mesh in zip(header["surfaces"], meshes, strict=True):
            matrices, morphs = parts[surface["node"]]
            posed = mesh.posed(matrices[1:], morphs)
            shown.append(posed @ matrices[0, :, :3].T + matrices[0, :, 3])
    each = len(meshes)
    return np.stack([np.concatenate(shown[each * f : each * f + each]) for f in range(count)]).astype(np.float32)


def _mesh(surface: dict[str, Any], numbers: Float64, at: int) -> tuple[ImportedMesh, int]:
    """One surface, and the offset of the next one."""
    n, corners, shapes = surface["vertices"], surface["indices"], surface["shapes"]
    sizes = (3 * n, 4 * n, 4 * n, corners, 3 * n * shapes)
    ends = at + np.cumsum(sizes)
    points, bones, weights, faces, targets = np.split(numbers[at : ends[-1]], ends[:-1] - at)
    rest = points.reshape(n, 3)
    shifts = targets.reshape(shapes, n, 3) - (0 if surface["relative"] else rest)
    # Godot's front faces are clockwise; the importer reversed each triangle.
    reversed_faces = faces.astype(np.int32).reshape(-1, 3)[:, [0, 2, 1]].ravel()
    held = ImportedMesh(rest, shifts, bones.reshape(n, 4).astype(np.int32), weights.reshape(n, 4), reversed_faces)
    return held, int(ends[-1])
