"""Results of queries: one hit or contact as a named tuple, many as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from osteon.core.arrays import Float64, Int32

Vector = tuple[float, float, float]


class Hit(NamedTuple):
    """Where a ray meets the surface."""

    distance: float  # along the ray, in units of the model
    triangle: int
    point: Vector
    normal: Vector  # unit normal of the triangle


class SurfacePoint(NamedTuple):
    """The closest point of the surface."""

    distance: float  # negative inside a closed surface
    triangle: int
    point: Vector
    normal: Vector  # unit normal of the surface, of edges and corners the angle-weighted mean


class Contact(NamedTuple):
    """Where a shape overlaps the surface."""

    depth: float  # how far the shape must move along the normal to end the contact
    triangle: int
    point: Vector  # on the surface
    normal: Vector  # unit vector from the surface towards the shape


@dataclass(frozen=True, slots=True)
class Contacts:
    """Hits or contacts of several queries, or all of one. Queries without any have the triangle -1."""

    values: Float64  # (n,) distances of hits and points, depths of contacts
    triangles: Int32  # (n,)
    points: Float64  # (n,3)
    normals: Float64  # (n,3)

    def __len__(self) -> int:
        return len(self.triangles)


@dataclass(frozen=True, slots=True)
class SurfaceContacts:
    """Pairs of triangles that intersect, of two surfaces or of one."""

    triangles: Int32  # (n,) of the first surface
    others: Int32  # (n,) of the second
    points: Float64  # (n,3) the middle of what they share
    normals: Float64  # (n,3) unit normal of the second triangle: the way out for the first
    depths: Float64  # (n,) how far the first must move along it so that the pair parts

    def __len__(self) -> int:
        return len(self.triangles)
