"""The length of an edit in the frames relative to that at rest, and where a change of it is to be expected.

    length of vertex v in frame f over its length at rest:   || A_v d_v || / (s || d_v ||)

| symbol | name |
| --- | --- |
| A_v | linear part of the blend of a vertex in the frame |
| U_v q | the columns that turn the edit in the frame |
| s | the scale that all bones share, 1 for most characters |

It is 1 where the blend is a rotation. Means are weighted by the length of the displacement, and vertices that an edit
moves by less than 1 % of its largest displacement do not count.

Two warnings say where an edit is less intuitive: blends that are flat in some frame (a singular value below a tenth of
the largest), and negative weights, which truncated SVD gives (the paper prefers non-negative ones for that reason).
Based on: James and Twigg, Skinning Mesh Animations, 2005, sections 5 and 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from osteon.core.arrays import Float64, FloatArray
from osteon.core.character import Corrections
from osteon.core.mesh import scale_of_bones
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress, report_progress
from osteon.deform.pose import blends_of

#: Part of the largest displacement below which a vertex does not count.
COUNTS = 0.01
#: A blend is flat if a singular value is below this part of the largest; a weight is negative below this.
FLAT, NEGATIVE = 0.1, -1e-6


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far an edit is from its shape at rest in local frames of the surface: parts of its height."""

    blends: float  # the largest in all frames, moved by the blends alone
    blends_mean: float
    largest: float  # as it is stored
    frame: int  # of the largest by the blends
    vertex: int
    frames_of: str  # "model" or "source": the surface that has the local frames

    def to_json(self) -> dict[str, Any]:
        return {
            "blends_percent": {"max": 100 * self.blends, "mean": 100 * self.blends_mean},
            "max_percent": 100 * self.largest,
            "frame": self.frame,
            "vertex": self.vertex,
            "local_frames": self.frames_of,
        }


@dataclass(frozen=True, slots=True)
class EditReport:
    """An edit, and its length in the frames relative to that at rest."""

    name: str
    scale: float
    vertices: int  # that it moves
    largest: float  # displacement, in units of the rest pose, with its scale
    largest_percent: float  # of the diagonal
    change_of_frame: Float64  # (f,) largest relative change of length in each frame
    mean_change: float  # over frames and vertices
    frame: int  # of the largest change
    vertex: int
    columns: int = 0  # corrections that turn it in the frames
    turn: Deviation | None = None  # None for edits that were made before
    warnings: tuple[str, ...] = ()

    @property
    def largest_change(self) -> float:
        return float(self.change_of_frame.max(initial=0.0))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "scale": self.scale,
            "vertices": self.vertices,
            "largest": self.largest,
            "largest_percent": self.largest_percent,
            "length_change_percent": {
                "max": 100 * self.largest_change,
                "mean": 100 * self.mean_change,
                "frame": self.frame,
                "vertex": self.vertex,
                "per_frame": (100 * self.change_of_frame).tolist(),
            },
            "columns": self.columns,
            "deviation": None if self.turn is None else self.turn.to_json(),
            "warnings": list(self.warnings),
        }


def report_edit(
    model: SkinnedModel,
    name: str,
    displacement: FloatArray,
    scale: float = 1.0,
    progress: Progress | None = None,
    *,
    columns: Corrections | None = None,
    turn: Deviation | None = None,
) -> EditReport:
    """The report of one displacement (v,3) of a model's rest pose, and of the columns that turn it."""
    d = scale * displacement.astype(np.float64)
    lengths = np.linalg.norm(d, axis=1)
    largest = float(lengths.max(initial=0.0))
    chosen = np.flatnonzero(lengths > COUNTS * largest)
    changes, flattest = np.zeros((model.n_frames, len(chosen))), np.full((model.n_frames, len(chosen)), 1.0)
    size = scale_of_bones(model.animation.transforms)
    own = np.zeros((0, len(chosen), 3)) if columns is None else columns.basis[:, chosen].astype(np.float64)
    for f in range(model.n_frames):
        report_progress(progress, "edit", f / model.n_frames)
        linear = blends_of(model.deformer, model.animation.transforms[f], chosen)[..., :3]
        moved = d[chosen] if columns is None else d[chosen] + np.tensordot(columns.coefficients[f], own, axes=1)
        turned = np.einsum("vij,vj->vi", linear, moved)
        changes[f] = np.abs(np.linalg.norm(turned, axis=1) / (size * lengths[chosen]) - 1)
        flattest[f] = _thickness(linear)
    frame, at = (0, 0) if not changes.size else np.unravel_index(int(changes.argmax()), changes.shape)
    weights = lengths[chosen] / max(lengths[chosen].sum(), 1e-300)
    return EditReport(
        name,
        scale,
        int(np.count_nonzero(lengths)),
        largest,
        100 * largest / (model.mesh.diagonal or 1.0),
        changes.max(axis=1, initial=0.0),
        float((changes @ weights).mean()) if changes.size else 0.0,
        int(frame),
        int(chosen[at]) if len(chosen) else 0,
        0 if columns is None else columns.n_columns,
        turn,
        (*_flat_blends(chosen, flattest), *_negative_weights(model, chosen)),
    )


def _thickness(linear: Float64) -> Float64:
    """(n,) the smallest singular value over the largest where that is below FLAT; 1 where it is not.

    s_3 < FLAT s_1 implies det = s_1 s_2 s_3 < FLAT s_1^3, and s_1 is at most the Frobenius norm: few need an SVD.
    """
    size = np.linalg.norm(linear, axis=(1, 2))
    found = np.ones(len(linear))
    near = np.flatnonzero(np.abs(np.linalg.det(linear)) <= FLAT * size**3)
    singular = np.linalg.svd(linear[near], compute_uv=False)
    ratio = singular[:, 2] / np.maximum(singular[:, 0], 1e-300)
    found[near] = np.where(ratio < FLAT, ratio, 1.0)
    return found


def _flat_blends(chosen: np.ndarray, flattest: Float64) -> list[str]:
    """A warning if a blend of an edited vertex is flat in some frame."""
    flat = flattest < FLAT
    if not flat.any():
        return []
    frame, at = np.unravel_index(int(flattest.argmin()), flattest.shape)
    return [
        f"{int(flat.any(axis=0).sum()):,} of {len(chosen):,} edited vertices have flat blends in some frame (worst: "
        f"vertex {int(chosen[at])}, frame {int(frame)}, {flattest[frame, at]:.3f} as thick as long); the edit is "
        "distorted there"
    ]


def _negative_weights(model: SkinnedModel, chosen: np.ndarray) -> list[str]:
    """A warning if an edited vertex has negative weights, as those of truncated SVD may be."""
    weights = model.deformer.arrays().get("weights")
    if weights is None or model.deformer.kind != "linear_blend":
        return []
    least = weights[chosen].min(axis=1, initial=0.0)
    if not (least < NEGATIVE).any():
        return []
    v = int(chosen[least.argmin()])
    return [
        f"{int((least < NEGATIVE).sum()):,} edited vertices have negative weights (vertex {v}: {least.min():.3g}), "
        "which turn edits less predictably; fit non-negative weights (--weights nnls)"
    ]
