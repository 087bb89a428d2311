from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.sequence import MeshSequence
from osteon.fit.cluster import ClusterOptions, cluster_triangles
from osteon.fit.cluster_count import cluster_exactly, sample_triangles
from osteon.synth.baked import BakeOptions, RandomOptions, bake_chain, bake_cylinder, bake_random_model, bake_rigid_body
from osteon.synth.cloth import ClothOptions, make_cloth

from .conftest import random_turns, soup

SUBJECTS = {
    "chain of 3": lambda: bake_chain(3, options=BakeOptions(frames=6)).sequence,
    "cylinder": lambda: bake_cylinder(2, options=BakeOptions(frames=6)).sequence,
    "rigid": lambda: bake_rigid_body(options=BakeOptions(frames=4)).sequence,
    "random": lambda: bake_random_model(1, options=RandomOptions(6, 6, 150)).sequence,
    "cloth": lambda: make_cloth(ClothOptions(frames=8, columns=12, rows=8)),
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
    natural = cluster_triangles(subject("chain of 3"))
    assert natural.n_bones == 3
    asked = cluster_exactly(subject("chain of 3"), 3)
    assert np.array_equal(asked.labels, natural.labels)
    assert asked.tolerance == natural.tolerance


def test_two_motions_nearly_alike_merge_first():
    rng = np.random.default_rng(0)
    motions = random_turns(rng, 6, 3, 1.0)
    motions[:, 2] = motions[:, 1] @ random_turns(rng, 6, 1, 0.3)[:, 0]
    motion = np.repeat(np.arange(3), 40)
    found = cluster_exactly(soup(motions[:, motion]), 2).labels
    assert len(set(found[motion == 0])) == 1
    assert set(found[motion == 1]) == set(found[motion == 2]) != set(found[motion == 0])


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
    found = cluster_exactly(subject("cylinder"), 5, options=ClusterOptions(tolerance=tolerance))
    assert set(found.labels.tolist()) - {-1} == set(range(5))


def test_sample_of_triangles():
    sample = sample_triangles(100, 10, 3)
    assert len(np.unique(sample)) == 10
    assert sample.tolist() == sorted(sample.tolist())
    assert np.array_equal(sample, sample_triangles(100, 10, 3))
    assert sample_triangles(5, 10, 0).tolist() == [0, 1, 2, 3, 4]
