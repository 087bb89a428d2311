"""Energy, forces and stiffness of tetrahedra of flesh.

    E(x) = sum_p V_p psi(I, J),   F = sum_a x_a b_a',  I = |F|^2,  J = det F      b_a: gradient of the shape of node a

The sum is over integration points: one for an element with four nodes, where F is constant, and four for one with ten
(`quadratic.py`).

With F = U diag(s) V' (U, V rotations), the second derivative of psi is diagonal but for one block of three:
    twist and flip in the plane (i,j):   m + c s_k  and  m - c s_k
    scaling along the three axes:        A_ii = m + q s_i^2 + l g_i^2,   A_ij = q s_i s_j + l g_i g_j + c s_k
with g_i = s_j s_k. An element that would lower its energy along one of these directions has no stiffness
there: negative eigenvalues become zero, and the sum of all elements has no negative one either.

    symbol          name
    b, V            gradients, volumes
    m, q, c, l      Material.pull, pull_slope, press, press_slope

Based on: B. Smith, F. de Goes, T. Kim, Stable neo-Hookean flesh simulation, 2018, section 4, and Analytic eigensystems
for isotropic distortion energies, 2019; J. Teran et al., Robust quasistatic finite elements, 2005 (the projection).

Notes, 29,998 elements, one thread: a stiffness takes 0.13 s, of which the singular values 0.07 and the kernel 0.02;
with eigenvalues of 9 x 9 matrices, all in NumPy, it took 0.7 s. Energies take 7 ms, forces 20 ms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.errors import OptionError
from osteon.core.kernels import kernel
from osteon.elastic.quadratic import point_gradients

#: The axis across each plane (i,j), and the two of the plane.
PLANES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


@dataclass(frozen=True, slots=True)
class TetElements:
    """Tetrahedra with the precomputed quantities of their rest state."""

    tets: Int32  # (e,a) nodes, four or ten
    gradients: Float64  # (p,a,3) of the shape functions at integration points, those of an element in a row
    volumes: Float64  # (p,) of what is filled with flesh
    gather: csr_array  # (n,ae) sums the contributions of elements at their nodes

    @property
    def n_elements(self) -> int:
        return len(self.tets)

    @staticmethod
    def of(points: Float64, tets: Int32, fill: Float64 | None = None) -> TetElements:
        """Elements of nodes (n,3) at rest; `fill` (e,) is the part of each that is flesh."""
        gradients, volumes = (point_gradients if tets.shape[1] == 10 else corner_gradients)(points, tets)
        if fill is not None:
            volumes = volumes * np.repeat(fill, len(volumes) // len(tets))
        corners = np.arange(tets.size)
        gather = csr_array((np.ones(tets.size), (tets.ravel(), corners)), shape=(len(points), tets.size))
        return TetElements(tets, gradients, volumes, gather)

    def deformations(self, places: Float64) -> Float64:
        """(p,3,3) F at each integration point, for nodes at places (n,3)."""
        moved = np.repeat(places[self.tets].swapaxes(1, 2), len(self.volumes) // len(self.tets), axis=0)
        out: Float64 = moved @ self.gradients
        return out

    def dilations(self, places: Float64) -> Float64:
        """(p,) J: volume over volume at rest; negative where an element is inverted."""
        return np.asarray(np.linalg.det(self.deformations(places)))

    def energies(self, places: Float64, material: Material) -> Float64:
        """(p,) of the flesh around each integration point, above that of rest."""
        F = self.deformations(places)
        stretch = np.einsum("eij,eij->e", F, F) - 3
        return np.asarray(self.volumes * material.density(stretch, np.linalg.det(F)))

    def forces(self, places: Float64, material: Material) -> Float64:
        """(n,3) the derivative of the energy: the force that holds each node in place."""
        F = self.deformations(places)
        cofactors = np.stack([np.cross(F[:, i], F[:, j]) for _, i, j in PLANES], axis=1)  # the derivative of J
        J = np.einsum("ej,ej->e", F[:, 0], cofactors[:, 0])
        m, c = material.pull(np.einsum("eij,eij->e", F, F)), material.press(J)
        stress = (self.volumes * m)[:, None, None] * F + (self.volumes * c)[:, None, None] * cofactors
        pulls = self.gradients @ stress.swapaxes(1, 2)  # (p,a,3)
        corners = pulls.reshape(len(self.tets), -1, *pulls.shape[1:]).sum(axis=1)
        out: Float64 = self.gather @ corners.reshape(-1, 3)
        return out

    def add_stiffness(
        self, places: Float64, material: Material, blocks: Int64, data: Float64, *, clamped: bool = True
    ) -> None:
        """Add the second derivative to `data`; blocks (e,a,a,2): where block (a,b) begins, and from column to column.

        A block that begins below zero is omitted.
        """
        u, s, v = _signed_svd(self.deformations(places))
        scaling, straight, crossed = _eigenblocks(s, material, clamped=clamped)
        rotated = np.ascontiguousarray(self.gradients @ v)  # b in the axes V
        sizes = self.volumes[:, None, None]
        planes = np.ascontiguousarray(np.stack([straight, crossed], axis=2) * sizes)  # (e,3,2)
        _scatter(u, rotated, np.ascontiguousarray(scaling * sizes), planes, blocks, data, np.empty((2, 3, 3)))


def corner_gradients(points: Float64, tets: Int32) -> tuple[Float64, Float64]:
    """(e,4,3) gradients of the shape functions of tetrahedra with four nodes, and (e,) volumes."""
    edges = points[tets[:, 1:]] - points[tets[:, :1]]  # (e,3,3) rows
    inverse = np.linalg.inv(edges).swapaxes(1, 2)  # rows are the gradients of corners 1, 2, 3
    return np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1), np.linalg.det(edges) / 6


def _signed_svd(F: Float64) -> tuple[Float64, Float64, Float64]:
    """Rotations U, V (e,3,3) and s (e,3) of F = U diag(s) V'; the last s is negative where F is inverted."""
    u, s, vt = np.linalg.svd(F)
    v = vt.swapaxes(1, 2).copy()
    for matrix in (u, v):
        mirrored = np.linalg.det(matrix) < 0
        matrix[mirrored, :, 2] *= -1
        s[mirrored, 2] *= -1
    return u, s, v


