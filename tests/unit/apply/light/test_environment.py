"""Environments: images and skies as coefficients, their axes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from osteon.apply.light.environment import (
    SKIES,
    image_directions,
    load_environment,
    project_image,
    project_sky,
    rotated,
    world_from_image,
)
from osteon.apply.light.environment_image import read_environment_image
from osteon.apply.light.harmonics import cosine_transfer, sh_basis, spiral_directions
from osteon.core.errors import FileFormatError


def rgbe(pixels: np.ndarray) -> np.ndarray:
    """(h,w,4) shared exponents."""
    largest = pixels.max(axis=-1, keepdims=True)
    exponent = np.where(largest > 0, np.floor(np.log2(np.maximum(largest, 1e-30))) + 1, -128)
    mantissa = np.where(largest > 0, pixels / 2.0**exponent * 256, 0)
    return np.concatenate([np.clip(mantissa, 0, 255), exponent + 128], axis=-1).astype(np.uint8)


def hdr_bytes(pixels: np.ndarray, *, encoded: bool) -> bytes:
    """A Radiance file; runs of equal bytes are encoded where there are any."""
    height, width, _ = pixels.shape
    head = b"#?RADIANCE\n# made by a test\nFORMAT=32-bit_rle_rgbe\n\n" + f"-Y {height} +X {width}\n".encode()
    stored = rgbe(pixels)
    if not encoded:
        return head + stored.tobytes()
    body = b""
    for row in stored:
        body += bytes([2, 2, width >> 8, width & 255])
        for channel in row.T:
            at = 0
            while at < width:
                run = 1
                while at + run < width and run < 127 and channel[at + run] == channel[at]:
                    run += 1
                body += bytes([128 + run, channel[at]]) if run > 2 else bytes([1, channel[at]])
                at += run if run > 2 else 1
    return head + body


PIXELS = np.random.default_rng(0).gamma(1.0, 2.0, (12, 24, 3))
PIXELS[3:5, 4:20] = (0.5, 0.25, 4.0)
PIXELS[0] = 0


@pytest.mark.parametrize("encoded", [True, False])
def test_radiance_files_are_read(tmp_path, encoded):
    path = tmp_path / "sky.hdr"
    path.write_bytes(hdr_bytes(PIXELS, encoded=encoded))
    found = read_environment_image(path)
    assert found.shape == PIXELS.shape
    assert np.abs(found - PIXELS).max() <= PIXELS.max() / 128
    np.testing.assert_allclose(found[3, 6], (0.5, 0.25, 4.0), rtol=0.02)
    assert (found[0] == 0).all()


def test_plain_images_are_made_linear(tmp_path):
    path = tmp_path / "sky.png"
    Image.fromarray(np.array([[[255, 188, 0]]], np.uint8)).save(path)
    np.testing.assert_allclose(read_environment_image(path)[0, 0], (1, 0.503, 0), atol=1e-3)


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_images_have_their_zenith_on_top_and_their_middle_at_plus_x(up):
    image = np.zeros((64, 128, 3))
    image[:4, :, 0] = 1  # the zenith is red
    image[30:34, 62:66, 1] = 1  # the middle is green
    image[30:34, 94:98, 2] = 1  # a quarter to the right is blue
    found = project_image(image, up).coefficients.astype(float)
    places = world_from_image(up).T  # the axes x, y, z of the image in the world
    values = sh_basis(np.stack([places[1], places[0], places[2]]), 5) @ found
    assert (values.argmax(axis=1) == [0, 1, 2]).all()
    assert np.linalg.det(world_from_image(up)) == pytest.approx(1)
    np.testing.assert_allclose(world_from_image(up) @ [0, 1, 0], np.eye(3)["xyz".index(up)])


def test_a_constant_image_is_the_constant():
    found = project_image(np.full((64, 128, 3), 2.5)).coefficients
    np.testing.assert_allclose(found[0], 2.5 * np.sqrt(4 * np.pi), rtol=1e-6)
    assert np.abs(found[1:]).max() < 0.02


def test_an_image_of_a_sky_is_the_sky():
    pixels = SKIES["studio"](image_directions(128, 256).reshape(-1, 3)).reshape(128, 256, 3)
    apart = project_image(pixels, "z").coefficients - project_sky(SKIES["studio"], "z").coefficients
    assert np.abs(apart).max() < 2e-3


@pytest.mark.parametrize("name", list(SKIES))
def test_skies_are_soft_and_light_a_white_floor_well(name):
    environment = load_environment(name)
    directions = spiral_directions(500)
    shown = sh_basis(directions, 5) @ environment.coefficients
    assert np.abs(shown - SKIES[name](directions)).max() < 0.08 * SKIES[name](directions).max()
    floor = cosine_transfer(np.array([0, 1.0, 0]), 5) @ environment.coefficients
    assert 0.4 < floor.mean() < 1.2


def test_rotating_moves_light_around_the_axis_up():
    environment = project_sky(lambda d: np.maximum(0, d[:, :1]) * np.ones(3), "y", "east")
    turned = rotated(environment, 90, "y").coefficients
    at = sh_basis(np.array([[0, 0, -1.0], [1, 0, 0]]), 5) @ turned
    assert at[0].min() > 0.9
    assert np.abs(at[1]).max() < 0.1


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.hdr", b"", "is empty"),
        ("a.png", b"", "is empty"),
        ("a.hdr", b"no picture", "does not begin"),
        ("a.png", b"no picture", "cannot be read as an image"),
        ("a.jpg", b"\xff\xd8\xff\xe0 cut", "cannot be read as an image"),
        ("a.glb", b"glTF", "is no image of an environment"),
        ("a.hdr", b"#?RADIANCE\n\n-Y 4 +X 8\n" + b"\2\2\0\7" + b"\x83\1" * 40, "is damaged"),
        ("a.hdr", b"#?RADIANCE\n\n-Y 4 +X 8\n\2\2\0\10\xff", "truncated|damaged"),
        ("a.hdr", b"#?RADIANCE\n\n+X 4 -Y 8\n", "rows from the top"),
        ("a.hdr", b"#?RADIANCE\n\n-Y 0 +X 8\n", "expected 1"),
        ("a.hdr", b"#?RADIANCE\n\n-Y 2 +X 2\n" + bytes(16), "is black"),
    ],
)
def test_bad_images_are_named(tmp_path, name, data, words):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=words) as error:
        load_environment(path)
    assert str(path) in str(error.value)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileFormatError, match="does not exist"):
        load_environment(tmp_path / "none.hdr")
    (tmp_path / "sky.hdr").mkdir()
    with pytest.raises(FileFormatError, match="is a folder"):
        load_environment(tmp_path / "sky.hdr")
    with pytest.raises(FileFormatError, match="overcast, sunset, studio"):
        load_environment("dawn")
