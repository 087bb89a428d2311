"""three.js and Babylon.js show the colours of light that a file holds: COLOR_0 and morph targets of colour, unlit."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Corrections, Skin
from osteon.core.model import SkinnedModel, StoredLight, VertexColors
from osteon.deform.linear_blend import linear_blend_model
from osteon.io import save_stored_light
from osteon.io.formats.options import SaveOptions
from osteon.synth.shapes import make_grid

#: The base colour of a mesh without a material, pixels of a picture 8 units wide, and frames per second.
ALBEDO, SIZE, FPS = 0.8, 128, 4.0
FRAMES = 3


def sheet(*, corrected: bool = False) -> SkinnedModel:
    """A sheet of 4 x 4 units that faces +z and moves to the side; its corrections push it back."""
    shape = make_grid(4, 4, 4.0, 4.0).moved((-2.0, -2.0, 0.0))
    count = len(shape.vertices)
    transforms = np.tile(np.eye(3, 4, dtype=np.float32), (FRAMES, 1, 1, 1))
    corrections = None
    if corrected:
        transforms[:, :, 0, 3] = np.array([0, 1, 2])[:, None]
        basis = np.tile(np.array([-1, 0, 0], np.float32), (1, count, 1))
        corrections = Corrections(basis, np.array([[0], [1], [2]], np.float32))
    skin = Skin(np.zeros((count, 1), np.int32), np.ones((count, 1), np.float32))
    track = BoneTrack(transforms, "rigid")
    clips = (Clip("glow", 0, FRAMES, FPS),)
    return linear_blend_model(
        shape.vertices.astype("f4"), shape.faces, skin, track, clips=clips, corrections=corrections, name="sheet"
    )


def changing_colors(model: SkinnedModel) -> VertexColors:
    """From red on the left to green on the right, with a blue that comes and a red that goes."""
    part = ((model.rest[:, :1] + 2) / 4).astype(np.float32)
    base = np.concatenate([0.5 * (1 - part), 0.5 * part, np.full_like(part, 0.2)], axis=1)
    blue, red = np.zeros_like(base), np.zeros_like(base)
    blue[:, 2:], red[:, :1] = 0.4 * part, 1 - part
    weights = np.array([[0.0, 0.0], [1.0, -0.2], [2.0, -0.4]], np.float32)
    return VertexColors(base, np.stack([blue, red]), weights)


def shown(linear: np.ndarray, engine: str) -> np.ndarray:
    """Bytes of linear colours: sRGB in three.js, the power 1 / 2.2 in Babylon.js."""
    clipped = np.clip(linear, 0, 1)
    if engine == "babylon":
        return 255 * clipped ** (1 / 2.2)
    return 255 * np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055)


def expected_at(colors: VertexColors, frame: float, part: float) -> np.ndarray:
    """The linear colour at a part of the way from the left to the right."""
    weights = [np.interp(frame, np.arange(FRAMES), column) for column in colors.weights.T]
    vertices = colors.base + np.tensordot(np.array(weights), colors.columns, axes=1)
    row = vertices[:5]  # of the first row along x
    linear = np.array([np.interp(part, np.linspace(0, 1, 5), channel) for channel in row.T])
    return ALBEDO * linear


@pytest.mark.parametrize("options", [{}, {"quantize": True}])
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("engine", ["three", "babylon"])
def test_colors_are_shown_as_they_were_computed(players, messages, tmp_path, engine, corrected, options):
    model = sheet(corrected=corrected)
    colors = changing_colors(model)
    path = tmp_path / "glow.glb"
    save_stored_light(model, StoredLight({}, {}, (colors,)), path, options=SaveOptions(engine="web", **options))
    assert messages([path]) == [[]]
    player = players[engine]
    player.open(path)
    for frame in (0.0, 1.0, 1.5, 2.0):
        picture = player.shades(0, frame / FPS, SIZE)
        for part in (0.2, 0.45, 0.8):
            column = int(SIZE * (0.25 + 0.5 * part))
            place = (column + 0.5) / SIZE * 2 - 0.5
            expected = shown(expected_at(colors, frame, place), engine)
            np.testing.assert_allclose(picture[SIZE // 2, column, :3], expected, atol=2.5, err_msg=f"frame {frame}")


@pytest.mark.parametrize("engine", ["three", "babylon"])
def test_static_colors_are_their_mean(players, tmp_path, engine):
    model = sheet()
    colors = changing_colors(model).static()
    path = tmp_path / "still.glb"
    save_stored_light(model, StoredLight({}, {}, (colors,)), path)
    player = players[engine]
    player.open(path)
    picture = player.shades(0, 1 / FPS, SIZE)
    column = int(SIZE * 0.6)
    place = (column + 0.5) / SIZE * 2 - 0.5
    linear = np.array([np.interp(place, np.linspace(0, 1, 5), channel) for channel in colors.base[:5].T])
    np.testing.assert_allclose(picture[SIZE // 2, column, :3], shown(ALBEDO * linear, engine), atol=2.5)
