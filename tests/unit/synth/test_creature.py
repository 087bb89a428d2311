from __future__ import annotations

import time

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.sequence import MeshSequence, join_clips
from osteon.synth import creature as module
from osteon.synth.creature import CreatureOptions, make_creature
from osteon.synth.flesh import enclosed_volume

from .conftest import smallest_angles, topology_of, triangle_areas

SMALL = 60  # resolution of a coarse creature


def test_size_and_clip(creature: MeshSequence) -> None:
    assert 7500 <= creature.n_vertices <= 8500
    assert creature.n_frames == 48
    assert creature.clips[0].name == "gallop"
    assert np.ptp(creature.rest[:, 2]) > 2  # long
    assert creature.rest[:, 1].min() == pytest.approx(0, abs=0.01)  # stands on the ground


@pytest.mark.parametrize("resolution", [40, 63, 101, 130])
def test_surface_is_one_closed_manifold(resolution: int) -> None:
    sequence = make_creature(CreatureOptions(frames=2, resolution=resolution))
    found = topology_of(sequence.n_vertices, sequence.faces)
    assert found.triangles_at_edge == {2}
    assert found.consistent
    assert found.fans
    assert found.n_shells == 1
    assert np.array_equal(np.unique(sequence.faces), np.arange(sequence.n_vertices))
    assert enclosed_volume(sequence.rest.astype(np.float64), sequence.faces) > 0  # faces look outward


def test_default_has_no_handles(creature: MeshSequence) -> None:
    assert topology_of(creature.n_vertices, creature.faces).euler == 2


def test_triangles_are_well_shaped(creature: MeshSequence) -> None:
    angles = smallest_angles(creature.rest, creature.faces)
    assert angles.min() > 15
    assert np.median(angles) > 40
    mean = triangle_areas(creature.rest, creature.faces).mean()
    assert triangle_areas(creature.frames[::6], creature.faces).min() > 0.005 * mean


def test_same_options_same_vertices() -> None:
    options = CreatureOptions(frames=6, resolution=SMALL, seed=3)
    first = make_creature(options)
    module._body.cache_clear()
    assert np.array_equal(first.frames, make_creature(options).frames)


def test_loops(creature: MeshSequence) -> None:
    steps = np.linalg.norm(np.diff(creature.frames, axis=0), axis=2).max(axis=1)
    back = np.linalg.norm(creature.frames[0] - creature.frames[-1], axis=1).max()
    assert steps.min() * 0.8 < back < steps.max() * 1.2


def test_more_frames_are_finer_samples_of_the_same_motion() -> None:
    coarse = make_creature(CreatureOptions(frames=48, resolution=SMALL, jiggle=0))
    fine = make_creature(CreatureOptions(frames=96, resolution=SMALL, jiggle=0))
    assert np.abs(fine.frames[::2] - coarse.frames).max() < 0.005  # the landing squash is sampled


def test_keeps_its_volume(creature: MeshSequence) -> None:
    rest = enclosed_volume(creature.rest.astype(np.float64), creature.faces)
    volumes = [enclosed_volume(f.astype(np.float64), creature.faces) for f in creature.frames]
    assert np.abs(np.array(volumes) / rest - 1).max() < 0.005


def test_feet_stay_above_ground_and_all_leave_it(creature: MeshSequence) -> None:
    lowest = creature.frames[:, :, 1].min(axis=1)
    assert lowest.min() > -0.015
    assert (lowest > 0.03).sum() >= 4  # flights


def test_travel_moves_the_whole_body() -> None:
    still = make_creature(CreatureOptions(frames=4, resolution=SMALL))
    away = make_creature(CreatureOptions(frames=4, resolution=SMALL, travel=2.0))
    expected = np.zeros((4, 1, 3))
    expected[:, 0, 2] = (0, 0.5, 1.0, 1.5)
    np.testing.assert_allclose(away.frames - still.frames, np.broadcast_to(expected, still.frames.shape), atol=1e-6)


def test_flesh_moves_beyond_the_bones() -> None:
    plain = make_creature(CreatureOptions(resolution=SMALL, bulge=0, jiggle=0))
    bulge = make_creature(CreatureOptions(resolution=SMALL, jiggle=0))
    jiggle = make_creature(CreatureOptions(resolution=SMALL, bulge=0))
    assert np.abs(bulge.frames - plain.frames).max() > 0.02
    assert np.abs(jiggle.frames - plain.frames).max() > 0.02


def test_individuals_share_the_mesh() -> None:
    both = [make_creature(CreatureOptions(frames=4, resolution=SMALL, seed=s)) for s in (0, 1)]
    assert join_clips(both).n_frames == 8
    assert not np.array_equal(both[0].frames, both[1].frames)


def test_carries_a_coat(creature: MeshSequence) -> None:
    colors = creature.asset.colors
    assert colors is not None
    assert colors.min() >= 0
    assert colors.max() <= 1
    assert len(creature.asset.materials) == 1


def test_default_is_quick() -> None:
    module._body.cache_clear()
    start = time.thread_time()
    make_creature()
    assert time.thread_time() - start < 3


@pytest.mark.parametrize(
    "wrong", [{"frames": 1}, {"resolution": 3}, {"jiggle": -1}, {"bulge": 9}, {"seed": -1}, {"travel": float("inf")}]
)
def test_refuses(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        CreatureOptions(**wrong)  # type: ignore[arg-type]
