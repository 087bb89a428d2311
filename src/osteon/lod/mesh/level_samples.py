"""Samples of a level's surface with the points of the source that they show, to which attributes are fitted.

    minimise over x   sum_s a_s | sum_k b_sk x_k - m_s |^2 + held sum_c w_c | x_c - x0_c |^2

for samples s of the level's surface at rest, with area a_s and barycentric coordinates b_sk. m_s is the attribute at
the closest point of the source's surface, interpolated as players do; w_c is the area around x_c. Samples whose closest
triangle faces the other way, through a thin part, do not count.

| symbol | name |
| --- | --- |
| a, b | areas, SHARES |
| x, x0, m | values, start, targets |
| w | weights |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import cg

from osteon.core.arrays import Bool, Float64, FloatArray, Int32
from osteon.core.mesh import Mesh
from osteon.lod.mesh.level_shape import barycentric
from osteon.measure.closest_point import SurfaceBoxes, closest_points

#: Barycentric coordinates of the samples of a triangle: each corner, the middle and points between, all inside.
SHARES = np.array(
    [
        *([0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]),
        *([0.1, 0.45, 0.45], [0.45, 0.1, 0.45], [0.45, 0.45, 0.1]),
        [1 / 3, 1 / 3, 1 / 3],
    ]
)
#: Relative residual and steps at which the equations are solved.
SOLVED, STEPS = 1e-4, 100


@dataclass(frozen=True, slots=True)
class LevelSamples:
    """The samples of all triangles, those of the first one first."""

    faces: Int32  # (t,3) of the level
    across: Float64  # (t,3) normals of these, as long as twice the area
    triangles: Int32  # (s,) closest triangles of the source
    shares: Float64  # (s,3) of their corners

    @staticmethod
    def of(source: Mesh, rest: FloatArray, faces: Int32, *, threads: int = 0) -> LevelSamples:
        """Samples of a level with rest positions (v,3) and triangles (t,3)."""
        corners = np.asarray(rest, np.float64)[faces]
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        points, places = np.einsum("kc,tci->tki", SHARES, corners).reshape(-1, 3), source.rest.astype(np.float64)
        on = closest_points(SurfaceBoxes.of(places, source.faces), points, threads=threads)
        return LevelSamples(faces, across, on.triangles, barycentric(on.points, places[source.faces[on.triangles]]))

    def targets(self, of_corner: FloatArray) -> Float64:
        """(s,m) an attribute of the source at the samples, from its values at the corners of all triangles (t,3,m)."""
        found: Float64 = np.einsum("sk,ski->si", self.shares, of_corner[self.triangles].astype(np.float64))
        return found

    def facing(self, normals: Float64) -> Bool:
        """(s,) whether the level faces as the source does, whose normals at the samples are (s,3)."""
        found: Bool = np.einsum("tki,ti->tk", normals.reshape(len(self.faces), -1, 3), self.across).reshape(-1) > 0
        return found

    def areas(self, counted: Bool) -> Float64:
        """(s,) twice the areas of the triangles of all samples, nearly zero for those that do not count."""
        doubled = np.linalg.norm(self.across, axis=1)
        return np.repeat(doubled, len(SHARES)) * counted + 1e-9 * float(doubled.mean())

    def means(self, owners: Int32, areas: Float64, targets: Float64) -> Float64:
        """(n,m) sums of targets around each value; owners (t,3) are the values of the corners."""
        found: Float64 = (diags_array(areas) @ self._rows(owners)).T @ targets
        return found

    def fit(self, owners: Int32, areas: Float64, targets: Float64, start: Float64, held: float) -> Float64:
        """(n,m) values that are closest to targets (s,m), held near `start` (n,m)."""
        rows = self._rows(owners)
        weighted = diags_array(areas) @ rows
        weights = held * np.asarray(weighted.sum(axis=0)).reshape(-1) + 1e-30
        right = weighted.T @ targets + weights[:, None] * start
        system = (rows.T @ weighted + diags_array(weights)).tocsr()
        scale = diags_array(1 / system.diagonal())
        found = [
            cg(system, right[:, i], x0=start[:, i], rtol=SOLVED, maxiter=STEPS, M=scale)[0]
            for i in range(start.shape[1])
        ]
        return np.stack(found, axis=1)

    def _rows(self, owners: Int32) -> csr_array:
        """(s,n) shares of the values in the samples."""
        count, values = len(owners) * len(SHARES), np.repeat(owners, len(SHARES), axis=0)
        shares, begins = np.tile(SHARES, (len(owners), 1)), np.arange(0, 3 * count + 1, 3)
        return csr_array((shares.reshape(-1), values.reshape(-1), begins), shape=(count, int(owners.max()) + 1))
