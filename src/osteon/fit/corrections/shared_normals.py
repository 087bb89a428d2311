"""Corrections of normals that share the coefficients of the position columns: the fit for `--shading 0`.

    minimise over N:   sum_v sum_f || M_v^f (n~_v + N_v q^f) - n_v^f ||^2,   M = F scaled to |M n~| = 1

q are the coefficients of the displacements, so each morph target of a file moves positions and normals together.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 13, in its linear form. Separate columns
(`normals.py`) are more accurate with fewer of them; files of earlier versions hold these.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.character import Corrections
from osteon.core.frames import FrameBlock, FrameSource, frame_blocks
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.core.parallel import available_threads, for_blocks
from osteon.deform.pose import linear_parts
from osteon.fit.corrections.fit_corrections import BLOCK_RANK

#: Vertices whose small systems are solved at a time.
BLOCK = 512
DAMPING = 1e-3


def _maps_and_residues(
    model: SkinnedModel, source: FrameSource, rest: Float64, threads: int
) -> tuple[Float32, Float32]:
    """(v,f,3,3) M of every vertex and frame, and (v,f,3) the residual of the source's normal."""
    n_frames, n_vertices = source.n_frames, source.n_vertices
    maps = np.empty((n_vertices, n_frames, 3, 3), np.float32)
    residues = np.empty((n_vertices, n_frames, 3), np.float32)

    def work(block: FrameBlock, begin: int, end: int) -> None:
        for f in range(block.start + begin, block.start + end):
            m = linear_parts(model, f)
            length = np.linalg.norm(np.einsum("vij,vj->vi", m, rest), axis=1)
            m /= np.maximum(length, 1e-6)[:, None, None]
            maps[:, f] = m
            shown = np.einsum("vij,vj->vi", m, rest)
            residues[:, f] = vertex_normals(block.frames[f - block.start], model.faces) - shown

    for block in frame_blocks(source):
        for_blocks(partial(work, block), len(block.frames), 1, threads)
    return maps, residues


def _solve_basis(maps: Float32, residues: Float32, q: Float64, threads: int) -> Float64:
    """(v,r,3) the best N for given coefficients."""
    n_vertices, rank = len(maps), q.shape[1]
    out = np.zeros((n_vertices, rank, 3))
    pairs = np.einsum("fr,fs->frs", q, q).reshape(len(q), -1)

    def work(start: int, stop: int) -> None:
        m = maps[start:stop].astype(np.float64)
        squares = np.einsum("vfij,vfik->vjkf", m, m, optimize=True).reshape(-1, len(q)) @ pairs
        right = np.einsum("vfij,vfi->vjf", m, residues[start:stop].astype(np.float64), optimize=True) @ q
        n = squares.reshape(-1, 3, 3, rank, rank).transpose(0, 3, 1, 4, 2).reshape(-1, 3 * rank, 3 * rank)
        diagonal = np.einsum("vii->vi", n)
        n = n + (DAMPING * diagonal.mean(axis=1) + 1e-300)[:, None, None] * np.eye(3 * rank)
        solved = np.linalg.solve(n, right.transpose(0, 2, 1).reshape(-1, 3 * rank, 1))
        out[start:stop] = solved.reshape(-1, rank, 3)

    for_blocks(work, n_vertices, BLOCK, threads)
    return out


def with_shared_normals(model: SkinnedModel, frames: FrameSource, *, threads: int = 0) -> SkinnedModel:
    """The model whose corrections also move the smooth normals of its vertices, by the same coefficients."""
    known, threads = model.corrections, available_threads(threads)
    if known is None:
        return model
    rest = vertex_normals(model.rest, model.faces)
    maps, residues = _maps_and_residues(model, frames, rest, threads)
    basis, q = np.empty((model.n_vertices, known.n_columns, 3)), known.coefficients.astype(np.float64)
    for start in range(0, known.n_columns, BLOCK_RANK):  # each block is fitted to the residual of the previous ones
        block = slice(start, min(start + BLOCK_RANK, known.n_columns))
        basis[:, block] = _solve_basis(maps, residues, q[:, block], threads)
        _subtract(maps, residues, basis[:, block], q[:, block], threads)
    stored = np.ascontiguousarray(basis.transpose(1, 0, 2), np.float32)
    return model.with_corrections(Corrections(known.basis, known.coefficients, stored))


def _subtract(maps: Float32, residues: Float32, basis: Float64, q: Float64, threads: int) -> None:
    """Subtract a block of columns from the residuals."""

    def work(start: int, stop: int) -> None:
        moved = np.einsum("vrj,fr->vfj", basis[start:stop], q, optimize=True)
        residues[start:stop] -= np.einsum("vfij,vfj->vfi", maps[start:stop], moved)

    for_blocks(work, len(maps), BLOCK, threads)
