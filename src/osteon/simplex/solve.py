"""Compute posed vertices from the ideal transforms of all triangles: one factorisation, one substitution per pose.

Minimise over X      the energy of simplices.py (eq. 15)      subject to X_c = Y_c for pinned vertices c

Triangles that share a transform form a group (of a bone, of a control line, or uncontrolled), so the load R d of eq. 17
is one small product with the transforms of the groups. With x = M- u + T- + y about the area-weighted
mean of the transforms, y solves K y = R (d - d-): if a pose moves all groups equally, the load is exactly zero and
the result exact.

**Pins** (8) need no new factorisation: with C the columns K^-1 e_c, the constrained minimum is
x <- x - C (e_c' C)^-1 (x_c - Y_c). **Without translation** (eq. 19) K is singular; one vertex of every connected piece
is fixed at its position by its bone and eliminated. If a piece has pins, it is released: with N a column of ones for
each pinned piece, K N = 0, the minimum is x - C p - N q, where p and q solve
[e_c' C, e_c' N; N' e_c, 0] [p; q] = [x_c - Y_c; 0].

Based on: Yan, Hu, Martin, Yang 2008, sections 6 and 8, equations 15 to 19.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import connected_components

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.kernels import kernel_as_met
from osteon.simplex.factor import SymmetricFactor
from osteon.simplex.simplices import DEFAULT_ENERGY, EnergyOptions, Simplices, System, reduced_system


@dataclass(frozen=True, slots=True)
class Pins:
    """Columns of K^-1 for pinned vertices, computed once for all poses that pin them."""

    unknowns: Int32  # (c,)
    columns: Float64  # (m,c+p) K^-1 e_c, then ones for each of p pieces whose fixed vertex pins replace
    inverse: Float64  # (c+p,c) maps offsets of the pins from their targets to weights of the columns


@dataclass(frozen=True, slots=True)
class SingleTransforms:
    """Transforms of simplices that do not use the one of their group."""

    simplices: Int32  # (n,) ascending
    transforms: Float64  # (n,3,4)


@dataclass(frozen=True, slots=True)
class SimplexSolver:
    """A rest mesh with its groups of triangles and the factored system."""

    simplices: Simplices
    factor: SymmetricFactor  # of K, without the fixed unknowns
    rest: Float64  # (m,d) about the centre
    vertices: Int32  # (m,) vertex of the mesh of each unknown
    free: Int32  # (n,) unknowns that are solved for
    held: Int32  # (h,) unknowns that are fixed instead (eq. 19)
    place: Int32  # (m,) row of each unknown in the factor's order; fixed ones come last
    couple: csr_array  # (n,h) of K
    group: Int32  # (t,) of each simplex
    load: csc_array  # (n, e t) of all simplices; rows in the factor's order
    grouped: csr_array  # (n, e g) of groups; rows in the factor's order
    share: Float64  # (g,) of the area
    vertex_simplex: Int32  # (m,) the largest simplex around each unknown
    piece: Int32  # (m,) connected piece of each unknown

    @staticmethod
    def of(
        simplices: Simplices,
        group: Int32,
        n_groups: int,
        *,
        energy: EnergyOptions = DEFAULT_ENERGY,
        on_line: NDArray[np.bool_] | None = None,
    ) -> SimplexSolver:
        """Factor the system; `group` (t,) is that of each simplex, `on_line` (t,) whether a control line moves it."""
        system = reduced_system(simplices, energy=energy, on_line=on_line)
        piece, held = _pieces(system, simplices)
        if energy.translation:
            held = held[:0]
        free = np.setdiff1d(np.arange(len(system.vertices), dtype=np.int32), held)
        factor = SymmetricFactor.of(
            system.stiffness if energy.translation else csc_array(system.stiffness[free][:, free])
        )
        load = csc_array(system.load[free[np.argsort(factor.order)]])
        place = np.empty(len(system.vertices), np.int32)
        place[free], place[held] = factor.order, len(free) + np.arange(len(held))
        by_area = np.argsort(simplices.areas, kind="stable").astype(np.int32)
        vertex_simplex = np.zeros(len(system.vertices), np.int32)
        vertex_simplex[np.searchsorted(system.vertices, simplices.faces[by_area])] = by_area[:, None]  # the last wins
        return SimplexSolver(
            simplices,
            factor,
            simplices.points[system.vertices, : simplices.dimension],
            system.vertices,
            free,
            held,
            place,
            csr_array(system.stiffness[free][:, held]),
            group,
            load,
            csr_array(load @ _spread(group, n_groups, simplices.dimension + 1)),
            np.bincount(group, simplices.areas, n_groups) / simplices.areas.sum(),
            vertex_simplex,
            piece,
        )

    def pose(self, transforms: Float64, single: SingleTransforms | None = None) -> Float64:
        """(m,3) posed vertices from the transforms (g,3,4) of the groups and of single simplices."""
        d = self.simplices.dimension
        rows = self._rows(transforms)  # (g,e,d)
        mean = np.einsum("g,ged->ed", self.share, rows)
        away = rows - mean
        solved = np.zeros((len(self.free) + len(self.held), 3))
        load = solved[: len(self.free)]
        flat = np.zeros((away.shape[0] * away.shape[1], 3))
        flat[:, :d] = away.reshape(-1, d)
        _set_load(self.grouped.indptr, self.grouped.indices, self.grouped.data, flat, load)
        if single is not None:
            self._add_single(single, rows, load)
        if len(self.held):
            theirs = self._rows(self.transforms_of(self.vertex_simplex[self.held], transforms, single)) - mean
            shift = np.einsum("hi,hij->hj", self.rest[self.held], theirs[:, :d]) + theirs[:, d]
            load[self.factor.order, :d] -= self.couple @ shift
            solved[len(self.free) :, :d] = shift
        self.factor.substitute(load)
        carry = np.zeros((4, 3))
        carry[:d, :d], carry[3, :d] = mean[:d], mean[d]
        carry[3] += self.simplices.centre
        out = np.empty_like(solved)
        _move(self.rest, carry, solved, self.place, out)
        return out

    def transforms_of(self, simplices: Int32, transforms: Float64, single: SingleTransforms | None = None) -> Float64:
        """(…,3,4) ideal transforms of the given simplices; `transforms` and `single` as in `pose`."""
        out: Float64 = transforms[self.group[simplices]]
        if single is not None and len(single.simplices):
            at = np.searchsorted(single.simplices, simplices).clip(max=len(single.simplices) - 1)
            alone = single.simplices[at] == simplices
            out[alone] = single.transforms[at[alone]]
        return out

    def pins(self, vertices: Int32) -> Pins:
        """Precompute the columns that pin these vertices of the mesh."""
        at = np.searchsorted(self.vertices, vertices).clip(max=len(self.vertices) - 1).astype(np.int32)
        if not np.array_equal(self.vertices[at], vertices):
            bad = int(vertices[self.vertices[at] != vertices][0])
            raise GeometryError(f"pins: vertex {bad} cannot be pinned; no triangle with an area holds it")
        n, m = len(vertices), len(self.vertices)
        unit = np.zeros((m, n))
        unit[at, np.arange(n)] = 1
        pinned = np.unique(self.piece[at]) if len(self.held) else np.zeros(0, np.int32)
        columns = np.zeros((m, n + len(pinned)))
        columns[self.free, :n] = self.factor.solve(unit[self.free])
        columns[:, n:] = self.piece[:, None] == pinned
        # Both blocks are scaled to the same magnitude, which keeps the inverse accurate in any unit.
        size = max(float(np.abs(columns[at, :n]).max()), 1e-300)
        small = np.zeros((n + len(pinned),) * 2)
        small[:n], small[n:, :n] = columns[at], columns[at, n:].T
        small[:n, n:] *= size
        small[n:] *= size
        inverse = np.asarray(np.linalg.inv(small)[:, :n], np.float64)
        inverse[n:] *= size
        return Pins(at, columns, inverse)

    def pinned(self, posed: Float64, pins: Pins, targets: Float64) -> Float64:
        """The posed vertices (m,3) with the pins (c,) at `targets` (c,3)."""
        d = self.simplices.dimension
        out = posed.copy()
        out[:, :d] -= pins.columns @ (pins.inverse @ (posed[pins.unknowns, :d] - targets[:, :d]))
        out[pins.unknowns, :d] = targets[:, :d]  # removes rounding
        return out

    def _rows(self, transforms: Float64) -> Float64:
        """(…,e,d) the transforms about the centre, transposed: entry by coordinate."""
        d, centre = self.simplices.dimension, self.simplices.centre
        linear = transforms[..., :d, :d]
        shift = transforms[..., 3] + np.einsum("...ij,j->...i", transforms[..., :3], centre) - centre
        return np.concatenate([linear.swapaxes(-1, -2), shift[..., None, :d]], axis=-2)

    def _add_single(self, single: SingleTransforms, rows: Float64, load: Float64) -> None:
        """Add the differences between single simplices and their group to the load."""
        beyond = np.zeros((len(single.simplices), rows.shape[1], 3))
        beyond[:, :, : rows.shape[2]] = self._rows(single.transforms) - rows[self.group[single.simplices]]
        _add_load(self.load.indptr, self.load.indices, self.load.data, single.simplices, beyond, load)


@kernel_as_met
def _set_load(start: Int32, column: Int32, value: Float64, away: Float64, load: Float64) -> None:
    """load = the sparse rows times `away` (n,3)."""
    for i in range(len(start) - 1):
        a = b = c = 0.0
        for p in range(start[i], start[i + 1]):
            v, j = value[p], column[p]
            a += v * away[j, 0]
            b += v * away[j, 1]
            c += v * away[j, 2]
        load[i, 0], load[i, 1], load[i, 2] = a, b, c


@kernel_as_met
def _add_load(start: Int32, row: Int32, value: Float64, simplices: Int32, beyond: Float64, load: Float64) -> None:
    """load += the columns of the given simplices times `beyond` (n,e,3)."""
    entries = beyond.shape[1]
    for i in range(len(simplices)):
        for e in range(entries):
            column = np.int64(simplices[i]) * entries + e
            for p in range(start[column], start[column + 1]):
                for x in range(3):
                    load[row[p], x] += value[p] * beyond[i, e, x]


@kernel_as_met
def _move(rest: Float64, carry: Float64, solved: Float64, place: Int32, out: Float64) -> None:
    """out = rest (m,2 or 3) moved by the mean transform, plus the solution."""
    last = rest.shape[1] - 1  # in 2D the third row of `carry` is zero
    for i in range(len(rest)):
        at, x, y, z = place[i], rest[i, 0], rest[i, 1], rest[i, last]
        for k in range(3):
            out[i, k] = carry[3, k] + solved[at, k] + x * carry[0, k] + y * carry[1, k] + z * carry[2, k]


def _spread(group: Int32, n_groups: int, entries: int) -> csr_array:
    """(e t, e g) ones that copy the entries of each group to its simplices."""
    row = np.arange(len(group) * entries)
    column = (group[:, None] * entries + np.arange(entries)).ravel()
    return csr_array((np.ones(len(row)), (row, column)), shape=(len(row), entries * n_groups))


def _pieces(system: System, simplices: Simplices) -> tuple[Int32, Int32]:
    """(m,) the connected piece of each unknown, and (p,) one unknown of each: the one nearest to the mesh's centre."""
    _, piece = connected_components(system.stiffness, directed=False)
    distance = np.linalg.norm(simplices.points[system.vertices], axis=1)
    order = np.lexsort((distance, piece))
    first = np.flatnonzero(np.diff(piece[order], prepend=-1))
    return piece.astype(np.int32), np.sort(order[first]).astype(np.int32)
