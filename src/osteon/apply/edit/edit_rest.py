"""Edit the rest pose of a skinned model; all frames, new poses and levels show the edit.

    x_v = A_v [p_v + sum_e s_e d_ev + U_v q; 1]

subdivide - compare with the rest pose (or a frame) - store the difference as an edit - where the blends do not turn it
as the surface turns, add columns that do - report its shape in the frames.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7, "Rest pose editing", figure 15.
Differs from the paper: edits are kept apart from the mesh (`deform/edits.py`), so they can be scaled, removed and added
up in any order; a mesh that was sculpted in a frame is pulled back (`pull_back.py`); edits turn with local frames of
the surface in the frames of the animation (`turn_columns.py`).

Notes, horse, 30 scaled bones, a patch with a radius of 5 % of the diagonal raised by 3 % in one of five places, its
displacement in the frames against the same displacement in frames fitted to the patch of the source: see
`osteon_bench/edit.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from osteon.apply.edit.carry_to_level import carry_columns, carry_edits
from osteon.apply.edit.column_normals import with_column_normals
from osteon.apply.edit.edit_report import Deviation, EditReport, report_edit
from osteon.apply.edit.match_vertices import SAME_PLACE, match_vertices
from osteon.apply.edit.options import EditOptions
from osteon.apply.edit.pull_back import pull_back
from osteon.apply.edit.strokes import Strokes
from osteon.apply.edit.subdivide import subdivide_model
from osteon.apply.edit.turn_columns import (
    TurnColumns,
    check_source,
    no_columns,
    turn_columns,
    turn_of_edit,
    turned_edit,
)
from osteon.core.arrays import Float32, FloatArray, checked
from osteon.core.character import Character, Corrections
from osteon.core.errors import GeometryError, OptionError
from osteon.core.frames import FrameSource
from osteon.core.mesh import Mesh, scale_of_bones
from osteon.core.model import SkinnedModel, StoredLevels, coarse_model
from osteon.core.options import takes_options
from osteon.core.parallel import single_threaded_blas
from osteon.core.progress import Progress
from osteon.deform.edit_columns import columns_of_edits, with_edit_columns, without_edits
from osteon.deform.edits import Edits, edits_of
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
    source: FrameSource | None = None,
    progress: Progress | None = None,
) -> RestEdit:
    """The model with an edit of its rest pose.

    `edited` is an edited mesh, in the model's order of vertices or another one; its positions (v,3); or strokes of the
    page. `coarse` are coarse meshes of the model's levels, which get the edits too. `source` has the frames (f,v,3)
    that the model approximates: the edit then turns with them, and not with the frames of the model.
    """
    options = EditOptions() if options is None else options
    with single_threaded_blas():  # products are small
        return _edited(model, edited, options, tuple(coarse), source, progress)


def _edited(
    model: SkinnedModel,
    edited: Mesh | Strokes | ArrayLike | None,
    options: EditOptions,
    coarse: tuple[Character, ...],
    source: FrameSource | None,
    progress: Progress | None,
) -> RestEdit:
    before = model = subdivide_model(model, options.subdivide, options.scheme)
    if source is not None:
        check_source(model, source)
    edits, notes = edits_of(model.character).without(options.remove), []
    columns, turns = columns_of_edits(model), dict[str, Deviation]()
    if edited is None and options.scale is not None:
        columns[options.name] = _rescaled(model, columns, options)
        edits = edits.scaled(options.name, options.scale)
    elif edited is not None:
        if options.base == "edited" and options.name in edits.names:
            raise OptionError(
                f"name: the mesh was made on the edit '{options.name}', which would be replaced; choose another name"
            )
        displacement = displacement_of(model, edited, options)
        columns.pop(options.name, None)
        if displacement.any():
            scale = 1.0 if options.scale is None else options.scale
            if not options.blends_only and scale:
                displacement, turn = turned_edit(without_edits(model), displacement, options, source)
                turns[options.name] = _deviation(turn, "model" if source is None else "source")
                columns[options.name] = _at_scale(model, displacement, turn, scale)
            edits = edits.with_edit(options.name, displacement, scale)
        else:
            notes.append("no vertex differs from the model; no edit was stored")
    columns = {name: one for name, one in columns.items() if name in edits.names}
    model = with_edit_columns(model, edits, columns)
    carried = tuple(_on_level(before, edits, columns, one) for one in coarse)
    return RestEdit(model, _reports(model, turns, progress), carried, tuple(notes))


def _deviation(turn: TurnColumns, frames_of: str) -> Deviation:
    frame = int(turn.before.argmax())
    return Deviation(float(turn.before.max()), turn.before_mean, float(turn.after.max()), frame, turn.vertex, frames_of)


def _at_scale(model: SkinnedModel, displacement: FloatArray, turn: TurnColumns, scale: float) -> Corrections:
    """The columns of an edit (v,3) at a scale, with normals."""
    columns = Corrections(turn.basis, turn.coefficients * np.float32(scale))
    return with_column_normals(without_edits(model), scale * displacement.astype(np.float64), columns)


def _rescaled(model: SkinnedModel, columns: Mapping[str, Corrections], options: EditOptions) -> Corrections:
    """The columns of an edit of the model at `options.scale`."""
    edits = edits_of(model.character)
    basis, scale = edits.of_name(options.name)
    known, wanted = columns.get(options.name), float(options.scale or 0.0)
    if options.blends_only or not wanted:
        turn = no_columns(model)
        return Corrections(turn.basis, turn.coefficients)
    if known is not None and scale:
        q = (known.coefficients.astype(np.float64) * (wanted / scale)).astype(np.float32)
        return with_column_normals(without_edits(model), wanted * basis.astype(np.float64), Corrections(known.basis, q))
    turn = turn_columns(turn_of_edit(without_edits(model), basis), options.turn_tolerance, options.turn_columns)
    return _at_scale(model, basis, turn, wanted)


def _on_level(model: SkinnedModel, edits: Edits, columns: Mapping[str, Corrections], coarse: Character) -> Character:
    """A coarse mesh of the model with these edits and their columns."""
    level = coarse_model(model, coarse)
    plain = without_edits(level)
    mesh, carried = coarse.mesh, carry_edits(model.mesh, edits, plain.character)
    own, found = edits_of(carried), {}
    for name, one in columns.items():
        basis, scale = own.of_name(name)
        moved = Corrections(carry_columns(model.mesh, one.basis, mesh), one.coefficients)
        found[name] = with_column_normals(plain, scale * basis.astype(np.float64), moved)
        if one.normal_basis is not None and found[name].normal_basis is None:
            nothing = np.zeros((one.n_columns, mesh.n_normals, 3), np.float32)
            found[name] = replace(found[name], normal_basis=nothing)
    return replace(with_edit_columns(level, own, found).character, skeleton=coarse.skeleton)


def _reports(model: SkinnedModel, turns: Mapping[str, Deviation], progress: Progress | None) -> tuple[EditReport, ...]:
    """The reports of all edits of a model."""
    edits, columns = edits_of(model.character), columns_of_edits(model)
    return tuple(
        report_edit(model, name, d, float(scale), progress, columns=columns.get(name), turn=turns.get(name))
        for name, d, scale in zip(edits.names, edits.basis, edits.scales, strict=True)
    )


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
    if options.base == "unedited":
        model = without_edits(model)
    if options.at_frame is None:
        return model.rest.astype(np.float64) + edits_of(model.character).total()
    if options.at_frame >= model.n_frames:
        raise OptionError(
            f"at_frame: expected 0 … {model.n_frames - 1}, the frames of the model, got {options.at_frame}"
        )
    return pose_vertices(model, options.at_frame).astype(np.float64)
