"""Fit the points of a level to the source: their rest places and weights.

    minimise over p, w   sum_f [ sum_s r(n_s . (y_s - s)) + g sum_v r(n_v . (x_v - y_v)) ]
    where                x_v = A_v(w) [p_v + d_v; 1]

for all source vertices s and the closest points y_s of the level, interpolated from its points x_v, and for all points
x_v and the closest points y_v of the source, in every pose f; n_s are normals of the source, n_v directions to it.
Quadrics place points outside of a convex surface to fit the planes around them; this balances what protrudes against
what is truncated.

r(e) = e^2 / (|e| + eps) approximates distances instead of their squares. The closest points of one round yield linear
equations for the step of all places (or of all weights, which stay positive and sum to one), with a ridge term that is
larger at borders and seams. Points of triangles that flip in some pose are reset. A step that does not decrease the
true distances is rejected, and the next one is damped more (Levenberg and Marquardt): if a level has few points, a step
along planes may be arbitrarily large.

| symbol | name |
| --- | --- |
| p, w, d | places, weights, shifts |
| A | matrices |
| g | LEVEL_SHARE |
| eps | SMALL |

Notes, horse to 2,100 triangles, 24 frames, mean distance of the level's vertices, of the source's, of the middles of
the level's triangles, in %: not fitted .052, .053, .051; places alone, squares .041, .048, .045; distances .036, .049,
.047; weights too .039, .044, .043. Without the level's own points .100, .035, .033: it then fits well between, but its
points protrude. All steps accepted, n_v the normal there: an octahedron of which four triangles are left had a corner 9
diagonals away; steps that are tested first .0333, .0428; directions to the source .0324, .0429, and Soldier's worst .63
instead of .83.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import cg

from osteon.core.arrays import Float64, Int32, IntArray
from osteon.lod.mesh.edge_flips import Samples, better_diagonals
from osteon.lod.mesh.level_shape import LevelShape, Orientation, SourceShape, barycentric, triangle_normals
from osteon.lod.mesh.poses import apply_matrices
from osteon.measure.closest_point import SurfaceBoxes, closest_points, first_triangles

#: Rounds of places and weights, and those after which edges are flipped.
ROUNDS, FLIPPED_AFTER = 6, (1, 3)
#: Weight of all points of the level, relative to all vertices of the source.
LEVEL_SHARE = 0.5
#: eps, relative to the diagonal.
SMALL = 3e-4
#: A point closer to the source than this, relative to the diagonal, moves along the normal there.
TOUCHING = 1e-6
#: Ridge of places and weights, and of points on borders or seams, relative to the mean diagonal entry.
RIDGE, STIFF = 1e-2, 1.0
#: Factors by which the ridge grows after a rejected step and shrinks after an accepted one.
DAMPED, EASED = 10.0, 3.0


def fit_level(level: LevelShape, source: SourceShape, near: Int32, *, threads: int = 0) -> LevelShape:
    """The level with fitted places and weights; `near` (v,) is the point of the level for each source vertex."""
    orientation, rows = Orientation.of(level, source, near), _Rows.of(level, source, near, threads)
    steps = (_step_places, _step_weights) if level.mixes and level.weights.shape[1] > 1 else (_step_places,)
    ridges = dict.fromkeys(steps, RIDGE)
    for number in range(ROUNDS):
        for step in steps:
            stepped = _without_flips(level, step(level, rows, ridges[step]), orientation)
            tried = _Rows.of(stepped, source, near, threads)
            if tried.cost < rows.cost:
                level, rows, ridges[step] = stepped, tried, max(RIDGE, ridges[step] / EASED)
            else:
                ridges[step] *= DAMPED
        if number in FLIPPED_AFTER:
            flipped = replace(level, corners=_flip_edges(level, source, near, orientation.facing, threads))
            tried = _Rows.of(flipped, source, near, threads)
            if tried.cost < rows.cost:
                orientation = orientation.moved(flipped, (flipped.corners != level.corners).any(axis=1))
                level, rows = flipped, tried
    return level


def _flip_edges(level: LevelShape, source: SourceShape, near: Int32, facing: Float64, threads: int) -> IntArray:
    """The corners of all triangles after flipping edges."""
    boxes = SurfaceBoxes.of(level.posed[-1], level.faces)
    seen = source.samples[near[source.samples] >= 0]
    found = [
        closest_points(boxes.moved(points), source.posed[f, seen], threads=threads)
        for f, points in enumerate(level.posed)
    ]
    samples = Samples(
        np.repeat(np.arange(len(found)), len(seen)),
        source.posed[:, seen].reshape(-1, 3),
        np.concatenate([on.triangles for on in found]),
        np.concatenate([on.distances for on in found]),
    )

    def off_source(points: Float64) -> Float64:
        boxes = (source.boxes.moved(posed) for posed in source.posed)
        found = [closest_points(b, p, threads=threads).distances for b, p in zip(boxes, points, strict=True)]
        total: Float64 = np.sum(found, axis=0)
        return total

    flipped = better_diagonals(level.faces, level.labels[level.corners], (level.posed, facing), samples, off_source)
    return level.corners.reshape(-1)[flipped]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Samples of all poses, each with a target for up to three points of the level along a normal."""

    pose: IntArray  # (s,)
    corners: Int32  # (s,3) points
    shares: Float64  # (s,3) of the three points
    normals: Float64  # (s,3)
    residuals: Float64  # (s,) residual along the normal
    counts: Float64  # (s,) root of the sample's weight
    cost: float  # the objective

    @staticmethod
    def of(level: LevelShape, source: SourceShape, near: Int32, threads: int) -> _Rows:
        found = list(_samples(level, source, near, threads))
        pose, corners, shares, normals, residuals, share, far = map(np.concatenate, zip(*found, strict=True))
        cost = float((share * far**2 / (far + SMALL)).sum())
        return _Rows(pose, corners, shares, normals, residuals, np.sqrt(share / (np.abs(residuals) + SMALL)), cost)

    def solve(self, gradients: Float64, ridges: Float64) -> Float64:
        """(n,u) the step of u unknowns per point, from gradients (s,3,u) along the normals."""
        n, u = ridges.shape
        columns = (u * self.corners[:, :, None] + np.arange(u)).reshape(len(self.pose), -1)
        values = (gradients * (self.counts[:, None] * self.shares)[:, :, None]).reshape(columns.shape)
        begins = np.arange(len(columns) + 1) * columns.shape[1]
        system = csr_array((values.ravel(), columns.ravel(), begins), shape=(len(columns), n * u))
        normal = (system.T @ system).tocsr()
        usual = float(normal.diagonal().mean()) or 1.0
        normal = normal + diags_array(usual * ridges.ravel())
        right = system.T @ (self.counts * self.residuals)
        scale = diags_array(1 / normal.diagonal())
        step, _ = cg(normal, right, rtol=1e-3, maxiter=200, M=scale)
        return np.asarray(step).reshape(n, u)


