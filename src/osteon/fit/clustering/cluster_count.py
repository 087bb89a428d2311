"""Core triangles for exactly N bones: the tolerance that gives N modes, then merging or splitting what is left.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 4.2 and figure 5: the number of bones falls as the
tolerance eps grows. It does not fall strictly, and steps of more than one occur, hence the second part:
- too many: the two bones whose mean rotation sequences are closest (L1) become one;
- too few: the bone whose triangles differ most from their mean is split in two (2-means in rotation space);
  where no bone has two triangles left, the largest outlier becomes a bone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.errors import GeometryError
from osteon.core.progress import Progress
from osteon.core.sequence import MeshSequence
from osteon.core.topology import triangle_areas
from osteon.fit.clustering.cluster import Clustering, ClusterOptions, cluster_triangles
from osteon.fit.clustering.rotations import mean_rotations, triangle_rotations

__all__ = ["cluster_exactly", "sample_triangles"]

#: Triangles, frames and tries of the search for eps.
SEARCH_TRIANGLES = 3000
SEARCH_FRAMES = 64
SEARCH_STEPS = 9
LARGEST_TOLERANCE = 1.5
SMALLEST_TOLERANCE = 1e-3


def sample_triangles(n_triangles: int, count: int, seed: int) -> Int32:
    """(count,) or all triangles, evenly at random."""
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
    """By bisection of log eps on a sample of triangles and frames."""
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
        # Below a certain eps nothing has enough support: few modes and few triangles assigned means eps is too small.
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
            raise GeometryError(f"bones: no more than {new} bones can be made of this mesh; ask for fewer")
        out[int(areas.argmax())] = new
        return out
    bone = int(np.argmax(spreads))
    core = np.flatnonzero(labels == bone)
    out[core[_two_means(rotations[bone])]] = new
    return out


def _two_means(points: np.ndarray) -> np.ndarray:
    """True for the points of the second of two clusters; neither is empty."""
    first = points[int(np.abs(points - points.mean(axis=0)).sum(axis=1).argmax())]
    second = points[int(np.abs(points - first).sum(axis=1).argmax())]
    for _ in range(10):
        side = np.abs(points - second).sum(axis=1) < np.abs(points - first).sum(axis=1)
        if not side.any() or side.all():
            side = np.arange(len(points)) < len(points) // 2
        first, second = points[~side].mean(axis=0), points[side].mean(axis=0)
    return np.asarray(side)
