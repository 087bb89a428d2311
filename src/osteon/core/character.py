"""A character: its mesh, how it is deformed, what is added to the rest pose, and its joints. None of it moves.

A deformer is a family of skinning methods. Every family is affine in the rest position of a vertex once the bones are
given:

    x_v = A_v(bones) [p_v + d_v; 1],   A_v (3,4)

so a family defines only its blend A_v. Posing, normals (the linear part of A_v), conditioning, errors by rank and the
corrections are written once for all families (`osteon.deform`). A displacement defines d_v. `osteon.deform.registry`
finds both by their kind.

Corrections are a basis of displacements in the rest pose whose coefficients are stored with the animation:

    p_v + sum_r q_r^f U_rv

`Corrections` holds basis and coefficients together, as fits return them and files store them. In a model the basis is
a displacement of the character (`StoredDisplacement`) and the coefficients belong to the animation.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12 and 13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Animation, BoneType
from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, checked, checked_indices
from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh

#: Rounding error of the sum of a few float32 weights.
WEIGHT_SUM_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Skin:
    """Bones and weights of every vertex. Unused slots hold weight 0."""

    bones: Int32  # (v,k) bone indices
    weights: Float32  # (v,k) sum to one over k

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked("weights", self.weights, (None, None)))
        object.__setattr__(
            self, "bones", checked_indices("bones", self.bones, self.weights.shape, np.iinfo(np.int32).max)
        )
        sums = self.weights.sum(axis=1, dtype=np.float64)
        if sums.size and np.abs(sums - 1).max() > WEIGHT_SUM_TOLERANCE:
            v = int(np.abs(sums - 1).argmax())
            raise GeometryError(f"weights: vertex {v} sums to {sums[v]:.6f}, expected 1; normalise the weights")

    @property
    def n_vertices(self) -> int:
        return int(self.weights.shape[0])

    @property
    def n_influences(self) -> int:
        return int(self.weights.shape[1])

    def dense(self, n_bones: int) -> Float64:
        """(v,b) weights with one column per bone."""
        out = np.zeros((len(self.weights), n_bones))
        np.add.at(out, (np.arange(len(out))[:, None], self.bones), self.weights)
        return out

    def take(self, vertices: Int32) -> Skin:
        """The skin of some vertices, in that order."""
        return Skin(self.bones[vertices], self.weights[vertices])


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A tree of joints and their placement in the rest pose."""

    names: tuple[str, ...]
    parents: Int32  # (j,) index of the parent joint, -1 at a root
    world_from_joint: Float32  # (j,3,4) rest pose

    def __post_init__(self) -> None:
        parents = checked("parents", self.parents, (len(self.names),), np.int32)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(
            self, "world_from_joint", checked("world_from_joint", self.world_from_joint, (len(self.names), 3, 4))
        )
        if parents.size and (parents.min() < -1 or parents.max() >= len(parents)):
            raise GeometryError(f"parents: expected -1 … {len(parents) - 1}")
        _check_tree(parents)


def _check_tree(parents: Int32) -> None:
    """Refuse joints that are their own ancestors; every joint is visited once."""
    walk_of = np.full(len(parents), -1, np.int64)
    up = parents.tolist()
    for start in range(len(up)):
        j = start
        while j >= 0 and walk_of[j] < 0:
            walk_of[j] = start
            j = up[j]
        if j >= 0 and walk_of[j] == start:
            raise GeometryError(f"parents: joint {j} is its own ancestor")


@dataclass(frozen=True, slots=True)
class BoneLimits:
    """Which bones vertices may follow, where a file restricts them per mesh. One group of vertices per mesh."""

    group: Int32  # (v,) of each vertex
    bones: tuple[tuple[int, ...], ...]  # of each group: the bones that its vertices may follow
    fixed: tuple[bool, ...]  # of each group: its vertices follow a node and no other bone, not even added ones


