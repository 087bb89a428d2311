"""The byte kernels and the clustering built on them, against a plain mean shift in float64."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.fit.clustering.cluster import ClusterOptions, cluster_triangles
from osteon.fit.clustering.core_bones import triangle_rotations
from osteon.fit.clustering.hashing import gather_candidates, hash_points
from osteon.fit.clustering.mean_shift import CHUNK, SCALE, climb_all, join_modes, nearest_mode, to_bytes
from osteon_bench.paper_hashing import same_bone

from ....subjects import random_turns, soup


def distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a[:, None] - b).sum(axis=2)


def climb_by_numpy(points: np.ndarray, h: float, starts: np.ndarray, power: int = 2) -> np.ndarray:
    """Every start moves to the mean of the points around it, weighted by (1 - d/h)^2, until nothing moves."""
    z = starts.copy()
    for _ in range(500):
        weights = np.clip(1 - distances(z, points) / h, 0, None) ** power
        moved = weights @ points / weights.sum(axis=1, keepdims=True)
        step = np.abs(moved - z).sum(axis=1).max()
        z = moved
        if step < 1e-6 * h:
            break
    return z


@dataclass(frozen=True)
class Partition:
    n_modes: int
    labels: np.ndarray


def cluster_by_numpy(points: np.ndarray, h: float, needed: float) -> Partition:
    """Modes closer than h/2 are one, weak ones go, and a point farther than h/4 from all is an outlier."""
    shifted = climb_by_numpy(points, h, points)
    modes: list[np.ndarray] = []
    support: list[int] = []
    for z in shifted:
        near = [m for m, mode in enumerate(modes) if np.abs(z - mode).sum() < h / 2]
        if near:
            support[near[0]] += 1
        else:
            modes.append(z)
            support.append(1)
    kept = np.array([mode for mode, n in zip(modes, support, strict=True) if n >= needed])
    apart = distances(shifted, kept)
    return Partition(len(kept), np.where(apart.min(axis=1) < h / 4, apart.argmin(axis=1), -1))


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    """The same groups under other names; outliers (-1) must be the same ones."""
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    both_ways = len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    return both_ways and all((a == -1) == (b == -1) for a, b in pairs)


def gathered_soup(seed: int, n_motions: int, spread: float, n_lost: int = 6) -> MeshSequence:
    """Triangles of a few motions, each a little off, and some that move like nobody else."""
    rng = np.random.default_rng(seed)
    n, n_frames = 150, 8
    motion = rng.integers(0, n_motions, n)
    turns = random_turns(rng, n_frames, n_motions, 0.5)[:, motion] @ random_turns(rng, n_frames, n, spread)
    turns[:, :n_lost] = random_turns(rng, n_frames, n_lost, 1.5)
    return soup(turns)


def test_bytes_keep_order_and_scale():
    points = np.linspace(-1, 1, 511, dtype=np.float32)[:, None]
    coded = to_bytes(points)
    assert coded.shape == (511, CHUNK)
    assert (coded[0, 0], coded[-1, 0]) == (0, 255)
    assert (np.diff(coded[:, 0].astype(int)) >= 0).all()
    assert np.abs(coded[:, 0] / SCALE - 1 - points[:, 0]).max() <= 0.5 / SCALE + 1e-6
    assert len(np.unique(coded[:, 1:])) == 1  # padding adds nothing to a distance


@pytest.mark.parametrize("seed", range(4))
def test_climbs_end_where_the_plain_ones_end(seed):
    rng = np.random.default_rng(seed)
    points = np.clip(rng.normal(0, 0.4, (3, 200))[rng.integers(0, 3, 90)] + rng.normal(0, 0.04, (90, 200)), -1, 1)
    h = 0.15 * 200
    coded = to_bytes(points.astype(np.float32))
    shifted, density = climb_all(coded, np.ones(90, np.float32), int(h * SCALE), coded, coded[:0], 2)
    expected = climb_by_numpy(points, h, points)
    ended = shifted[:, :200] / SCALE - 1
    assert np.abs(ended - expected).sum(axis=1).max() < 0.02 * h
    assert density.tolist() == (distances(expected, points) < h).sum(axis=1).tolist()


def test_the_kernel_is_a_square():
    """Points that crowd at one end of a line: how fast the kernel falls decides where the climb ends."""
    rng = np.random.default_rng(0)
    points = np.clip(0.2 * rng.exponential(size=(300, 1)) * np.ones(150) - 0.5, -1, 1)
    h = 0.3 * 150
    coded, crowd = to_bytes(points.astype(np.float32)), points[:, 0] < 0
    shifted, _ = climb_all(coded, np.ones(300, np.float32), int(h * SCALE), coded[crowd], coded[:0], 2)
    squared, linear = (climb_by_numpy(points, h, points[crowd][:1], power) for power in (2, 1))
    assert np.abs(linear - squared).sum() > 0.04 * h
    assert np.abs(shifted[:, :150] / SCALE - 1 - squared).sum(axis=1).max() < 0.02 * h


def test_weights_count_like_copies():
    rng = np.random.default_rng(0)
    points = to_bytes(rng.uniform(-0.2, 0.2, (20, 60)).astype(np.float32))
    copies = rng.integers(1, 5, 20)
    h = int(0.2 * 60 * SCALE)
    weighted, mass = climb_all(points, copies.astype(np.float32), h, points, points[:0], 1)
    repeated, count = climb_all(
        np.repeat(points, copies, 0), np.ones(copies.sum(), np.float32), h, points, points[:0], 1
    )
    assert np.abs(weighted.astype(int) - repeated).max() <= 1
    assert mass.tolist() == count.tolist()


def test_a_point_alone_stays():
    points = to_bytes(np.array([[-0.9] * 50, [0.9] * 50], np.float32))
    shifted, density = climb_all(points, np.ones(2, np.float32), 500, points, points[:0], 1)
    assert np.array_equal(shifted, points)
    assert density.tolist() == [1, 1]


def test_modes_are_joined_heavy_ones_first():
    shifted = to_bytes(np.array([[0.0] * 100, [0.02] * 100, [0.8] * 100, [0.01] * 100], np.float32))
    modes, mode_of = join_modes(shifted, np.array([1, 9, 1, 1], np.float32), int(5 * SCALE))
    assert modes.tolist() == [1, 2]
    assert mode_of.tolist() == [0, 0, 1, 0]


def test_nearest_mode_within_a_limit():
    shifted = to_bytes(np.array([[0.0], [0.3], [0.9], [-0.9]], np.float32))
    modes = to_bytes(np.array([[0.2], [1.0]], np.float32))
    assert nearest_mode(shifted, modes, int(0.25 * SCALE), 1).tolist() == [0, 0, 1, -1]
    assert nearest_mode(shifted, modes[:0], 1000, 1).tolist() == [-1] * 4


@pytest.mark.parametrize("group_radius", [0.0, 0.1])
@pytest.mark.parametrize("spread", [0.01, 0.05, 0.1])
@pytest.mark.parametrize(("seed", "n_motions"), [(0, 2), (1, 3), (2, 4), (3, 5)])
def test_clusters_are_those_of_brute_force(seed, n_motions, spread, group_radius):
    sequence = gathered_soup(seed, n_motions, spread)
    options = ClusterOptions(tolerance=0.15, group_radius=group_radius, support_fraction=0.04)
    found = cluster_triangles(sequence, options=options)
    points = triangle_rotations(sequence.rest, sequence.frames, sequence.faces)[0].reshape(150, -1)
    expected = cluster_by_numpy(points.astype(np.float64), 9 * 8 * 0.15, 0.04 * 150)
    assert found.n_bones == expected.n_modes == n_motions
    assert same_partition(found.labels, expected.labels)


def test_points_in_one_cell_are_found_and_each_once():
    """Brute force: the cells of every table, compared point by point."""
    rng = np.random.default_rng(1)
    points = to_bytes(rng.uniform(-1, 1, (60, 30)).astype(np.float32))
    tables = hash_points(points, 3, tables=4, cuts=3)
    cells = np.stack([points[:, d] > v for d, v in zip(tables.coordinates, tables.values, strict=True)])  # (l,m,k)
    marks, out = np.zeros(60, np.int64), np.empty(60, np.int64)
    for row in range(60):
        n = gather_candidates(points, row, *tables, marks, row + 1, out)
        shared = (cells == cells[:, [row]]).all(axis=2).any(axis=0)
        assert sorted(out[:n].tolist()) == np.flatnonzero(shared).tolist()


def test_equal_points_always_share_a_cell():
    points = np.repeat(to_bytes(np.random.default_rng(0).uniform(-1, 1, (3, 20)).astype(np.float32)), 5, axis=0)
    marks, out = np.zeros(15, np.int64), np.empty(15, np.int64)
    n = gather_candidates(points, 7, *hash_points(points, 0), marks, 1, out)
    assert {5, 6, 7, 8, 9} <= set(out[:n].tolist())
    assert hash_points(points[:1], 0).members.shape[1] == 1


@pytest.mark.parametrize(("seed", "n_motions"), [(0, 2), (3, 5)])
def test_hashing_finds_the_same_clusters_where_they_are_clear(seed, n_motions):
    sequence = gathered_soup(seed, n_motions, 0.02)
    options = ClusterOptions(tolerance=0.15, support_fraction=0.04, search="lsh")
    found, exact = (cluster_triangles(sequence, options=replace(options, search=s)) for s in ("lsh", "exact"))
    assert found.n_bones == n_motions
    assert same_bone(found.labels, exact.labels) > 0.95
    again = cluster_triangles(sequence, options=replace(options, threads=2))
    assert np.array_equal(found.labels, again.labels)


def test_number_of_threads_does_not_matter():
    sequence = gathered_soup(5, 4, 0.1)
    one, two = (cluster_triangles(sequence, options=ClusterOptions(threads=n)) for n in (1, 2))
    assert np.array_equal(one.labels, two.labels)