def _eigenblocks(s: Float64, material: Material, *, clamped: bool) -> tuple[Float64, Float64, Float64]:
    """Scaling (e,3,3), and for the plane across each axis (e,3) half the sum and difference of flip and twist."""
    size, J = (s**2).sum(axis=1), s.prod(axis=1)
    m, q, c, slope = material.pull(size), material.pull_slope(size), material.press(J), material.press_slope(J)
    g = np.stack([s[:, i] * s[:, j] for _, i, j in PLANES], axis=1)
    scaling = q[:, None, None] * s[:, :, None] * s[:, None, :] + slope[:, None, None] * g[:, :, None] * g[:, None, :]
    for k, i, j in PLANES:
        scaling[:, k, k] += m
        scaling[:, i, j] += c * s[:, k]
        scaling[:, j, i] += c * s[:, k]
    twist, flip = m[:, None] + c[:, None] * s, m[:, None] - c[:, None] * s
    if clamped:
        _clamp(scaling)
        twist, flip = np.maximum(twist, 0), np.maximum(flip, 0)
    return scaling, (flip + twist) / 2, (flip - twist) / 2


def _clamp(matrices: Float64) -> None:
    """Take negative eigenvalues out of symmetric matrices (e,3,3), in place; most have none."""
    first = matrices[:, 0, 0]
    second = first * matrices[:, 1, 1] - matrices[:, 0, 1] ** 2
    bad = ~((first > 0) & (second > 0) & (np.linalg.det(matrices) > 0))
    values, vectors = np.linalg.eigh(matrices[bad])
    matrices[bad] = (vectors * np.maximum(values, 0)[:, None]) @ vectors.swapaxes(1, 2)


