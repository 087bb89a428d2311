"""Core bone triangles: triangles whose rotation sequences are close to a mode of their density.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 4.2: points z_t of 9 S coordinates, L1 distance,
bandwidth h = 9 S eps; a triangle belongs to the bone whose mode is closest to its shifted point, if that is nearer
than h/4; the others are outliers. eta is the fraction assigned.

The paper names a mean shift program (Georgescu et al. 2003) without giving its parameters; they are taken from that
program: kernel (1 - d/h)^2, modes closer than h/2 are merged, and a mode is kept if 40 of (at most) 10,000 points reach
it.

Differs from the paper:
- the density is estimated from a random sample where there are more triangles than `max_samples`, and long sequences
  are clustered on `max_frames` evenly spaced frames: the cost is then linear in the triangles;
- triangles within h/10 of a neighbouring triangle climb together, as one point;
- a mode never needs more than 1 % of the triangles, so that small meshes have bones too.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Int32
from osteon.core.errors import GeometryError, OptionError
from osteon.core.kernels import kernel
from osteon.core.parallel import available_threads, for_blocks
from osteon.core.progress import FitReport, Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import NeighborSearch
from osteon.core.topology import triangle_areas, triangle_neighbors
from osteon.fit.clustering.core_bones import mean_rotations, triangle_rotations
from osteon.fit.clustering.hashing import hash_points
from osteon.fit.clustering.mean_shift import (
    SCALE,
    Bytes,
    climb_all,
    feature_distance,
    join_modes,
    nearest_mode,
    to_bytes,
)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Options of clustering triangles into bones."""

    tolerance: float = 0.05  # eps: mean difference of rotation-matrix entries within one motion
    group_radius: float = 0.1  # of h: neighbouring triangles closer than this climb together; 0: each climbs alone
    join_radius: float = 0.5  # of h: modes closer than this are merged
    assign_radius: float = 0.25  # of h: triangles farther than this from every mode are outliers
    support: float = 40.0  # triangles per mode, of every 10,000 …
    support_fraction: float = 0.01  # … but at most this fraction of all
    max_samples: int = 20_000  # triangles that the density is estimated from
    max_frames: int = 400  # frames compared
    search: NeighborSearch = "exact"  # of the points around a climbing one; lsh: among those of hash tables
    seed: int = 0
    threads: int = 0  # 0: all

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 2:
            raise OptionError(f"tolerance: expected a number between 0 and 2, got {self.tolerance}")
        if self.max_samples < 1 or self.max_frames < 1:
            raise OptionError("max_samples and max_frames: expected 1 or more")


@dataclass(frozen=True, slots=True)
class Clustering:
    """The cluster of each triangle: triangles of one cluster move together."""

    labels: Int32  # (t,) bone, -1 outlier
    n_bones: int
    near_rigid_fraction: float  # eta
    tolerance: float  # eps
    report: FitReport


@kernel("u1.2r i4.2r i8 i8.1")
def _lead(points: Bytes, neighbors: Int32, radius: int, leader: NDArray[np.intp]) -> None:
    """Assign each triangle to the leader of a neighbour within `radius`, or make it a leader."""
    for t in range(points.shape[0]):
        leader[t] = t
        for e in range(3):
            other = neighbors[t, e]
            if 0 <= other < t and feature_distance(points, t, points, leader[other], radius) < radius:
                leader[t] = leader[other]
                break


