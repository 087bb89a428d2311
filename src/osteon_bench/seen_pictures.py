"""Pictures of a moving surface by three.js in a browser, of its source and of files, and FLIP between them.

All pictures of a frame have the same orthographic camera, which frames the source tightly, and the same two lights,
which are fixed to the camera. Files are played by three.js' own loader and mixer. The source and vertex animation
textures are drawn as meshes with their positions and normals and the materials of the file.

FLIP is computed on a grey background, at its default of 67 pixels per degree. Only pixels that either picture covers
count, so the background does not reduce the figure.

Based on: Andersson et al., FLIP: A Difference Evaluator for Alternating Images, 2020 (`flip-evaluator`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Bool, Float32, Float64, FloatArray
from osteon_bench.players.browser import WebPlayer, start_players
from osteon_bench.players.tools import why_no_browser
from osteon_bench.seen_surface import SeenSurface

#: (SIZE,SIZE,4) as in the browser: sRGB and coverage.
Picture = NDArray[np.uint8]
SIZE = 512
#: Directions to the camera: front right and slightly above, and back left.
DIRECTIONS = ((0.75, 0.3, 0.6), (-0.6, 0.35, -0.72))
#: Margin, as a fraction of half the width of the picture.
MARGIN = 0.04
GREY = 0.5


@dataclass(frozen=True, slots=True)
class View:
    """A camera whose view direction is -back."""

    axes: Float64  # (3,3) to the right, upwards and backwards
    middle: Float64  # (3,) of what it shows
    half: float  # half the width and height of that

    def to_json(self) -> dict[str, object]:
        right, up, back = self.axes.tolist()
        return {"right": right, "up": up, "back": back, "middle": self.middle.tolist(), "half": self.half}


@dataclass(frozen=True, slots=True)
class FlipScore:
    """FLIP of the covered pixels over some pictures, from 0 (equal) to 1."""

    mean: float
    p99: float  # 99th percentile


def lacking_tools() -> str:
    """Why pictures cannot be taken here; empty if they can."""
    if find_spec("flip_evaluator") is None:
        return "flip-evaluator is not installed; install the extra osteon[bench]"
    return why_no_browser(["three"])


def tight_views(points: FloatArray) -> tuple[View, ...]:
    """Cameras that frame points (v,3) tightly."""
    views = []
    for direction in DIRECTIONS:
        back = np.array(direction) / np.linalg.norm(direction)
        right = np.cross([0.0, 1.0, 0.0], back)
        right /= np.linalg.norm(right)
        axes = np.stack([right, np.cross(back, right), back])
        seen = np.asarray(points, np.float64) @ axes.T
        low, high = seen.min(axis=0), seen.max(axis=0)
        half = float((high - low).max()) / 2 * (1 + MARGIN) or 1.0
        middle = (low + high) / 2 @ axes
        views.append(View(axes, middle, half))
    return tuple(views)


class Studio:
    """A page of three.js that takes pictures, and a folder for the files that it fetches."""

    def __init__(self, player: WebPlayer, folder: Path) -> None:
        self._player, self._folder = player, folder

    def open_file(self, path: Path) -> None:
        """The file that `file_picture` shows and whose materials a surface has."""
        self._player.open(path)

    def file_picture(self, clip: int, seconds: float, view: View) -> Picture:
        """A picture of the open file at a time of a clip, in seconds."""
        return _picture(self._player.call("picture", [clip, seconds, view.to_json()]))

    def open_surface(self, surface: SeenSurface) -> None:
        """Set the surface for `surface_picture`."""
        layout, data = surface.packed()
        self._player.call("openSurface", ["/surface.bin", layout], {"surface.bin": self._stored("surface.bin", data)})

    def surface_picture(self, places: FloatArray, normals: FloatArray, view: View) -> Picture:
        """A picture of the surface with positions (n,3) and normals (n,3)."""
        both: Float32 = np.stack([places, normals]).astype("<f4")
        stored = {"pose.bin": self._stored("pose.bin", both.tobytes())}
        return _picture(self._player.call("surfacePicture", ["/pose.bin", view.to_json()], stored))

    def _stored(self, name: str, data: bytes) -> Path:
        path = self._folder / name
        path.write_bytes(data)
        return path


@contextmanager
def open_studio() -> Iterator[Studio]:
    """Start a browser for pictures for the duration of the block."""
    with TemporaryDirectory(prefix="osteon-seen-") as folder, start_players(["three"]) as players:
        yield Studio(players["three"], Path(folder))


def flip_map(source: Picture, other: Picture) -> tuple[Float32, Bool]:
    """(SIZE,SIZE) FLIP of each pixel, and which of them count."""
    import flip_evaluator

    found = flip_evaluator.evaluate(on_grey(source), on_grey(other), "LDR", applyMagma=False, computeMeanError=False)[0]
    return np.asarray(found, np.float32).reshape(SIZE, SIZE), (source[..., 3] > 0) | (other[..., 3] > 0)


def flip_score(pairs: Iterable[tuple[Picture, Picture]]) -> FlipScore:
    """FLIP of all pairs of a source's picture and another one, per pixel."""
    values: Float64 = np.concatenate([found[counted] for found, counted in (flip_map(*pair) for pair in pairs)])
    return FlipScore(float(values.mean(dtype=np.float64)), float(np.percentile(values, 99)))


def on_grey(picture: Picture) -> Float32:
    """(h,w,3) in 0 … 1, composited on grey."""
    part = picture[..., 3:].astype(np.float32) / 255
    return np.asarray(picture[..., :3] / np.float32(255) * part + GREY * (1 - part), np.float32)


def _picture(text: str) -> Picture:
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(SIZE, SIZE, 4)
