"""Errors of an approximation, per rank of its corrections, and the conditioning of its blends.

    E   = 100 || P - A ||_F / || P - mean over frames of P ||_F        James and Twigg 2005, table 1
    KG  = 100 || P - A ||_F / || P - centroid of each frame ||_F       Karni and Gotsman 2004
    RMS = || P - A ||_F / sqrt(f v), in the units of the input
    E_r = E of the model truncated to r corrections, x_v^f = A_v^f [p_v + sum_{s <= r} U_sv q_s^f; 1]

P are the source frames, A the approximation. Both are processed in blocks of frames. The conditioning is the smallest
singular value of a blended transform: near zero, a blend flattens the vertices it moves and has no inverse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.frames import FrameBlock, FrameSource, frame_blocks, mean_frame
from osteon.core.kernels import kernel
from osteon.core.model import SkinnedModel
from osteon.core.normals import angles_between, vertex_normals
from osteon.core.parallel import available_threads, for_blocks
from osteon.core.sequence import MeshSequence, frames_of
from osteon.deform.edits import edited_model
from osteon.deform.pose import blends_of

#: Largest number of pairs of frame and vertex whose conditioning is computed.
MAX_PAIRS = 400_000
#: Error of the cosine formula relative to the mean square: where singular values are equal it keeps half the digits.
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest distance between a vertex and its source."""

    distance: float
    vertex: int
    frame: int


@dataclass(frozen=True, slots=True)
class Distortion:
    """Errors of an approximation against its source."""

    error_percent: float  # E
    karni_gotsman_percent: float
    rms: float
    worst: Worst
    per_frame: Float64  # (f,) RMS of each frame
    per_vertex: Float64  # (v,) RMS of each vertex
    normal_mean: float  # degrees between vertex normals
    normal_max: float


@dataclass(frozen=True, slots=True)
class _FrameSums:
    """Sums over the vertices of each frame, (f,) each."""

    error: Float64  # squared distances
    motion: Float64  # squared, from the mean over frames
    extent: Float64  # squared, from the frame's centre
    angle: Float64  # between vertex normals, degrees
    largest_angle: Float64
    angles: Float64  # number of normals


def _measure_frames(
    sums: _FrameSums,
    squared: Float64,
    block: FrameBlock,
    result: Float32,
    mean: Float64,
    faces: Int32,
    start: int,
    stop: int,
) -> None:
    """Measure frames start … stop of a block; also fills their rows of the squared distances (f,v)."""
    for i in range(start, stop):
        f, source = block.start + i, block.frames[i].astype(np.float64)
        squared[i] = _squared(source - result[i])
        sums.error[f] = squared[i].sum()
        sums.motion[f] = _squared(source - mean).sum()
        sums.extent[f] = _squared(source - source.mean(axis=0)).sum()
        normals = vertex_normals(source, faces)
        angles = angles_between(normals, vertex_normals(result[i], faces))[normals.any(axis=1)]
        sums.angle[f], sums.largest_angle[f], sums.angles[f] = angles.sum(), angles.max(initial=0.0), len(angles)


def _squared(vectors: Float64) -> Float64:
    """(v,) squared lengths."""
    squared: Float64 = np.einsum("vi,vi->v", vectors, vectors)
    return squared


