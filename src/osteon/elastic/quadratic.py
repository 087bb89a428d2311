"""Tetrahedra with ten nodes: corners, then the middles of edges. Displacements are quadratic in them.

With barycentric coordinates L_i the shape functions are

    corner i:        L_i (2 L_i - 1)
    middle of i j:   4 L_i L_j

so edges may bend, and an element is not stiffer in bending than flesh is. Energies are sums over four integration
points per element, which are exact for quadratic functions. Nodes are in the order of CalculiX's C3D10.

Based on: P. Kry, D. James, D. Pai, EigenSkin, 2002, section 3 ("high-order 10-node tetrahedral elements"); O.
Zienkiewicz, The finite element method, 1977, chapter 8.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.elastic.solid import Solid

#: Ends of the edges whose middles are nodes 4 … 9.
EDGES = np.array([[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]])
#: Barycentric coordinates of the four integration points: one is NEAR, three are FAR; each stands for a quarter.
NEAR, FAR = (5 + 3 * 5**0.5) / 20, (5 - 5**0.5) / 20
#: A vertex of the surface whose coordinates in its element are below this is carried linearly: far outside of an
#: element its quadratic functions mean nothing.
OUTSIDE = -0.25


def integration_points() -> Float64:
    """(4,4) barycentric coordinates."""
    return np.full((4, 4), FAR) + (NEAR - FAR) * np.eye(4)


def shape_functions(inner: Float64) -> Float64:
    """(…,10) at barycentric coordinates (…,4)."""
    edges = 4 * inner[..., EDGES[:, 0]] * inner[..., EDGES[:, 1]]
    return np.concatenate([inner * (2 * inner - 1), edges], axis=-1)


def shape_slopes(inner: Float64) -> Float64:
    """(…,10,4) derivatives of the shape functions by each barycentric coordinate."""
    out = np.zeros((*inner.shape[:-1], 10, 4))
    for i in range(4):
        out[..., i, i] = 4 * inner[..., i] - 1
    for k, (i, j) in enumerate(EDGES.tolist(), 4):
        out[..., k, i], out[..., k, j] = 4 * inner[..., j], 4 * inner[..., i]
    return out


def point_gradients(points: Float64, tets: Int32) -> tuple[Float64, Float64]:
    """(4e,10,3) gradients of the shape functions at the integration points, and (4e,) the volume of each.

    Edges may be bent at rest: the map from barycentric coordinates to space is quadratic, too.
    """
    slopes = shape_slopes(integration_points())  # (g,a,4)
    local = slopes[..., 1:] - slopes[..., :1]  # by L_1, L_2, L_3; L_0 is what is left of 1
    jacobian = np.einsum("eai,gak->egik", points[tets], local, optimize=True)
    gradients = np.einsum("gak,egki->egai", local, np.linalg.inv(jacobian), optimize=True)
    return gradients.reshape(-1, 10, 3), (np.linalg.det(jacobian) / 24).ravel()


def quadratic_solid(solid: Solid) -> Solid:
    """The solid with a node in the middle of each edge of its elements."""
    ends = np.sort(solid.tets[:, EDGES], axis=2)  # (e,6,2)
    edges, number = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
    middles = len(solid.points) + number.reshape(-1, 6)
    tets = np.concatenate([solid.tets, middles], axis=1).astype(np.int32)
    points = np.concatenate([solid.points, solid.points[edges].mean(axis=1)])
    corners, weights = _carriers(solid, tets)
    return replace(solid, points=points, tets=tets, corners=corners, weights=weights)


def _carriers(solid: Solid, tets: Int32) -> tuple[Int32, Float64]:
    """Nodes and weights that carry each vertex; vertices that are nodes stay so."""
    rows = {tuple(row): e for e, row in enumerate(solid.tets.tolist())}
    element = np.array([rows.get(tuple(row), -1) for row in solid.corners.tolist()])
    bent = (element >= 0) & (solid.weights.min(axis=1, initial=np.inf) >= OUTSIDE)
    corners = np.repeat(solid.corners[:, :1], 10, axis=1)
    weights = np.zeros((len(corners), 10))
    corners[:, :4], weights[:, :4] = solid.corners, solid.weights
    corners[bent] = tets[element[bent]]
    weights[bent] = shape_functions(solid.weights[bent])
    return corners, weights
