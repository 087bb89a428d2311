"""A mesh in its rest pose: positions, triangles, and the attributes of its asset."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from osteon.core.arrays import Float32, Int32, checked, checked_indices
from osteon.core.asset import Asset
from osteon.core.topology import bounding_diagonal

__all__ = ["Mesh"]


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh in its rest pose."""

    rest: Float32  # (v,3) the undeformed pose
    faces: Int32  # (t,3) vertex indices, counter-clockwise seen from outside
    asset: Asset = field(default_factory=Asset)
    name: str = "mesh"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rest", checked("rest", self.rest, (None, 3)))
        object.__setattr__(self, "faces", checked_indices("faces", self.faces, (None, 3), self.n_vertices))
        object.__setattr__(self, "asset", self.asset.checked(self.n_vertices, self.n_triangles))

    @property
    def n_vertices(self) -> int:
        return int(self.rest.shape[0])

    @property
    def n_triangles(self) -> int:
        return int(self.faces.shape[0])

    @property
    def n_normals(self) -> int:
        """Number of normals that it is shaded with: its own, or one per vertex."""
        return self.n_vertices if self.asset.normals is None else len(self.asset.normals.values)

    @property
    def vertex_of_normal(self) -> Int32:
        """(n,) the vertex of each normal that the mesh is shaded with."""
        own = self.asset.normals
        if own is None:
            return np.arange(self.n_vertices, dtype=np.int32)
        return _first_of(own.of_corner, self.faces, len(own.values))

    @property
    def normal_of_vertex(self) -> Int32:
        """(v,) the first normal of each vertex; 0 for a vertex without triangles."""
        own = self.asset.normals
        if own is None:
            return np.arange(self.n_vertices, dtype=np.int32)
        return _first_of(self.faces, own.of_corner, self.n_vertices)

    @property
    def diagonal(self) -> float:
        """Length of the rest pose's bounding-box diagonal, the unit of all tolerances."""
        return bounding_diagonal(self.rest)


def _first_of(keys: Int32, values: Int32, count: int) -> Int32:
    """(count,) the value of the first corner that has each key; keys and values (t,3)."""
    out = np.zeros(count, np.int32)
    out[keys.reshape(-1)[::-1]] = values.reshape(-1)[::-1]
    return out
