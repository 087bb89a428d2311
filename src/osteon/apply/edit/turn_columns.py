"""Correction columns of an edit: what the surface turns by in the frames of the animation beyond its blends.

    minimise the number of columns r   so that   || A_v (d_v + sum_r q_r^f U_rv) - s R_v^f d_v || <= tolerance h_v
                                       for every frame f and edited vertex v

| symbol | name |
| --- | --- |
| d_v | displacement of the edit |
| A_v | linear part of the blend of the vertex in the frame |
| R_v^f | rotation of the surface around the vertex, `local_frames.py`; s the scale of the character |
| h_v | height of the edit there: its largest displacement in the same patch |
| U_rv, q_r^f | columns and their coefficients, in the form of the corrections of eq. 12 |

A linear part follows from positions alone, so that on thin parts and where the surface bends it differs from the turn
of the surface, and an edit that it moves is sheared. The residual, pulled back through the bounded inverse of the blend
(`pull_back.py`), X_v^f = A_v^-1 s R_v^f d_v - d_v, is factored by SVD; coefficients are then fitted to the posed
residual in least squares. There are no columns where the blends alone keep the tolerance.

In other poses than the frames of the animation the columns vanish, and between two frames coefficients are interpolated
like all others.

Based on: James and Twigg, Skinning Mesh Animations, 2005, sections 6 (eq. 12, 14) and 7, figure 15.
Differs from the paper: it moves edits by the blends alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.apply.edit.local_frames import EditedSurface
from osteon.apply.edit.options import EditOptions
from osteon.apply.edit.pull_back import pull_back
from osteon.core.arrays import Float32, Float64, FloatArray
from osteon.core.character import Character
from osteon.core.errors import GeometryError
from osteon.core.frames import FrameSource
from osteon.core.mesh import Mesh, scale_of_bones
from osteon.core.model import SkinnedModel
from osteon.deform.edit_columns import without_edits
from osteon.deform.pose import blends_of, pose_frames

#: A character that is scaled by more than this in some frame keeps its proportions: the edit is scaled with it.
SCALED = 1.25
#: Weight of the frame in which an edit was sculpted.
SCULPTED = 1e3
#: Rotations of a sculpted edit are weighted by its own lengths, which do not change any more after two steps.
PULLS = 2
#: Part of the diagonal by which the source may differ from the model: the median in one frame.
ELSEWHERE = 0.2
#: Frames that are posed at once.
BLOCK = 32
#: Part of the tolerance that is used: columns and coefficients are rounded to single precision.
ENOUGH = 0.99
#: Products of fewer numbers are computed in double precision. Squared singular values below this part of the first are
#: rounding errors.
SMALL, NOTHING = 4_000_000, 1e-12
#: Columns that are tried before all.
FIRST = 16
#: Columns that a frame shortens to less than this part of the longest have no coefficient there.
FLAT = 1e-6


def turned_edit(
    model: SkinnedModel, displacement: Float32, options: EditOptions, source: FrameSource | None = None
) -> tuple[Float32, TurnColumns]:
    """A displacement of a model without edits, and the columns that turn it.

    If it was sculpted in a frame, and has columns, it is the displacement that they turn into the sculpted one.
    """
    tolerance, most = options.turn_tolerance, options.turn_columns
    turn = turn_of_edit(model, displacement, source)
    found = turn_columns(turn, tolerance, most)
    if options.at_frame is None or not found.count:
        return displacement, found
    k = options.at_frame
    moves = _applied(turn.linear(k), turn.displacement)
    for _ in range(PULLS):
        scale, rotations = turn.frame(k, source)
        displacement = displacement.copy()
        displacement[turn.surface.moved] = _applied(rotations.swapaxes(1, 2), moves) / scale
        turn = turn_of_edit(model, displacement, source)
    return displacement, turn_columns(turn, tolerance, most, k)


def check_source(model: SkinnedModel, source: FrameSource) -> None:
    """Refuse a source that has other frames or vertices than the model, or is of another character."""
    if (source.n_frames, source.n_vertices) != (model.n_frames, model.n_vertices):
        raise GeometryError(
            f"source: expected the {model.n_frames:,} frames and {model.n_vertices:,} vertices of the model, "
            f"got {source.n_frames:,} and {source.n_vertices:,}"
        )
    frame = model.n_frames // 2
    apart = np.linalg.norm(
        source.read(frame, frame + 1)[0] - pose_frames(without_edits(model), frame, frame + 1)[0], axis=1
    )
    if np.median(apart) > ELSEWHERE * model.diagonal:
        raise GeometryError(
            f"source: its frame {frame} is {np.median(apart) / model.diagonal:.0%} of the diagonal from that of the "
            "model; name the animation that the model was made from"
        )


def no_columns(model: SkinnedModel) -> TurnColumns:
    """No columns for a model."""
    none = np.zeros(model.n_frames)
    basis = np.zeros((0, model.n_vertices, 3), np.float32)
    return TurnColumns(basis, np.zeros((model.n_frames, 0), np.float32), none, 0.0, none, 0)


@dataclass(frozen=True, slots=True)
class Turn:
    """How an edit is to be turned in every frame, and what its blends leave of that."""

    model: SkinnedModel  # without edits
    surface: EditedSurface
    displacement: Float64  # (n,3) of the moved vertices
    target: Float32  # (f,n,3) s R_v d_v
    unit: float  # scale that all bones share

    def linear(self, frame: int) -> Float64:
        """(n,3,3) A_v of the moved vertices."""
        bones = self.model.animation.transforms[frame]
        return np.asarray(blends_of(self.model.deformer, bones, self.surface.moved)[..., :3])

    def frame(self, frame: int, source: FrameSource | None = None) -> tuple[float, Float64]:
        """s and (n,3,3) R_v of the moved vertices."""
        bones = self.model.animation.transforms
        part = _part_of(self.model, self.surface)
        posed = _posed(part, self.surface, source, frame, frame + 1)[0].astype(np.float64)
        scale = float(self.unit * _scale_of_frames(bones, self.unit)[frame])
        return scale, self.surface.rotations(posed, _is_mirrored(bones[frame]), scale)

    def missing(self, frame: int, linear: Float64) -> Float64:
        """(n,3) the posed residual of the blends alone."""
        return np.asarray(self.target[frame] - _applied(linear, self.displacement))

    def parts(self, residual: Float64) -> Float64:
        """(…,n) lengths of a residual (…,n,3) relative to the height of the edit."""
        return np.asarray(np.sqrt((residual**2).sum(axis=-1)) / (self.unit * self.surface.heights))


@dataclass(frozen=True, slots=True)
class TurnColumns:
    """Columns of an edit at scale 1, and its deviation from its local frames, part of the height."""

    basis: Float32  # (r,v,3)
    coefficients: Float32  # (f,r)
    before: Float64  # (f,) the largest of the blends alone
    before_mean: float
    after: Float64  # (f,) with the columns
    vertex: int  # of the largest deviation before

    @property
    def count(self) -> int:
        return len(self.basis)


def turn_of_edit(model: SkinnedModel, displacement: FloatArray, source: FrameSource | None = None) -> Turn:
    """The turn of a displacement (v,3) of a model without edits; `source` has the frames that it approximates."""
    surface = EditedSurface.of(model.mesh, displacement)
    transforms = model.animation.transforms
    unit = scale_of_bones(transforms)
    scales, near = unit * _scale_of_frames(transforms, unit), _part_of(model, surface)
    d = np.asarray(displacement, np.float64)[surface.moved]
    target = np.empty((model.n_frames, len(d), 3), np.float32)
    for start in range(0, model.n_frames, BLOCK):
        stop = min(start + BLOCK, model.n_frames)
        posed = _posed(near, surface, source, start, stop)
        for f, points in enumerate(posed.astype(np.float64), start):
            rotations = surface.rotations(points, _is_mirrored(transforms[f]), scales[f])
            target[f] = scales[f] * _applied(rotations, d)
    return Turn(model, surface, d, target, unit)


def _posed(part: SkinnedModel, surface: EditedSurface, source: FrameSource | None, start: int, stop: int) -> Float32:
    """(f,m,3) the unedited surface in some frames: that of the source, if it is given."""
    return pose_frames(part, start, stop) if source is None else source.read(start, stop)[:, surface.vertices]


def _applied(matrices: Float64, vectors: Float64) -> Float64:
    """(n,3) of matrices (n,3,3)."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _is_mirrored(bones: FloatArray) -> bool:
    """Whether most bones (b,3,4) of a frame turn the surface inside out."""
    return bool(np.median(np.linalg.det(bones[:, :, :3].astype(np.float64))) < 0)


