"""Locations of the programs and packages of the players, and the messages if they are missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

#: Osteon's JavaScript, beside this file.
SCRIPTS = Path(__file__).resolve().parent
#: Third-party JavaScript, in the checkout of this file.
PACKAGES = SCRIPTS.parents[2] / "tests" / "players" / "node_modules"

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Packages that npm installs for each web engine.
_WEB_PACKAGES = {
    "three": ("three", "meshoptimizer"),
    "babylon": ("babylonjs", "babylonjs-loaders", "meshoptimizer"),
    "playcanvas": ("playcanvas", "meshoptimizer"),
    "cesium": ("cesium",),
}
_INSTALL = "run scripts/install-players"
_ENGINES = "run scripts/test-engines"


def find_chromium() -> Path | None:
    """Chromium from OSTEON_CHROMIUM, else from PATH."""
    named = os.environ.get("OSTEON_CHROMIUM")
    found = named or next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    return Path(found) if found and Path(found).is_file() else None


def find_blender() -> Path | None:
    """A Python with Blender's package bpy: from OSTEON_BLENDER, else the environment of scripts/test-blender."""
    named = os.environ.get("OSTEON_BLENDER")
    found = Path(named) if named else SCRIPTS.parents[2] / ".venv-blender" / "bin" / "python"
    return found if found.is_file() else None


def why_no_blender() -> str:
    """Why Blender cannot play here; empty if it can."""
    return "" if find_blender() else "Blender's package bpy is not installed; run scripts/test-blender"


def why_no_validator() -> str:
    """Why files cannot be validated here; empty if they can."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not (PACKAGES / "gltf-validator").is_dir():
        return f"the package gltf-validator is not installed; {_INSTALL}"
    return ""


def why_no_browser(engines: Sequence[str] = ("three", "babylon")) -> str:
    """Why players of the web cannot play here; empty if they can."""
    for package in (package for engine in engines for package in _WEB_PACKAGES[engine]):
        if not (PACKAGES / package).is_dir():
            return f"the package {package} is not installed; {_INSTALL}"
    if find_chromium() is None:
        return f"Chromium is not installed; {_INSTALL}"
    if find_spec("playwright") is None:
        return "playwright is not installed; install the extra osteon[test]"
    return ""


def why_no_usd() -> str:
    """Why USD cannot play here; empty if it can."""
    return "" if find_spec("pxr") is not None else "USD is not installed; install the extra osteon[usd]"


def why_no_raylib() -> str:
    """Why raylib cannot play here; empty if it can."""
    return "" if find_spec("raylib") is not None else "raylib is not installed; install the extra osteon[bench]"


def why_no_panda() -> str:
    """Why Panda3D cannot play here; empty if it can."""
    there = find_spec("panda3d") is not None and find_spec("gltf") is not None
    return "" if there else f"panda3d and panda3d-gltf are not installed; {_ENGINES}"


def why_no_godot() -> str:
    """Why Godot cannot play here; empty if it can."""
    return "" if shutil.which("godot3-server") else f"the program godot3-server is not installed; {_ENGINES}"


def why_no_assimp() -> str:
    """Why assimp cannot import here; empty if it can."""
    from osteon_bench.players.assimp_scene import library_name

    return "" if library_name() else f"libassimp 5 is not installed; {_ENGINES}"
