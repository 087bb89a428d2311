"""The normals of a model: rest normals, and separate correction columns for the normals of each frame.

    minimise over n, N, q:   sum_n sum_f  rho || M_n^f (n_n + N_n q^f) - m_n^f ||^2,        M = L / |L (n + N q)|

with L the linear part of the blend that stock players use, m the source's normal, and rho = 1 / chord, which makes the
sum of squares a sum of angles. Rest normals n are fitted first (`skin/rest_normals.py`), then as many columns as are
requested, or as the shading needs.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 13 in its linear form: coefficients of the
normals. L does not depend on the corrections of positions, so neither do these columns: a model that is truncated to a
lower rank keeps its shading.

| symbol | name |
| --- | --- |
| N | basis (n,r,3) |
| q | coefficients (f,r) |
| M | (n,f,3,3); only M'M and M'm are ever made, from bones and weights, for a block of normals at a time |

Differs from the paper: fitted in posed space by alternating the two linear solves, from the SVD of the rest-frame
differences (M'M + d)^-1 M'(m - M n); M is scaled by the length of the corrected normal. Coefficients are found on
a sample of the normals. Iteratively reweighted solves converge slowly, so the last ones are over-relaxed.

Notes, mean degrees at rank 5 by rounds on all normals, without and with over-relaxation 1: horse, 30 flexible 3: 0.995,
0.983, 8: -, 0.948; clothhorse, 20 scaled 3: 2.57, 2.50, 8: -, 2.32; elasticcow, 18 scaled 3: 6.62, 6.56, 8: -, 6.43.
An over-relaxation of 0.5: 0.981, 2.51, 6.58; of 1.5: 1.016, 2.62, 6.61.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int64, IntArray
from osteon.core.character import Corrections, Skin
from osteon.core.frames import FrameBlock, FrameSource, frame_blocks
from osteon.core.kernels import kernel
from osteon.core.model import SkinnedModel
from osteon.core.normals import SourceNormals, angles_between
from osteon.core.parallel import available_threads, for_blocks
from osteon.core.transforms import unit_vectors
from osteon.fit.corrections.columns import ColumnFit, order_columns
from osteon.fit.problem import NormalRows
from osteon.fit.skin.rest_normals import blend_linear, fit_rest_normals, linear_parts

#: Normals per block of small systems.
BLOCK = 256
#: Regularisation of normals and columns towards their last values, of the mean diagonal of these systems.
DAMPING = 1e-3
#: Rounds of coefficients and basis on a sample of the normals, at least and at most, and pairs of a normal and a frame
#: that all of them see.
ROUNDS, ROUND_WORK = (3, 10), 600_000
#: Rounds of the basis on all normals: of the automatic choice, and of a requested rank.
FULL_ROUNDS, REQUESTED_ROUNDS = 2, 8
#: Over-relaxation of the rounds on all normals, as a fraction of a step.
RELAXATION = 0.8
#: Sample that coefficients are fitted to: pairs of normal and frame, and the least and largest number of normals.
SAMPLE_PAIRS, SAMPLE = 80_000, (800, 2_500)
#: A fitted rest normal shorter than this keeps its previous direction.
SHORTEST_REST = 0.05
#: Lower bound of chords, about a degree.
SHORTEST_CHORD = 0.02
#: Lower bound of the length of a posed normal.
SHORTEST_SHOWN = 1e-3
#: Rounds of coefficients for held-out frames.
HELD_OUT_ROUNDS = 4
#: Iterations of the rest normals, starting from those of the rest pose and from fitted ones.
REST_ITERATIONS, MORE_ITERATIONS = 6, 1
#: Largest automatic number of columns, and mean degrees below which there are none.
MOST_AUTOMATIC, GOOD_SHADING = 5, 3.0
#: Largest number of columns for a bound on the shading.
MOST_SEARCHED = 24
#: Fraction of the degrees that a column of the automatic choice must remove.
WORTH_A_COLUMN = 0.03


def normals_of_frames(source: SourceNormals, frames: FrameSource, threads: int = 0) -> Float32:
    """(n,3f) the normals of a source in all frames."""
    out = np.empty((source.count, frames.n_frames, 3), np.float32)

    def work(block: FrameBlock) -> Callable[[int, int], None]:
        def some(start: int, stop: int) -> None:
            for i in range(start, stop):
                out[:, block.start + i] = source.at(block.frames[i])

        return some

    for block in frame_blocks(frames):
        for_blocks(work(block), len(block.frames), 1, available_threads(threads))
    return out.reshape(source.count, -1)


def normal_rows(source: SourceNormals, frames: FrameSource, row_of_vertex: IntArray, threads: int = 0) -> NormalRows:
    """The normals of a source as rows of a fit whose vertices are numbered by `row_of_vertex (v,)`."""
    vertex = row_of_vertex[source.vertex].astype(np.int64)
    order = np.argsort(vertex, kind="stable")
    targets = normals_of_frames(source, frames, threads)
    return NormalRows(source.rest[order], targets[order], vertex[order])


@dataclass(frozen=True, slots=True)
class NormalFit:
    """Rest normals and columns that correct them."""

    rest: Float64  # (n,3) unit
    basis: Float64  # (n,r,3)
    coefficients: Float64  # (f,r)

    @property
    def rank(self) -> int:
        return int(self.coefficients.shape[1])


@kernel("i8.2r f8.2r f8.3r f4.2r i8.1r i8 i8 f8.2r f8.3r f8.2r f8.3 f8.2 f8.2")
def _row_products(
    bones: Int64,
    weights: Float64,
    parts: Float64,
    targets: Float32,
    vertex: Int64,
    start: int,
    stop: int,
    rest: Float64,
    basis: Float64,
    q: Float64,
    out: Float64,
    linear: Float64,
    moved: Float64,
) -> None:
    """out (n,9,f): rho M'M, its six numbers, and rho M'm of normals start … stop; zero where a frame has no target.

    Coefficients q are (r,f) here. linear (9,f) and moved (3,f) are scratch.
    """
    for r in range(start, stop):
        row = r - start
        blend_linear(bones, weights, parts, vertex[r], linear)
        for i in range(3):
            for f in range(moved.shape[1]):
                moved[i, f] = rest[r, i]
            for c in range(q.shape[0]):
                for f in range(moved.shape[1]):
                    moved[i, f] += q[c, f] * basis[r, c, i]
        for f in range(linear.shape[1]):
            mx, my, mz = float(targets[r, 3 * f]), float(targets[r, 3 * f + 1]), float(targets[r, 3 * f + 2])
            there = 1.0 if mx * mx + my * my + mz * mz >= 0.5 else 0.0
            l0, l1, l2 = linear[0, f], linear[1, f], linear[2, f]
            l3, l4, l5 = linear[3, f], linear[4, f], linear[5, f]
            l6, l7, l8 = linear[6, f], linear[7, f], linear[8, f]
            x, y, z = moved[0, f], moved[1, f], moved[2, f]
            sx = l0 * x + l1 * y + l2 * z
            sy = l3 * x + l4 * y + l5 * z
            sz = l6 * x + l7 * y + l8 * z
            inverse = 1 / max(np.sqrt(sx * sx + sy * sy + sz * sz), SHORTEST_SHOWN)
            square = (inverse * sx - mx) ** 2 + (inverse * sy - my) ** 2 + (inverse * sz - mz) ** 2
            rho = there * inverse / np.sqrt(square + SHORTEST_CHORD * SHORTEST_CHORD)
            out[row, 6, f] = rho * (l0 * mx + l3 * my + l6 * mz)
            out[row, 7, f] = rho * (l1 * mx + l4 * my + l7 * mz)
            out[row, 8, f] = rho * (l2 * mx + l5 * my + l8 * mz)
            rho *= inverse
            out[row, 0, f] = rho * (l0 * l0 + l3 * l3 + l6 * l6)
            out[row, 1, f] = rho * (l0 * l1 + l3 * l4 + l6 * l7)
            out[row, 2, f] = rho * (l0 * l2 + l3 * l5 + l6 * l8)
            out[row, 3, f] = rho * (l1 * l1 + l4 * l4 + l7 * l7)
            out[row, 4, f] = rho * (l1 * l2 + l4 * l5 + l7 * l8)
            out[row, 5, f] = rho * (l2 * l2 + l5 * l5 + l8 * l8)


#: Rows and columns of the six numbers of a symmetric 3x3 matrix, and the index among the six of each entry.
_ROW, _COLUMN = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2])
_PLACE = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])


class _Maps:
    """Linear maps that bones and weights apply to some normals, in blocks."""

    def __init__(self, rows: NormalRows, skin: Skin, transforms: FloatArray) -> None:
        self.rows, self.transforms, self.parts = rows, transforms, linear_parts(transforms)
        self.bones, self.weights = skin.bones.astype(np.int64), skin.weights.astype(np.float64)
        self.skin, self.n_frames, self.count = skin, len(transforms), len(rows.vertex)

    def subset(self, normals: Int64) -> _Maps:
        """The maps of some normals."""
        rows = NormalRows(self.rows.rest[normals], self.rows.targets[normals], self.rows.vertex[normals])
        return _Maps(rows, self.skin, self.transforms)

    def products(self, start: int, stop: int, fit: NormalFit) -> tuple[Float64, Float64]:
        """(n,6,f) rho M'M and (n,3,f) rho M'm of some normals."""
        out = np.empty((stop - start, 9, self.n_frames))
        rows, moves = self.rows, (fit.rest, fit.basis, np.ascontiguousarray(fit.coefficients.T))
        skin, scratch = (self.bones, self.weights, self.parts), np.split(np.empty((12, self.n_frames)), [9])
        _row_products(*skin, rows.targets, rows.vertex, start, stop, *moves, out, *scratch)
        return out[:, :6], out[:, 6:]

    def linear(self, start: int, stop: int) -> Float64:
        """(n,f,3,3) L of some normals."""
        vertex = self.rows.vertex[start:stop]
        chosen = self.parts[self.bones[vertex]]  # (n,k,9,f)
        blends = np.matmul(self.weights[vertex][:, None], chosen.reshape(*chosen.shape[:2], -1))
        return np.asarray(blends.reshape(len(vertex), 3, 3, self.n_frames).transpose(0, 3, 1, 2))


def _start(maps: _Maps, rest: Float64, rank: int, threads: int) -> Float64:
    """(f,r) leading right singular vectors of the damped rest-frame differences."""
    grams = np.zeros((-(-maps.count // BLOCK), maps.n_frames, maps.n_frames))
    plain = _without_columns(maps, rest)

    def work(start: int, stop: int) -> None:
        squares, right = maps.products(start, stop, plain)
        whole = squares[:, _PLACE].transpose(0, 3, 1, 2)  # (n,f,3,3)
        left = right.transpose(0, 2, 1) - np.einsum("nfij,nj->nfi", whole, rest[start:stop])
        whole = whole + (1e-2 * np.einsum("nfii->nf", whole) / 3 + 1e-12)[..., None, None] * np.eye(3)
        rows = np.linalg.solve(whole, left[..., None])[..., 0]
        flat = rows.transpose(0, 2, 1).reshape(-1, maps.n_frames)
        grams[start // BLOCK] = flat.T @ flat

    for_blocks(work, maps.count, BLOCK, threads)
    vectors: Float64 = np.linalg.eigh(grams.sum(axis=0))[1][:, ::-1]
    return np.ascontiguousarray(vectors[:, :rank])


def _solve_basis(maps: _Maps, fit: NormalFit, threads: int) -> NormalFit:
    """The best n and N for the coefficients; lengths and weights are those of the previous fit."""
    q, rank = np.concatenate([np.ones((maps.n_frames, 1)), fit.coefficients], axis=1), fit.rank + 1
    out = np.empty((maps.count, rank, 3))
    pairs = np.einsum("fr,fs->frs", q, q).reshape(len(q), -1)

    def work(start: int, stop: int) -> None:
        squares, right = maps.products(start, stop, fit)
        count = stop - start
        sums = (squares.reshape(6 * count, -1) @ pairs).reshape(count, 6, rank, rank)
        n = sums[:, _PLACE].transpose(0, 3, 1, 4, 2).reshape(count, 3 * rank, 3 * rank)
        diagonal = np.einsum("nii->ni", n)
        strength = DAMPING * diagonal.mean(axis=1)[:, None] + 1e-300
        diagonal += strength
        b = (right.reshape(3 * count, -1) @ q).reshape(count, 3, rank).transpose(0, 2, 1)
        b = b + strength[..., None] * np.concatenate([fit.rest[start:stop, None], fit.basis[start:stop]], axis=1)
        out[start:stop] = np.linalg.solve(n, b.reshape(count, 3 * rank, 1)).reshape(count, rank, 3)

    for_blocks(work, maps.count, BLOCK, threads)
    length = np.linalg.norm(out[:, 0], axis=1)[:, None, None]
    kept = length > SHORTEST_REST
    found = out / np.where(kept, length, 1.0)
    rest, basis = np.where(kept[:, 0], found[:, 0], fit.rest), np.where(kept, found[:, 1:], fit.basis)
    return NormalFit(np.ascontiguousarray(rest), np.ascontiguousarray(basis), fit.coefficients)


def _solve_coefficients(maps: _Maps, fit: NormalFit, threads: int) -> NormalFit:
    """The best coefficients for the basis; lengths and weights are those of the previous fit."""
    rank, n_frames = fit.rank, maps.n_frames
    n_blocks = -(-maps.count // BLOCK)
    grams, rights = np.zeros((n_blocks, n_frames, rank * rank)), np.zeros((n_blocks, n_frames, rank))

    def work(start: int, stop: int) -> None:
        squares, right = maps.products(start, stop, fit)
        basis, rest = fit.basis[start:stop], fit.rest[start:stop]
        twice = np.where(_ROW == _COLUMN, 0.5, 1.0)[:, None, None]
        first, second = basis[:, :, _ROW].transpose(0, 2, 1), basis[:, :, _COLUMN].transpose(0, 2, 1)  # (n,6,r)
        pairs = first[:, :, :, None] * second[:, :, None, :]
        pairs = twice * (pairs + pairs.swapaxes(2, 3))
        flat = squares.reshape(-1, n_frames).T
        grams[start // BLOCK] = flat @ pairs.reshape(-1, rank * rank)
        mixed = rest[:, _ROW, None] * second + rest[:, _COLUMN, None] * first
        mixed = twice[..., 0] * mixed
        rights[start // BLOCK] = right.reshape(-1, n_frames).T @ basis.transpose(0, 2, 1).reshape(-1, rank)
        rights[start // BLOCK] -= flat @ mixed.reshape(-1, rank)

    for_blocks(work, maps.count, BLOCK, threads)
    gram = grams.sum(axis=0).reshape(n_frames, rank, rank)
    gram += (1e-8 * np.einsum("fii->f", gram) / rank + 1e-300)[:, None, None] * np.eye(rank)
    q = np.linalg.solve(gram, rights.sum(axis=0)[..., None])[..., 0]
    return replace(fit, coefficients=np.ascontiguousarray(q))


def _without_columns(maps: _Maps, rest: Float64) -> NormalFit:
    return NormalFit(rest, np.zeros((len(rest), 0, 3)), np.zeros((maps.n_frames, 0)))


def _fit_columns(maps: _Maps, rest: Float64, rank: int, threads: int) -> NormalFit:
    """`rank` orthogonal columns, largest first."""
    rank = min(rank, maps.n_frames)
    if rank == 0:
        return _without_columns(maps, rest)
    fit = NormalFit(rest, np.zeros((len(rest), rank, 3)), _start(maps, rest, rank, threads))
    fit = _solve_basis(maps, fit, threads)
    for _ in range(int(np.clip(ROUND_WORK // (maps.count * maps.n_frames), *ROUNDS))):
        fit = _solve_basis(maps, _solve_coefficients(maps, fit, threads), threads)
    ordered = order_columns(ColumnFit(fit.basis, fit.coefficients))
    return NormalFit(fit.rest, ordered.basis, ordered.coefficients)


def _on_all(maps: _Maps, rest: Float64, some: NormalFit, rounds: int, threads: int) -> NormalFit:
    """The columns of all normals for the coefficients of a sample."""
    if some.rank == 0:
        return _without_columns(maps, rest)
    fit = NormalFit(rest, np.zeros((len(rest), some.rank, 3)), some.coefficients)
    fit = _solve_basis(maps, fit, threads)
    for _ in range(rounds - 1):
        before, fit = fit, _solve_basis(maps, fit, threads)
        rest = unit_vectors(fit.rest + RELAXATION * (fit.rest - before.rest))
        fit = replace(fit, rest=rest, basis=fit.basis + RELAXATION * (fit.basis - before.basis))
    return fit


def _degrees(maps: _Maps, fit: NormalFit, threads: int) -> Float64:
    """(r+1,) mean degrees with 0, 1, … columns."""
    n_blocks = -(-maps.count // BLOCK)
    sums, counts = np.zeros((n_blocks, fit.rank + 1)), np.zeros(n_blocks)

    def work(start: int, stop: int) -> None:
        linear = maps.linear(start, stop)
        targets = maps.rows.targets[start:stop].reshape(-1, maps.n_frames, 3)
        there = np.abs(targets).max(axis=2) > 0
        counts[start // BLOCK] = there.sum()
        for rank in range(fit.rank + 1):
            moved = np.matmul(fit.coefficients[:, :rank], fit.basis[start:stop, :rank])  # (n,f,3)
            posed = np.einsum("nfij,nfj->nfi", linear, fit.rest[start:stop, None] + moved)
            unit = posed / np.maximum(np.linalg.norm(posed, axis=2, keepdims=True), 1e-12)
            sums[start // BLOCK, rank] = angles_between(unit, targets)[there].sum()

    for_blocks(work, maps.count, BLOCK, threads)
    return np.asarray(sums.sum(axis=0) / max(counts.sum(), 1.0))


def _needed_columns(maps: _Maps, rest: Float64, threads: int) -> NormalFit:
    """The fewest columns that reach GOOD_SHADING, at most MOST_AUTOMATIC; a column that gains too little is dropped.

    They are counted with the first columns of one fit. A separate fit of fewer columns is slightly closer, so this may
    be one column too many; checking would take a tenth of the time of `osteon skin`.
    """
    none = _without_columns(maps, rest)
    if _degrees(maps, none, threads)[0] <= GOOD_SHADING:
        return none
    most = _fit_columns(maps, rest, MOST_AUTOMATIC, threads)
    degrees = _degrees(maps, most, threads)
    good = np.flatnonzero(degrees <= GOOD_SHADING)
    rank = int(good[0]) if len(good) else len(degrees) - 1
    while rank and degrees[rank] > degrees[rank - 1] * (1 - WORTH_A_COLUMN):
        rank -= 1
    return most if rank == most.rank else _fit_columns(maps, rest, rank, threads)


def fit_model_normals(
    model: SkinnedModel,
    source: SourceNormals,
    frames: FrameSource,
    *,
    rank: int | None = None,
    known: NormalRows | None = None,
    threads: int = 0,
) -> SkinnedModel:
    """The model with fitted rest normals and `rank` columns that correct them; None: as many as the shading needs.

    `known` are the source's normals in these frames; a weight above 0 marks rest normals that are already fitted.
    """
    threads = available_threads(threads)
    prepared = _prepare(model, source, frames, threads, known)
    if prepared is None:
        return model
    if rank is not None:
        return _with_normals(model, source, prepared.fit(rank, threads))
    some = _needed_columns(prepared.some, prepared.some_rest, threads)
    return _with_normals(model, source, prepared.on_all(some, FULL_ROUNDS, threads))


def fit_held_out(
    model: SkinnedModel, learned: SkinnedModel, source: SourceNormals, frames: FrameSource, *, threads: int = 0
) -> SkinnedModel:
    """The model with the normals of `learned`, which was fitted to some of its frames; coefficients for all frames."""
    threads, skin, own = available_threads(threads), model.character.stock_skin(), learned.asset.normals
    if skin is None or own is None or not source.count:
        return model
    rest, known = own.values.astype(np.float64), learned.corrections
    fit = NormalFit(rest, np.zeros((source.count, 0, 3)), np.zeros((model.n_frames, 0)))
    if known is not None and known.normal_basis is not None and learned.normal_rank:
        basis = np.ascontiguousarray(known.normal_basis[learned.rank :].transpose(1, 0, 2), np.float64)
        fit = NormalFit(rest, basis, np.zeros((model.n_frames, learned.normal_rank)))
        rows = NormalRows(rest, normals_of_frames(source, frames, threads), source.vertex.astype(np.int64))
        maps = _Maps(rows, skin, model.animation.transforms)
        for _ in range(HELD_OUT_ROUNDS):
            fit = _solve_coefficients(maps, fit, threads)
    return _with_normals(model, source, fit)


def fit_within(
    model: SkinnedModel, source: SourceNormals, frames: FrameSource, degrees: float, *, threads: int = 0
) -> SkinnedModel:
    """The model with the fewest columns within a mean of `degrees`; MOST_SEARCHED if no number suffices."""
    threads = available_threads(threads)
    prepared = _prepare(model, source, frames, threads)
    if prepared is None:
        return model
    most = min(MOST_SEARCHED, prepared.whole.n_frames)
    low, high, best = 0, most, prepared.fit(most, threads)
    while low < high:
        middle = (low + high) // 2
        tried = prepared.fit(middle, threads)
        if _degrees(prepared.whole, tried, threads)[-1] <= degrees:
            high, best = middle, tried
        else:
            low = middle + 1
    return _with_normals(model, source, best)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """All normals with their fitted rest normals, and the sample for coefficients."""

    whole: _Maps
    rest: Float64  # (n,3)
    some: _Maps
    some_rest: Float64

    def fit(self, rank: int, threads: int) -> NormalFit:
        """`rank` columns for all normals."""
        return self.on_all(_fit_columns(self.some, self.some_rest, rank, threads), REQUESTED_ROUNDS, threads)

    def on_all(self, fit: NormalFit, rounds: int, threads: int) -> NormalFit:
        """The columns of all normals from those of the sample."""
        return fit if self.some.count == self.whole.count else _on_all(self.whole, self.rest, fit, rounds, threads)


def _prepare(
    model: SkinnedModel, source: SourceNormals, frames: FrameSource, threads: int, known: NormalRows | None = None
) -> _Prepared | None:
    """The data of the fit; None if there is nothing to shade."""
    skin = model.character.stock_skin()
    if skin is None or not source.count:
        return None
    rows = known
    if rows is None:
        targets = normals_of_frames(source, frames, threads)
        rows = NormalRows(source.rest, targets, source.vertex.astype(np.int64))
    rows = replace(rows, rest=np.where(rows.rest.any(axis=1, keepdims=True), rows.rest, [0.0, 0.0, 1.0]))
    transforms = model.animation.transforms
    bones, weights = skin.bones.astype(np.int64), skin.weights.astype(np.float64)
    iterations = REST_ITERATIONS if rows.weight == 0 else MORE_ITERATIONS
    rest, _ = fit_rest_normals(rows, transforms, bones, weights, iterations=iterations, threads=threads)
    whole = _Maps(rows, skin, transforms)
    chosen, sample = np.arange(whole.count), int(np.clip(SAMPLE_PAIRS // whole.n_frames, *SAMPLE))
    if whole.count > 1.25 * sample:
        chosen = np.sort(np.random.default_rng(0).permutation(whole.count)[:sample])
    return _Prepared(whole, rest, whole.subset(chosen), rest[chosen])


def _with_normals(model: SkinnedModel, source: SourceNormals, fit: NormalFit) -> SkinnedModel:
    """The model with these normals; corrections of positions do not change."""
    known = model.corrections
    rank = 0 if known is None else known.rank
    asset = replace(model.asset, normals=source.as_stored(fit.rest))
    plain = model.with_corrections(None).with_mesh(asset=asset)
    if rank + fit.rank == 0:
        return plain
    basis = np.zeros((rank + fit.rank, model.n_vertices, 3), np.float32)
    normals = np.zeros((rank + fit.rank, source.count, 3), np.float32)
    coefficients = np.zeros((model.n_frames, rank + fit.rank), np.float32)
    if known is not None:
        basis[:rank], coefficients[:, :rank] = known.basis[:rank], known.coefficients[:, :rank]
    normals[rank:], coefficients[:, rank:] = fit.basis.transpose(1, 0, 2), fit.coefficients
    moved = normals if fit.rank else None
    return plain.with_corrections(Corrections(basis, coefficients, moved))
