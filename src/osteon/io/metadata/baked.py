"""The part of a model that stock players show: a linear blend skin and displacements baked to columns.

A displacement whose coefficients follow the bones is baked for the clips; the tables from which its coefficients are
computed in other poses are stored besides, so that the same displacement is restored. Its columns follow those of the
corrections; columns that move normals only come after all that move positions, so that programs may omit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from osteon.core.arrays import Float32, Int64
from osteon.core.character import Arrays, Corrections, Displacement, StoredDisplacement, position_rank
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.deform.edits import Edits, edited_model
from osteon.deform.registry import restore_displacement
from osteon.io.formats.options import SaveOptions

#: Arrays that are columns: players have them as morph targets.
COLUMNS = ("basis", "normal_basis")


@dataclass(frozen=True, slots=True)
class StoredTables:
    """The data of a displacement in a file besides its columns."""

    kind: str
    columns: Int64  # (r,) indices of its columns among all that are baked
    arrays: Arrays


def baked_model(model: SkinnedModel) -> SkinnedModel:
    """The model with its edits in the rest pose and its other displacements as corrections, the stored ones first."""
    model = edited_model(model)
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
    corrections = Corrections(basis, coefficients, normals)
    order = np.concatenate(joined_columns([part.basis for part in parts]))
    if (np.diff(order) != 1).any():
        corrections = corrections.take(np.argsort(order))
    return plain.with_corrections(corrections)


def joined_columns(bases: Sequence[Float32]) -> list[Int64]:
    """(r,) for each basis (r,v,3) the indices of its columns when all are joined: those of normals only come last."""
    ranks = [position_rank(basis) for basis in bases]
    positions = np.cumsum([0, *ranks])
    normals = positions[-1] + np.cumsum([0, *(len(basis) - rank for basis, rank in zip(bases, ranks, strict=True))])
    return [
        np.concatenate([np.arange(rank) + positions[i], np.arange(len(basis) - rank) + normals[i]])
        for i, (basis, rank) in enumerate(zip(bases, ranks, strict=True))
    ]


def tables_of(model: SkinnedModel) -> list[StoredTables]:
    """The tables of the displacements that `baked_model` bakes, in the order of their columns."""
    others = _others(model)
    stored = [] if model.corrections is None else [model.corrections.basis]
    numbers = joined_columns([*stored, *(one.basis for one in others)])[len(stored) :]
    return [StoredTables(one.kind, columns, table_arrays(one)) for one, columns in zip(others, numbers, strict=True)]


def column_entry(tables: Sequence[StoredTables], total: int) -> list[dict[str, Any]]:
    """The JSON for the columns of each table: how many, and their indices unless they are the last ones."""
    last = _last_columns([len(one.columns) for one in tables], total)
    return [
        {"columns": len(one.columns)} | ({} if np.array_equal(one.columns, end) else {"numbers": one.columns.tolist()})
        for one, end in zip(tables, last, strict=True)
    ]


def numbered_columns(counts: Sequence[int], numbers: Sequence[Sequence[int] | None], total: int) -> list[Int64]:
    """The inverse of `column_entry`: columns of each table; those without numbers are the last ones."""
    last = _last_columns(counts, total)
    return [end if own is None else np.array(own, np.int64) for own, end in zip(numbers, last, strict=True)]


def _last_columns(counts: Sequence[int], total: int) -> list[Int64]:
    stops = total - sum(counts) + np.cumsum(counts)
    return [np.arange(stop - count, stop) for stop, count in zip(stops, counts, strict=True)]


def table_arrays(displacement: Displacement) -> Arrays:
    """The arrays of a displacement without its columns, also if they are quantised (`basis_…`)."""
    return {
        name: array
        for name, array in displacement.arrays().items()
        if not any(name == column or name.startswith(f"{column}_") for column in COLUMNS)
    }


def live_model(baked: SkinnedModel, tables: Sequence[StoredTables]) -> SkinnedModel:
    """The inverse of `baked_model`; refuses tables that do not match its columns."""
    if not tables:
        return baked
    stored, total = baked.corrections, baked.n_columns
    taken = np.concatenate([one.columns for one in tables])
    if stored is None or (taken < 0).any() or (taken >= total).any() or len(np.unique(taken)) < len(taken):
        raise GeometryError(f"displacements: the stored tables do not match the {total} columns")
    rest = np.setdiff1d(np.arange(total), taken)
    plain = baked.with_corrections(stored.take(rest) if len(rest) else None)
    found: list[Displacement] = list(plain.character.displacements)
    for one in tables:
        arrays: Arrays = {**one.arrays, "basis": stored.basis[one.columns]}
        if stored.normal_basis is not None:
            arrays["normal_basis"] = stored.normal_basis[one.columns]
        found.append(restore_displacement(one.kind, arrays))
    return SkinnedModel(replace(plain.character, displacements=tuple(found)), plain.animation)


def _others(model: SkinnedModel) -> list[Displacement]:
    kinds = (StoredDisplacement.kind, Edits.kind)
    return [one for one in model.character.displacements if one.kind not in kinds and len(one.basis)]


def _normals_of(part: Corrections, count: int) -> Float32:
    return np.zeros((part.n_columns, count, 3), np.float32) if part.normal_basis is None else part.normal_basis


def position_ranks(model: SkinnedModel) -> list[int]:
    """The number of columns that move positions of each displacement."""
    return [position_rank(one.basis) for one in model.character.displacements]


def without_normals(model: SkinnedModel, ranks: Sequence[int] | None = None) -> SkinnedModel:
    """The model without columns that move normals only, and without the normals of other columns.

    `ranks` are the numbers of columns to keep; coarse meshes, on which a column may be zero, use those of the model.
    """
    ranks = position_ranks(model) if ranks is None else ranks
    kept, coefficients = [], model.animation.coefficients
    for one, rank in zip(model.character.displacements, ranks, strict=True):
        kept += [one.without_normals(rank)] if rank else []
        if one.kind == StoredDisplacement.kind and coefficients is not None:
            coefficients = coefficients[:, :rank] if rank else None
    character = replace(model.character, displacements=tuple(kept))
    return SkinnedModel(character, replace(model.animation, coefficients=coefficients))


def has_stock_form(model: SkinnedModel) -> bool:
    """Whether linear blending evaluates exactly this model."""
    return model.deformer.stock_skin() is not None


def stock_model(model: SkinnedModel, options: SaveOptions, format_name: str) -> SkinnedModel:
    """The linear blend, with corrections, that stock players show; refused if there is none or `options` exclude it."""
    model = baked_model(model)
    if has_stock_form(model):
        return model
    kind = model.deformer.kind.replace("_", " ")
    if options.fallback == "none":
        raise GeometryError(
            f"'{model.name}': {format_name} has no form for {kind} deformers; "
            "write .npz, or allow --fallback skin for players that do not support it"
        )
    if model.character.fallback is None:
        raise GeometryError(
            f"'{model.name}': {format_name} has no form for {kind} deformers, and the model has no fallback skin; "
            "write .npz, or skin it again"
        )
    from osteon.deform.linear_blend import LinearBlend  # compiled: not needed to import the formats

    return model.with_character(deformer=LinearBlend(model.character.fallback), fallback=None)
