"""An array, a memory map and a reader give the same answers to the last bit, however many blocks there are."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core import frames
from osteon.core.frames import ReaderFrames
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.topology import weld_vertices
from osteon.fit.clustering.cluster import cluster_exactly
from osteon.fit.problem import pose_problem
from osteon.pipeline.skin import skin_sequence
from osteon.report.advice import frame_steps
from osteon.report.views import centering_shifts, distinct_frames
from osteon.view.pack.model_pack import pack_sequence

from ...subjects import bent_tube

TUBE = bent_tube(3, n_frames=12).sequence


@pytest.fixture(autouse=True)
def _several_blocks(monkeypatch):
    monkeypatch.setattr(frames, "BLOCK_VALUES", 5 * TUBE.n_vertices * 3)


@pytest.fixture
def others(tmp_path) -> tuple[MeshSequence, MeshSequence]:
    """The tube in a memory map, and from a reader."""
    np.save(tmp_path / "tube.npy", TUBE.frames)
    mapped = np.load(tmp_path / "tube.npy", mmap_mode="r")
    read = ReaderFrames(TUBE.n_frames, TUBE.n_vertices, lambda start, stop: np.array(mapped[start:stop], np.float64))
    return TUBE.with_parts(frames=mapped), TUBE.with_parts(frames=read)


@pytest.mark.parametrize(
    "options",
    [
        SkinOptions(bones=3, rank=2, rounds=4),
        SkinOptions(bones=3, bone_type="rigid", holdout=3, rounds=4),
        SkinOptions(bones=4, preset="paper"),
    ],
)
def test_fit_measures_and_report(others, options):
    expected = skin_sequence(TUBE, options=options)
    for other in others:
        found = skin_sequence(other, options=options)
        assert np.array_equal(found.model.track.transforms, expected.model.track.transforms)
        assert np.array_equal(found.model.skin.weights, expected.model.skin.weights)
        assert np.array_equal(found.distortion.per_frame, expected.distortion.per_frame)
        assert np.array_equal(found.distortion.per_vertex, expected.distortion.per_vertex)
        if expected.model.corrections is not None:
            assert np.array_equal(found.model.corrections.normal_basis, expected.model.corrections.normal_basis)
        one, two = (fit.report.to_json() for fit in (found, expected))
        for changing in ("seconds", "peak_memory_mb"):
            one.pop(changing), two.pop(changing)
        for stage in (*one["method"]["stages"], *two["method"]["stages"]):
            stage.pop("seconds")
        assert one == two


def test_what_reports_and_the_page_show(others):
    for other in others:
        for found, expected in zip(frame_steps(other), frame_steps(TUBE), strict=True):
            assert np.array_equal(found, expected, equal_nan=True)
        frames = distinct_frames(TUBE, 4)
        assert np.array_equal(distinct_frames(other, 4), frames)
        assert np.array_equal(centering_shifts(other, frames, 1), centering_shifts(TUBE, frames, 1))
        assert pack_sequence(other) == pack_sequence(TUBE)


def test_parts_of_the_fit(others):
    expected = pose_problem(TUBE)
    for other in others:
        found = pose_problem(other)
        assert np.array_equal(found.targets, expected.targets)
        assert np.array_equal(found.frame_centers, expected.frame_centers)
        assert found.motion == expected.motion
        assert np.array_equal(cluster_exactly(other, 5).labels, cluster_exactly(TUBE, 5).labels)
        for one, two in zip(weld_vertices(other), weld_vertices(TUBE), strict=True):
            assert np.array_equal(one, two)
