"""Printed numbers of papers 3 to 5, simulated raters, and the small subjects that their figures are made of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.sticks import StickSkeleton
from osteon.papers.mesh_approximation.comparisons import spread
from osteon.papers.mesh_approximation.raters import RATERS, answers_about
from osteon.papers.progressive_skinning.soldier import make_skinned_figure
from osteon.papers.progressive_skinning.surface import surface_drawing
from osteon.papers.simplex_transformations.control import make_moon
from osteon.papers.simplex_transformations.segments import _border_heights, _post
from osteon.papers.stick_solids import SIDES, stick_solids
from osteon.simplex.boundaries.cut import BoundaryOptions, cut_boundaries, cut_boundary_between
from osteon.simplex.segmentation.segment import segment_mesh
from osteon_bench.paper_tables import rating_rows


def test_tests_of_printed_means_agree_with_the_printed_tests() -> None:
    rows = rating_rows()
    assert len(rows) == 6
    assert all(row.ok for row in rows)


def _animation(name: str, off: dict[str, float]) -> Any:
    def result(word: str) -> object:
        deviation = SimpleNamespace(mean=off[word], percent=lambda value: value)
        return SimpleNamespace(unseen=SimpleNamespace(deviation=deviation))

    return SimpleNamespace(name=name, result=result)


def test_simulated_raters_answer_every_question_and_prefer_the_closest_model() -> None:
    animations = tuple(_animation(name, {"ssd": 0.2, "as": 0.01, "mwe": 0.05}) for name in "abcd")
    results = answers_about(animations)
    assert results.n_raters == results.n_finished == RATERS
    assert len(results.answers) == 456  # as many as in the paper
    means = {one.summary.name: one.summary.mean for one in results.results}
    assert means["Animation Space"] > means["Multi-Weight Enveloping"] > means["SSD"]
    assert answers_about(animations).answers == results.answers


def test_one_boundary_is_cut_and_others_stay() -> None:
    vertices, faces = _post(24, 0.12)
    places = np.array([[0, 0.1, 0], [0, 0.82, 0], [0, 1.6, 0], [0, 2.1, 0]])
    sticks = StickSkeleton(places, np.array([[0, 1], [1, 2], [2, 3]]))
    before = segment_mesh(vertices, faces, sticks).bone
    options = BoundaryOptions(mode="all")
    after = cut_boundary_between(vertices, faces, before, sticks, ((0,), (1,)), options=options)
    assert (after[before == 2] == 2).all()
    assert ((after == 2) == (before == 2)).all()
    lower = after != 2
    used = faces[lower]
    np.testing.assert_allclose(_border_heights(vertices, used, after[lower]), 1.0)  # the step
    pair = StickSkeleton(places[[0, 1, 3]], np.array([[0, 1], [1, 2]]))
    labels = segment_mesh(vertices, faces, pair).bone
    alone = cut_boundary_between(vertices, faces, labels, pair, ((0,), (1,)), options=options)
    np.testing.assert_array_equal(alone, cut_boundaries(vertices, faces, labels, pair, options=options))


@pytest.mark.parametrize("sides", [((0,), (0,)), ((), (1,)), ((0,), (3,)), ((-1,), (1,))])
def test_groups_of_bones_are_checked(sides: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    vertices, faces = _post(8, 0.4)
    sticks = StickSkeleton(np.array([[0, 0.1, 0], [0, 1, 0], [0, 2, 0]]), np.array([[0, 1], [1, 2]]))
    labels = np.zeros(len(faces), np.int32)
    with pytest.raises(OptionError, match="sides"):
        cut_boundary_between(vertices, faces, labels, sticks, sides)


def test_moon_and_post_are_oriented() -> None:
    vertices, faces = make_moon(25, 7)
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()
    vertices, faces = _post(24, 0.2)
    corners = vertices[faces]
    volume = np.einsum("ti,ti->t", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    smooth = np.pi * (0.75**2 * 1.0 + 0.32**2 * 1.2)
    assert 0.97 * smooth < volume < smooth  # closed, outside counter-clockwise


def test_solids_of_bones_are_closed_and_outward() -> None:
    joints = np.array([[0.0, 0, 0], [1, 0, 0], [1, 2, 0]])
    points, faces = stick_solids(joints, np.array([[0, 1], [1, 2]], np.int32))
    assert len(faces) == 2 * SIDES
    for part in (faces[:SIDES], faces[SIDES:]):
        corners = points[part]
        assert np.einsum("ti,ti->t", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() > 0
        edges = {tuple(pair) for pair in part[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2).tolist()}
        assert all((b, a) in edges for a, b in edges)


def test_skinned_figure_has_its_clips_and_a_skeleton() -> None:
    model = make_skinned_figure(30, 4)
    assert [clip.name for clip in model.clips] == ["walk", "wave", "run", "sit", "bow"]
    assert all(clip.n_frames == 4 for clip in model.clips)
    start = next(clip.start for clip in model.clips if clip.name == "sit")
    np.testing.assert_allclose(
        model.animation.transforms[start, :, :, :3], np.tile(np.eye(3), (model.n_bones, 1, 1)), atol=1e-6
    )


def test_surface_lists_its_values() -> None:
    drawing = surface_drawing("t", [1, 2, 3], [1, 2], np.arange(1.0, 7).reshape(3, 2), ("x", "y", "z"))
    assert drawing.svg.count("<polygon") == 2
    assert drawing.rows[2] == ("3", "5", "6")


def test_spread_poses() -> None:
    poses = np.arange(20, dtype=np.int32)
    assert spread(poses, 3).tolist() == [5, 10, 14]
    assert len(spread(poses[:2], 3)) <= 2