@kernel("f8.3r f8.3r f8.3r f8.3r i8.4r f8.1 f8.3")
def _scatter(
    u: Float64, rotated: Float64, scaling: Float64, planes: Float64, blocks: Int64, data: Float64, work: Float64
) -> None:
    """data += U K U' for each pair of nodes; K holds what a move in the axes U does to the forces there."""
    n_nodes, each = rotated.shape[1], u.shape[0] // max(blocks.shape[0], 1)
    for e in range(u.shape[0]):
        element = e // each
        for a in range(n_nodes):
            for b in range(n_nodes):
                begin, stride = blocks[element, a, b, 0], blocks[element, a, b, 1]
                if begin < 0:
                    continue
                for i in range(3):
                    j, k = (i + 1) % 3, (i + 2) % 3
                    # the plane across j holds (k,i), the one across k holds (i,j)
                    work[0, i, i] = (
                        scaling[e, i, i] * rotated[e, a, i] * rotated[e, b, i]
                        + planes[e, k, 0] * rotated[e, a, j] * rotated[e, b, j]
                        + planes[e, j, 0] * rotated[e, a, k] * rotated[e, b, k]
                    )
                    work[0, i, j] = (
                        scaling[e, i, j] * rotated[e, a, i] * rotated[e, b, j]
                        + planes[e, k, 1] * rotated[e, a, j] * rotated[e, b, i]
                    )
                    work[0, i, k] = (
                        scaling[e, i, k] * rotated[e, a, i] * rotated[e, b, k]
                        + planes[e, j, 1] * rotated[e, a, k] * rotated[e, b, i]
                    )
                for i in range(3):
                    for j in range(3):
                        work[1, i, j] = (
                            u[e, i, 0] * work[0, 0, j] + u[e, i, 1] * work[0, 1, j] + u[e, i, 2] * work[0, 2, j]
                        )
                for j in range(3):
                    for i in range(3):
                        data[begin + j * stride + i] += (
                            work[1, i, 0] * u[e, j, 0] + work[1, i, 1] * u[e, j, 1] + work[1, i, 2] * u[e, j, 2]
                        )


#: Volume over volume at rest below which flesh is crushed, and how much more it then resists, over lambda.
CRUSHED, CRUSH = 0.4, 3.0


# Flesh as a material: stable neo-Hookean, which has a finite energy in every state, also inverted or flat.
#
# psi = mu/2 (I - 3) - mu/2 log(I + 1) + lambda/2 (J - alpha)^2 + 3 lambda max(0.4 - J, 0)^3     I = |F|^2, J = det F
#
# alpha makes the rest state free of stress, and mu and lambda make small strains those of linear elasticity. Based on:
# B. Smith, F. de Goes, T. Kim, Stable neo-Hookean flesh simulation, 2018, equations 13 and 14 and section 3.4. Differs
# from the paper: the last term. Flesh that has lost more than half of its volume resists more and more.
#
# Notes. Fingers of the hand of 29,998 tetrahedra, their first joints bent by 80 degrees: without the last term 4, 1, 3
# elements on the skin of the crease are inverted (middle, ring, little finger) after 9, 8, 26 steps; with it none after
# 8, 8, 9. A factor of 1 leaves some nearly flat, 10 takes one or two steps more.


@dataclass(frozen=True, slots=True)
class Material:
    """Stiffness and compressibility of flesh."""

    young: float = 1.0  # Young's modulus, in any unit of pressure
    poisson: float = 0.45  # 0 … below 0.5, where no volume is lost

    def __post_init__(self) -> None:
        if not (math.isfinite(self.young) and self.young > 0):
            raise OptionError(f"young: expected a positive stiffness, got {self.young}")
        if not 0 <= self.poisson < 0.5:
            raise OptionError(f"poisson: expected 0 … below 0.5, got {self.poisson}")

    @property
    def mu(self) -> float:
        return 4 / 3 * self.young / (2 * (1 + self.poisson))

    @property
    def lam(self) -> float:
        lame = self.young * self.poisson / ((1 + self.poisson) * (1 - 2 * self.poisson))
        return lame + 5 / 8 * self.mu

    @property
    def alpha(self) -> float:
        return 1 + 0.75 * self.mu / self.lam

    def density(self, stretch: Float64, J: Float64) -> Float64:
        """psi above that of rest, from I - 3 and J."""
        volume = (J - 1) * (J + 1 - 2 * self.alpha) + 2 * CRUSH * np.maximum(CRUSHED - J, 0) ** 3
        return np.asarray(0.5 * (self.mu * (stretch - np.log1p(stretch / 4)) + self.lam * volume))

    def pull(self, I: Float64) -> Float64:  # noqa: E741, the symbol of the field
        """m: twice the derivative of psi by I."""
        return np.asarray(self.mu * (1 - 1 / (I + 1)))

    def pull_slope(self, I: Float64) -> Float64:  # noqa: E741
        """q: twice the derivative of m by I."""
        return np.asarray(2 * self.mu / (I + 1) ** 2)

    def press(self, J: Float64) -> Float64:
        """c: the derivative of psi by J."""
        return np.asarray(self.lam * (J - self.alpha - 3 * CRUSH * np.maximum(CRUSHED - J, 0) ** 2))

    def press_slope(self, J: Float64) -> Float64:
        """l: the derivative of c by J."""
        return np.asarray(self.lam * (1 + 6 * CRUSH * np.maximum(CRUSHED - J, 0)))
