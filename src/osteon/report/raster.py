"""A small software rasteriser, which draws a mesh without a graphics card, a window or a browser.

Triangles are scan-converted into a depth buffer that stores the triangle and the barycentric coordinates per sample;
colours and normals are interpolated and lit afterwards, once per visible sample (`measure/scan_conversion.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, checked, checked_indices
from osteon.core.errors import GeometryError, OptionError

Image = NDArray[np.uint8]  # (h,w,3) sRGB
Paper = Literal["light", "dark"]

BACKGROUNDS = {"light": (0.985, 0.935), "dark": (0.25, 0.15)}  # grey level at the top and at the bottom
KEY_LIGHT = (-0.50, 0.72, 0.55)  # towards the light, in camera axes: right, up, towards the camera
FILL_LIGHT = (0.85, 0.10, 0.45)
SUN_HEIGHT = 7.0  # height of the shadow-casting light per unit of horizontal distance
SUN_POINTS = 32
SUN_SPREAD = 0.30  # half width of that light at the same scale; shadows soften with height


@dataclass(frozen=True, slots=True)
class DrawOptions:
    """Size, view and shading of a picture."""

    width: int = 640  # pixels
    height: int = 480  # pixels
    azimuth: float | Literal["auto"] = "auto"  # degrees about the up axis; auto: three-quarter view of the long side
    elevation: float = 14.0  # degrees above the horizon, 0 … 90; never from below
    up: Literal["x", "y", "z"] = "y"
    projection: Literal["perspective", "orthographic"] = "perspective"
    field_of_view: float = 26.0  # degrees, perspective only
    margin: float = 0.07  # free border as a fraction of the smaller picture side
    background: Paper = "light"
    samples: int = 2  # per pixel and direction, 1 … 4
    shading: Literal["smooth", "flat", "none"] = "smooth"
    shadow: bool = True  # a soft shadow on the ground below the mesh
    color_per: Literal["auto", "vertex", "triangle"] = "auto"  # auto: by the number of colours, vertices first

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise OptionError(f"width, height: expected at least 1 pixel, got {self.width} x {self.height}")
        if not 0 <= self.elevation <= 90:
            raise OptionError(f"elevation: expected 0 … 90 degrees, got {self.elevation}")
        if not 1 <= self.samples <= 4:
            raise OptionError(f"samples: expected 1 … 4, got {self.samples}")
        if not (1 <= self.field_of_view <= 120 and 0 <= self.margin < 0.5):
            raise OptionError("field_of_view: expected 1 … 120 degrees; margin: expected 0 … 0.5")


DEFAULT_DRAW = DrawOptions()


@dataclass(frozen=True, slots=True)
class Camera:
    """Maps world points to pixels. Use one camera for several pictures to frame them alike."""

    axes: Float64  # (3,3) rows: right, up and towards the viewer, in world coordinates
    center: Float64  # (3,) the point looked at
    distance: float  # from the viewpoint to the centre; infinite for a parallel projection
    zoom: float  # pixels per unit at the centre
    shift: tuple[float, float]  # pixel of the centre
    up: Float64  # (3,) unit vector
    ground: float  # height of the floor along `up`

    def project(self, points: ArrayLike) -> Float64:
        """(n,3) pixel x, pixel y (down), and inverse depth, linear in the picture and larger near the camera."""
        seen = (np.asarray(points, np.float64) - self.center) @ self.axes.T
        if np.isinf(self.distance):
            scale, near = np.ones(len(seen)), seen[:, 2]
        else:
            ahead = self.distance - seen[:, 2]
            near = np.where(ahead > 1e-3 * self.distance, 1.0, np.nan) / ahead  # behind the camera: outside the picture
            scale = self.distance * near
        x = self.shift[0] + self.zoom * scale * seen[:, 0]
        y = self.shift[1] - self.zoom * scale * seen[:, 1]
        return np.stack([x, y, near], axis=1)


def frame_camera(points: ArrayLike, options: DrawOptions = DEFAULT_DRAW) -> Camera:
    """The camera of `options` that shows all `points` (n,3); pass the points of several frames to frame them alike."""
    cloud: Float64 = np.asarray(points, np.float64).reshape(-1, 3)
    if not len(cloud):
        raise GeometryError("points: expected at least one point")
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    axes, up = _view_axes(high - low, options)
    radius = max(0.5 * float(np.linalg.norm(high - low)), 1e-9)
    perspective = options.projection == "perspective"
    distance = radius / np.sin(np.radians(options.field_of_view) / 2) if perspective else np.inf
    camera = Camera(axes, (low + high) / 2, distance, 1.0, (0.0, 0.0), up, float((cloud @ up).min()))
    flat = camera.project(cloud)[:, :2]
    size = np.array([options.width, options.height], np.float64)
    room = size - 2 * options.margin * size.min()
    spread = np.maximum(np.ptp(flat, axis=0), 1e-12)
    zoom = float((room / spread).min())
    shift = size / 2 - zoom * (flat.min(axis=0) + flat.max(axis=0)) / 2
    return Camera(axes, camera.center, distance, zoom, (float(shift[0]), float(shift[1])), up, camera.ground)


def _view_axes(extent: Float64, options: DrawOptions) -> tuple[Float64, Float64]:
    """Camera axes and the up vector. At azimuth 0 the viewpoint is on the axis that follows `up` (z for y up)."""
    u = "xyz".index(options.up)
    ahead, side = (u + 1) % 3, (u + 2) % 3
    azimuth = options.azimuth
    if azimuth == "auto":
        azimuth = -58.0 if extent[ahead] >= extent[side] else 32.0
    angle, rise = np.radians(azimuth), np.radians(options.elevation)
    basis = np.eye(3)
    level = np.cos(angle) * basis[ahead] + np.sin(angle) * basis[side]
    right = np.cross(basis[u], level)
    toward = np.cos(rise) * level + np.sin(rise) * basis[u]
    return np.stack([right, np.cross(toward, right), toward]), basis[u]


def draw_mesh(
    vertices: ArrayLike,
    faces: ArrayLike,
    colors: ArrayLike = (0.72, 0.74, 0.78),
    *,
    options: DrawOptions = DEFAULT_DRAW,
    camera: Camera | None = None,
    normals: FloatArray | None = None,
) -> Image:
    """A picture (h,w,3) of a mesh.

    `colors` is one colour (3,), one per vertex (v,3) or one per triangle (t,3): sRGB in 0 … 1, or uint8. `normals`
    (t,3,3) of the corners are those that a player shades with; the default is those of the surface.
    """
    paper = (options.background,)
    return draw_on_papers(vertices, faces, colors, paper, options=options, camera=camera, normals=normals)[0]


def draw_on_papers(
    vertices: ArrayLike,
    faces: ArrayLike,
    colors: ArrayLike,
    papers: Sequence[Paper],
    *,
    options: DrawOptions = DEFAULT_DRAW,
    camera: Camera | None = None,
    normals: FloatArray | None = None,
) -> list[Image]:
    """Like `draw_mesh` for several backgrounds; the mesh is drawn once."""
    points: Float64 = checked("vertices", vertices, (None, 3), np.float64)
    triangles = checked_indices("faces", faces, (None, 3), len(points))
    camera = camera or frame_camera(points, options)
    corners = None if normals is None else checked("normals", normals, (len(triangles), 3, 3), np.float64)
    pixels = _draw_pixels(points, triangles, colors, options, camera, corners)
    out = []
    for paper in papers:
        behind = _background(points, triangles, camera, replace(options, background=paper))
        picture = behind * (1 - pixels[..., 3:]) + pixels[..., :3]
        image: Image = np.clip(picture * 255 + 0.5, 0, 255).astype(np.uint8)
        out.append(image)
    return out


def _draw_pixels(
    points: Float64,
    triangles: Int32,
    colors: ArrayLike,
    options: DrawOptions,
    camera: Camera,
    normals: Float64 | None,
) -> Float32:
    """(h,w,4) lit colours and the coverage of every pixel."""
    paint, per_vertex = _paint(colors, len(points), len(triangles), options.color_per)
    n, size = options.samples, (options.height * options.samples, options.width * options.samples)
    flat = camera.project(points) * (n, n, 1)
    hit, corners = _scan(flat, triangles, size)
    y, x = np.nonzero(hit >= 0)
    weights, t = corners[y, x], hit[y, x]
    if np.isfinite(camera.distance):  # undo the perspective: weights linear in space, not in the picture
        weights = weights * flat[:, 2].astype(np.float32)[triangles[t]]
        weights /= weights.sum(axis=1, keepdims=True)
    color = np.einsum("nk,nkc->nc", weights, paint[triangles[t]]) if per_vertex else paint[t]
    if options.shading != "none":
        smooth = options.shading == "smooth"
        own = None if normals is None or not smooth else (normals @ camera.axes.T).astype(np.float32)
        normal = _normals(points @ camera.axes.T, triangles, t, weights, smooth, own)
        color = _light(color, normal, camera.axes @ camera.up)
    layer = np.zeros((*size, 4), np.float32)
    layer[y, x, :3], layer[y, x, 3] = color, 1
    pixels: Float32 = np.add.reduce([layer[i::n, j::n] for i in range(n) for j in range(n)]) / np.float32(n * n)
    return pixels


def _paint(colors: ArrayLike, n_vertices: int, n_triangles: int, color_per: str) -> tuple[Float32, bool]:
    """Colours as float32 rows, and whether they belong to vertices."""
    raw = np.asarray(colors)
    paint: Float32 = raw.astype(np.float32) / np.float32(255 if raw.dtype == np.uint8 else 1)
    if paint.shape == (3,):
        return np.broadcast_to(paint, (n_vertices, 3)), True
    for kind, count in (("vertex", n_vertices), ("triangle", n_triangles)):
        if paint.shape == (count, 3) and color_per in ("auto", kind):
            return paint, kind == "vertex"
    raise GeometryError(
        f"colors: expected (3,), ({n_vertices}, 3) for vertices or ({n_triangles}, 3) for triangles, got {paint.shape}"
    )


def _normals(
    points: Float64, triangles: Int32, t: Int32, weights: Float32, smooth: bool, own: Float32 | None
) -> Float32:
    """Unit normals (n,3) of the samples in triangles `t`, flipped towards the viewer; points are in camera axes.

    `own (t,3,3)` are normals of the corners, which are negated on the back of a triangle, as in players.
    """
    corner = points[triangles]
    facing = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])  # length is twice the area
    normal: Float32 = facing.astype(np.float32)[t]
    if own is not None:
        back = normal[:, 2:] < 0
        normal = np.einsum("nk,nkc->nc", weights, own[t], dtype=np.float32)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), np.float32(1e-30))
        return np.where(back, -normal, normal)
    if smooth:
        from osteon.core.normals import vertex_normals  # compiled: not needed to import the pictures

        around = vertex_normals(points, triangles)
        normal = np.einsum("nk,nkc->nc", weights, around[triangles[t]].astype(np.float32), dtype=np.float32)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), np.float32(1e-30))
    return np.where(normal[:, 2:] < 0, -normal, normal)


def _light(base: Float32, normal: Float32, up: Float64) -> Float32:
    """Lit sRGB colours (n,3): a soft key light, a weak fill light, sky and floor along `up`, and a thin bright rim."""
    key, fill = (np.asarray(v, np.float32) / np.float32(np.linalg.norm(v)) for v in (KEY_LIGHT, FILL_LIGHT))
    wrapped = np.clip((normal @ key + 0.25) / 1.25, 0, 1) ** 1.3
    sky = 0.5 + 0.5 * (normal @ up.astype(np.float32))
    rim = np.clip(1 - normal[:, 2], 0, 1) ** 4 * sky
    shade = 0.13 + 0.15 * sky + 0.80 * wrapped + 0.12 * np.clip(normal @ fill, 0, 1)
    linear = base**2.2 * shade[:, None] + (0.10 * rim)[:, None]
    lit: Float32 = (np.clip(linear, 0, 1) ** (1 / 2.2)).astype(np.float32)
    return lit


def _background(points: Float64, triangles: Int32, camera: Camera, options: DrawOptions) -> Float32:
    """A gradient (h,w,1), optionally with the mesh's soft shadow on the floor."""
    top, bottom = BACKGROUNDS[options.background]
    picture = np.repeat(np.linspace(top, bottom, options.height, dtype=np.float32)[:, None], options.width, axis=1)
    if options.shadow and len(triangles):
        depth = 0.36 if options.background == "light" else 0.60
        picture *= 1 - depth * _shadow(points, triangles, camera, (options.height, options.width))
    return picture[..., None]


