"""The frames that a report shows, the views of them, and visibility of vertices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.sequence import MeshSequence
from osteon.core.topology import bounding_diagonal
from osteon.report.raster import Camera, DrawOptions, draw_mesh, frame_camera

#: Triangles with a corner within this distance of a vertex (in diagonals) do not hide it.
NEAR = 0.03


def both_sides(points: FloatArray, options: DrawOptions) -> tuple[DrawOptions, DrawOptions]:
    """The default view of a mesh, and its mirror image from the other side of the long axis."""
    u = "xyz".index(options.up)
    ahead, side = (u + 1) % 3, (u + 2) % 3
    toward = frame_camera(points, options).axes[2]
    azimuth = float(np.degrees(np.arctan2(toward[side], toward[ahead])))
    extent = np.ptp(points, axis=0)
    mirrored = -azimuth if extent[ahead] >= extent[side] else 180 - azimuth
    return replace(options, azimuth=azimuth), replace(options, azimuth=mirrored)


def visible_vertices(points: FloatArray, faces: Int32, camera: Camera, options: DrawOptions) -> NDArray[np.bool_]:
    """(v,) True for visible vertices."""
    number = np.arange(1, len(faces) + 1)
    colors = np.stack([number // 65536 % 256, number // 256 % 256, number % 256], axis=1).astype(np.uint8)
    flat = replace(options, samples=1, shading="none", shadow=False, color_per="triangle")
    image = draw_mesh(points, faces, colors, options=flat, camera=camera).astype(np.int64)
    place = np.nan_to_num(camera.project(points)[:, :2], nan=-1.0)
    near = NEAR * bounding_diagonal(points)
    seen = np.zeros(len(points), np.bool_)
    for dy, dx in np.ndindex(3, 3):  # on an outline the pixel itself may show the part behind
        x = np.clip(place[:, 0].astype(int) + 2 * (dx - 1), 0, options.width - 1)
        y = np.clip(place[:, 1].astype(int) + 2 * (dy - 1), 0, options.height - 1)
        hit = image[y, x] @ (65536, 256, 1) - 1
        mesh = hit < len(faces)  # the colour of the background exceeds the number of any triangle
        corners = points[faces[np.where(mesh, hit, 0)]]
        seen |= mesh & (np.linalg.norm(corners - points[:, None], axis=2) < near).any(axis=1)
    return seen


def distinct_frames(sequence: MeshSequence, count: int) -> NDArray[np.int64]:
    """Up to `count` frames that differ most from each other and from the rest pose, in temporal order.

    Evenly spaced frames could show the same phase of a gait repeatedly.
    """
    offered = np.unique(np.linspace(0, sequence.n_frames - 1, 96).round().astype(np.int64))
    vertices = np.unique(np.linspace(0, sequence.n_vertices - 1, 400).round().astype(np.int64))
    poses = np.array([sequence.frame(int(f))[vertices] for f in offered], np.float64)
    poses -= poses.mean(axis=1, keepdims=True)
    rest = sequence.play_scale * sequence.rest[vertices].astype(np.float64)
    far = ((poses - (rest - rest.mean(axis=0))) ** 2).sum(axis=(1, 2))
    taken: list[int] = []
    while len(taken) < min(count, len(offered)):
        taken.append(int(np.where(np.isin(np.arange(len(far)), taken), -1.0, far).argmax()))
        far = np.minimum(far, ((poses - poses[taken[-1]]) ** 2).sum(axis=(1, 2)))
    frames: NDArray[np.int64] = offered[np.sort(taken)]
    return frames


def centering_shifts(sequence: MeshSequence, frames: np.ndarray, up: int) -> Float64:
    """(n,3) shifts that move the frames to one place: horizontally always, vertically only if they are far apart."""
    edges = [(pose.min(axis=0), pose.max(axis=0)) for pose in (sequence.frame(int(f)) for f in frames)]
    low, high = np.array(edges, np.float64).transpose(1, 0, 2)
    shift: Float64 = (low + high)[0] / 2 - (low + high) / 2
    shift[:, up] = low[0, up] - low[:, up]
    if np.ptp(low[:, up]) < 0.5 * (high - low)[:, up].max():
        shift[:, up] = 0
    return shift
