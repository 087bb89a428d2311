"""A character: its mesh, how it is deformed, what is added to the rest pose, and its joints. Nothing of it moves."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.deformer import Deformer, Displacement
from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.core.skeleton import Skeleton
from osteon.core.skin import Skin

__all__ = ["Character"]


@dataclass(frozen=True, slots=True)
class Character:
    """All of a character but its motion."""

    mesh: Mesh
    deformer: Deformer
    displacements: tuple[Displacement, ...] = ()  # each kind at most once
    skeleton: Skeleton | None = None
    fallback: Skin | None = None  # the linear blend skin that comes closest, where the deformer has no stock form

    def __post_init__(self) -> None:
        n_vertices = self.mesh.n_vertices
        if self.deformer.n_vertices != n_vertices:
            raise GeometryError(f"skin: {self.deformer.n_vertices} rows for {n_vertices} vertices")
        if self.fallback is not None and self.fallback.n_vertices != n_vertices:
            raise GeometryError(f"fallback: {self.fallback.n_vertices} rows for {n_vertices} vertices")
        for displacement in self.displacements:
            if displacement.basis.shape[1] != n_vertices:
                raise GeometryError(
                    f"basis: expected shape ({displacement.basis.shape[0]}, {n_vertices}, 3), "
                    f"got {displacement.basis.shape}"
                )
            normals = displacement.normal_basis
            if normals is not None and normals.shape[1] != self.mesh.n_normals:
                raise GeometryError(
                    f"normal_basis: expected shape ({normals.shape[0]}, {self.mesh.n_normals}, 3), got {normals.shape}"
                )
        kinds = [displacement.kind for displacement in self.displacements]
        if len(set(kinds)) != len(kinds):
            raise GeometryError(f"displacements: each kind at most once, got {', '.join(kinds)}")

    def displacement(self, kind: str) -> Displacement | None:
        """The displacement of a kind, if there is one."""
        return next((d for d in self.displacements if d.kind == kind), None)

    def stock_skin(self) -> Skin | None:
        """What a stock player shows: exactly the deformer, or the fallback, or nothing."""
        return self.deformer.stock_skin() or self.fallback