Arrays = dict[str, NDArray[Any]]


@runtime_checkable
class Deformer(Protocol):
    """A family of skinning methods: immutable data, and the kernel that blends bones."""

    kind: ClassVar[str]
    bone_types: ClassVar[tuple[BoneType, ...]]  # the types of bones that it can blend

    @property
    def n_vertices(self) -> int: ...

    @property
    def n_bones(self) -> int:
        """The smallest number of bones that its indices allow."""
        ...

    @property
    def n_floats(self) -> int:
        """Number of floats besides rest pose and motion; indices do not count (James and Twigg, table 1)."""
        ...

    def palette(self, transforms: FloatArray) -> Float64:
        """(f,b,…) the data per bone that `blend` reads, from posed_from_rest transforms (f,b,3,4)."""
        ...

    def blend(self, palette: Float64, vertices: Int64, out: Float64) -> None:
        """out (n,3,4) = A of the given vertices (n,) for the palette of one frame (b,…). Thread-safe."""
        ...

    def arrays(self) -> Arrays:
        """All of its data by name, so that files and packs need no code per family."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; refuses invalid arrays."""
        ...

    @classmethod
    def from_skin(cls, skin: Skin) -> Self:
        """This family with the bones and weights of a linear blend skin: the initial value of its fit."""
        ...

    def bone_weights(self) -> Skin:
        """The share of each bone per vertex, for colours, lists of bones and shares of the error."""
        ...

    def stock_skin(self) -> Skin | None:
        """The skin with which a stock player shows this deformer exactly, if there is one."""
        ...

    def take(self, vertices: Int32) -> Self:
        """The deformer of some vertices, in that order."""
        ...

    def placed(self, new_from_old: FloatArray) -> Self:
        """The deformer after the whole scene, rest pose and bones, was transformed by a similarity (3,4)."""
        ...


class VertexColumns(Protocol):
    """Columns that each move few vertices, stored per vertex."""

    def add(self, coefficients: Float32, first: int, out: Float32) -> None:
        """Add to out (n,3,f) the displacements of the vertices from `first` on for coefficients (r,f). Thread-safe."""
        ...


@runtime_checkable
class Displacement(Protocol):
    """Moves vertices of the rest pose before the deformer: p + sum_r q_r U_r, and normals by N_r."""

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
        """(f,r) q of every frame: stored in the animation, or computed from the bones."""
        ...

    def position_coefficients(self, animation: Animation) -> Float32:
        """(f,p) q of the columns that move positions; those that move normals only come after them."""
        ...

    def by_vertex(self) -> VertexColumns | None:
        """The columns that move positions, per vertex, if each moves few vertices; None if they move all."""
        ...

    def arrays(self) -> Arrays: ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self: ...

    def take(self, vertices: Int32) -> Self: ...

    def truncate(self, rank: int) -> Self:
        """Only the first `rank` columns that move positions, and all that move normals only."""
        ...

    def without_normals(self, rank: int) -> Self:
        """Only the first `rank` columns, which then move no normals."""
        ...

    def on_mesh(self, basis: Float32, normal_basis: Float32 | None) -> Self:
        """The same columns on another mesh: equal number, coefficients and precision."""
        ...


@dataclass(frozen=True, slots=True)
class Character:
    """A character without its motion."""

    mesh: Mesh
    deformer: Deformer
    displacements: tuple[Displacement, ...] = ()  # each kind at most once
    skeleton: Skeleton | None = None
    fallback: Skin | None = None  # the closest linear blend skin, where stock players cannot show the deformer

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
        """The skin that a stock player shows: the deformer's own, or else the fallback."""
        return self.deformer.stock_skin() or self.fallback