def _shadow(points: Float64, triangles: Int32, camera: Camera, size: tuple[int, int]) -> Float32:
    """(h,w) the shadow of the mesh on the floor, softer for higher parts; computed at half resolution."""
    from scipy.ndimage import gaussian_filter

    half = ((size[0] + 1) // 2, (size[1] + 1) // 2)
    hidden = np.zeros(half, np.float32)
    height = points @ camera.up - camera.ground
    rays = _sun_rays(camera)
    for ray in rays:
        fallen = camera.project(points - height[:, None] * ray) * (0.5, 0.5, 1)
        hidden += _scan(fallen, triangles, half)[0] >= 0
    full = hidden.repeat(2, axis=0).repeat(2, axis=1)[: size[0], : size[1]]
    soft: Float32 = gaussian_filter(full / len(rays), 0.010 * min(size))
    return soft


def _sun_rays(camera: Camera) -> Float64:
    """Directions (n,3) from points of a wide sun to the floor, scaled to fall one unit along `up`."""
    right = camera.axes[0]
    back = np.cross(camera.up, right)  # horizontal, away from or towards the viewer
    i = np.arange(SUN_POINTS)
    angles = i * 2.399963  # golden angle: even samples of a disc
    radius = SUN_SPREAD * np.sqrt((i + 0.5) / SUN_POINTS)
    aside = (-1 / SUN_HEIGHT + radius * np.cos(angles))[:, None] * right + (radius * np.sin(angles))[:, None] * back
    rays: Float64 = camera.up + aside
    return rays


def _scan(flat: Float64, triangles: Int32, size: tuple[int, int]) -> tuple[Int32, Float32]:
    """`scan_triangles`; numba is imported only when the first picture is drawn."""
    from osteon.measure.scan_conversion import scan_triangles

    return scan_triangles(flat, triangles, size)
