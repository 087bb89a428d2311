"""A crowd by matrix palettes against the same crowd by streamed vertices, in the page of view_pages/crowd.mjs.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7, "Comparison to vertex buffer objects".
Vertices are streamed in two ways: every instance is posed in script and sent, as in a player without palettes; or
stored frames of positions and normals are sent, as in the paper, which needs no posing but stores every frame. Bytes
are counted at the calls that send them.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from osteon_bench.rows import Row, at_most, figure

__all__ = ["crowd_rows"]

CROWD = 1000
#: Pictures of the crowd measured with each method, after one for warm-up.
PICTURES = 2
SCRIPT_BOUND = 1 / 6  # the paper's ratio of frame rates
BYTES_BOUND = 1 / 50


@dataclass(frozen=True, slots=True)
class _Cost:
    """Medians for one picture of the crowd."""

    script: float  # ms on the page's thread
    pose: float  # ms of that spent on posing
    bytes: float  # sent to the graphics card
    picture: float  # ms until it is drawn
    triangles: int
    kept: int  # bytes of stored frames

    @property
    def rate(self) -> float:
        return 1000 / self.picture


def crowd_rows(name: str, page: Any) -> list[Row]:
    """The cost of a picture with each method, on a page that is loading."""
    page.wait_for_function("window.bench !== undefined", timeout=60_000)
    page.evaluate("bench.load('model.bin')")
    palette, stream, stored = (_measure(page, method) for method in ("palette", "stream", "stored"))
    case = f"crowd of {CROWD}, {name}"
    return [
        at_most(case, "script, palettes / streaming without its sending", palette.script / stream.pose, SCRIPT_BOUND),
        at_most(case, "script, palettes / streaming of stored frames", palette.script / stored.script, SCRIPT_BOUND),
        figure(case, "script, palettes / streaming in all", palette.script / stream.script),
        figure(case, "ms of script a picture, palettes", palette.script),
        figure(case, "ms of script a picture, streaming", stream.script),
        figure(case, "ms of that for posing", stream.pose),
        figure(case, "ms of script a picture, streaming of stored frames", stored.script),
        at_most(case, "bytes sent a picture, palettes / streaming", palette.bytes / stream.bytes, BYTES_BOUND),
        figure(case, "bytes a picture, palettes", palette.bytes),
        figure(case, "bytes a picture, streaming", stream.bytes),
        figure(case, "bytes a picture, streaming of stored frames", stored.bytes),
        figure(case, "bytes of frames that are kept", stored.kept),
        figure(case, "pictures a second, palettes", palette.rate),
        figure(case, "pictures a second, streaming", stream.rate),
        figure(case, "pictures a second, streaming of stored frames", stored.rate),
        figure(case, "million triangles a second, palettes", palette.rate * palette.triangles / 1e6),
    ]


def _measure(page: Any, method: str) -> _Cost:
    found = page.evaluate("(settings) => bench.measure(...settings)", [CROWD, method, PICTURES])
    middle = {key: median(row[key] for row in found["rows"]) for key in ("script", "pose", "bytes", "picture")}
    return _Cost(**middle, triangles=found["triangles"], kept=found["kept"])
