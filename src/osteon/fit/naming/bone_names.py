"""Names of bones that were found: PREFIX, a region or a number, and _L or _R for bones that mirror each other.

Two bones are a pair if each is the other's best match in the mirror: the surface that one moves, mirrored, is what the
other moves, and their centres lie on two sides of the plane. A pair shares its name and number: `arm_L`, `arm_R`.
Regions that have names for both sides keep them. What lies across the middle, or has no partner, has no side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.mesh import Mesh
from osteon.core.normals import vertex_normals
from osteon.core.skin import Skin
from osteon.core.topology import bounding_diagonal, triangle_areas
from osteon.fit.naming.mirror import MirrorPlane, find_mirror_plane
from osteon.fit.naming.regions import regions_of_bones

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["mirror_pairs", "name_bones", "sparse_weights"]

#: Surfaces of two bones that agree less than this, 1 being the same, are no pair.
ALIKE = 0.5
#: Centres of a pair, one of them mirrored, are at most this part of the diagonal apart, and as far from the plane.
APART, ASIDE = 0.1, 0.005
#: Nodes that writers add have names of their own.
TAKEN = ("armature",)


@dataclass(frozen=True, slots=True)
class _Group:
    """A bone, or a pair of them, left before right."""

    bones: tuple[int, ...]
    region: str

    @property
    def sides(self) -> tuple[str, ...]:
        return ("",) if len(self.bones) == 1 else ("_L", "_R")


def name_bones(mesh: Mesh, skin: Skin, n_bones: int, prefix: str) -> tuple[str, ...]:
    """A name for each bone of a skin, all different. The same skin gives the same names."""
    weights = sparse_weights(skin, n_bones)
    groups = _groups(mirror_pairs(mesh, weights), regions_of_bones(mesh, weights))
    names = [""] * n_bones
    taken = {mesh.name, *TAKEN}
    regions = [group.region for group in groups]
    numbers = {region: count(1 if region else 0) for region in regions}
    for group in groups:
        alone = bool(group.region) and regions.count(group.region) == 1
        for name in _candidates(prefix, group.region, alone, numbers[group.region]):
            found = [name + side for side in group.sides]
            if not taken & {spelled for full in found for spelled in (full, f"{full}_affine")}:
                break
        taken |= {spelled for full in found for spelled in (full, f"{full}_affine")}
        for bone, full in zip(group.bones, found, strict=True):
            names[bone] = full
    return tuple(names)


def _candidates(prefix: str, region: str, alone: bool, numbers: Iterator[int]) -> Iterator[str]:
    """What a group could be called, the best first; without end."""
    if alone:
        yield prefix + region
    for number in numbers:
        yield f"{prefix}{region}_{number}" if region else f"{prefix or 'bone_'}{number}"


def _groups(pairs: list[tuple[int, int]], regions: list[str]) -> list[_Group]:
    """Pairs and single bones in the order of their first bones; a pair whose regions differ is two single bones."""
    partner = dict(pairs) | {right: left for left, right in pairs}
    left_of = {bone: pair for pair in pairs for bone in pair}
    groups = []
    for bone, region in enumerate(regions):
        other = partner.get(bone)
        if other is None or (region and regions[other] and region != regions[other]):
            groups.append(_Group((bone,), region))
        elif bone < other:
            groups.append(_Group(left_of[bone], region or regions[other]))
    return groups


def sparse_weights(skin: Skin, n_bones: int) -> csr_array:
    """(v,b) weights; those below zero count as none."""
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(skin.n_vertices), skin.n_influences)
    values = np.maximum(skin.weights.reshape(-1).astype(np.float64), 0)
    return csr_array((values, (rows, skin.bones.reshape(-1))), shape=(skin.n_vertices, n_bones))


def mirror_pairs(mesh: Mesh, weights: csr_array) -> list[tuple[int, int]]:
    """Left and right bone (of weights (v,b)) of each pair, by the number of the left one."""
    points = mesh.rest.astype(np.float64)
    corner_areas = np.repeat(triangle_areas(points, mesh.faces) / 3, 3)
    areas: Float64 = np.bincount(mesh.faces.reshape(-1), corner_areas, len(points)).astype(np.float64)
    plane = find_mirror_plane(points, vertex_normals(points, mesh.faces), areas)
    if plane is None:
        return []
    owned = areas @ weights
    centers = weights.T @ (areas[:, None] * points) / np.maximum(owned, 1e-300)[:, None]
    alike = _likeness(weights, areas, _images(points, plane))
    best = alike.argmax(axis=1)
    distances, diagonal = plane.distances(centers), bounding_diagonal(points)
    apart = np.linalg.norm(plane.mirrored(centers)[:, None] - centers[None], axis=2) / diagonal
    return [
        (left, int(right))
        for left, right in enumerate(best)
        if distances[left] > ASIDE * diagonal
        and distances[right] < -ASIDE * diagonal
        and best[right] == left
        and alike[left, right] >= ALIKE
        and apart[left, right] <= APART
    ]


def _images(points: Float64, plane: MirrorPlane) -> Int64:
    """(v,) the vertex nearest to the mirror image of each."""
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(points).query(plane.mirrored(points))[1], np.int64)


def _likeness(weights: csr_array, areas: Float64, images: Int64) -> Float64:
    """(b,b) how alike the surface of one bone is to the mirrored one of another: 1 the same, 0 nothing in common."""
    own = weights.sqrt()
    mirrored = own[images]
    common = (own.T @ (mirrored * areas[:, None])).toarray()
    sizes = np.sqrt(np.outer(areas @ weights, areas @ weights[images]))
    alike = common / np.maximum(sizes, 1e-300)
    return np.asarray((alike + alike.T) / 2)
