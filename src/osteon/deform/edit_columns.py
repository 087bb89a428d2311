"""Correction columns that belong to edits: they turn an edit in the frames of the animation, and go with it.

Columns are among the corrections of the model, after those of its own that move positions, in the order of the edits'
names; `Edits.columns` and `Edits.owners` list them. Files, levels, the page and stock players treat them like all
others. Their coefficients hold the scale of the edit. A model whose corrections were truncated or replaced has lost the
columns that are no longer there.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12 (the form of a column).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from osteon.core.arrays import Int32, Int64
from osteon.core.character import Corrections
from osteon.core.model import SkinnedModel
from osteon.deform.edits import Edits, edits_of, with_edits


def columns_of_edits(model: SkinnedModel) -> dict[str, Corrections]:
    """The columns of each edit that has some."""
    edits, stored = edits_of(model.character), model.corrections
    if stored is None:
        return {}
    found = {}
    for number, name in enumerate(edits.names):
        own = _present(edits, model.rank)[edits.owners[_kept(edits, model.rank)] == number]
        if len(own):
            found[name] = stored.take(own)
    return found


def without_edits(model: SkinnedModel) -> SkinnedModel:
    """The model without edits and their columns."""
    edits = edits_of(model.character)
    if not edits.names:
        return model
    own, stored = _present(edits, model.rank), model.corrections
    model = replace(model, character=with_edits(model.character, edits.without(edits.names)))
    if stored is None or not len(own):
        return model
    rest = np.setdiff1d(np.arange(stored.n_columns), own)
    kept = stored.take(rest) if len(rest) else None
    if kept is not None and kept.normal_basis is not None and not kept.normal_basis.any():
        kept = Corrections(kept.basis, kept.coefficients)  # normals that only the edits moved
    return model.with_corrections(kept)


def with_edit_columns(model: SkinnedModel, edits: Edits, columns: Mapping[str, Corrections]) -> SkinnedModel:
    """The model with these edits and their columns in place of those that it has."""
    plain = without_edits(model)
    owners = [(number, columns[name]) for number, name in enumerate(edits.names) if name in columns]
    added = [(number, one) for number, one in owners if one.n_columns]
    own, rank = plain.corrections, plain.rank
    if added:
        parts = [] if own is None else [own.take(np.arange(rank))]
        parts += [one for _, one in added]
        parts += [] if own is None or own.n_columns == rank else [own.take(np.arange(rank, own.n_columns))]
        plain = plain.with_corrections(_joined(parts, plain.mesh.n_normals))
    counts = [one.n_columns for _, one in added]
    numbers = np.arange(rank, rank + sum(counts), dtype=np.int32)
    owner = np.repeat(np.array([number for number, _ in added], np.int32), counts)
    edits = replace(edits, columns=numbers, owners=owner)
    return replace(plain, character=with_edits(plain.character, edits))


def _joined(parts: list[Corrections], n_normals: int) -> Corrections:
    """All columns of some corrections."""
    normals = None
    if any(one.normal_basis is not None for one in parts):
        shapes = [(one.n_columns, n_normals, 3) for one in parts]
        found = [one.normal_basis for one in parts]
        normals = np.concatenate(
            [np.zeros(s, np.float32) if n is None else n for s, n in zip(shapes, found, strict=True)]
        )
    basis = np.concatenate([one.basis for one in parts])
    return Corrections(basis, np.concatenate([one.coefficients for one in parts], axis=1), normals)


def _kept(edits: Edits, rank: int) -> Int64:
    return np.flatnonzero(edits.columns < rank)


def _present(edits: Edits, rank: int) -> Int32:
    """(t,) the columns of edits that are still among the corrections of a rank."""
    found: Int32 = edits.columns[_kept(edits, rank)]
    return found
