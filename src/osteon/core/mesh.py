"""What does not move: the rest pose, its triangles, and what the asset carried besides."""

from __future__ import annotations

from dataclasses import dataclass, field

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
        """Normals that it is shaded with: its own, or one for each vertex."""
        return self.n_vertices if self.asset.normals is None else len(self.asset.normals.values)

    @property
    def diagonal(self) -> float:
        """Length of the rest pose's bounding-box diagonal, the unit of all tolerances."""
        return bounding_diagonal(self.rest)