def _part_of(model: SkinnedModel, surface: EditedSurface) -> SkinnedModel:
    """The model on the vertices of the surface, without triangles and normals."""
    vertices, character = surface.vertices.astype(np.int32), model.character
    columns = tuple(one.without_normals(len(one.basis)).take(vertices) for one in character.displacements)
    mesh = Mesh(model.rest[vertices], np.zeros((0, 3), np.int32))
    return SkinnedModel(Character(mesh, character.deformer.take(vertices), columns), model.animation)


def _scale_of_frames(transforms: FloatArray, unit: float) -> Float64:
    """(f,) the scale of the whole character; 1 in all frames if it hardly changes."""
    sizes = np.cbrt(np.abs(np.linalg.det(transforms[..., :3].astype(np.float64)))) / unit
    found: Float64 = np.asarray(np.median(sizes, axis=1))
    changes = (found > SCALED) | (found < 1 / SCALED)
    return found if changes.any() else np.ones(len(found))


def turn_columns(turn: Turn, tolerance: float, most: int, frame: int | None = None) -> TurnColumns:
    """As few columns as keep the tolerance, at most `most`; what the edit shows in `frame` is kept exactly.

    Notes. Horse, humps of about 100 vertices, 2 cores of a loaded machine: LAPACK's QR of the posed columns takes 70 ms
    per frame, products and Cholesky's decomposition 1 ms: a single product keeps threads from waiting for each other.
    """
    n_frames, n_moved = turn.target.shape[:2]
    before, rows = np.empty((n_frames, n_moved)), np.empty((n_frames, 3 * n_moved), np.float32)
    for f in range(n_frames):
        linear = turn.linear(f)
        missing = turn.missing(f, linear)
        before[f] = turn.parts(missing)
        rows[f] = (pull_back(linear, missing, turn.unit) / turn.surface.heights[:, None]).reshape(-1)
    worst = before.max(axis=1, initial=0.0)
    vertex = int(turn.surface.moved[before.max(axis=0).argmax()]) if n_moved else 0
    n_vertices, mean = turn.model.n_vertices, float(before.mean()) if n_moved else 0.0
    if worst.max(initial=0.0) <= tolerance:
        return replace(no_columns(turn.model), before=worst, before_mean=mean, after=worst, vertex=vertex)
    if frame is not None:
        rows[frame] *= SCULPTED
    columns = _singular_columns(rows, turn.surface.heights, most)
    for tried in (min(FIRST, len(columns)), len(columns)):
        fits = [_fit_frame(turn, f, columns[:tried]) for f in range(n_frames)]
        largest = np.array([fit.largest for fit in fits])  # (f,r)
        enough = np.flatnonzero(largest.max(axis=0) <= ENOUGH * tolerance)
        if len(enough) or tried == len(columns):
            break
    count = int(enough[0]) + 1 if len(enough) else len(columns)
    basis = np.zeros((count, n_vertices, 3), np.float32)
    basis[:, turn.surface.moved] = columns[:count]
    coefficients = np.array([fit.of(count) for fit in fits], np.float32)
    return TurnColumns(basis, coefficients, worst, mean, largest[:, count - 1], vertex)


