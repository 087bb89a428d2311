"""Names of bones and joints: a prefix, a region or a number, and _L or _R for mirrored pairs.

Two bones are a pair if each is the other's best match under mirroring: the mirrored surface of one matches that of the
other, and their centres are on different sides of the plane. A pair shares its name and number: `arm_L`, `arm_R`.
Regions with names for both sides keep them. Bones across the plane or without a partner have no side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.character import Skin
from osteon.core.mesh import Mesh
from osteon.core.normals import vertex_normals
from osteon.core.topology import bounding_diagonal, triangle_areas
from osteon.fit.anatomy import find_body
from osteon.fit.mirror import MirrorPlane, find_mirror_plane

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: Least similarity of the surfaces of a pair; 1 is equal.
ALIKE = 0.5
#: Centres of a pair, one of them mirrored, are at most this part of the diagonal apart, and as far from the plane.
APART, ASIDE = 0.1, 0.005
#: Names of nodes that writers add.
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
    """A unique name for each bone of a skin, deterministic."""
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
    """Infinite sequence of candidate names of a group, best first."""
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
    """(v,b) weights; negative ones become zero."""
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
    """(v,) the vertex nearest to the mirror image of each vertex."""
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(points).query(plane.mirrored(points))[1], np.int64)


def _likeness(weights: csr_array, areas: Float64, images: Int64) -> Float64:
    """(b,b) similarity of the surface of one bone and the mirrored surface of another: 1 equal, 0 disjoint."""
    own = weights.sqrt()
    mirrored = own[images]
    common = (own.T @ (mirrored * areas[:, None])).toarray()
    sizes = np.sqrt(np.outer(areas @ weights, areas @ weights[images]))
    alike = common / np.maximum(sizes, 1e-300)
    return np.asarray((alike + alike.T) / 2)


# The named region of the source that a bone mainly moves.
#
# Regions come from the names in the source: joints of its rig, or else its parts (objects and groups of an OBJ, meshes
# of a scene). Materials are ignored, because they describe the surface and not the part of the body. A single part that
# is the whole mesh is ignored too.

#: Generated names.
_NUMBERED = re.compile(r"(bone|node|mesh|helper)_?\d*")


def regions_of_bones(mesh: Mesh, weights: csr_array) -> list[str]:
    """The region that covers more than half of the surface of each bone (of weights (v,b)), or ""."""
    names, areas = _areas_of_regions(mesh)
    if np.count_nonzero(areas.sum(axis=0)) < 2:
        return [""] * weights.shape[1]
    shares = (weights.T @ areas).toarray()
    most = shares.argmax(axis=1)
    mostly = shares[np.arange(len(shares)), most] > 0.5 * shares.sum(axis=1)
    return [_spelled(names[region]) if sure else "" for region, sure in zip(most, mostly, strict=True)]


def _areas_of_regions(mesh: Mesh) -> tuple[tuple[str, ...], csr_array]:
    """Names, and (v,r) the surface around each vertex that belongs to each region."""
    from scipy.sparse import csr_array

    asset, vertices = mesh.asset, mesh.faces.reshape(-1)
    if asset.joint_of_vertex is not None:
        names, region = asset.joint_names, asset.joint_of_vertex[vertices]
    elif asset.primitive_of_triangle is not None:
        names, region = asset.primitive_names, np.repeat(asset.primitive_of_triangle, 3)
    else:
        names, region = ("",), np.zeros(len(vertices), np.int32)
    corner_areas = np.repeat(triangle_areas(mesh.rest, mesh.faces) / 3, 3)
    return names, csr_array((corner_areas, (vertices, region)), shape=(mesh.n_vertices, len(names)))


def _spelled(name: str) -> str:
    """The name of a region as part of a bone name; "" for a generated one."""
    plain = "".join(c if c.isprintable() else " " for c in name).strip()
    return "" if _NUMBERED.fullmatch(plain) else plain


# Names of the joints of a skeleton that is no body (`anatomy.py`), by where they are: `root`, `upper_2`,
# `front_limb_1_L`, `digit_3_R`.
#
# A chain is a run of joints without a branch. Chains on one side of the plane of symmetry whose parent is in the middle
# are limbs, upper and lower ones or front and back ones, whichever distinguishes them; children of a limb are digits.
# Chains in the middle, and all chains of a shape without sides, are named by their direction. Left is _L.

_WAYS = (("right", "left"), ("lower", "upper"), ("back", "front"))  # along -x and +x, y, z


@dataclass(frozen=True, slots=True)
class _Chain:
    joints: list[int]
    side: str  # "_L", "_R" or ""
    on_side: bool  # whether its parent is a chain that has a side


def name_joints(joints: Float64, ends: Float64, parents: Int64, sides: list[str], taken: str = "") -> tuple[str, ...]:
    """A name for each joint (b,3) with the end of its bone (b,3); sides are "_L", "_R" or "" for each."""
    body = find_body(joints, ends, parents, sides)
    if body is not None:
        return tuple(f"{name}_joint" if name == taken else name for name in body.names)
    names = ["root"] * len(parents)
    chains = _chains(parents, sides)
    bases = _limb_words(joints, chains)
    for n, chain in enumerate(chains):
        if n not in bases:
            way = ends[chain.joints[-1]] - joints[chain.joints[0]]
            axes = way[1:] if chain.side else way
            axis = int(np.abs(axes).argmax()) + (1 if chain.side else 0)
            bases[n] = "digit" if chain.on_side else _WAYS[axis][int(way[axis] > 0)]
    counts: dict[str, int] = {}
    for n, chain in sorted(enumerate(chains), key=lambda entry: (entry[1].side != "_L", entry[0])):
        for joint in chain.joints:
            key = bases[n] + chain.side
            counts[key] = counts.get(key, 0) + 1
            names[joint] = f"{bases[n]}_{counts[key]}{chain.side}"
    return tuple(f"{name}_joint" if name == taken else name for name in names)


def _chains(parents: Int64, sides: list[str]) -> list[_Chain]:
    """Runs of joints without a branch, from the root on; the root itself is in none."""
    children: dict[int, list[int]] = {b: np.flatnonzero(parents == b).tolist() for b in range(len(parents))}
    chains = []
    for first in range(1, len(parents)):
        above = int(parents[first])
        if above > 0 and len(children[above]) == 1 and sides[above] == sides[first]:
            continue
        run = [first]
        while len(children[run[-1]]) == 1 and sides[children[run[-1]][0]] == sides[first]:
            run.append(children[run[-1]][0])
        chains.append(_Chain(run, sides[first], bool(sides[above])))
    return chains


def _limb_words(joints: Float64, chains: list[_Chain]) -> dict[int, str]:
    """Names of limbs, by their number among the chains."""
    limbs = [n for n, chain in enumerate(chains) if chain.side and not chain.on_side]
    if not limbs:
        return {}
    starts = np.array([joints[chains[n].joints[0]] for n in limbs])
    low, high = starts.min(axis=0), starts.max(axis=0)
    axis = 1 if (high - low)[1] >= (high - low)[2] else 2
    if high[axis] - low[axis] <= 1e-3 * float(np.linalg.norm(np.ptp(joints, axis=0))):
        return dict.fromkeys(limbs, "limb")
    middle = (low[axis] + high[axis]) / 2
    return {n: f"{_WAYS[axis][int(start[axis] > middle)]}_limb" for n, start in zip(limbs, starts, strict=True)}
