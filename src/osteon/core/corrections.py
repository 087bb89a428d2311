"""Rest-frame displacements whose coefficients are stored for every frame, basis and coefficients in one."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.arrays import Float32, checked

__all__ = ["Corrections"]


@dataclass(frozen=True, slots=True)
class Corrections:
    """Rest-frame displacements added before the skin moves the vertex (eq. 12 of Skinning Mesh Animations)."""

    basis: Float32  # (r,v,3) the most useful first
    coefficients: Float32  # (f,r)
    normal_basis: Float32 | None = None  # (r,v,3) added to the rest normals by the same coefficients: n = F (n + N q)

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked("basis", self.basis, (None, None, 3)))
        if self.normal_basis is not None:
            object.__setattr__(self, "normal_basis", checked("normal_basis", self.normal_basis, self.basis.shape))
        object.__setattr__(
            self, "coefficients", checked("coefficients", self.coefficients, (None, self.basis.shape[0]))
        )

    @property
    def rank(self) -> int:
        return int(self.basis.shape[0])

    def cut(self, rank: int) -> Corrections:
        """Only the first `rank` columns."""
        normals = None if self.normal_basis is None else self.normal_basis[:rank]
        return Corrections(self.basis[:rank], self.coefficients[:, :rank], normals)
