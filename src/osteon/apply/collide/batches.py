"""Rows of numbers for kernels from the arguments of queries, batches of queries, and their answers as contacts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from osteon.apply.collide.cast_rays import FIRST_HIT, many_rays
from osteon.apply.collide.contact_types import Contact, Contacts, SurfaceContacts, Vector
from osteon.apply.collide.nearest_triangle import AXES, RADIUS, SHAPE, many_shapes
from osteon.core.arrays import Float64, Int32, Int64, checked
from osteon.core.errors import GeometryError

#: A batch in frames never stops; the number of a triangle for a query whose numbers are not finite.
NO_BUDGET, BAD = 1 << 62, -2
Triple = Sequence[float] | Vector | NDArray[Any]


def refuse(query: str, expected: str) -> NoReturn:
    raise GeometryError(f"{query}: expected {expected}; check its numbers")


def vectors(name: str, values: ArrayLike) -> Float64:
    """(n,3) finite numbers."""
    found = np.ascontiguousarray(values, np.float64)
    if found.ndim != 2 or found.shape[1] != 3 or not math.isfinite(found.sum()):
        return checked(name, np.atleast_2d(found), (None, 3), np.float64)
    return found


def ray_rows(origins: ArrayLike, directions: ArrayLike) -> tuple[Float64, Float64]:
    """(n,3) origins and directions."""
    return vectors("origins", origins), vectors("directions", directions)


def unit_normals(corners: Float64) -> Float64:
    """(n,3) unit normals of triangles with corners (n,3,3)."""
    n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals: Float64 = n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
    return normals


def sphere_rows(centers: ArrayLike, radii: ArrayLike) -> Float64:
    """(n,16) spheres; points are spheres of radius 0."""
    points = vectors("centers", centers)
    rows = np.zeros((len(points), SHAPE))
    rows[:, :3], rows[:, RADIUS] = points, np.asarray(radii, np.float64)
    if not (rows[:, RADIUS] >= 0).all():
        refuse("sphere", "radii of 0 or more")
    return rows


def plane_rows(normals: ArrayLike, heights: ArrayLike) -> Float64:
    """(n,16) planes with unit normals."""
    found = vectors("normals", normals)
    lengths = np.linalg.norm(found, axis=1)
    if not (lengths > 0).all():
        refuse("plane", "normals that are not zero")
    rows = np.zeros((len(found), SHAPE))
    rows[:, :3], rows[:, 3] = found / lengths[:, None], np.asarray(heights, np.float64) / lengths
    return rows


def capsule_row(start: Triple, end: Triple, radius: float) -> Float64:
    """(1,16) a capsule."""
    rows = sphere_rows([list(start)], [radius])
    rows[:, 3:6] = vectors("end", [list(end)])
    return rows


def box_row(center: Triple, half_sizes: Triple, rotation: ArrayLike | None) -> Float64:
    """(1,16) a box."""
    rows = np.zeros((1, SHAPE))
    rows[0, :3], rows[0, 3:6] = vectors("center", [list(center)])[0], vectors("half_sizes", [list(half_sizes)])[0]
    axes = np.eye(3) if rotation is None else checked("rotation", rotation, (3, 3), np.float64)
    if np.abs(axes.T @ axes - np.eye(3)).max() > 1e-6 or not (rows[0, 3:6] >= 0).all():
        refuse("box", "a rotation, and half sizes of 0 or more")
    rows[0, AXES : AXES + 9] = axes.T.reshape(9)
    return rows


#: A batch that may stop: its budget, where it starts and has ended, and its answers so far.
Part = tuple[int, list[int], Contacts | None]


def cast_many(
    table: Int64, frames: Int64, o: Float64, d: Float64, longest: float, part: Part | None = None
) -> Contacts:
    """Rays, each in its frame."""
    _check_rows("rays", frames, o, d)
    budget, progress, before = (NO_BUDGET, [0], None) if part is None else part
    triangles, answers = _room(len(o), before)
    if len(o):
        progress[0] = many_rays(table, frames, o, d, longest, FIRST_HIT, progress[0], budget, triangles, answers)
    if (triangles[: progress[0]] == BAD).any():
        refuse("rays", "directions that are not zero")
    return as_contacts(triangles, answers)


def near_many(
    table: Int64, frames: Int64, kind: int, shapes: Float64, limit: float, part: Part | None = None
) -> Contacts:
    """The nearest triangle to every shape, each in its frame."""
    _check_rows("shapes", frames, shapes)
    budget, progress, before = (NO_BUDGET, [0], None) if part is None else part
    triangles, answers = _room(len(shapes), before)
    if len(shapes):
        progress[0] = many_shapes(table, frames, kind, shapes, limit, progress[0], budget, triangles, answers)
    return as_contacts(triangles, answers)


def _room(n: int, before: Contacts | None) -> tuple[Int32, Float64]:
    """Arrays for n answers, with those that were found before."""
    triangles, answers = np.full(n, -1, np.int32), np.empty((n, 7))
    if before is not None:
        triangles[:] = before.triangles
        answers[:, 0], answers[:, 1:4], answers[:, 4:] = before.values, before.points, before.normals
    return triangles, answers


def all_pairs(only_first: bool, find: Callable[..., int]) -> SurfaceContacts:
    """The pairs that a kernel finds, sorted by triangles."""
    room = 1 if only_first else 1024
    while True:
        pairs, answers = np.empty((room, 2), np.int32), np.empty((room, 7))
        n = find(pairs, answers)
        if n <= room or only_first:
            break
        room = n
    n = min(n, room)
    order = np.lexsort((pairs[:n, 1], pairs[:n, 0]))
    pairs, answers = pairs[order], answers[order]
    return SurfaceContacts(
        pairs[:, 0].copy(), pairs[:, 1].copy(), answers[:, :3], answers[:, 3:6], answers[:, 6].copy()
    )


def barycentric(corners: Float64, points: Float64) -> Float64:
    """(n,3) shares of the corners (n,3,3) of a triangle in points (n,3) on it; thirds for one without area."""
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(a, b)
    area = np.einsum("ni,ni->n", normal, normal)
    off = points - corners[:, 0]
    safe = np.where(area > 0, area, 1.0)
    u = np.einsum("ni,ni->n", np.cross(off, b), normal) / safe
    v = np.einsum("ni,ni->n", np.cross(a, off), normal) / safe
    shares = np.stack([1 - u - v, u, v], axis=1)
    return np.where(area[:, None] > 0, shares, 1 / 3)


def _check_rows(name: str, *arrays: NDArray[Any]) -> None:
    counts = {len(array) for array in arrays}
    if len(counts) > 1:
        raise GeometryError(f"{name}: expected as many rows in every argument, got {sorted(counts)}")


def as_contacts(triangles: Int32, answers: Float64) -> Contacts:
    return Contacts(answers[:, 0], triangles, answers[:, 1:4], answers[:, 4:])


def as_depths(found: Contacts) -> Contacts:
    """Contacts with depths instead of signed distances."""
    return Contacts(-found.values, found.triangles, found.points, found.normals)


def first_contact(found: Contacts) -> Contact | None:
    """The only contact, if there is one."""
    if found.triangles[0] < 0:
        return None
    point, normal = found.points[0].tolist(), found.normals[0].tolist()
    return Contact(-float(found.values[0]), int(found.triangles[0]), tuple(point), tuple(normal))
