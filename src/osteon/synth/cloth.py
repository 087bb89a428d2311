"""A waving flag: a sheet moved by travelling waves, which few bones cannot follow exactly.

Along each thread from the pole the cloth rotates by an angle a(s) sin(k s - w t + phase); its shape is the integral of
that direction, so lengths along the threads are preserved except for the sag. An integer number of waves per cycle
makes it loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float64
from osteon.core.errors import OptionError
from osteon.core.mesh import Asset, Material
from osteon.core.sequence import MeshSequence
from osteon.synth.shapes import make_grid

WIDTH, HEIGHT = 1.5, 1.0  # of the sheet
# Each wave: angle in radians at the free end, waves along the sheet, waves per cycle, lean of its front, phase.
WAVES = ((0.95, 1.25, 1, 0.45, 0.0), (0.35, 2.60, 2, -0.70, 1.3), (0.14, 4.70, 3, 1.10, 0.6))
SAG = 0.10  # sag of the lower free corner, as a fraction of the width
STRIPES = ((0.16, 0.36, 0.62, 1.0), (0.95, 0.93, 0.88, 1.0))


@dataclass(frozen=True, slots=True)
class ClothOptions:
    """Resolution and motion of the flag."""

    frames: int = 48  # of one cycle
    columns: int = 45  # cells along the wind
    rows: int = 30  # cells along the pole
    strength: float = 1.0  # of the wind, 0 … 1.5
    fps: float = 24.0

    def __post_init__(self) -> None:
        if self.frames < 1 or min(self.columns, self.rows) < 1:
            raise OptionError("frames, columns, rows: expected at least 1")
        if not 0 <= self.strength <= 1.5:
            raise OptionError(f"strength: expected 0 … 1.5, got {self.strength}")


DEFAULT_CLOTH = ClothOptions()


def make_cloth(options: ClothOptions = DEFAULT_CLOTH) -> MeshSequence:
    """One cycle of a flag in the wind, fixed to a pole along x = 0; loops."""
    sheet = make_grid(options.columns, options.rows, WIDTH, HEIGHT)
    flat = sheet.vertices / (WIDTH, HEIGHT, 1)
    cells = (options.rows + 1, options.columns + 1)
    s, height = flat[:, 0].reshape(cells), flat[:, 1].reshape(cells)
    frames = [_pose(s, height, f / options.frames, options.strength) for f in range(options.frames)]
    stripe = (np.floor(6 * flat[:, 1] - 1e-9) % 2).astype(int)
    return MeshSequence(
        frames=np.stack(frames).astype(np.float32),
        faces=sheet.faces,
        rest=sheet.vertices.astype(np.float32),
        clips=(Clip("wave", 0, options.frames, options.fps),),
        asset=Asset(
            uvs=flat[sheet.faces, :2].astype(np.float32),
            colors=np.asarray(STRIPES, np.float32)[stripe],
            materials=(Material("cloth", (1.0, 1.0, 1.0, 1.0), double_sided=True),),
            triangle_material=np.zeros(len(sheet.faces), np.int32),
        ),
        name="cloth",
    )


def _pose(s: Float64, height: Float64, time: float, strength: float) -> Float64:
    """(v,3) the sheet at `time` in cycles; s and height (rows, columns) run from 0 to 1."""
    angle = np.zeros_like(s)
    for size, along, times, lean, phase in WAVES:
        angle += size * np.sin(2 * np.pi * (along * s - times * time + 0.1 * lean * height) + phase)
    angle *= strength * np.sqrt(s) * (0.85 + 0.15 * (1 - height))
    step = WIDTH * np.diff(s, axis=1)
    middle = (angle[:, 1:] + angle[:, :-1]) / 2
    zero = np.zeros((len(s), 1))
    x = np.concatenate([zero, np.cumsum(step * np.cos(middle), axis=1)], axis=1)
    z = np.concatenate([zero, np.cumsum(step * np.sin(middle), axis=1)], axis=1)
    y = HEIGHT * height - SAG * WIDTH * strength * s**2 * (1 - 0.35 * height)
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
