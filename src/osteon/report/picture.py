"""Pictures for reports and pages: colours of bones and errors, panels with captions, a scale for heat maps.

Colours are chosen in OKLab, a perceptually uniform space. The heat scale runs from light blue (no error) over violet to
dark red (the maximum) with decreasing lightness, so it is readable without colour as well.

Based on: B. Ottosson, A perceptual color space for image processing, 2020 (OKLab).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from osteon.core.arrays import Float32, Float64
from osteon.core.errors import GeometryError, OptionError
from osteon.io.load.source import PathLike
from osteon.io.save import GENERATOR
from osteon.io.save.atomic import atomic_file
from osteon.report.page_parts import nice_ticks
from osteon.report.raster import Camera, DrawOptions, Image, draw_mesh, frame_camera

__all__ = [
    "OUTLIER_COLOR",
    "Camera",
    "DrawOptions",
    "HeatScale",
    "Image",
    "PanelOptions",
    "bone_colors",
    "draw_heat_scale",
    "draw_mesh",
    "frame_camera",
    "heat_colors",
    "oklab",
    "panel_grid",
    "panel_row",
    "save_png",
]

OUTLIER_COLOR = (0.0, 0.0, 0.0)  # triangles that belong to no bone
# Lightness, chroma and hue (degrees) of the heat scale from no error to the maximum.
HEAT = ((0.85, 0.085, 245), (0.76, 0.12, 280), (0.68, 0.18, 325), (0.59, 0.22, 372), (0.44, 0.18, 387))
#: Replacements for signs that the built-in font lacks.
SPELLED = str.maketrans({"×": "x", "–": "-", "—": "-", "−": "-", "µ": "u", "²": "2", "≤": "<=", "≥": ">=", "→": "->"})
INKS = {
    "light": ((255, 255, 255), (28, 30, 36), (98, 102, 112)),
    "dark": ((18, 19, 22), (236, 238, 242), (160, 164, 174)),
}


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """The layout of panels."""

    gap: int = 14  # pixels around and between panels
    text_size: int = 18  # pixels, of captions; the title is larger, numbers and footer are smaller
    background: Literal["light", "dark"] = "light"

    def __post_init__(self) -> None:
        if self.gap < 0 or self.text_size < 8:
            raise OptionError("gap: expected 0 or more; text_size: expected at least 8 pixels")


DEFAULT_PANEL = PanelOptions()


@dataclass(frozen=True, slots=True)
class HeatScale:
    """The meaning of the colours of a heat map."""

    maximum: float  # the value shown in the last colour
    unit: str = ""
    label: str = "error"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.maximum) and self.maximum > 0):
            raise OptionError(f"maximum: expected a positive number, got {self.maximum}")


def oklab(colors: ArrayLike) -> Float64:
    """(…,3) OKLab of sRGB colours in 0 … 1."""
    srgb = np.asarray(colors, np.float64)
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    lab: Float64 = np.cbrt(linear @ _CONES.T) @ _LAB.T
    return lab


_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def _from_lch(lightness: ArrayLike, chroma: ArrayLike, hue: ArrayLike) -> Float64:
    """(n,3) sRGB of lightness, chroma and hue in degrees; may be outside 0 … 1."""
    angle = np.radians(hue)
    lab = np.stack(np.broadcast_arrays(lightness, chroma * np.cos(angle), chroma * np.sin(angle)), axis=-1)
    linear = np.linalg.solve(_CONES, (np.linalg.solve(_LAB, lab.T)) ** 3).T
    low = 12.92 * linear
    return np.where(linear <= 0.0031308, low, 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055)


@lru_cache(maxsize=1)
def _heat_table() -> Float64:
    """(256,3) the heat scale."""
    keys, at = np.asarray(HEAT), np.linspace(0, len(HEAT) - 1, 256)
    return np.clip(_from_lch(*(np.interp(at, np.arange(len(keys)), keys[:, i]) for i in range(3))), 0, 1)


def heat_colors(values: ArrayLike, maximum: float) -> Float32:
    """(n,3) colours of errors `values` (n,): light blue at 0, dark red at `maximum` and above, black for NaN."""
    if not (np.isfinite(maximum) and maximum > 0):
        raise OptionError(f"maximum: expected a positive number, got {maximum}")
    error = np.asarray(values, np.float64)
    known = np.isfinite(error)
    place = np.clip(np.where(known, error, 0) / maximum, 0, 1) * 255
    colors: Float64 = _heat_table()[np.round(place).astype(int)]
    return np.where(known[..., None], colors, 0).astype(np.float32)


def bone_colors(n: int) -> Float32:
    """(n,3) colours for n bones, each as far as possible from all earlier ones and from black, white and grey."""
    if n < 0:
        raise OptionError(f"n: expected 0 or more colours, got {n}")
    palette = _palette()
    return palette[np.arange(n) % len(palette)]


#: Digits of a distance of colours, so that ties are resolved equally on every processor.
TIE = 9


@lru_cache(maxsize=1)
def _palette() -> Float32:
    """Colours in the order of a greedy farthest-point selection."""
    light, chroma, hue = np.meshgrid((0.42, 0.54, 0.66, 0.78, 0.90), (0.09, 0.14, 0.20), np.arange(0, 360, 8))
    offered = _from_lch(light.ravel(), chroma.ravel(), hue.ravel())
    offered = offered[((offered >= 0) & (offered <= 1)).all(axis=1)]
    lab = oklab(offered)
    taken = oklab([(0, 0, 0), (1, 1, 1), (0.5, 0.5, 0.5)])
    distance = np.linalg.norm(lab[:, None] - taken, axis=2).min(axis=1)
    order = [int(np.argmin(np.linalg.norm(offered - (0.23, 0.51, 0.86), axis=1)))]
    for _ in range(127):
        distance = np.minimum(distance, np.linalg.norm(lab - lab[order[-1]], axis=1))
        order.append(int(distance.round(TIE).argmax()))
    return offered[order].astype(np.float32)


def panel_row(
    images: Sequence[Image],
    captions: Sequence[str] = (),
    *,
    title: str = "",
    footer: str = "",
    scale: HeatScale | None = None,
    options: PanelOptions = DEFAULT_PANEL,
) -> Image:
    """Pictures side by side with a caption below each; see `panel_grid`."""
    return panel_grid(
        images, captions, columns=max(1, len(images)), title=title, footer=footer, scale=scale, options=options
    )


def panel_grid(
    images: Sequence[Image],
    captions: Sequence[str] = (),
    *,
    columns: int,
    title: str = "",
    footer: str = "",
    scale: HeatScale | None = None,
    options: PanelOptions = DEFAULT_PANEL,
) -> Image:
    """Pictures in rows of `columns`. The first line of a caption is its title, further lines are numbers.

    Every text has its own box, as wide as its picture and as high as needed, so that nothing overlaps.
    """
    if not images or columns < 1 or len(captions) not in (0, len(images)):
        raise OptionError(f"images, captions: expected one caption each, got {len(images)} and {len(captions)}")
    panels = [
        _panel(image, caption, options) for image, caption in zip(images, captions or [""] * len(images), strict=True)
    ]
    columns = min(columns, len(panels))
    widths = [max(p.shape[1] for p in panels[c::columns]) for c in range(columns)]
    panels = [_widened(p, widths[i % columns], options) for i, p in enumerate(panels)]
    body = _stack([_beside(panels[i : i + columns], options) for i in range(0, len(panels), columns)], options)
    if scale is not None:
        height = max(120, body.shape[0] - _text_box(" ", 100, options, 1.0).shape[0])
        body = _beside([body, draw_heat_scale(scale, height, options=options)], options)
    parts = [_text_box(title, body.shape[1], options, 1.35)] if title else []
    parts.append(body)
    if footer:
        parts.append(_text_box(footer, body.shape[1], options, 0.82, quiet=True))
    return _framed(_stack(parts, options), options)


def draw_heat_scale(scale: HeatScale, height: int = 300, *, options: PanelOptions = DEFAULT_PANEL) -> Image:
    """A vertical colour bar with ticks at round values, the exact maximum on top and the unit above it."""
    from PIL import Image as Canvas
    from PIL import ImageDraw

    paper, ink, _ = INKS[options.background]
    font = _font(0.85 * options.text_size)
    ticks = [(v, f"{v:.3g}") for v in nice_ticks(0, scale.maximum, max(2, height // (4 * options.text_size)))]
    line = round(1.1 * options.text_size)
    ticks = [t for t in ticks if (1 - t[0] / scale.maximum) * (height - 3 * line) > line]
    ticks.append((scale.maximum, f"{scale.maximum:.3g}"))
    head = f"{scale.label} ({scale.unit})" if scale.unit else scale.label
    bar = round(1.2 * options.text_size)
    width = bar + 10 + round(max(font.getlength(text) for _, text in ticks)) + 4
    box = _text_box(head, max(width, round(4.5 * options.text_size)), options, 0.85)
    canvas = Canvas.new("RGB", (max(width, box.shape[1]), height), paper)
    canvas.paste(Canvas.fromarray(box), (0, 0))
    top, bottom = box.shape[0] + line // 2, height - line
    colors = _heat_table()[np.linspace(255, 0, max(2, bottom - top)).round().astype(int)]
    strip = np.repeat((255 * colors[:, None]).round().astype(np.uint8), bar, axis=1)
    canvas.paste(Canvas.fromarray(strip), (0, top))
    draw = ImageDraw.Draw(canvas)
    for value, text in ticks:
        y = bottom - 1 - value / scale.maximum * (bottom - top - 1)
        draw.line([(bar, y), (bar + 5, y)], fill=ink, width=1)
        draw.text((bar + 9, y), text, font=font, fill=ink, anchor="lm")
    return np.asarray(canvas)


def save_png(image: ArrayLike, path: PathLike) -> None:
    """Write a picture (h,w,3) uint8; it appears whole or not at all."""
    from PIL import Image as Canvas
    from PIL.PngImagePlugin import PngInfo

    pixels = _checked_pixels("image", image)
    text = PngInfo()
    text.add_text("Software", GENERATOR)
    with atomic_file(path) as temporary:
        Canvas.fromarray(pixels).save(temporary, format="PNG", optimize=True, pnginfo=text)


def _checked_pixels(name: str, image: ArrayLike) -> Image:
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise GeometryError(f"{name}: expected (h, w, 3) of uint8, got {pixels.shape} of {pixels.dtype}")
    return pixels


def _font(size: float) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size=round(size))


def _text_box(text: str, width: int, options: PanelOptions, size: float, quiet: bool = False) -> Image:
    """Text wrapped to `width`; lines after the first line break are smaller and grey."""
    from PIL import Image as Canvas
    from PIL import ImageDraw

    paper, ink, faint = INKS[options.background]
    lines: list[tuple[str, Any, tuple[int, int, int], int]] = []
    for i, part in enumerate(text.translate(SPELLED).split("\n")):
        scale = size * (0.85 if i else 1.0) * options.text_size
        font = _font(scale)
        lines += [(line, font, faint if quiet or i else ink, round(1.35 * scale)) for line in _wrap(part, font, width)]
    canvas = Canvas.new("RGB", (width, sum(line[3] for line in lines)), paper)
    draw, y = ImageDraw.Draw(canvas), 0.0
    for line, font, color, high in lines:
        draw.text((0, y + high / 2), line, font=font, fill=color, anchor="lm")
        y += high
    return np.asarray(canvas)


def _wrap(text: str, font: Any, width: int) -> list[str]:
    """Lines no wider than `width`, broken between words, and inside a word only if it alone is too wide."""
    lines, line = [], ""
    for word in text.split(" "):
        trial = f"{line} {word}" if line else word
        if font.getlength(trial) <= width:
            line = trial
            continue
        if line:
            lines.append(line)
        line = ""
        for sign in word:
            if line and font.getlength(line + sign) > width:
                lines.append(line)
                line = ""
            line += sign
    return [*lines, line]


def _panel(image: Image, caption: str, options: PanelOptions) -> Image:
    pixels = _checked_pixels("images", image)
    if not caption:
        return pixels
    return _stack([pixels, _text_box(caption, pixels.shape[1], options, 1.0)], options, 0.4)


def _beside(images: Sequence[Image], options: PanelOptions, gap: float = 1.0) -> Image:
    """Pictures in a row, aligned at the top."""
    return _stack([np.swapaxes(i, 0, 1) for i in images], options, gap).swapaxes(0, 1)


def _stack(images: Sequence[Image], options: PanelOptions, gap: float = 1.0) -> Image:
    """Pictures below each other, aligned on the left."""
    space = round(gap * options.gap)
    size = (sum(len(i) for i in images) + space * (len(images) - 1), max(i.shape[1] for i in images), 3)
    out = np.full(size, np.asarray(INKS[options.background][0], np.uint8))
    y = 0
    for image in images:
        out[y : y + len(image), : image.shape[1]] = image
        y += len(image) + space
    return out


def _widened(image: Image, width: int, options: PanelOptions) -> Image:
    """Pad with background on the right up to `width`."""
    empty = np.zeros((0, width, 3), np.uint8)
    return _stack([image, empty], options, 0)


def _framed(image: Image, options: PanelOptions) -> Image:
    """Pad with background on all sides."""
    size = (image.shape[0] + 2 * options.gap, image.shape[1] + 2 * options.gap, 3)
    out = np.full(size, np.asarray(INKS[options.background][0], np.uint8))
    out[options.gap : options.gap + image.shape[0], options.gap : options.gap + image.shape[1]] = image
    return out
