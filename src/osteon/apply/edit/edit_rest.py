"""Edit the rest pose of a skinned model; all frames, new poses and levels show the edit.

    x_v = A_v [p_v + sum_e s_e d_ev + U_v q; 1]

subdivide - compare with the rest pose (or a frame) - store the difference as an edit - report its length in the frames.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7, "Rest pose editing", figure 15.
Differs from the paper: edits are kept apart from the mesh (`deform/edits.py`), so they can be scaled, removed and added
up in any order; a mesh that was sculpted in a frame is pulled back (`pull_back.py`).

Notes, horse, 30 scaled bones, a patch with a radius of 5 % of the diagonal raised by 3 % in one of five places, its
displacement in the frames against the same displacement in frames fitted to the patch of the source: see
`osteon_bench/edit.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from osteon.apply.edit.carry_to_level import carry_edits
from osteon.apply.edit.edit_report import EditReport, report_edit
from osteon.apply.edit.match_vertices import SAME_PLACE, match_vertices
from osteon.apply.edit.options import EditOptions
from osteon.apply.edit.pull_back import pull_back
from osteon.apply.edit.strokes import Strokes
from osteon.apply.edit.subdivide import subdivide_model
from osteon.core.arrays import Float32, FloatArray, checked
from osteon.core.character import Character
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Mesh, scale_of_bones
from osteon.core.model import SkinnedModel, StoredLevels
from osteon.core.options import takes_options
from osteon.core.progress import Progress
from osteon.deform.edits import Edits, edits_of, with_edits
from osteon.deform.pose import linear_parts, pose_vertices


@dataclass(frozen=True, slots=True)
class RestEdit:
    """An edited model, its coarse meshes, and what each of its edits does in the frames."""

    model: SkinnedModel
    reports: tuple[EditReport, ...]  # of all edits of the model, in the order of their names
    coarse: tuple[Character, ...] = ()
    notes: tuple[str, ...] = ()

    def levels(self, stored: StoredLevels) -> StoredLevels:
        """The levels that the file of the model had, with the edited coarse meshes."""
        return replace(stored, coarse=self.coarse)


@takes_options(EditOptions)
def edit_rest(
    model: SkinnedModel,
    edited: Mesh | Strokes | ArrayLike | None = None,
    *,
    options: EditOptions | None = None,
    coarse: Sequence[Character] = (),
    progress: Progress | None = None,
) -> RestEdit:
    """The model with an edit of its rest pose.

    `edited` is an edited mesh, in the model's order of vertices or another one; its positions (v,3); or strokes of the
    page. `coarse` are coarse meshes of the model's levels, which get the edits too.
    """
    options = EditOptions() if options is None else options
    model, coarse = _subdivided(model, tuple(coarse), options)
    edits, notes = edits_of(model.character).without(options.remove), []
    if edited is None and options.scale is not None:
        edits = edits.scaled(options.name, options.scale)
    elif edited is not None:
        if options.base == "edited" and options.name in edits.names:
            raise OptionError(
                f"name: the mesh was made on the edit '{options.name}', which would be replaced; choose another name"
            )
        displacement = displacement_of(model, edited, options)
        if displacement.any():
            edits = edits.with_edit(options.name, displacement, 1.0 if options.scale is None else options.scale)
        else:
            notes.append("no vertex differs from the model; no edit was stored")
    return finish_edit(model, edits, coarse, notes, progress)


def finish_edit(
    model: SkinnedModel,
    edits: Edits,
    coarse: Sequence[Character],
    notes: Sequence[str] = (),
    progress: Progress | None = None,
) -> RestEdit:
    """The model and its coarse meshes with these edits, and the reports of all."""
    whole = replace(model, character=with_edits(model.character, edits))
    reports = [
        report_edit(whole, name, d, float(scale), progress)
        for name, d, scale in zip(edits.names, edits.basis, edits.scales, strict=True)
    ]
    carried = tuple(carry_edits(model.mesh, edits, one) for one in coarse)
    return RestEdit(whole, tuple(reports), carried, tuple(notes))


def _subdivided(
    model: SkinnedModel, coarse: tuple[Character, ...], options: EditOptions
) -> tuple[SkinnedModel, tuple[Character, ...]]:
    """The model after `options.subdivide`; its coarse meshes stay as they are."""
    return subdivide_model(model, options.subdivide, options.scheme), coarse


def displacement_of(model: SkinnedModel, edited: Mesh | Strokes | ArrayLike, options: EditOptions) -> Float32:
    """(v,3) the displacement of the rest pose that makes the edited mesh; exactly zero where that is unchanged."""
    if isinstance(edited, Strokes):
        return edited.on(model)
    base = _base_positions(model, options)
    if isinstance(edited, Mesh):
        vertices = match_vertices(model.mesh, base, edited)
        positions = np.where((vertices >= 0)[:, None], edited.rest[np.maximum(vertices, 0)], base)
    else:
        positions = np.asarray(edited)
        if positions.shape != base.shape:
            raise GeometryError(
                f"edited: expected positions of the model's {model.n_vertices:,} vertices, shape {base.shape}, "
                f"got {positions.shape}"
            )
    moves = checked("edited", positions, base.shape).astype(np.float64) - base
    moves[np.abs(moves).max(axis=1) <= SAME_PLACE * model.diagonal] = 0.0
    if options.at_frame is not None:
        linear = linear_parts(model, options.at_frame)
        moved = np.flatnonzero(moves.any(axis=1))
        moves[moved] = pull_back(linear[moved], moves[moved], scale_of_bones(model.animation.transforms))
    return moves.astype(np.float32)


def _base_positions(model: SkinnedModel, options: EditOptions) -> FloatArray:
    """(v,3) float64 positions that the edited mesh was made from."""
    edits = edits_of(model.character)
    if options.base == "unedited":
        model = replace(model, character=with_edits(model.character, edits.without(edits.names)))
    if options.at_frame is None:
        return model.rest.astype(np.float64) + edits_of(model.character).total()
    if options.at_frame >= model.n_frames:
        raise OptionError(
            f"at_frame: expected 0 … {model.n_frames - 1}, the frames of the model, got {options.at_frame}"
        )
    return pose_vertices(model, options.at_frame).astype(np.float64)
