from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.sequence import MeshSequence
from osteon.fit.clustering.cluster import ClusterOptions, cluster_exactly, cluster_triangles, sample_triangles
from osteon.synth.baked import RandomOptions, bake_random_model
from osteon.synth.cloth import ClothOptions, make_cloth

from ....subjects import bent_tube, random_turns, soup

SUBJECTS = {
    "three motions": lambda: soup(np.repeat(random_turns(np.random.default_rng(0), 6, 3, 1.0), 30, axis=1)),
    "one motion": lambda: soup(np.repeat(random_turns(np.random.default_rng(0), 4, 1, 1.0), 40, axis=1)),
    "no two alike": lambda: soup(random_turns(np.random.default_rng(0), 4, 30, 1.5)),
    "tube": lambda: bent_tube(3, 6).sequence,
    "random": lambda: bake_random_model(1, options=RandomOptions(6, 6, 100)).sequence,
    "cloth": lambda: make_cloth(ClothOptions(frames=6, columns=10, rows=6)),
}


@cache
def subject(name: str) -> MeshSequence:
    return SUBJECTS[name]()


@pytest.mark.parametrize("n_bones", range(1, 13))
@pytest.mark.parametrize("name", SUBJECTS)
def test_exactly_the_number_asked_for(name, n_bones):
    found = cluster_exactly(subject(name), n_bones)
    assert found.n_bones == n_bones
    assert set(found.labels.tolist()) - {-1} == set(range(n_bones))
    assert 0 < found.near_rigid_fraction <= 1


def test_the_natural_number_is_left_alone():
    natural = cluster_triangles(subject("three motions"))
    assert natural.n_bones == 3
    asked = cluster_exactly(subject("three motions"), 3)
    assert np.array_equal(asked.labels, natural.labels)
    assert asked.tolerance == natural.tolerance


def test_two_motions_nearly_alike_merge_first():
    rng = np.random.default_rng(0)
    motions = random_turns(rng, 6, 3, 1.0)
    motions[:, 2] = motions[:, 1] @ random_turns(rng, 6, 1, 0.3)[:, 0]
    motion = np.repeat(np.arange(3), 40)
    groups = [set(cluster_exactly(soup(motions[:, motion]), 2).labels[motion == m].tolist()) for m in range(3)]
    assert {len(g) for g in groups} == {1}
    assert groups[0] != groups[1]
    assert groups[2] <= groups[1] | {-1}


def test_a_bone_for_every_triangle_and_no_more(refused):
    sequence = soup(random_turns(np.random.default_rng(1), 4, 6, 1.0))
    assert sorted(cluster_exactly(sequence, 6).labels.tolist()) == list(range(6))
    with refused(GeometryError, "bones", "6"):
        cluster_exactly(sequence, 7)


def test_triangles_without_area_make_no_bones(refused):
    sequence = soup(random_turns(np.random.default_rng(1), 4, 6, 1.0))
    rest = sequence.rest.copy()
    rest[1] = rest[0]
    flat = MeshSequence(sequence.frames, sequence.faces, rest)
    assert cluster_exactly(flat, 5).labels[0] == -1
    with refused(GeometryError, "bones", "5"):
        cluster_exactly(flat, 6)


@pytest.mark.parametrize("tolerance", [0.001, 0.5])
def test_whatever_the_tolerance_at_the_start(tolerance):
    found = cluster_exactly(subject("tube"), 5, options=ClusterOptions(tolerance=tolerance))
    assert set(found.labels.tolist()) - {-1} == set(range(5))


def test_sample_of_triangles():
    sample = sample_triangles(100, 10, 3)
    assert len(np.unique(sample)) == 10
    assert sample.tolist() == sorted(sample.tolist())
    assert np.array_equal(sample, sample_triangles(100, 10, 3))
    assert sample_triangles(5, 10, 0).tolist() == [0, 1, 2, 3, 4]
