"""A character in one pose, the ground under it, and rays from the points of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from osteon.apply.light.ray_kernels import make_rays
from osteon.core.arrays import Float32, Float64, Int32, Int64

#: Points whose rays are made at once.
BLOCK = 1024
#: Height above the surface at which rays start, relative to the diagonal.
OFFSET = 1e-4
#: The part of the grid, from its border, in which it fades to an empty plane.
FADE = 0.2


@dataclass(frozen=True, slots=True)
class ShadedPoints:
    """Points of a surface with their normals and frames of reference in one pose."""

    points: Float64  # (n,3)
    normals: Float64  # (n,3) unit vectors
    rotations: Float64  # (n,3,3) world_from_local


@dataclass(frozen=True, slots=True)
class Ground:
    """A square grid of points on a plane."""

    center: Float64  # (3,) on the plane
    axes: Float64  # (3,3) rows: the first and the second direction of the grid, and the plane's unit normal
    half: float  # half the length of a side
    resolution: int  # points per side

    @property
    def up(self) -> Float64:
        return np.asarray(self.axes[2])

    def points(self) -> Float64:
        """(g,3) row by row: the first direction runs fastest."""
        steps = self.half * np.linspace(-1, 1, self.resolution)
        v, u = np.meshgrid(steps, steps, indexing="ij")
        return np.asarray(self.center + u.reshape(-1, 1) * self.axes[0] + v.reshape(-1, 1) * self.axes[1])

    def shaded(self) -> ShadedPoints:
        """Its points, in the frame of the world."""
        points = self.points()
        same = np.ascontiguousarray(np.broadcast_to(np.eye(3), (len(points), 3, 3)))
        return ShadedPoints(points, np.ascontiguousarray(np.broadcast_to(self.up, points.shape)), same)

    def fade(self) -> Float64:
        """(g,) 1 inside, falling to 0 at the border."""
        part = np.abs(np.linspace(-1, 1, self.resolution))
        away = np.maximum.outer(part, part).reshape(-1)
        x = np.clip((1 - away) / FADE, 0, 1)
        return np.asarray(x * x * (3 - 2 * x))


def grid_shares(places: Float64, resolution: int) -> tuple[Int64, Float64]:
    """(n,4) the points of a grid around places (n,2) in -1 … 1, and their bilinear shares."""
    last = resolution - 1
    at = np.clip((places + 1) / 2 * last, 0, last)
    low = np.minimum(at.astype(np.int64), last - 1)
    u, v = (at - low).T
    points = (low[:, 1] * resolution + low[:, 0])[:, None] + np.array([0, 1, resolution, resolution + 1])
    return points, np.stack([(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v], axis=1)


@dataclass(frozen=True, slots=True)
class LitScene:
    """A character in one pose, and the ground under it."""

    vertices: Float64  # (v,3)
    faces: Int32  # (t,3)
    shaded: ShadedPoints  # of the character
    corners: Int32  # (t,3) the shaded point at each corner of a triangle
    diagonal: float
    ground: Ground | None = None

    def centered(self) -> LitScene:
        """The scene around the origin, since rays are in single precision."""
        middle = 0.5 * (self.vertices.min(axis=0) + self.vertices.max(axis=0))
        shaded = replace(self.shaded, points=self.shaded.points - middle)
        ground = None if self.ground is None else replace(self.ground, center=self.ground.center - middle)
        return replace(self, vertices=self.vertices - middle, shaded=shaded, ground=ground)


@dataclass(frozen=True, slots=True)
class PointRays:
    """The rays of a block of points, in all directions above the surface."""

    block: slice  # of the points
    shares: Float64  # (n,k) 4 / k max(0, n.d): the part of the transfer of each point that is from each direction
    pairs: Int32  # (m,2) the point of the block, and the direction, of each ray
    origins: Float32  # (m,3)
    directions: Float32  # (m,3) in the frame of the world

    @property
    def shares_of_rays(self) -> Float64:
        """(m,) the part of each ray."""
        return self.shares[self.pairs[:, 0], self.pairs[:, 1]]


def rays_of_points(shaded: ShadedPoints, local: Float64, offset: float) -> Iterator[PointRays]:
    """Rays in the directions (k,3) of the points' frames, block by block."""
    for start in range(0, len(shaded.points), BLOCK):
        block = slice(start, start + BLOCK)
        points, normals = np.ascontiguousarray(shaded.points[block]), np.ascontiguousarray(shaded.normals[block])
        rotations = np.ascontiguousarray(shaded.rotations[block])
        most = len(points) * len(local)
        pairs = np.empty((most, 2), np.int32)
        origins, directions = np.empty((most, 3), np.float32), np.empty((most, 3), np.float32)
        made = make_rays(points, normals, rotations, local, offset, pairs, origins, directions)
        cosines = np.einsum("nji,nj->ni", rotations, normals) @ local.T
        shares = np.maximum(0, cosines) * (4 / len(local))
        yield PointRays(block, shares, pairs[:made], origins[:made], directions[:made])
