"""Control lines and their domains: section 7.1."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.pose_track import ControlLine, Domain
from osteon.simplex.groups import control_by_lines, lines_as_sticks
from osteon.simplex.segmentation.segment import SegmentOptions
from osteon.synth.shapes import join_shapes, make_grid, make_tube

TUBE = make_tube(12, 40, 0.15, 2.0)  # along x, 0 … 2
LEFT = ControlLine((0.2, 0.0, 0.0), (0.8, 0.0, 0.0), name="left")
RIGHT = ControlLine((0.8, 0.0, 0.0), (1.6, 0.0, 0.0), name="right")


def centres() -> np.ndarray:
    return TUBE.vertices[TUBE.faces].mean(axis=1)


def taken(*lines: ControlLine) -> tuple[np.ndarray, np.ndarray]:
    return control_by_lines(TUBE.vertices, TUBE.faces, lines, SegmentOptions())


def test_a_line_moves_what_lies_between_its_planes() -> None:
    line, along = taken(LEFT)
    x = centres()[:, 0]
    inside = (x > 0.2 + 1e-9) & (x < 0.8 - 1e-9)
    assert (line[inside] == 0).all()
    assert (line[(x < 0.2 - 1e-9) | (x > 0.8 + 1e-9)] == -1).all()
    assert np.abs(along[inside] - (x[inside] - 0.2) / 0.6).max() < 1e-9


def test_lines_that_share_an_end_meet_there() -> None:
    line, _ = taken(LEFT, RIGHT)
    x = centres()[:, 0]
    assert (line[(x > 0.21) & (x < 0.79)] == 0).all()
    assert (line[(x > 0.81) & (x < 1.59)] == 1).all()
    bent = ControlLine((0.8, 0.0, 0.0), (1.2, 0.1, 0.0), name="bent")
    assert len(lines_as_sticks((LEFT, bent), TUBE.vertices, SegmentOptions()).joints) == 3


def test_a_wall_between_counts_as_far() -> None:
    """The far tube is not seen through the walls of both."""
    two = join_shapes([TUBE, TUBE.moved((0, 0.5, 0))])
    line, _ = control_by_lines(two.vertices, two.faces, (LEFT,), SegmentOptions())
    assert (line[: len(TUBE.faces)] == 0).any()
    assert (line[len(TUBE.faces) :] == -1).all()


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (Domain(tube=0.01), lambda c: np.zeros(len(c), bool)),
        (Domain(tube=0.5), lambda c: (c[:, 0] > 0.2) & (c[:, 0] < 0.8)),
        (Domain(distance=0.5), lambda c: (c[:, 0] > 0.2) & (c[:, 0] < 0.8)),
        (Domain(distance=0.1), lambda c: np.zeros(len(c), bool)),
        (Domain(box=((0, 0, -1), (1, 1, 1))), lambda c: (c[:, 0] > 0.2) & (c[:, 0] < 0.8) & (c[:, 1] >= 0)),
    ],
)
def test_domains(domain: Domain, expected) -> None:  # type: ignore[no-untyped-def]
    line, _ = taken(ControlLine(LEFT.start, LEFT.stop, domain))
    clear = (np.abs(centres()[:, 0] - 0.2) > 1e-6) & (np.abs(centres()[:, 0] - 0.8) > 1e-6)
    assert np.array_equal((line >= 0)[clear], expected(centres())[clear])


def test_listed_triangles_are_taken_as_they_are() -> None:
    listed = (0, 5, len(TUBE.faces) - 1)
    line, along = taken(ControlLine(LEFT.start, LEFT.stop, Domain(triangles=listed)))
    assert np.flatnonzero(line >= 0).tolist() == list(listed)
    assert ((along >= 0) & (along <= 1)).all()


def test_refusals() -> None:
    with pytest.raises(GeometryError, match="no triangle 99999"):
        taken(ControlLine(LEFT.start, LEFT.stop, Domain(triangles=(99999,)), "ear"))
    with pytest.raises(GeometryError, match="twice"):
        taken(LEFT, LEFT)


def test_in_the_plane() -> None:
    grid = make_grid(20, 6, 2.0, 0.4)
    flat = grid.vertices * [1, 1, 0] + [0, 0, 3]
    x = flat[grid.faces].mean(axis=1)[:, 0]
    low, high = np.quantile(x, [0.3, 0.6])
    y = float(flat[:, 1].mean())
    line, _ = control_by_lines(flat, grid.faces, (ControlLine((low, y, 0), (high, y, 0)),), SegmentOptions())
    assert np.array_equal(line == 0, (x >= low) & (x <= high))
