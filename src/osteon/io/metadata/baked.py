"""Displacements of every kind as what stock players show: columns, and how much of each there is in every frame.

A displacement whose coefficients follow the bones is baked for the clips; what tells the coefficients in other poses
(its tables) is stored beside, so that the same displacement comes back: its columns are those after the corrections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float32
from osteon.core.corrections import Corrections
from osteon.core.deformer import Arrays, Displacement, restore_displacement
from osteon.core.errors import GeometryError
from osteon.core.model import PLAIN_DISPLACEMENT, SkinnedModel

__all__ = ["StoredTables", "baked_model", "live_model", "table_arrays", "tables_of"]

#: Arrays that are columns: players have them in a form of their own.
COLUMNS = ("basis", "normal_basis")


@dataclass(frozen=True, slots=True)
class StoredTables:
    """What a file has of a displacement besides its columns."""

    kind: str
    columns: int
    arrays: Arrays


def baked_model(model: SkinnedModel) -> SkinnedModel:
    """The model with all its displacements as corrections of its frames, those that it had first."""
    others = _others(model)
    if not others:
        return model
    known = model.corrections
    parts = [] if known is None else [known]
    parts += [Corrections(one.basis, one.coefficients(model.animation), one.normal_basis) for one in others]
    basis = np.concatenate([part.basis for part in parts])
    normals = None
    if any(part.normal_basis is not None for part in parts):
        normals = np.concatenate([_normals_of(part, model.mesh.n_normals) for part in parts])
    coefficients = np.concatenate([part.coefficients for part in parts], axis=1)
    plain = SkinnedModel(replace(model.character, displacements=()), replace(model.animation, coefficients=None))
    return plain.with_parts(corrections=Corrections(basis, coefficients, normals))


def tables_of(model: SkinnedModel) -> list[StoredTables]:
    """The tables of the displacements that `baked_model` bakes, in the order of their columns."""
    return [StoredTables(one.kind, len(one.basis), table_arrays(one)) for one in _others(model)]


def table_arrays(displacement: Displacement) -> Arrays:
    """All of its arrays but columns, in bytes or not."""
    return {name: array for name, array in displacement.arrays().items() if _is_table(name)}


def live_model(baked: SkinnedModel, tables: Sequence[StoredTables]) -> SkinnedModel:
    """The model that was baked; refuses tables that do not fit its columns."""
    if not tables:
        return baked
    stored = baked.corrections
    rank = baked.n_columns - sum(one.columns for one in tables)
    if stored is None or rank < 0 or any(one.columns < 0 for one in tables):
        raise GeometryError(f"displacements: {baked.n_columns} columns do not suffice for the tables that are stored")
    plain = baked.with_parts(corrections=stored.take(np.arange(rank)) if rank else None)
    found: list[Displacement] = list(plain.character.displacements)
    start = rank
    for one in tables:
        now = slice(start, start + one.columns)
        arrays: Arrays = {**one.arrays, "basis": stored.basis[now]}
        if stored.normal_basis is not None:
            arrays["normal_basis"] = stored.normal_basis[now]
        found.append(restore_displacement(one.kind, arrays))
        start = now.stop
    return SkinnedModel(replace(plain.character, displacements=tuple(found)), plain.animation)


def _others(model: SkinnedModel) -> list[Displacement]:
    return [one for one in model.character.displacements if one.kind != PLAIN_DISPLACEMENT and len(one.basis)]


def _normals_of(part: Corrections, count: int) -> Float32:
    return np.zeros((part.n_columns, count, 3), np.float32) if part.normal_basis is None else part.normal_basis


def _is_table(name: str) -> bool:
    """Whether an array is no column, nor one in bytes."""
    return not any(name == column or name.startswith(f"{column}_") for column in COLUMNS)
