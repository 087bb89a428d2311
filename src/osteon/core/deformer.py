"""How a character moves: the protocols that families of deformers and kinds of displacements implement.

Every family is affine in the rest position of a vertex once the bones are given:

    x_v = A_v(bones) [p_v + d_v; 1],   A_v (3,4)

so a family defines only its blend A_v. Posing, normals (the linear part of A_v), conditioning, errors by rank and the
corrections are written once for all families (`osteon.deform`). `osteon.deform.registry` finds a family by its kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from numpy.typing import NDArray

from osteon.core.animation import Animation, BoneType
from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64
from osteon.core.skin import Skin

__all__ = ["Arrays", "Deformer", "Displacement", "VertexColumns"]

Arrays = dict[str, NDArray[Any]]


@runtime_checkable
class Deformer(Protocol):
    """Takes vertices of the rest pose along with the bones: frozen data and its run time."""

    kind: ClassVar[str]
    bone_types: ClassVar[tuple[BoneType, ...]]  # what kinds of bones it can blend

    @property
    def n_vertices(self) -> int: ...

    @property
    def n_bones(self) -> int:
        """The least number of bones that it needs."""
        ...

    @property
    def n_floats(self) -> int:
        """Numbers that it needs besides rest pose and motion; indices do not count (James and Twigg, table 1)."""
        ...

    def palette(self, transforms: FloatArray) -> Float64:
        """(f,b,…) what a vertex reads of each bone, from posed_from_rest transforms (f,b,3,4)."""
        ...

    def blend(self, palette: Float64, vertices: Int64, out: Float64) -> None:
        """out (n,3,4) = A of the given vertices (n,) for the palette of one frame (b,…). Thread-safe."""
        ...

    def arrays(self) -> Arrays:
        """All of its data by name: files and packs need no code for a family."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; refuses what does not fit."""
        ...

    @classmethod
    def from_skin(cls, skin: Skin) -> Self:
        """The family with the bones and weights of a linear blend skin, where a fit of its own begins."""
        ...

    def bone_weights(self) -> Skin:
        """How much each vertex belongs to which bone, for colours, lists of bones and shares of the error."""
        ...

    def stock_skin(self) -> Skin | None:
        """The skin with which a stock player shows exactly this deformer, if there is one."""
        ...

    def take(self, vertices: Int32) -> Self:
        """The deformer of some vertices, in that order."""
        ...

    def placed(self, new_from_old: FloatArray) -> Self:
        """The deformer of a scene that was turned, moved and scaled by (3,4), with it the rest pose and the bones."""
        ...


class VertexColumns(Protocol):
    """Columns of which each moves few vertices, by vertex."""

    def add(self, coefficients: Float32, first: int, out: Float32) -> None:
        """Add to out (n,3,f) what moves the vertices from `first` on, with coefficients (r,f). Thread-safe."""
        ...


@runtime_checkable
class Displacement(Protocol):
    """Moves vertices of the rest pose before the deformer does: p + sum_r q_r U_r, normals likewise by N_r."""

    kind: ClassVar[str]

    @property
    def basis(self) -> Float32:
        """(r,v,3) U; zero in columns that move normals only, which come last."""
        ...

    @property
    def normal_basis(self) -> Float32 | None:
        """(r,n,3) N, if it moves normals."""
        ...

    def coefficients(self, animation: Animation) -> Float32:
        """(f,r) q of every frame: stored in the animation, or found from where the bones are."""
        ...

    def position_coefficients(self, animation: Animation) -> Float32:
        """(f,p) q of the columns that move positions; those that move normals only come after them."""
        ...

    def by_vertex(self) -> VertexColumns | None:
        """Columns that move positions, by vertex, where each moves few of them; None where they move all."""
        ...

    def arrays(self) -> Arrays: ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self: ...

    def take(self, vertices: Int32) -> Self: ...

    def truncate(self, rank: int) -> Self:
        """Only the first `rank` columns that move positions, and all that move normals only."""
        ...

    def without_normals(self, rank: int) -> Self:
        """Only the first `rank` columns, without what they do to normals."""
        ...

    def on_mesh(self, basis: Float32, normal_basis: Float32 | None) -> Self:
        """The same columns of another mesh: as many, with the same coefficients, stored as precisely."""
        ...
