"""Corrections of normals, so that low-rank shading follows the source.

    minimise over N (and q):   sum_v sum_f || M_v^f (n~_v + N_v q^f) - n_v^f ||^2,   M = F or F^-T, scaled to |M n~| = 1

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 13, both forms.

Two kinds of coefficients:
- shared: q are those of the displacements. A file's morph targets move positions and normals by one weight, so this is
  what stock players show; with the linear form, which their shaders use.
- separate: q of the normals' own low-rank fit, as in the paper. Smaller error for the same rank,
  one more track to send.

Differs from the paper: fitted in posed space as fit_corrections.py does for positions, by the same two steps; the start
is the SVD of the rest-frame differences M^-1 n - n~ with damping.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.corrections import Corrections
from osteon.core.frame_blocks import FrameBlock, each_frame, frame_blocks
from osteon.core.frames import FrameSource
from osteon.core.model import SkinnedModel
from osteon.core.normals import angles_between, vertex_normals
from osteon.core.parallel import available_threads, for_blocks
from osteon.core.sequence import MeshSequence, frames_of
from osteon.deform.normals import NormalCorrections, NormalForm, normal_map, pose_normals
from osteon.deform.pose import linear_parts
from osteon.fit.corrections.fit_corrections import BLOCK_RANK

__all__ = ["Coefficients", "fit_normals", "shading_deviation", "with_normals"]

Coefficients = Literal["shared", "separate"]
#: Vertices whose small systems are solved at a time.
BLOCK = 512
DAMPING = 1e-3
SEPARATE_ROUNDS = 2


def _maps_and_residues(
    model: SkinnedModel, source: FrameSource, rest: Float64, form: NormalForm, threads: int
) -> tuple[Float32, Float32]:
    """(v,f,3,3) M of every vertex and frame, and (v,f,3) what is missing to the source's normal."""
    n_frames, n_vertices = source.n_frames, source.n_vertices
    maps = np.empty((n_vertices, n_frames, 3, 3), np.float32)
    residues = np.empty((n_vertices, n_frames, 3), np.float32)

    def work(block: FrameBlock, begin: int, end: int) -> None:
        for f in range(block.start + begin, block.start + end):
            m = normal_map(linear_parts(model, f), form)
            length = np.linalg.norm(np.einsum("vij,vj->vi", m, rest), axis=1)
            m /= np.maximum(length, 1e-6)[:, None, None]
            maps[:, f] = m
            residues[:, f] = vertex_normals(block.frames[f - block.start], model.faces) - np.einsum(
                "vij,vj->vi", m, rest
            )

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


def _solve_coefficients(maps: Float32, residues: Float32, basis: Float64, threads: int) -> Float64:
    n_frames, rank = maps.shape[1], basis.shape[1]
    q = np.empty((n_frames, rank))

    def work(start: int, stop: int) -> None:
        for f in range(start, stop):
            moved = np.einsum("vij,vrj->vir", maps[:, f], basis, optimize=True).reshape(-1, rank)
            gram = moved.T @ moved
            gram[np.diag_indices(rank)] += 1e-8 * np.trace(gram) / rank + 1e-300
            q[f] = np.linalg.solve(gram, moved.T @ residues[:, f].reshape(-1))

    for_blocks(work, n_frames, 4, threads)
    return q


def _separate_start(maps: Float32, residues: Float32, rank: int) -> Float64:
    """(f,r) leading right singular vectors of the damped rest-frame differences."""
    gram = np.zeros((maps.shape[1], maps.shape[1]))
    for start in range(0, len(maps), BLOCK):
        m = maps[start : start + BLOCK].astype(np.float64)
        square = np.einsum("vfij,vfik->vfjk", m, m) + 1e-2 * np.eye(3)
        pulled = np.einsum("vfij,vfi->vfj", m, residues[start : start + BLOCK])
        rows = np.linalg.solve(square, pulled[..., None])[..., 0].transpose(0, 2, 1).reshape(-1, maps.shape[1])
        gram += rows.T @ rows
    return np.ascontiguousarray(np.linalg.eigh(gram)[1][:, ::-1][:, :rank])


def fit_normals(
    model: SkinnedModel,
    frames: MeshSequence | FrameSource | Float32,
    *,
    rank: int = 0,
    form: NormalForm = "linear",
    coefficients: Coefficients = "shared",
    threads: int = 0,
) -> NormalCorrections:
    """Corrections of normals towards those of the source's frames (f,v,3); `rank` counts for separate coefficients."""
    threads = available_threads(threads)
    rest = vertex_normals(model.rest, model.faces)
    shared = coefficients == "shared"
    columns = model.rank if shared else min(rank, model.n_frames)
    if columns == 0:
        empty = np.zeros((0, model.n_vertices, 3), np.float32)
        return NormalCorrections(rest.astype(np.float32), empty, np.zeros((model.n_frames, 0), np.float32), form)
    maps, residues = _maps_and_residues(model, frames_of(frames), rest, form, threads)
    basis, q = np.empty((model.n_vertices, columns, 3)), np.empty((model.n_frames, columns))
    if shared and model.corrections is not None:
        q[:] = model.corrections.coefficients
    for start in range(0, columns, BLOCK_RANK):  # each block on what the ones before have left
        block = slice(start, min(start + BLOCK_RANK, columns))
        if not shared:
            q[:, block] = _separate_start(maps, residues, block.stop - start)
        for _ in range(1 if shared else SEPARATE_ROUNDS):
            basis[:, block] = _solve_basis(maps, residues, q[:, block], threads)
            if not shared:
                q[:, block] = _solve_coefficients(maps, residues, basis[:, block], threads)
        _subtract(maps, residues, basis[:, block], q[:, block], threads)
    stored = np.ascontiguousarray(basis.transpose(1, 0, 2), np.float32)
    return NormalCorrections(rest.astype(np.float32), stored, q.astype(np.float32), form)


def _subtract(maps: Float32, residues: Float32, basis: Float64, q: Float64, threads: int) -> None:
    """Take what a block of columns explains out of the residues."""

    def work(start: int, stop: int) -> None:
        moved = np.einsum("vrj,fr->vfj", basis[start:stop], q, optimize=True)
        residues[start:stop] -= np.einsum("vfij,vfj->vfi", maps[start:stop], moved)

    for_blocks(work, len(maps), BLOCK, threads)


def with_normals(
    model: SkinnedModel, frames: MeshSequence | FrameSource | Float32, *, threads: int = 0
) -> SkinnedModel:
    """The model whose corrections also move normals, the way stock players apply them."""
    if model.corrections is None:
        return model
    normals = fit_normals(model, frames, threads=threads)
    corrections = Corrections(model.corrections.basis, model.corrections.coefficients, normals.basis)
    return model.with_parts(corrections=corrections)


def shading_deviation(
    model: SkinnedModel, frames: MeshSequence | FrameSource | Float32, normals: NormalCorrections
) -> float:
    """Mean angle in degrees between the model's shading normals and the source's."""
    total, source = 0.0, frames_of(frames)
    for f, frame in enumerate(each_frame(source)):
        posed = pose_normals(model, f, normals)
        total += float(angles_between(posed, vertex_normals(frame, model.faces)).mean())
    return total / source.n_frames
