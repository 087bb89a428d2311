"""Textured pictures: what is where, in which colour, and from which mipmap."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
from PIL import Image as Canvas

from osteon.core.mesh import Asset, Image, Material, Mesh
from osteon.core.model import SkinnedModel
from osteon.measure.texture import MIPMAPS, Textures, decode
from osteon.measure.textured_picture import (
    FarCamera,
    Paint,
    PosedSurface,
    draw_textured,
    view_axes,
)
from osteon_bench.subjects import JointedOptions, make_jointed

RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def image(pixels: np.ndarray) -> Image:
    data = io.BytesIO()
    Canvas.fromarray((255 * pixels).astype(np.uint8)).save(data, "PNG")
    return Image("picture", "image/png", data.getvalue())


def halves(size: int) -> Image:
    """Left red, right blue."""
    pixels = np.zeros((size, size, 3))
    pixels[:, : size // 2], pixels[:, size // 2 :] = RED, BLUE
    return image(pixels)


def square(picture: Image) -> SkinnedModel:
    """A square from -1 to 1 in the plane of the screen, with a picture, on the bones of another model."""
    rest = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32)
    faces = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    uvs = (0.5 * rest[faces][..., :2] + 0.5).astype(np.float32)
    material = Material("paper", base_color=(1.0, 1.0, 1.0, 1.0), textures=(("base_color", picture),))
    model = make_jointed(1, JointedOptions(joints=1, frames=2, vertices=8))
    asset = Asset(uvs=uvs, materials=(material,), triangle_material=np.zeros(2, np.int32))
    still = np.tile(np.eye(3, 4, dtype=np.float32), (*model.animation.transforms.shape[:2], 1, 1))
    model = model.with_animation(track=replace(model.track, transforms=still))
    character = replace(
        model.character,
        mesh=Mesh(rest, faces, asset),
        deformer=model.deformer.take(np.zeros(4, np.int32)),
        displacements=(),
    )
    return SkinnedModel(character, model.animation)


def drawn(model: SkinnedModel, zoom: float) -> tuple[np.ndarray, np.ndarray]:
    surface = PosedSurface.of(model, 0, Paint.of(model))
    return draw_textured(surface, FarCamera.around(surface.points, np.eye(3), zoom, 4))


def test_texture_is_where_its_coordinates_say():
    picture, covered = drawn(square(halves(16)), 20)
    assert picture.shape == (48, 48, 3)
    np.testing.assert_array_equal(covered[4:-4, 4:-4], True)
    assert covered.sum() == 40 * 40
    assert (picture[10:-10, 8:20, 0] > 3 * picture[10:-10, 8:20, 2] + 0.1).all()
    assert (picture[10:-10, 28:40, 2] > 3 * picture[10:-10, 28:40, 0] + 0.1).all()
    np.testing.assert_allclose(picture[~covered], 0.5, atol=1e-5)


def test_a_small_picture_shows_the_mean_of_a_fine_texture():
    pixels = np.zeros((256, 256, 3))
    pixels[::2] = 1.0
    lines, grey = drawn(square(image(pixels)), 8)[0], drawn(square(image(np.full((4, 4, 3), 188 / 255))), 8)[0]
    np.testing.assert_allclose(lines, grey, atol=0.01)  # half of the light is 188 in sRGB


def test_mipmaps_end_with_one_texel():
    textures = Textures.of([halves(64), image(np.full((3, 5, 3), 0.5))])
    assert textures.levels.shape == (2, MIPMAPS, 3)
    assert textures.levels[0, :, 1].tolist() == [64, 32, 16, 8, 4, 2, 1, 1, 1, 1, 1, 1]
    np.testing.assert_allclose(textures.texels[textures.levels[0, 6, 0]], [0.5, 0, 0.5], atol=1e-6)


def test_what_cannot_be_decoded_is_white():
    np.testing.assert_array_equal(decode(Image("bad", "image/png", b"nothing")), np.ones((1, 1, 3)))


def test_views_are_right_handed_and_all_around():
    axes = view_axes(8)
    np.testing.assert_allclose(axes @ np.swapaxes(axes, 1, 2), np.tile(np.eye(3), (8, 1, 1)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(axes), 1)
    assert np.abs(axes[:, 2].sum(axis=0))[[0, 2]].max() < 0.2


def test_triangles_without_normals_are_flat_in_every_pose():
    """A ridge whose triangles share its vertices: each side has one shade, the one that it faces."""
    model = square(image(np.ones((4, 4, 3))))
    rest = model.rest.copy()
    rest[[0, 2], 2] = 1.0
    faceted = model.with_mesh(rest=rest, asset=replace(model.asset, faceted=True))
    smooth = model.with_mesh(rest=rest)
    shades = []
    for each in (faceted, smooth):
        picture, covered = drawn(each, 20)
        inside = np.zeros_like(covered)
        inside[8:-8, 8:-8] = covered[8:-8, 8:-8]
        shades.append(len(np.unique(picture[inside].round(3), axis=0)))
    assert shades[0] <= 6  # two sides, and mixtures of them along the ridge
    assert shades[1] > 20
