"""The shading angle of the plates of `normal_plates` in each player.

Web engines draw a plate with their own shaders and lights; the angle of its colour is looked up in the fan. raylib and
Blender provide the normals that they draw, UsdSkel those that it bakes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.io.engines import EngineName
from osteon_bench.players.browser import Engine, WebPlayer, start_players
from osteon_bench.players.engine_process import play_in_process, run_engine
from osteon_bench.players.normal_plates import FAN, PlateCase, fan_places, write_fan, write_plate
from osteon_bench.players.tools import (
    SCRIPTS,
    find_blender,
    why_no_blender,
    why_no_browser,
    why_no_raylib,
    why_no_usd,
)

#: Time at which plates are measured, in seconds: their joints have moved.
MOMENT = 1.5
#: Pixels of a picture, and units that it shows.
SIZE, UNITS = 64, 8


@dataclass(frozen=True, slots=True)
class PlateReading:
    """The normals of a plate as a player shows them."""

    angle: float | None = None  # degrees of the shaded normal; None: it shows nothing
    middle: float | None = None  # position of the plate on x; None: unknown
    error: str = ""

    def shows(self, angle: float, middle: float) -> bool:
        """Whether that is where and how it should be."""
        turned = self.angle is not None and abs(self.angle - angle) <= ANGLE_TOLERANCE
        return turned and (self.middle is None or abs(self.middle - middle) <= UNITS / SIZE)


#: Degrees by which a reading may be off: a step of a colour's 256 is up to half a degree.
ANGLE_TOLERANCE = 1.5


@dataclass(frozen=True, slots=True)
class NormalPlayer:
    """A player, and its row in the table of engines."""

    name: str
    engine: EngineName
    why_not: Callable[[], str]
    read: Callable[[Sequence[PlateCase], Path], list[PlateReading]]


def _read_web(engine: Engine, cases: Sequence[PlateCase], folder: Path) -> list[PlateReading]:
    """All plates in one browser; after a plate that it fails to show, the following ones get a new page."""
    found: list[PlateReading] = []
    while len(found) < len(cases):
        with start_players([engine]) as players:
            player = players[engine]
            player.open(write_fan(folder / "fan.glb"))
            picture = player.shades(None, 0.0, SIZE)
            fan = np.array([_color(picture, x, y) for x, y, _ in fan_places()])
            for case in cases[len(found) :]:
                found.append(_read_plate(player, fan, write_plate(case, folder / "plate.glb"), case))
                if found[-1].error:
                    break
    return found


def _read_plate(player: WebPlayer, fan: Float64, path: Path, case: PlateCase) -> PlateReading:
    try:
        player.open(path)
        picture = player.shades(0, MOMENT, SIZE)
    except Exception as error:  # of the page, as playwright hands it on
        return PlateReading(error=str(error).splitlines()[0][:120])
    covered = np.argwhere(picture[..., 2] < 128)  # the background is blue, and nothing else
    if not len(covered):
        return PlateReading(error="shows nothing")
    middle = (covered[:, 1].mean() + 0.5) * UNITS / SIZE - UNITS / 2
    return PlateReading(_angle(fan, _color(picture, case.middle, 0.0)), float(middle))


def _color(picture: NDArray[np.uint8], x: float, y: float) -> Float64:
    """(3,) of the four pixels around a place."""
    column, row = (round(SIZE * (0.5 + v / UNITS)) for v in (x, -y))
    return np.asarray(picture[row - 1 : row + 1, column - 1 : column + 1, :3].mean(axis=(0, 1)), np.float64)


def _angle(fan: Float64, color: Float64) -> float:
    """The angle at which the line through the fan's colours comes closest to a colour."""
    starts, steps = fan[:-1], np.diff(fan, axis=0)
    part = np.einsum("ni,ni->n", color - starts, steps) / np.maximum((steps**2).sum(axis=1), 1e-12)
    part = np.clip(part, 0.0, 1.0)
    nearest = int(np.argmin(np.linalg.norm(starts + part[:, None] * steps - color, axis=1)))
    return float(FAN[nearest] + part[nearest] * (FAN[nearest + 1] - FAN[nearest]))


def _read_raylib(cases: Sequence[PlateCase], folder: Path) -> list[PlateReading]:
    found = []
    for case in cases:
        path = write_plate(case, folder / "plate.glb")
        normals, places = (
            play_in_process("raylib_player", path, shown=what)(0, [MOMENT])[0] for what in ("normals", "vertices")
        )
        found.append(PlateReading(_mean_angle(normals), float(places[:, 0].mean())))
    return found


def _read_usd(cases: Sequence[PlateCase], folder: Path) -> list[PlateReading]:
    from osteon_bench.players.usd_plates import baked_plate, write_usd_plate

    found = []
    for number, case in enumerate(cases):
        places, normals = baked_plate(write_usd_plate(case, folder / f"plate{number}.usda"), MOMENT)
        found.append(PlateReading(_mean_angle(normals), float(places[:, 0].mean())))
    return found


def _read_blender(cases: Sequence[PlateCase], folder: Path) -> list[PlateReading]:
    files = [str(write_plate(case, folder / f"plate{number}.glb")) for number, case in enumerate(cases)]
    answer = folder / "answer.json"
    run_engine([str(find_blender()), str(SCRIPTS / "blender_plates.py"), str(answer), str(MOMENT), *files], "Blender")
    return [PlateReading(**reading) for reading in json.loads(answer.read_text())]


def _mean_angle(normals: NDArray[Any]) -> float:
    x, _, z = normals.mean(axis=0)
    return float(np.degrees(np.arctan2(x, z)))


def _web(name: str, engine: Engine, row: EngineName) -> NormalPlayer:
    return NormalPlayer(
        name, row, lambda: why_no_browser([engine]), lambda cases, folder: _read_web(engine, cases, folder)
    )


NORMAL_PLAYERS = (
    _web("three.js", "three", "web"),
    _web("Babylon.js", "babylon", "web"),
    _web("PlayCanvas", "playcanvas", "web"),
    _web("Cesium", "cesium", "cesium"),
    NormalPlayer("UsdSkel", "usd", why_no_usd, _read_usd),
    NormalPlayer("raylib", "raylib", why_no_raylib, _read_raylib),
    NormalPlayer("Blender", "blender", why_no_blender, _read_blender),
)
