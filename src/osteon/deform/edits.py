"""Edits of the rest pose: named displacements with a constant scale each, which every frame and new pose shows.

    x_v = A_v(bones) [p_v + sum_e s_e d_ev + sum_r q_r U_rv; 1]

An edit turns and stretches with the blend of every vertex, for every deformer, beside all other displacements. Edits
are stored apart from the rest pose: one can be removed or scaled, and several add up.

| symbol | name |
| --- | --- |
| d_e | `basis` (e,v,3): the displacement of an edit |
| s_e | `scales` (e,) |

An edit may have columns among the corrections of the model, which turn it further than the blends do in the frames of
the animation (`edit_columns.py`); `columns` and `owners` list them.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7, "Rest pose editing".

Edits are in the order of their names, and sums are computed in that order, so the result does not depend on the order
in which they were made, bit for bit.

`edited_character` applies the edits: rest pose p + sum_e s_e d_e, without the displacement. Files for stock players,
the page and normals use it. Authored or fitted normals, and columns of normals (eq. 13), keep their coordinates in the
frame of the surface: they turn as it does, and where nothing is edited they stay as they are. Smooth normals are those
of the edited surface.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Animation
from osteon.core.arrays import Float32, Float64, FloatArray, Int32, checked, checked_indices
from osteon.core.character import Arrays, Character, Displacement
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Mesh
from osteon.core.model import SkinnedModel
from osteon.core.topology import weld_points

#: Edits that a model can have.
MOST_EDITS = 256


def _no_columns() -> Int32:
    return np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class Edits:
    """Named displacements of the rest pose with constant scales."""

    kind: ClassVar[str] = "edits"

    names: tuple[str, ...]  # unique, in alphabetical order
    scales: Float32  # (e,)
    basis: Float32  # (e,v,3)
    columns: Int32 = field(default_factory=_no_columns)  # (t,) columns of the model's corrections that turn edits
    owners: Int32 = field(default_factory=_no_columns)  # (t,) the edit that each belongs to

    def __post_init__(self) -> None:
        if any(not name or "\0" in name for name in self.names) or len(set(self.names)) != len(self.names):
            raise GeometryError(f"edits: expected different names, none empty, got {', '.join(map(repr, self.names))}")
        if len(self.names) > MOST_EDITS:
            raise GeometryError(f"edits: expected {MOST_EDITS} at most, got {len(self.names)}; join some of them")
        basis = checked("basis", self.basis, (len(self.names), None, 3))
        scales = checked("scales", self.scales, (len(self.names),))
        columns = checked_indices("columns", self.columns, (None,), np.iinfo(np.int32).max)
        owners = checked_indices("owners", self.owners, columns.shape, max(1, len(self.names)))
        if len(columns) and (not self.names or len(np.unique(columns)) < len(columns)):
            raise GeometryError("edits: expected each column of the corrections once, for an edit that exists")
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        if order != list(range(len(order))):
            object.__setattr__(self, "names", tuple(self.names[i] for i in order))
            basis, scales = checked("basis", basis[order], basis.shape), checked("scales", scales[order], scales.shape)
            owners = np.argsort(order).astype(np.int32)[owners]
        object.__setattr__(self, "basis", basis)
        object.__setattr__(self, "scales", scales)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "owners", owners)

    @property
    def normal_basis(self) -> None:
        """None: normals follow the edited surface (`edited_character`)."""
        return None

    @property
    def n_vertices(self) -> int:
        return int(self.basis.shape[1])

    @property
    def touched(self) -> Int32:
        """(m,) the vertices that some edit moves."""
        return np.flatnonzero(self.basis.any(axis=(0, 2))).astype(np.int32)

    def total(self) -> Float64:
        """(v,3) the sum of all edits."""
        out = np.zeros((self.n_vertices, 3))
        for scale, displacement in zip(self.scales.astype(np.float64), self.basis, strict=True):
            out += scale * displacement
        return out

    def coefficients(self, animation: Animation) -> Float32:
        """(f,e) the scales in every frame."""
        return np.tile(self.scales, (animation.n_frames, 1))

    def position_coefficients(self, animation: Animation) -> Float32:
        return self.coefficients(animation)

    def by_vertex(self) -> None:
        """None: the sum is one displacement, the same in all frames."""
        return None

    def arrays(self) -> Arrays:
        """`names` in UTF-8, separated by 0, `scales`, and for the touched `vertices` (m,) the `vectors` (e,m,3).

        Also `columns` and `owners` (t,), if there are any.
        """
        touched = self.touched
        turning = {"columns": self.columns, "owners": self.owners} if len(self.columns) else {}
        return turning | {
            "names": np.frombuffer("\0".join(self.names).encode(), np.uint8).astype(np.int32),
            "scales": self.scales,
            "n_vertices": np.array([self.n_vertices], np.int32),
            "vertices": touched,
            "vectors": np.ascontiguousarray(self.basis[:, touched]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        letters = checked_indices("names", arrays["names"], (None,), 256)
        try:
            names = tuple(letters.astype(np.uint8).tobytes().decode().split("\0")) if len(letters) else ()
        except UnicodeDecodeError as error:
            raise GeometryError("edits: their names are not UTF-8 text") from error
        if len(names) > MOST_EDITS:
            raise GeometryError(f"edits: expected {MOST_EDITS} at most, got {len(names)}")
        count = int(checked_indices("n_vertices", arrays["n_vertices"], (1,), np.iinfo(np.int32).max)[0])
        vertices = checked_indices("vertices", arrays["vertices"], (None,), count)
        basis = np.zeros((len(names), count, 3), np.float32)
        basis[:, vertices] = checked("vectors", arrays["vectors"], (len(names), len(vertices), 3))
        return cls(
            names, arrays["scales"], basis, arrays.get("columns", _no_columns()), arrays.get("owners", _no_columns())
        )

    def take(self, vertices: Int32) -> Self:
        """The edits on some vertices, in that order."""
        return replace(self, basis=np.ascontiguousarray(self.basis[:, vertices]))

    def truncate(self, rank: int) -> Self:
        return self._picked(range(min(rank, len(self.names))))

    def without_normals(self, rank: int) -> Self:
        return self.truncate(rank)

    def on_mesh(self, basis: Float32, normal_basis: Float32 | None) -> Self:
        """The same edits on another mesh."""
        return replace(self, basis=basis)

    def of_name(self, name: str) -> tuple[Float32, float]:
        """(v,3) the displacement of an edit, which must exist, and its scale."""
        self._check_known({name})
        number = self.names.index(name)
        return self.basis[number], float(self.scales[number])

    def with_edit(self, name: str, displacement: FloatArray, scale: float = 1.0) -> Edits:
        """These and one more (v,3), in place of an earlier one of that name."""
        kept = self._picked([i for i, known in enumerate(self.names) if known != name])
        basis = np.concatenate([kept.basis, np.asarray(displacement, np.float32)[None]])
        return Edits((*kept.names, name), np.append(kept.scales, np.float32(scale)), basis, kept.columns, kept.owners)

    def without(self, names: Iterable[str]) -> Edits:
        """These except some, which must exist."""
        dropped = set(names)
        self._check_known(dropped)
        return self._picked([i for i, name in enumerate(self.names) if name not in dropped])

    def _picked(self, kept: Sequence[int]) -> Self:
        """Some of the edits, in ascending order, with their columns."""
        chosen = list(kept)
        there = np.isin(self.owners, chosen)
        owners = np.searchsorted(chosen, self.owners[there]).astype(np.int32)
        names = tuple(self.names[i] for i in chosen)
        return type(self)(names, self.scales[chosen], self.basis[chosen], self.columns[there], owners)

    def scaled(self, name: str, scale: float) -> Edits:
        """The same edits, one of them with another scale."""
        self._check_known({name})
        scales = [scale if known == name else own for known, own in zip(self.names, self.scales, strict=True)]
        return replace(self, scales=np.array(scales, np.float32))

    def _check_known(self, names: set[str]) -> None:
        for name in sorted(names - set(self.names)):
            known = f"it has {', '.join(self.names)}" if self.names else "it has none"
            raise OptionError(f"edit '{name}': the model has no edit of that name; {known}")


def edits_of(character: Character) -> Edits:
    """The edits of a character; empty if it has none."""
    found = character.displacement(Edits.kind)
    if isinstance(found, Edits):
        return found
    return Edits((), np.zeros(0, np.float32), np.zeros((0, character.mesh.n_vertices, 3), np.float32))


def with_edits(character: Character, edits: Edits) -> Character:
    """The character with these edits in place of its own; without the displacement if there are none."""
    others = tuple(one for one in character.displacements if one.kind != Edits.kind)
    return replace(character, displacements=(*others, edits) if edits.names else others)


def edited_character(character: Character) -> Character:
    """The character whose rest pose is the edited one, without edits; itself if it has none."""
    edits = character.displacement(Edits.kind)
    if not isinstance(edits, Edits):
        return character
    mesh = character.mesh
    others = tuple(one for one in character.displacements if one is not edits)
    moved = edited_mesh(mesh, edits)
    if any(one.normal_basis is not None for one in others):
        rotations = normal_rotations(mesh, moved.rest)
        others = tuple(_turned(one, rotations) for one in others)
    return replace(character, mesh=moved, displacements=others)


def edited_mesh(mesh: Mesh, edits: Edits) -> Mesh:
    """The mesh with edited rest positions, and its own normals turned with the surface."""
    rest = (mesh.rest.astype(np.float64) + edits.total()).astype(np.float32)
    own, asset = mesh.asset.normals, mesh.asset
    if own is not None:
        rotations = normal_rotations(mesh, rest)
        turned = np.einsum("nij,nj->ni", rotations, own.values.astype(np.float64))
        asset = replace(asset, normals=replace(own, values=turned.astype(np.float32)))
    return replace(mesh, rest=rest, asset=asset)


def edited_model(model: SkinnedModel) -> SkinnedModel:
    """The model whose rest pose is the edited one, without edits; itself if it has none."""
    character = edited_character(model.character)
    return model if character is model.character else replace(model, character=character)


def normal_rotations(mesh: Mesh, moved: FloatArray) -> Float64:
    """(n,3,3) how the surface turns at each normal of a mesh when its vertices move to (v,3)."""
    from osteon.core.normals import surface_rotations  # compiled

    return surface_rotations(mesh, weld_points(mesh.rest)[1], moved)


def _turned(displacement: Displacement, rotations: Float64) -> Displacement:
    """The displacement with its columns of normals rotated."""
    if displacement.normal_basis is None:
        return displacement
    columns = displacement.normal_basis.astype(np.float64)
    turned = np.einsum("nij,rnj->rni", rotations, columns).astype(np.float32)
    return displacement.on_mesh(displacement.basis, turned)
