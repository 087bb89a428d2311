"""Which named region of the source a bone moves most of.

Regions are what somebody named: joints of the source's own rig, or else its parts (objects and groups of an OBJ, meshes
of a scene). Materials are none: they tell what a surface is made of. One part that is the whole mesh tells nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from osteon.core.mesh import Mesh
from osteon.core.topology import triangle_areas

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["regions_of_bones"]

#: Names that programs give, not people.
_NUMBERED = re.compile(r"(bone|node|mesh|helper)_?\d*")


def regions_of_bones(mesh: Mesh, weights: csr_array) -> list[str]:
    """For each bone (of weights (v,b)) the region that more than half of its surface lies in; "" if there is none."""
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
    """A name of a region as a bone can have it; "" for one that tells nothing."""
    plain = "".join(c if c.isprintable() else " " for c in name).strip()
    return "" if _NUMBERED.fullmatch(plain) else plain