def measure_distortion(
    frames: MeshSequence | FrameSource | Float32, faces: Int32, approximate: Callable[[int, int], Float32]
) -> Distortion:
    """Compare frames (f,v,3) with approximate(start, stop), which returns the same frames of the result."""
    original = frames_of(frames)
    n_frames, n_vertices = original.n_frames, original.n_vertices
    mean = mean_frame(original)
    sums, per_vertex = _FrameSums(*np.zeros((6, n_frames))), np.zeros(n_vertices)
    worst, threads = Worst(-1.0, 0, 0), available_threads()
    for block in frame_blocks(original):
        result = approximate(block.start, block.stop)
        if result.shape != block.frames.shape:
            raise GeometryError(f"compared frames have shape {result.shape}, expected {block.frames.shape}")
        squared = np.empty(result.shape[:2])
        for_blocks(partial(_measure_frames, sums, squared, block, result, mean, faces), len(result), 1, threads)
        per_vertex += squared.sum(axis=0)
        where = int(squared.argmax())
        if (distance := float(np.sqrt(squared.flat[where]))) > worst.distance:
            worst = Worst(distance, where % n_vertices, block.start + where // n_vertices)
    error = float(sums.error.sum())
    return Distortion(
        _percent(error, float(sums.motion.sum())),
        _percent(error, float(sums.extent.sum())),
        float(np.sqrt(error / (n_frames * n_vertices))),
        worst,
        np.sqrt(sums.error / n_vertices),
        np.sqrt(per_vertex / n_frames),
        float(sums.angle.sum()) / max(1, int(sums.angles.sum())),
        float(sums.largest_angle.max(initial=0.0)),
    )


def _percent(error: float, reference: float) -> float:
    if reference <= 0:
        return 0.0 if error <= 0 else float("inf")
    return float(100 * np.sqrt(error / reference))


@kernel("f4.2r f8.3r f4.3r f4.1r f8.2r f8.1 f8.1")
def _squared_by_rank(
    rest: Float32,
    blends: Float64,
    basis: Float32,
    coefficients: Float32,
    source: Float64,
    residual: Float64,
    out: Float64,
) -> None:
    """Add the squared errors of a frame to out (r+1,), from blends (v,3,4); residual (3,) is scratch."""
    for v in range(rest.shape[0]):
        A = blends[v]
        for i in range(3):
            residual[i] = A[i, 0] * rest[v, 0] + A[i, 1] * rest[v, 1] + A[i, 2] * rest[v, 2] + A[i, 3] - source[v, i]
        out[0] += residual[0] ** 2 + residual[1] ** 2 + residual[2] ** 2
        for r in range(basis.shape[0]):
            q = np.float64(coefficients[r])
            for i in range(3):
                residual[i] += q * (A[i, 0] * basis[r, v, 0] + A[i, 1] * basis[r, v, 1] + A[i, 2] * basis[r, v, 2])
            out[r + 1] += residual[0] ** 2 + residual[1] ** 2 + residual[2] ** 2


def error_percent_by_rank(
    model: SkinnedModel, frames: MeshSequence | FrameSource | Float32, *, threads: int = 0
) -> Float64:
    """(r+1,) E % of the model truncated to rank 0, 1, … and of the whole model, in one pass over the frames (f,v,3)."""
    model = edited_model(model)
    rank, corrections = model.rank, model.corrections
    basis = np.zeros((0, model.n_vertices, 3), np.float32) if corrections is None else corrections.basis[:rank]
    none = np.zeros((model.n_frames, 0), np.float32)
    coefficients = none if corrections is None else np.ascontiguousarray(corrections.coefficients[:, :rank])
    original = frames_of(frames)
    mean = mean_frame(original)
    squared, motion = np.zeros((model.n_frames, rank + 1)), np.zeros(model.n_frames)

    def work(block: FrameBlock, begin: int, end: int) -> None:
        for f in range(block.start + begin, block.start + end):
            source = block.frames[f - block.start].astype(np.float64)
            motion[f] = float(((source - mean) ** 2).sum())
            blends = blends_of(model.deformer, model.animation.transforms[f])
            _squared_by_rank(model.rest, blends, basis, coefficients[f], source, np.empty(3), squared[f])

    for block in frame_blocks(original):
        for_blocks(partial(work, block), len(block.frames), 1, available_threads(threads))
    total: Float64 = 100 * np.sqrt(squared.sum(axis=0) / max(motion.sum(), 1e-300))
    return total


@dataclass(frozen=True, slots=True)
class Conditioning:
    """Distribution over vertices and frames of the smallest singular value of the blends' linear parts."""

    smallest: float
    first_percentile: float


def measure_conditioning(model: SkinnedModel, *, threads: int = 0) -> Conditioning:
    """The conditioning of a model's blends, computed on an even sample of at most `MAX_PAIRS` vertices and frames."""
    pairs = model.n_frames * model.n_vertices
    step = max(1, -(-pairs // MAX_PAIRS))
    chosen = np.arange(0, pairs, step)
    # A step that shares a factor with the vertex count would sample few vertices, so each step is shifted.
    chosen = (chosen + np.arange(len(chosen)) % step) if step > 1 else chosen
    chosen = chosen[chosen < pairs]
    starts = np.searchsorted(chosen, model.n_vertices * np.arange(model.n_frames + 1))
    linear, squared, slack = np.empty((len(chosen), 3, 3)), np.empty(len(chosen)), np.empty(len(chosen))

    def work(start: int, stop: int) -> None:
        for f in range(start, stop):
            now = slice(starts[f], starts[f + 1])
            vertices = chosen[now] - f * model.n_vertices
            linear[now] = blends_of(model.deformer, model.animation.transforms[f], vertices)[..., :3]
            squared[now], size = _smallest_squared(linear[now])
            slack[now] = ROUNDING * size

    for_blocks(work, model.n_frames, 1, available_threads(threads))
    # The first percentile is interpolated between two of the smallest values; only those need a decomposition.
    place = 0.01 * (len(chosen) - 1)
    count = min(len(chosen), int(place) + 2)
    bound = np.partition(squared + slack, count - 1)[count - 1]
    low = np.sort(np.linalg.svd(linear[squared - slack <= bound], compute_uv=False)[:, 2])
    return Conditioning(float(low[0]), float(np.interp(place, np.arange(len(low)), low)))


def _smallest_squared(linear: Float64) -> tuple[Float64, Float64]:
    """(n,) squares of the smallest singular values of matrices (n,3,3), by the cosine formula, and their means."""
    a, b, c = (np.moveaxis(linear[..., i], -1, 0) for i in range(3))  # columns, (3,n)
    xx, yy, zz, xy, xz, yz = ((p * q).sum(axis=0) for p, q in ((a, a), (b, b), (c, c), (a, b), (a, c), (b, c)))
    mean = (xx + yy + zz) / 3
    x, y, z = xx - mean, yy - mean, zz - mean
    spread = np.sqrt((x * x + y * y + z * z + 2 * (xy * xy + xz * xz + yz * yz)) / 6)
    determinant = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)
    cosine = np.clip(determinant / np.maximum(2 * spread**3, 1e-300), -1, 1)
    return mean + 2 * spread * np.cos((np.arccos(cosine) + 2 * np.pi) / 3), mean
