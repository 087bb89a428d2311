"""Quadrics of points: the sum of squared distances to the planes of the adjacent triangles, in every pose.

    Q_vf(x) = sum over triangles t of v of  a_t^(1/2) / 3 (n_tf . x + d_tf)^2

Arrays of quadrics (n,f,10) hold the upper half of a symmetric 4x4 matrix, row by row. At borders and seams the plane
through the edge and orthogonal to its triangle is added, so that they keep their position.

Attributes (texture coordinates, colours) are linear functions g . p + d of the rest position in each triangle. The
error of a wedge with the best value s at position p is a quadric as well:

    min over s of sum_t a_t^(1/2) / 3 (g_t . p + d_t - s)^2 = [p; 1]' (B - sum over attributes of G G' / W) [p; 1]

| symbol | name |
| --- | --- |
| n, d, a | unit normal, offset, area of a triangle in a pose |
| B, W, G | sums over triangles of [g; d][g; d]', of weights, of [g; d]: in this order a row of `attributes` (w,11+4m) |

Based on: Garland and Heckbert, Surface simplification using quadric error metrics, 1997, and Simplifying surfaces with
color and texture using quadric error metrics, 1998; Hoppe, New quadric metric for simplifying meshes with appearance
attributes, 1999 (gradients); James and Twigg, Skinning Mesh Animations, 2005, section 7.
Differs from these: planes are weighted by the square root of their area, a compromise between area and equal weights.
Modellers use small triangles for faces and hands, whose detail should be kept.

Notes, horse to 2,100 triangles, mean distance from the source's vertices in %: weights by area 0.059, by its square
root 0.055, equal 0.052; mean distance of the level's triangles from the source, unweighted: 0.050, 0.052, 0.055.
95th percentile of FLIP at 100 pixels of CesiumMan to 1,168 triangles and Soldier to 3,981: weights by the square root
of areas .102, .103; by their power of .75 .109, .111; by areas .113, .120.
Normals as attributes, 95th percentile of FLIP at 100 pixels (CesiumMan to 1,168 triangles, Soldier to 5,687): length 0
.088, .072; .005 .080, .067; .01 .076, .066; .02 .080, .069. Horse, mean distance over the best of fast-simplification:
length 0 .627, .005 .644, .01 .669.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from osteon.core.arrays import Float64, Int32
from osteon.core.mesh import Asset
from osteon.lod.mesh.corners import BORDER, SEAM, Corners, following

#: Weight of an edge of a border or a seam, relative to a triangle of the same size.
EDGE_WEIGHTS = {BORDER: 2.0, SEAM: 0.5}
#: Length, relative to the diagonal, that the largest possible difference of a colour corresponds to.
COLOR_LENGTH = 0.02
#: Length, relative to the diagonal, that a change of a normal by one radian corresponds to.
NORMAL_LENGTH = 0.005
#: Gradients of attributes are limited to this multiple of the median; larger ones are from slivers.
STEEPEST = 8.0
#: Areas and lengths below this, in problem units, are zero.
NOTHING = 1e-18


def plane_quadrics(posed: Float64, corners: Corners, kinds: Int32) -> Float64:
    """(n,f,10) quadrics of points with positions (f,n,3) in all poses, with edges of the given kinds (3t,)."""
    out = np.empty((corners.n_points, len(posed), 10))
    around = _incidence(corners.points, np.repeat(np.arange(len(corners.triangles)), 3), corners.n_points)
    edges = np.flatnonzero(np.isin(kinds, list(EDGE_WEIGHTS)))
    counts = np.select([kinds[edges] == kind for kind in EDGE_WEIGHTS], list(EDGE_WEIGHTS.values()))
    beside, across = following(edges), following(following(edges))
    ends = _incidence(corners.points[np.r_[edges, beside]], np.tile(np.arange(len(edges)), 2), corners.n_points)
    for f, points in enumerate(posed):
        a, b, c = (points[corners.faces[:, e]] for e in range(3))
        normals, doubled = _unit(np.cross(b - a, c - a))
        planes = around @ _plane_rows(normals, a, np.sqrt(0.5 * doubled) / 3)
        a, b, c = (points[corners.points[which]] for which in (edges, beside, across))
        along, lengths = _unit(b - a)
        out[:, f] = planes + ends @ _plane_rows(_unit(_off(c - a, along))[0], a, counts * lengths)
    return out


def point_normals(posed: Float64, corners: Corners) -> Float64:
    """(n,f,3) area-weighted sums of the normals around points with positions (f,n,3) in all poses."""
    around = _incidence(corners.points, np.repeat(np.arange(len(corners.triangles)), 3), corners.n_points)
    a, b, c = (posed[:, corners.faces[:, e]] for e in range(3))
    return np.stack([around @ normals for normals in np.cross(b - a, c - a)], axis=1)


def point_spread(posed: Float64, corners: Corners) -> tuple[Float64, Float64]:
    """(n,1) sums of the weights of planes at rest, and (n,f,4) weighted positions and squares in every pose."""
    a, b, c = (posed[-1, corners.faces[:, e]] for e in range(3))
    weights = np.sqrt(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)) / 3
    total = np.bincount(corners.points, np.repeat(weights, 3), corners.n_points).astype(np.float64)[:, None]
    places = posed.swapaxes(0, 1)
    squares = np.einsum("nfi,nfi->nf", places, places)
    return total, total[:, :, None] * np.concatenate([places, squares[:, :, None]], axis=2)


def attribute_quadrics(points: Float64, corners: Corners, asset: Asset, texture: float) -> Float64:
    """(w,11+4m) B, W and every G of the wedges, for rest points (n,3); (w,0) if there are no attributes."""
    a, b, c = (points[corners.faces[:, e]] for e in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    values = _attributes(corners, asset, texture, areas)
    if values is None:
        return np.zeros((corners.n_wedges, 0))
    gradients = _gradients(np.stack([b - a, c - a], axis=1), values)
    offsets = values[:, 0] - np.einsum("tmi,ti->tm", gradients, a)
    linear = np.concatenate([gradients, offsets[..., None]], axis=2)  # (t,m,4)
    weights = np.sqrt(areas) / 3
    upper = np.triu_indices(4)
    squares = np.einsum("tmi,tmj->tij", linear, linear)[:, upper[0], upper[1]]
    rows = np.concatenate([squares, np.ones((len(linear), 1)), linear.reshape(len(linear), -1)], axis=1)
    around = _incidence(corners.wedges, np.repeat(np.arange(len(areas)), 3), corners.n_wedges)
    return np.asarray(around @ (weights[:, None] * rows))


def attribute_costs(rows: Float64, points: Float64) -> Float64:
    """(w,) the attribute errors of wedges (rows of `attribute_quadrics`) at points (w,3): 0 if they have one value."""
    if not rows.shape[1]:
        return np.zeros(len(rows))
    place = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    i, j = np.triu_indices(4)
    squares = (rows[:, :10] * np.where(i == j, 1, 2) * place[:, i] * place[:, j]).sum(axis=1)
    means = np.einsum("wmi,wi->wm", rows[:, 11:].reshape(len(rows), -1, 4), place)
    return np.asarray(np.maximum(squares - (means**2).sum(axis=1) / np.maximum(rows[:, 10], NOTHING), 0.0))


def _attributes(corners: Corners, asset: Asset, texture: float, areas: Float64) -> Float64 | None:
    """(t,3,m) attributes of the corners, as lengths in problem units."""
    found = []
    for number in asset.shown_sets if texture > 0 else ():
        uvs = asset.all_uvs[number][corners.triangles].astype(np.float64)
        one, other = uvs[:, 1] - uvs[:, 0], uvs[:, 2] - uvs[:, 0]
        covered = 0.5 * np.abs(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]).sum()
        if covered > NOTHING:  # scale lengths in the texture to lengths on the surface
            found.append(uvs * (texture * np.sqrt(areas.sum() / covered)))
    for colors in () if asset.colors is None else (asset.colors, *asset.more_colors):
        if np.ptp(colors, axis=0).any():
            found.append(COLOR_LENGTH * colors[corners.vertices].astype(np.float64).reshape(-1, 3, 4))
    if asset.normals is not None:
        own = asset.normals.values[asset.normals.of_corner[corners.triangles]]
        found.append(NORMAL_LENGTH * own.astype(np.float64))
    return np.concatenate(found, axis=2) if found else None


def _gradients(sides: Float64, values: Float64) -> Float64:
    """(t,m,3) gradients in the planes of triangles with sides (t,2,3) and values (t,3,m) at the corners."""
    gram = np.einsum("tei,tgi->teg", sides, sides)
    det = gram[:, 0, 0] * gram[:, 1, 1] - gram[:, 0, 1] ** 2
    rises = (values[:, 1:] - values[:, :1]).swapaxes(1, 2)  # (t,m,2)
    flat = det <= NOTHING
    inverse = np.stack([gram[:, 1, 1], -gram[:, 0, 1], -gram[:, 0, 1], gram[:, 0, 0]], axis=1).reshape(-1, 2, 2)
    inverse /= np.where(flat, 1.0, det)[:, None, None]
    found: Float64 = np.einsum("tme,teg,tgi->tmi", rises, inverse, sides)
    found[flat] = 0
    sizes = np.linalg.norm(found, axis=(1, 2))
    usual = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 0.0
    found *= np.minimum(1.0, STEEPEST * usual / np.maximum(sizes, NOTHING))[:, None, None]
    return found


def _incidence(rows: Int32, columns: np.ndarray, n_rows: int) -> csr_array:
    """Matrix of ones that sums columns into rows."""
    size = (n_rows, int(columns.max(initial=-1)) + 1)
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=size)


def _plane_rows(normals: Float64, through: Float64, weights: Float64) -> Float64:
    """(t,10) weighted quadrics of planes with unit normals (t,3) through points (t,3)."""
    planes = np.concatenate([normals, -np.einsum("ti,ti->t", normals, through)[:, None]], axis=1)
    i, j = np.triu_indices(4)
    rows: Float64 = weights[:, None] * planes[:, i] * planes[:, j]
    return rows


def _unit(vectors: Float64) -> tuple[Float64, Float64]:
    """Unit vectors (t,3), zero where there is no direction, and lengths (t,)."""
    lengths: Float64 = np.linalg.norm(vectors, axis=1)
    return np.where(lengths[:, None] > NOTHING, vectors / np.maximum(lengths, NOTHING)[:, None], 0.0), lengths


def _off(vectors: Float64, along: Float64) -> Float64:
    """Component of vectors (t,3) orthogonal to unit vectors."""
    left: Float64 = vectors - np.einsum("ti,ti->t", vectors, along)[:, None] * along
    return left