def _samples(level: LevelShape, source: SourceShape, near: Int32, threads: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Columns of `_Rows`, pose by pose: from the source to the level, and from the level to the source."""
    kept = near[source.samples] >= 0  # without dropped shells
    samples = source.samples[kept]
    beside = first_triangles(level.faces, len(level.places))[near[samples]]
    first = np.full(len(level.places), -1, np.int32)
    first[near[samples]] = first_triangles(source.faces, len(near))[samples]
    every, alone = np.arange(len(level.places)), np.array([1.0, 0.0, 0.0])
    share = LEVEL_SHARE * len(samples) / len(every)
    boxes = SurfaceBoxes.of(level.posed[-1], level.faces)
    for f, points in enumerate(level.posed):
        seen, upward = source.posed[f, samples], source.normals[f, kept]
        on_level = closest_points(boxes.moved(points), seen, beside, threads=threads)
        corners = level.faces[on_level.triangles]
        faces = triangle_normals(points[None], level.faces)[0, on_level.triangles]
        ahead = np.einsum("si,si->s", faces, upward) > 0  # otherwise the other side of a thin part
        missed = np.einsum("si,si->s", upward, seen - on_level.points)
        shares = barycentric(on_level.points, points[corners])
        yield np.full(len(seen), f), corners, shares, upward, missed, ahead.astype(np.float64), on_level.distances
        on_source = closest_points(source.boxes.moved(source.posed[f]), points, first, threads=threads)
        normals = triangle_normals(source.posed[f][None], source.faces)[0, on_source.triangles]
        way, far = on_source.points - points, on_source.distances[:, None]
        normals = np.where(far > TOUCHING, way / np.maximum(far, TOUCHING), normals)
        missed = np.einsum("ni,ni->n", normals, way)
        corners, shares = np.repeat(every[:, None], 3, axis=1), np.tile(alone, (len(every), 1))
        counts = np.full(len(every), share)
        yield np.full(len(every), f), corners.astype(np.int32), shares, normals, missed, counts, on_source.distances


def _step_places(level: LevelShape, rows: _Rows, ridge: float) -> LevelShape:
    linear = level.matrices[..., :3]
    gradients = np.einsum("si,scij->scj", rows.normals, linear[rows.pose[:, None], rows.corners])
    ridges = np.repeat(np.where(level.stiff, np.maximum(STIFF, ridge), ridge)[:, None], 3, axis=1)
    step = rows.solve(gradients * level.free[rows.corners][:, :, None], ridges)
    return replace(level, places=level.places + step * level.free[:, None])


def _step_weights(level: LevelShape, rows: _Rows, ridge: float) -> LevelShape:
    """Change the weights of the transforms that a point already has."""
    posed, k = level.posed, level.weights.shape[1]
    gradients = np.empty((*rows.corners.shape, k))
    for slot in range(k):
        carried = apply_matrices(level.transforms[:, level.influences[:, slot]], level.places, level.shifts)
        apart = (carried - posed)[rows.pose[:, None], rows.corners]
        gradients[:, :, slot] = np.einsum("si,sci->sc", rows.normals, apart)
    used = (level.weights > 0) & level.free[:, None]
    step = rows.solve(gradients * used[rows.corners], np.full(level.weights.shape, ridge))
    weights = np.clip(level.weights + step * used, 0.0, None)
    totals = weights.sum(axis=1, keepdims=True)
    return replace(level, weights=np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), level.weights))


def _without_flips(before: LevelShape, after: LevelShape, orientation: Orientation) -> LevelShape:
    """`after`, with the points of flipped triangles reset to `before` until no triangle flips."""
    moved = before.free.copy()
    while moved.any():
        tried = replace(
            after,
            places=np.where(moved[:, None], after.places, before.places),
            weights=np.where(moved[:, None], after.weights, before.weights),
        )
        bad = orientation.flipped(tried.posed, after.faces)
        held_back = np.zeros_like(moved)
        held_back[after.faces[bad]] = True
        if not (held_back & moved).any():
            return tried
        moved &= ~held_back
    return before
