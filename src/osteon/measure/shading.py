"""Errors of the shading in players: the angle between the shading normals of a model and those of its source.

A stock player shades with the linear part of the blend times the stored normal, L n (`deform/normals.py`). That is not
the angle between the two surfaces, which `distortion.py` measures: on a sheet the surface may be exact while L rotates
its normals arbitrarily.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.model import SkinnedModel
from osteon.core.normals import SourceNormals, angles_between
from osteon.core.parallel import available_threads, for_blocks
from osteon.core.sequence import MeshSequence
from osteon.core.topology import weld_points
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.normals import NormalForm, pose_normals
from osteon.deform.pose import pose_vertices

#: Number of evenly spaced frames on which shading is compared.
FRAMES = 24


@dataclass(frozen=True, slots=True)
class Shading:
    """Degrees between the shading normals of a player and those of the source, over normals and frames."""

    mean: float
    p95: float  # 95th percentile
    worst: float
    worst_vertex: int
    worst_frame: int


def source_normals_of(sequence: MeshSequence, *, authored: bool = True) -> SourceNormals:
    """The normals that a sequence is shaded with."""
    welded = weld_points(sequence.rest)[1]
    return SourceNormals.of(sequence.mesh, welded, sequence.asset.normals if authored else None)


def stock_shown(model: SkinnedModel) -> SkinnedModel:
    """The model as stock players display it: with its fallback skin if its deformer has no stock form."""
    skin = model.character.stock_skin()
    return (
        model
        if skin is None or model.deformer.stock_skin() is not None
        else model.with_character(deformer=LinearBlend(skin))
    )


def measure_shading(
    model: SkinnedModel,
    sequence: MeshSequence,
    source: SourceNormals,
    *,
    frames: int = FRAMES,
    form: NormalForm = "linear",
    threads: int = 0,
) -> Shading:
    """Compare normals on evenly spaced frames; normals belong to the source's groups of corners, or to vertices."""
    chosen = _some_frames(sequence, frames)
    angles, vertex = _angles(model, sequence, source, chosen, form, available_threads(threads))
    return _summary(angles, vertex, chosen)


def measure_facets(model: SkinnedModel, sequence: MeshSequence, *, frames: int = FRAMES) -> Shading:
    """Compare the facet normals of both surfaces, which players show for a mesh without normals."""
    chosen = _some_frames(sequence, frames)
    angles = np.empty((len(chosen), len(model.faces)))
    for i, frame in enumerate(chosen.tolist()):
        wanted, shown = (_facets(p, model.faces) for p in (sequence.frame(frame), pose_vertices(model, frame)))
        angles[i] = np.where(wanted.any(axis=1), angles_between(shown, wanted), -1.0)
    return _summary(angles, model.faces[:, 0], chosen)


def _facets(points: Float32, faces: Int32) -> Float64:
    """(t,3) unit normals of triangles; zero for triangles without area."""
    corners = points.astype(np.float64)[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(normals / np.where(length > 0, length, 1))


def _some_frames(sequence: MeshSequence, count: int) -> Int32:
    return np.unique(np.linspace(0, sequence.n_frames - 1, count).astype(np.int32))


def _summary(angles: Float64, vertex: Int32, chosen: Int32) -> Shading:
    """Statistics of degrees (c,n), without negative ones."""
    counted = angles[angles >= 0]
    if not len(counted):
        return Shading(0.0, 0.0, 0.0, 0, 0)
    at = np.unravel_index(int(angles.argmax()), angles.shape)
    return Shading(
        float(counted.mean()),
        float(np.percentile(counted, 95)),
        float(counted.max()),
        int(vertex[at[1]]),
        int(chosen[at[0]]),
    )


def _angles(
    model: SkinnedModel, sequence: MeshSequence, source: SourceNormals, chosen: Int32, form: NormalForm, threads: int
) -> tuple[Float64, Int32]:
    """(c,n) degrees, -1 where a frame of the source has no normal, and (n,) the vertex of each normal."""
    pairs = _matching_corners(model, source)
    angles = np.empty((len(chosen), len(pairs)))

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            wanted = source.at(sequence.frame(int(chosen[i])))[pairs[:, 1]]
            shown = pose_normals(model, int(chosen[i]), form)[pairs[:, 0]]
            angles[i] = np.where(wanted.any(axis=1), angles_between(shown, wanted), -1.0)

    for_blocks(work, len(chosen), 1, threads)
    return angles, source.vertex[pairs[:, 1]]


def _matching_corners(model: SkinnedModel, source: SourceNormals) -> np.ndarray:
    """(n,2) pairs of a normal of the model and a normal of the source at the same corners."""
    own = model.asset.normals
    ours = (model.faces if own is None else own.of_corner).reshape(-1).astype(np.int64)
    keys = np.unique(ours * source.count + source.of_corner.reshape(-1))
    return np.stack([keys // source.count, keys % source.count], axis=1)
