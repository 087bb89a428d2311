"""The tables with which collapsing begins (`state.py` says what they hold)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Bool, Float64, Int32
from osteon.core.asset import Asset
from osteon.core.model import SkinnedModel
from osteon.core.topology import shells
from osteon.deform.linear_blend import LinearBlend
from osteon.lod.mesh.corners import BORDER, Corners, edge_kinds, following
from osteon.lod.mesh.options import SimplifyOptions
from osteon.lod.mesh.poses import Poses, apply_matrices
from osteon.lod.mesh.quadrics import attribute_quadrics, plane_quadrics, point_normals, point_spread
from osteon.lod.mesh.state import Tables

__all__ = ["Carriers", "carriers_of", "tables_of"]


@dataclass(frozen=True, slots=True)
class Carriers:
    """What moves the points: bones, or, where weights cannot be mixed, points of the source, each alone."""

    names: Int32  # (n,k)
    weights: Float64  # (n,k)
    transforms: Float64  # (f,c,3,4) of every carrier in every pose, in units of the problem
    mixes: bool


def carriers_of(model: SkinnedModel, corners: Corners, poses: Poses) -> Carriers:
    """Linear blending mixes weights, unless some are negative; in other families a point takes those of another."""
    chosen = corners.vertex_of_point
    if not isinstance(model.deformer, LinearBlend) or (model.skin.weights < 0).any():
        alone = np.arange(len(chosen), dtype=np.int32)[:, None]
        return Carriers(alone, np.ones((len(chosen), 1)), poses.blends(model.deformer)[:, chosen], False)
    weights = model.skin.weights[chosen].astype(np.float64)
    weights /= weights.sum(axis=1, keepdims=True)
    return Carriers(model.skin.bones[chosen], weights, poses.matrices(poses.transforms), True)


def tables_of(model: SkinnedModel, corners: Corners, poses: Poses, options: SimplifyOptions) -> Tables:
    """The source."""
    chosen, kinds = corners.vertex_of_point, edge_kinds(corners.points, corners.wedges)
    rest = poses.to_problem(model.rest[chosen])
    blends = poses.blends(model.deformer)[:, chosen]
    shifts = poses.shifts(model.character.displacements)
    shifts = shifts[:, chosen] if shifts.shape[1] else np.zeros((poses.n_poses, len(chosen), 3))
    posed = apply_matrices(blends, rest, shifts)
    carriers = carriers_of(model, corners, poses)
    heads = np.concatenate(
        [_first_corners(corners), np.zeros_like(chosen)[:, None], _locked(corners, kinds, options), carriers.names],
        axis=1,
    )
    total, spread = point_spread(posed, corners)
    memory = [
        plane_quadrics(posed, corners, kinds),
        posed.swapaxes(0, 1),
        shifts.swapaxes(0, 1),
        point_normals(posed, corners),
        spread,
    ]
    return Tables(
        *_corner_table(corners, model.asset),
        np.ascontiguousarray(heads, np.int32),
        np.ascontiguousarray(np.concatenate([rest, np.zeros((len(rest), 1)), total, carriers.weights], axis=1)),
        np.ascontiguousarray(np.concatenate(memory, axis=2)),
        np.ascontiguousarray(carriers.transforms.swapaxes(0, 1).reshape(-1, poses.n_poses, 12)),
        attribute_quadrics(rest, corners, model.asset, options.texture),
    )


def _corner_table(corners: Corners, asset: Asset) -> tuple[Int32, Int32]:
    """Every corner with the next one of its point, in ascending order; how many triangles every part has."""
    order = np.argsort(corners.points, kind="stable")
    same = np.flatnonzero(corners.points[order[1:]] == corners.points[order[:-1]])
    after = np.full(len(order), -1, np.int32)
    after[order[same]] = order[same + 1]
    here = np.arange(len(order))
    others = (following(here), following(following(here)))
    part = np.repeat(_parts(corners, asset), 3)
    columns = (corners.points, corners.wedges, corners.vertices, *others, after, part)
    return np.ascontiguousarray(np.stack(columns, axis=1), np.int32), np.bincount(part[::3]).astype(np.int32)


def _parts(corners: Corners, asset: Asset) -> Int32:
    """(t,) numbers of shells, cut up by materials and primitives."""
    keys = [shells(corners.faces, corners.n_points)[1][corners.faces[:, 0]]]
    keys += [k[corners.triangles] for k in (asset.triangle_material, asset.primitive_of_triangle) if k is not None]
    return np.unique(np.stack(keys), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _first_corners(corners: Corners) -> Int32:
    """(n,1) the first corner of every point, -1 where it has none."""
    first = np.full(corners.n_points, -1, np.int32)
    first[corners.points[::-1]] = np.arange(len(corners.points), dtype=np.int32)[::-1]
    return first[:, None]


def _locked(corners: Corners, kinds: Int32, options: SimplifyOptions) -> Bool:
    """(n,1) points that may not move: those of borders, if they are to stay."""
    locked = np.zeros((corners.n_points, 1), bool)
    if options.lock_borders:
        here = np.flatnonzero(kinds == BORDER)
        locked[corners.points[here]] = locked[corners.points[following(here)]] = True
    return locked