@dataclass(frozen=True, slots=True)
class StoredDisplacement:
    """The basis of the corrections, the most useful column first."""

    kind: ClassVar[str] = "corrections"

    basis: Float32  # (r,v,3) zero in columns that move normals only, which come last
    normal_basis: Float32 | None = None  # (r,n,3) added to the rest normals by the same coefficients: n = F (n + N q)

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked("basis", self.basis, (None, None, 3)))
        if self.normal_basis is not None:
            shape = (self.basis.shape[0], None, 3)
            object.__setattr__(self, "normal_basis", checked("normal_basis", self.normal_basis, shape))

    def coefficients(self, animation: Animation) -> Float32:
        """(f,r) the coefficients that the animation stores."""
        if animation.coefficients is None:
            raise GeometryError("coefficients: the animation stores none for the corrections of this character")
        return animation.coefficients

    def position_coefficients(self, animation: Animation) -> Float32:
        """(f,p) of the columns that move positions, which come first."""
        return self.coefficients(animation)[:, : position_rank(self.basis)]

    def by_vertex(self) -> None:
        """None: every column moves all vertices."""
        return None

    def arrays(self) -> Arrays:
        """(r,v,3) `basis`, and `normal_basis` if there is one."""
        normals = {} if self.normal_basis is None else {"normal_basis": self.normal_basis}
        return {"basis": self.basis, **normals}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(arrays["basis"], arrays.get("normal_basis"))

    def take(self, vertices: Int32) -> Self:
        """The columns of some vertices, in that order."""
        normals = None if self.normal_basis is None else np.ascontiguousarray(self.normal_basis[:, vertices])
        return type(self)(np.ascontiguousarray(self.basis[:, vertices]), normals)

    def truncate(self, rank: int) -> Self:
        kept = kept_columns(self.basis, rank)
        return type(self)(self.basis[kept], None if self.normal_basis is None else self.normal_basis[kept])

    def without_normals(self, rank: int) -> Self:
        """The first `rank` columns, which move positions and no normals."""
        return type(self)(self.basis[:rank])

    def on_mesh(self, basis: Float32, normal_basis: Float32 | None) -> Self:
        """The same columns of another mesh."""
        return type(self)(basis, normal_basis)


@dataclass(frozen=True, slots=True)
class Corrections:
    """Rest-frame displacements and their coefficients (eq. 12)."""

    basis: Float32  # (r,v,3) as in StoredDisplacement
    coefficients: Float32  # (f,r)
    normal_basis: Float32 | None = None  # (r,n,3)

    def __post_init__(self) -> None:
        stored = StoredDisplacement(self.basis, self.normal_basis)
        object.__setattr__(self, "basis", stored.basis)
        object.__setattr__(self, "normal_basis", stored.normal_basis)
        object.__setattr__(
            self, "coefficients", checked("coefficients", self.coefficients, (None, self.basis.shape[0]))
        )

    @property
    def n_columns(self) -> int:
        return int(self.basis.shape[0])

    @property
    def rank(self) -> int:
        """Columns that move positions."""
        return position_rank(self.basis)

    def truncate(self, rank: int) -> Corrections:
        """The first `rank` columns that move positions, and all that move normals only."""
        return self.take(kept_columns(self.basis, rank))

    def take(self, columns: Int64) -> Corrections:
        """Only the given columns, in that order."""
        normals = None if self.normal_basis is None else np.ascontiguousarray(self.normal_basis[columns])
        basis, q = np.ascontiguousarray(self.basis[columns]), np.ascontiguousarray(self.coefficients[:, columns])
        return Corrections(basis, q, normals)


def position_rank(basis: Float32) -> int:
    """How many columns (r,v,3) move positions; those that do not come last."""
    rank = len(basis)
    while rank and not basis[rank - 1].any():
        rank -= 1
    return rank


def kept_columns(basis: Float32, rank: int) -> Int64:
    """The first `rank` columns that move positions, and all that move normals only."""
    n_moving = position_rank(basis)
    return np.concatenate([np.arange(min(rank, n_moving)), np.arange(n_moving, len(basis))])
