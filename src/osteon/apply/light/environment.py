"""Environments as coefficients: images in latitude and longitude, and skies made in code.

    E_i = integral over d of  L(d) y_i(d)

summed over the pixels of an image by their solid angles, or over a spiral of directions. An image has its top row at
the zenith; its middle column is the direction +x and its columns run towards +z, with y up, as in three.js. For
characters with another axis up, x, y, z become the axes after one another that end with this one.

`seen_environment`: a plane below a character hides the lower half, and with an albedo reflects light from there. Both
are linear in E: L = S E, with

    S = H + albedo g (p . H)      H = integrals of y_i y_j over the upper half (`hemisphere_products`),
                                  g = coefficients of 1 on the lower half, p = transfer of the plane

Based on: Ramamoorthi and Hanrahan, An Efficient Representation for Irradiance Environment Maps, 2001, section 3; CIE S
003, Spatial Distribution of Daylight, 1996 (the overcast sky).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from osteon.apply.light.harmonics import (
    MOST_ORDER,
    cosine_transfer,
    hemisphere_products,
    n_coefficients,
    sh_basis,
    spiral_directions,
)
from osteon.apply.light.model_light import Environment
from osteon.apply.light.options import UpAxis
from osteon.core.arrays import Float32, Float64, FloatArray
from osteon.core.errors import FileFormatError
from osteon.core.transforms import unit_vectors

#: Directions in which a sky is evaluated.
_SKY_DIRECTIONS = 1 << 14


def world_from_image(up: UpAxis) -> Float64:
    """(3,3) the rotation from the axes of an image, with y up, to those of a scene."""
    return np.roll(np.eye(3), "xyz".index(up) - 1, axis=0)


def image_directions(height: int, width: int) -> Float64:
    """(h,w,3) the direction of every pixel of an image, in its axes."""
    polar = np.pi * (np.arange(height) + 0.5) / height
    azimuth = 2 * np.pi * ((np.arange(width) + 0.5) / width - 0.5)
    out = np.empty((height, width, 3))
    out[..., 0] = np.sin(polar)[:, None] * np.cos(azimuth)
    out[..., 1] = np.cos(polar)[:, None]
    out[..., 2] = np.sin(polar)[:, None] * np.sin(azimuth)
    return out


def project_image(pixels: FloatArray, up: UpAxis = "y", name: str = "image") -> Environment:
    """The environment of an image (h,w,3) of linear radiance."""
    height, width, _ = pixels.shape
    edges = np.cos(np.pi * np.arange(height + 1) / height)
    angle = 2 * np.pi / width * (edges[:-1] - edges[1:])
    turn = world_from_image(up)
    directions = image_directions(height, width)
    total = np.zeros((n_coefficients(MOST_ORDER), 3))
    for row in range(height):
        basis = sh_basis(directions[row] @ turn.T, MOST_ORDER)
        total += angle[row] * basis.T @ pixels[row].astype(np.float64)
    return Environment(name, total.astype(np.float32))


def project_sky(sky: Callable[[Float64], Float64], up: UpAxis = "y", name: str = "sky") -> Environment:
    """The environment of a function from directions (k,3), with y up, to radiance (k,3)."""
    directions = spiral_directions(_SKY_DIRECTIONS)
    basis = sh_basis(directions @ world_from_image(up).T, MOST_ORDER)
    total = basis.T @ sky(directions) * (4 * np.pi / _SKY_DIRECTIONS)
    return Environment(name, total.astype(np.float32))


def rotated(environment: Environment, degrees: float, up: UpAxis = "y") -> Environment:
    """The environment rotated about the axis that points up."""
    from osteon.apply.light.harmonics import rotate_sh
    from osteon.core.transforms import rotation_from_axis_angle

    turn = rotation_from_axis_angle(np.eye(3)["xyz".index(up)], np.radians(degrees))
    return Environment(environment.name, rotate_sh(environment.coefficients.T, turn).T.astype(np.float32))


def seen_environment(order: int, up: FloatArray | None, albedo: float = 0.0) -> Float32:
    """(c,25) S: from the coefficients of an environment to those that a character above a ground sees."""
    count, whole = n_coefficients(order), n_coefficients(MOST_ORDER)
    if up is None:
        return np.eye(count, whole, dtype=np.float32)
    above = hemisphere_products(MOST_ORDER, MOST_ORDER, up)
    below = hemisphere_products(order, 1, -np.asarray(up))[:, 0] * np.sqrt(4 * np.pi)
    reflected = albedo * cosine_transfer(up, MOST_ORDER) @ above
    return np.asarray(above[:count] + np.outer(below, reflected), np.float32)


def _overcast(d: Float64) -> Float64:
    """An overcast sky, three times as bright at the zenith as at the horizon, above a darker ground."""
    height = np.clip(d[:, 1], 0, 1)
    sky = (1 + 2 * height) / 3
    above = 0.5 + 0.5 * np.tanh(4 * d[:, 1])
    return np.asarray((0.15 + (1.3 * sky - 0.15) * above)[:, None] * np.array([0.94, 0.98, 1.06]))


def _lobe(d: Float64, towards: tuple[float, float, float], sharpness: float) -> Float64:
    """(k,1) a smooth spot of light with the value 1 in its middle."""
    return np.asarray(np.exp(sharpness * (d @ unit_vectors(np.array(towards)) - 1))[:, None])


def _sunset(d: Float64) -> Float64:
    """A low warm sun on one side of a blue sky."""
    above = (0.5 + 0.5 * np.tanh(3 * d[:, 1:2])) * np.array([0.20, 0.30, 0.55]) + np.array([0.05, 0.05, 0.06])
    glow = 0.8 * _lobe(d, (0.9, 0.15, 0.4), 2.5) * np.array([1.0, 0.45, 0.2])
    return np.asarray(above + glow + 2.2 * _lobe(d, (0.85, 0.45, 0.35), 5) * np.array([1.0, 0.72, 0.42]))


def _studio(d: Float64) -> Float64:
    """A large key light, a cool fill light opposite and a light from behind, in a dark room."""
    key = 2.4 * _lobe(d, (0.6, 0.8, 0.5), 5) * np.array([1.0, 0.95, 0.86])
    fill = 0.8 * _lobe(d, (-0.9, 0.25, 0.3), 4) * np.array([0.75, 0.88, 1.0])
    rim = 1.1 * _lobe(d, (-0.2, 0.5, -0.9), 5) * np.array([0.95, 0.95, 1.0])
    return np.asarray(key + fill + rim + 0.08)


#: Environments made in code, by the names that the command takes.
SKIES: dict[str, Callable[[Float64], Float64]] = {"overcast": _overcast, "sunset": _sunset, "studio": _studio}


def load_environment(path: str | Path, up: UpAxis = "y") -> Environment:
    """The environment of a built-in sky, or of an image: .hdr (Radiance), .exr, .png, .jpg."""
    if str(path) in SKIES and not Path(path).exists():
        return project_sky(SKIES[str(path)], up, str(path))
    from osteon.apply.light.environment_image import read_environment_image

    pixels = read_environment_image(Path(path))
    environment = project_image(pixels, up, Path(path).stem)
    if not environment.coefficients.any():
        raise FileFormatError(f"{path}: is black, so it lights nothing; choose another image")
    return environment
