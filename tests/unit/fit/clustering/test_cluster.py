from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.transform import Rotation

from osteon.core.errors import OptionError
from osteon.core.progress import ProgressEvent
from osteon.core.sequence import MeshSequence
from osteon.fit.clustering.cluster import ClusterOptions, cluster_triangles
from osteon.synth.baked import BakeOptions, bake_chain, bake_cylinder, bake_random_model, bake_shells

from ....subjects import random_turns, soup


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Fraction of triangles that both put in the same group, under the best matching of names."""
    n = int(max(one.max(), other.max())) + 2
    table = np.zeros((n, n))
    np.add.at(table, (one + 1, other + 1), 1)
    rows, columns = linear_sum_assignment(-table[1:, 1:])
    return float(table[0, 0] + table[1:, 1:][rows, columns].sum()) / len(one)


def test_a_hinge_has_two_bones():
    baked = bake_cylinder(1, options=BakeOptions(frames=12, softness=0.0))
    found = cluster_triangles(baked.sequence)
    weights = baked.model.skin.dense(2)
    solid = weights[baked.model.faces].min(axis=1) == 1  # all corners firmly on one bone
    assert found.n_bones == 2
    assert found.near_rigid_fraction > 0.95
    for bone in range(2):
        assert len(np.unique(found.labels[solid[:, bone]])) == 1
    assert agreement(found.labels[solid.any(axis=1)], solid.argmax(axis=1)[solid.any(axis=1)]) == 1


def test_links_of_a_chain_are_its_bones():
    baked = bake_chain(4, options=BakeOptions(frames=12))
    found = cluster_triangles(baked.sequence)
    assert found.n_bones == 4
    assert found.near_rigid_fraction == 1
    assert agreement(found.labels, baked.model.skin.bones[baked.model.faces[:, 0], 0]) == 1


def test_a_rigid_body_is_one_bone():
    turns = np.repeat(random_turns(np.random.default_rng(0), 6, 1, 1.0), 50, axis=1)
    found = cluster_triangles(soup(turns))
    assert (found.n_bones, found.near_rigid_fraction) == (1, 1.0)
    assert not found.labels.any()


def grouped(*sizes: int) -> tuple[MeshSequence, np.ndarray]:
    """Groups of triangles of the given sizes, each with a motion of its own."""
    motion = np.repeat(np.arange(len(sizes)), sizes)
    return soup(random_turns(np.random.default_rng(1), 4, len(sizes), 1.0)[:, motion]), motion


@pytest.mark.parametrize(
    ("total", "needed"),
    [(100, 1), (1000, 10), (3000, 30), (5000, 40), (12_000, 80)],  # 1 %, but never more than 40 of each 10,000
)
def test_a_mode_needs_support(total, needed):
    for size in (needed - 1, needed):
        sequence, motion = grouped(total - size, size)
        found = cluster_triangles(sequence, options=ClusterOptions(max_samples=1000))
        assert found.n_bones == (2 if size >= needed else 1)
        assert (found.labels[motion == 1] == (1 if size >= needed else -1)).all()


def test_bones_are_numbered_by_support():
    sequence, motion = grouped(20, 60, 40)
    labels = cluster_triangles(sequence).labels
    assert [labels[motion == m][0] for m in range(3)] == [2, 0, 1]


def test_outliers_belong_to_nobody():
    rng = np.random.default_rng(2)
    turns = np.repeat(random_turns(rng, 8, 1, 0.5), 200, axis=1)
    turns[:, :20] = random_turns(rng, 8, 20, 1.5)
    found = cluster_triangles(soup(turns))
    assert found.n_bones == 1
    assert (found.labels[:20] == -1).all()
    assert found.near_rigid_fraction == pytest.approx(0.9)


def test_triangles_without_rotation_are_left_out():
    sequence, _ = grouped(50, 50)
    rest = sequence.rest.copy()
    rest[3 * 7 + 1] = rest[3 * 7]  # triangle 7 has no area
    found = cluster_triangles(MeshSequence(sequence.frames, sequence.faces, rest))
    assert found.labels[7] == -1
    assert found.n_bones == 2
    assert found.near_rigid_fraction == 1  # of those that have a rotation


def test_no_triangle_has_a_rotation():
    sequence, _ = grouped(10)
    found = cluster_triangles(MeshSequence(0 * sequence.frames, sequence.faces, sequence.rest))
    assert (found.n_bones, found.near_rigid_fraction) == (0, 0.0)
    assert (found.labels == -1).all()


@pytest.mark.parametrize("tolerance", [0.05, 0.1])
@pytest.mark.parametrize(
    "make",
    [
        lambda: bake_cylinder(3, options=BakeOptions(frames=16)),
        lambda: bake_chain(3, options=BakeOptions(frames=16)),
        lambda: bake_shells(options=BakeOptions(frames=16)),
        lambda: bake_random_model(0),
    ],
    ids=["cylinder", "chain", "shells", "random"],
)
def test_neighbours_that_climb_together_end_where_they_would_alone(make, tolerance):
    sequence = make().sequence
    alone, together = (
        cluster_triangles(sequence, options=ClusterOptions(tolerance=tolerance, group_radius=radius))
        for radius in (0.0, 0.1)
    )
    assert together.n_bones == alone.n_bones
    assert agreement(together.labels, alone.labels) >= 0.995


def test_a_sample_of_triangles_and_frames_finds_the_same_bones():
    sequence, motion = grouped(300, 200, 100)
    found = cluster_triangles(sequence, options=ClusterOptions(max_samples=100, max_frames=3))
    assert agreement(found.labels, motion) == 1
    few = np.arange(0, 600, 3, dtype=np.int32)
    part = cluster_triangles(sequence, triangles=few)
    assert part.n_bones == 3
    assert agreement(part.labels[few], motion[few]) == 1
    assert (np.delete(part.labels, few) == -1).all()


@pytest.mark.parametrize("tolerance", [1e-4, 1e-3, 2e-3, 0.05, 1.9])
@pytest.mark.parametrize("n_frames", [2, 3, 40])
def test_every_bone_has_triangles(tolerance, n_frames):
    sequence = bake_cylinder(1, options=BakeOptions(frames=n_frames)).sequence
    found = cluster_triangles(sequence, options=ClusterOptions(tolerance=tolerance))
    assert set(found.labels.tolist()) - {-1} == set(range(found.n_bones))


def test_same_seed_same_answer():
    sequence = bake_random_model(4).sequence
    options = ClusterOptions(max_samples=300, seed=7)
    one, two = (cluster_triangles(sequence, options=options) for _ in range(2))
    assert np.array_equal(one.labels, two.labels)
    assert one.report.seed == 7
    assert one.report.options["max_samples"] == 300


def test_progress_is_told():
    heard: list[ProgressEvent] = []
    cluster_triangles(grouped(30, 30)[0], progress=heard.append)
    assert [e.stage for e in heard] == ["rotations", *["clusters"] * (len(heard) - 1)]
    assert [e.fraction for e in heard[1:]] == sorted(e.fraction for e in heard[1:])


@pytest.mark.parametrize(
    "bad", [{"tolerance": 0.0}, {"tolerance": 2.0}, {"tolerance": np.nan}, {"max_samples": 0}, {"max_frames": 0}]
)
def test_options_out_of_range(bad, refused):
    with refused(OptionError, next(iter(bad))):
        ClusterOptions(**bad)


def test_triangles_farther_than_a_quarter_of_the_bandwidth_from_every_mode_are_outliers():
    """Rotations spread evenly over a full circle: nothing climbs, and modes stand half a bandwidth apart.

    The filter decides alone which triangles between the modes are outliers.
    """
    n_triangles, n_frames = 400, 9
    vectors = np.zeros((n_frames, n_triangles, 3))
    vectors[1:, :, 2] = 2 * np.pi * np.arange(n_triangles) / n_triangles
    turns = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(n_frames, n_triangles, 3, 3)
    sequence = soup(turns)
    found = cluster_triangles(sequence)
    assert found.near_rigid_fraction == pytest.approx(0.78, abs=0.03)
    bandwidth = 9 * n_frames * ClusterOptions().tolerance
    for bone in range(found.n_bones):
        own = turns[:, found.labels == bone].reshape(n_frames, -1, 9).swapaxes(0, 1).reshape(-1, 9 * n_frames)
        apart = np.abs(own[:, None] - own[None]).sum(axis=2)
        assert apart.max() < 0.6 * bandwidth  # a quarter to both sides, and what climbing has moved
    for radius, fraction in ((0.15, 0.5), (0.2, 0.7)):
        fewer = cluster_triangles(sequence, options=ClusterOptions(assign_radius=radius))
        assert fewer.near_rigid_fraction < fraction
    for radius, fraction in ((0.3, 0.83), (0.5, 0.98)):
        more = cluster_triangles(sequence, options=ClusterOptions(assign_radius=radius))
        assert more.near_rigid_fraction > fraction
