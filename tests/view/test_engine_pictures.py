"""Materials with pictures: their colours are seen, holes cut by opacity are holes, in a crowd as well."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from osteon.core.mesh import Image
from osteon.view.pack.model_pack import pack_model

from .engine_cases import models
from .engine_page import engine_page

DECODED = """(async () => {
  for (let i = 0; i < 200 && !engine.character.pictures.length; i++) await new Promise((go) => setTimeout(go, 20));
  return engine.character.pictures.map((picture) => Boolean(picture));
})()"""


@pytest.fixture(scope="module")
def page():
    with engine_page(400, 300) as started:
        started.set_view(shade=0)
        yield started
        assert started.complaints == []


def dressed(alpha_mode="OPAQUE"):
    """The model with two materials; the picture of the first is green, and clear in every other column."""
    from PIL import Image as Picture

    pixels = np.zeros((64, 64, 4), np.uint8)
    pixels[..., 1], pixels[:, 32:, 3] = 160, 255
    data = io.BytesIO()
    Picture.fromarray(pixels).save(data, "PNG")
    model = models()["two materials"]
    first = model.asset.materials[0]
    textures = (("base_color", Image("green", "image/png", data.getvalue())),)
    materials = (replace(first, textures=textures, alpha_mode=alpha_mode), *model.asset.materials[1:])
    return model.with_mesh(asset=replace(model.asset, materials=materials, colors=None))


def green(picture):
    """How many pixels have the picture's colour."""
    return int((np.abs(picture.astype(int) - (0, 160, 0)).max(axis=2) <= 3).sum())


def shown(page, name, model):
    page.load(pack_model(model))
    assert page.run(f"await {DECODED}") == [True]
    return page.picture(name)


def test_a_picture_keeps_its_colour(page):
    picture = shown(page, "textured", dressed())
    assert green(picture) > 2000
    plain = 255 * np.array([0.7, 0.2, 0.1]) ** (1 / 2.4)  # the other material, about, as linear light
    assert (np.abs(picture.astype(int) - plain).max(axis=2) < 24).sum() > 500


def test_holes_are_cut(page):
    whole = green(shown(page, "textured", dressed()))
    cut = green(shown(page, "textured-cut", dressed("MASK")))
    assert 0.02 * whole < cut < 0.5 * whole


def test_both_methods_show_pictures(page):
    shown(page, "textured-cut", dressed("MASK"))
    page.run("engine.crowd({ count: 3, seed: 2 })")
    palette = greenish(page.picture("textured-crowd-palette"))
    page.run("(engine.crowdMethod = 'stream')")
    stream = greenish(page.picture("textured-crowd-stream"))
    page.run("(engine.crowdMethod = 'palette', engine.endCrowd())")
    assert palette > 200
    assert stream == pytest.approx(palette, rel=0.05)


def greenish(picture):
    """How many pixels are green in any light."""
    red, green, blue = np.moveaxis(picture.astype(int), 2, 0)
    return int(((green > red + 30) & (green > blue + 30)).sum())