def _rotation_bytes(sequence: MeshSequence, triangles: Int32, options: ClusterOptions) -> tuple[Bytes, np.ndarray, int]:
    """Rotation sequences of the triangles as bytes, a mask of the triangles that have one, and the number of frames."""
    n_frames = min(sequence.n_frames, options.max_frames)
    chosen = np.unique(np.linspace(0, sequence.n_frames - 1, n_frames).round().astype(np.int64))
    frames = sequence.source.take(chosen).read(0, len(chosen))  # no more than `max_frames`
    faces = sequence.faces[triangles]
    out = np.empty((len(faces), -(-9 * len(chosen) // 128) * 128), np.uint8)
    valid = np.empty(len(faces), np.bool_)
    order = _frames_apart_first(sequence, frames)

    def work(begin: int, end: int) -> None:
        rotations, valid[begin:end] = triangle_rotations(sequence.rest, frames, faces[begin:end])
        out[begin:end] = to_bytes(rotations[:, order].reshape(end - begin, -1))

    for_blocks(work, len(faces), 512, available_threads(options.threads))
    return out, valid, len(chosen)


def _frames_apart_first(sequence: MeshSequence, frames: Float32) -> NDArray[np.int64]:
    """Frames sorted by decreasing variance over triangles, so that distance sums exceed their bound early."""
    step = max(1, sequence.n_triangles // 256)
    rotations, valid = triangle_rotations(sequence.rest, frames, sequence.faces[::step])
    spread = rotations[valid].var(axis=0).sum(axis=1) if valid.any() else np.zeros(len(frames))
    return np.argsort(-spread, kind="stable")


def cluster_triangles(
    sequence: MeshSequence,
    *,
    options: ClusterOptions | None = None,
    triangles: Int32 | None = None,
    progress: Progress | None = None,
) -> Clustering:
    """Core triangles by mean shift; with `triangles`, those of a sample (the others become outliers)."""
    options = options or ClusterOptions()
    start = time.perf_counter()
    chosen = np.arange(sequence.n_triangles, dtype=np.int32) if triangles is None else np.asarray(triangles, np.int32)
    report_progress(progress, "rotations", 0.0)
    points, valid, n_frames = _rotation_bytes(sequence, chosen, options)
    chosen, points = chosen[valid], points[valid]
    h = max(1, int(9 * n_frames * options.tolerance * SCALE))
    labels = np.full(sequence.n_triangles, -1, np.int32)
    n_bones = 0
    if len(chosen):
        report_progress(progress, "clusters", 0.0)
        # The program of the paper considers every k-th point, at most 10,000: a mode needs `support` of these.
        thinning = -(-sequence.n_triangles // 10_000)
        fraction = min(options.support * thinning / sequence.n_triangles, options.support_fraction)
        needed = max(1.0, fraction * len(chosen))
        found, n_bones = _find_modes(points, sequence.faces[chosen], h, needed, options, progress)
        labels[chosen] = found
    eta = float((labels[chosen] >= 0).mean()) if len(chosen) else 0.0
    report = FitReport("cluster", time.perf_counter() - start, options=asdict(options), seed=options.seed)
    return Clustering(labels, n_bones, eta, options.tolerance, report)


def _find_modes(
    points: Bytes, faces: Int32, h: int, needed: float, options: ClusterOptions, progress: Progress | None
) -> tuple[NDArray[np.int64], int]:
    """Label of every point and the number of modes that at least `needed` points reach, most supported first."""
    n, threads = len(points), available_threads(options.threads)
    rng = np.random.default_rng(options.seed)
    sample = np.sort(rng.permutation(n)[: options.max_samples])
    density = np.ascontiguousarray(points[sample])
    weights = np.full(len(sample), n / len(sample), np.float32)
    leader = np.arange(n)
    if options.group_radius > 0:
        _lead(points, triangle_neighbors(faces), int(options.group_radius * h), leader)
    leaders, leader_of = np.unique(leader, return_inverse=True)
    mass = np.bincount(leader_of).astype(np.float32)
    starts = np.ascontiguousarray(points[leaders])

    scouts = np.ascontiguousarray(starts[:: max(1, len(starts) // 400)])
    tables = hash_points(density, options.seed) if options.search == "lsh" else None
    shifted, _ = climb_all(density, weights, h, scouts, scouts[:0], threads, tables)
    known = shifted[join_modes(shifted, np.ones(len(shifted), np.float32), h // 4)[0]]
    report_progress(progress, "clusters", 0.1)
    shifted, neighbors = climb_all(density, weights, h, starts, known, threads, tables)
    report_progress(progress, "clusters", 0.9)

    crowded = np.flatnonzero(neighbors >= 0.5 * needed)  # a point without neighbours is no mode
    modes, mode_of = join_modes(shifted[crowded], mass[crowded], max(1, int(options.join_radius * h)))
    support = np.bincount(mode_of, weights=mass[crowded], minlength=len(modes))
    strong = np.argsort(-support, kind="stable")[: int((support >= needed).sum())]
    kept = np.ascontiguousarray(shifted[crowded][modes[strong]])
    labels = nearest_mode(shifted, kept, max(1, int(options.assign_radius * h)), threads)
    used = np.unique(labels[labels >= 0])
    number = np.full(len(strong) + 1, -1, np.int64)  # the last entry is for outliers
    number[used] = np.arange(len(used))
    return number[labels[leader_of]], len(used)


# Core triangles for exactly N bones: a search for the tolerance with N modes, then merging or splitting bones.
#
# Based on: James and Twigg, Skinning Mesh Animations, 2005, section 4.2 and figure 5: the number of bones falls as the
# tolerance eps grows. It does not fall strictly, and it can fall by more than one; hence the second part:
# - too many: the two bones whose mean rotation sequences are closest (L1) become one;
# - too few: the bone whose triangles differ most from their mean is split in two (2-means in rotation space);
#   where no bone has two triangles left, the largest outlier becomes a bone.

#: Triangles, frames and iterations of the search for eps.
SEARCH_TRIANGLES = 3000
SEARCH_FRAMES = 64
SEARCH_STEPS = 9
LARGEST_TOLERANCE = 1.5
SMALLEST_TOLERANCE = 1e-3


def sample_triangles(n_triangles: int, count: int, seed: int) -> Int32:
    """(count,) random triangles, or all if there are fewer."""
    return np.sort(np.random.default_rng(seed).permutation(n_triangles)[:count]).astype(np.int32)


def cluster_exactly(
    sequence: MeshSequence, n_bones: int, *, options: ClusterOptions | None = None, progress: Progress | None = None
) -> Clustering:
    """Exactly `n_bones` bones."""
    options = options or ClusterOptions()
    clustering = cluster_triangles(sequence, options=options, progress=progress)
    if clustering.n_bones != n_bones:
        tolerance = _find_tolerance(sequence, n_bones, options)
        clustering = cluster_triangles(sequence, options=replace(options, tolerance=tolerance), progress=progress)
    labels, count = clustering.labels.copy(), clustering.n_bones
    while count > n_bones:
        labels = _merge_closest(sequence, labels)
        count -= 1
    while count < n_bones:
        labels = _split_widest(sequence, labels, count)
        count += 1
    return replace(clustering, labels=labels, n_bones=n_bones, near_rigid_fraction=float((labels >= 0).mean()))


def _find_tolerance(sequence: MeshSequence, n_bones: int, options: ClusterOptions) -> float:
    """Bisection of log eps on a sample of triangles and frames."""
    triangles = sample_triangles(sequence.n_triangles, SEARCH_TRIANGLES, options.seed)
    low, high = SMALLEST_TOLERANCE, LARGEST_TOLERANCE
    best, best_miss = options.tolerance, np.inf
    for _ in range(SEARCH_STEPS):
        middle = float(np.sqrt(low * high))
        tried = replace(options, tolerance=middle, max_frames=SEARCH_FRAMES)
        found = cluster_triangles(sequence, options=tried, triangles=triangles)
        if (miss := abs(found.n_bones - n_bones)) < best_miss:
            best, best_miss = middle, miss
        if miss == 0:
            break
        # With few modes and few assigned triangles eps is too small: modes lack support.
        if found.n_bones > n_bones or found.near_rigid_fraction < 0.2:
            low = middle
        else:
            high = middle
    return best


def _merge_closest(sequence: MeshSequence, labels: Int32) -> Int32:
    areas = triangle_areas(sequence.rest, sequence.faces)
    means = mean_rotations(sequence.rest, sequence.source, sequence.faces, labels, areas)
    points = means.transpose(1, 0, 2, 3).reshape(means.shape[1], -1)
    apart = np.full((len(points), len(points)), np.inf)
    for b in range(len(points)):
        apart[b, :b] = np.abs(points[:b] - points[b]).sum(axis=1)
    gone, kept = np.unravel_index(int(apart.argmin()), apart.shape)  # gone > kept
    out = np.where(labels == gone, kept, labels)
    return np.where(out > gone, out - 1, out).astype(np.int32)


def _split_widest(sequence: MeshSequence, labels: Int32, new: int) -> Int32:
    out = labels.copy()
    spreads, rotations = [], {}
    for bone in range(new):
        core = np.flatnonzero(labels == bone)
        values, _ = triangle_rotations(sequence.rest, sequence.source, sequence.faces[core])
        rotations[bone] = values.reshape(len(core), -1)
        spreads.append(np.abs(rotations[bone] - rotations[bone].mean(axis=0)).sum() if len(core) > 1 else -1.0)
    if not spreads or max(spreads) < 0:
        areas = np.where(labels < 0, triangle_areas(sequence.rest, sequence.faces), -1)
        if areas.max(initial=-1) <= 0:
            raise GeometryError(f"bones: this mesh allows at most {new} bones; set fewer")
        out[int(areas.argmax())] = new
        return out
    bone = int(np.argmax(spreads))
    core = np.flatnonzero(labels == bone)
    out[core[_two_means(rotations[bone])]] = new
    return out


def _two_means(points: np.ndarray) -> np.ndarray:
    """Mask of the points of the second of two clusters; neither is empty."""
    first = points[int(np.abs(points - points.mean(axis=0)).sum(axis=1).argmax())]
    second = points[int(np.abs(points - first).sum(axis=1).argmax())]
    for _ in range(10):
        side = np.abs(points - second).sum(axis=1) < np.abs(points - first).sum(axis=1)
        if not side.any() or side.all():
            side = np.arange(len(points)) < len(points) // 2
        first, second = points[~side].mean(axis=0), points[side].mean(axis=0)
    return np.asarray(side)