def _singular_columns(rows: Float32, heights: Float64, most: int) -> Float32:
    """(r,n,3) the first right singular vectors of rows (f,3n), times the heights, with the size of the edit."""
    gram = rows.astype(np.float64) @ rows.T if rows.size < SMALL else (rows @ rows.T).astype(np.float64)
    values, vectors = np.linalg.eigh(gram)
    kept = np.flatnonzero(values > NOTHING * max(values[-1], 1e-300))[::-1][:most]
    columns = (vectors[:, kept].T @ rows).reshape(len(kept), -1, 3) * heights[:, None]
    size = np.abs(columns).max(axis=(1, 2), keepdims=True)
    return np.asarray(columns * (heights.max() / size), np.float32)


@dataclass(frozen=True, slots=True)
class _FrameFit:
    """The least-squares coefficients of any number of columns in one frame."""

    upper: Float64  # (r,r) of the QR decomposition of the posed columns, by Cholesky's of their products
    along: Float64  # (r,) the residual along its orthonormal columns
    largest: Float64  # (r,) the largest deviation that is left by the first 1, 2, … columns

    def of(self, count: int) -> Float64:
        """(count,) coefficients of the first columns; zero for those that the frame flattens."""
        upper = self.upper[:count, :count]
        size = np.abs(np.diag(upper))
        if size.min() > FLAT * size.max():
            return np.asarray(np.linalg.solve(upper, self.along[:count]))
        return np.asarray(np.linalg.lstsq(upper, self.along[:count], rcond=FLAT)[0])


def _fit_frame(turn: Turn, frame: int, columns: Float32) -> _FrameFit:
    linear = turn.linear(frame)
    height = turn.surface.heights[:, None]
    posed = np.matmul(linear, columns.transpose(1, 2, 0).astype(np.float64)) / height[:, :, None]  # (n,3,r)
    rows = np.ascontiguousarray(posed.reshape(-1, len(columns)))
    products = rows.T @ rows
    products[np.diag_indices(len(columns))] += FLAT**2 * max(float(np.trace(products)), 1e-300)
    upper = np.linalg.cholesky(products).T
    orthonormal = rows @ np.linalg.inv(upper)
    left = (turn.missing(frame, linear) / height).reshape(-1)
    along = orthonormal.T @ left
    largest = np.empty(len(columns))
    for r, value in enumerate(along):
        left = left - value * orthonormal[:, r]
        largest[r] = np.sqrt((left.reshape(-1, 3) ** 2).sum(axis=1).max()) / turn.unit
    return _FrameFit(upper, along, largest)
