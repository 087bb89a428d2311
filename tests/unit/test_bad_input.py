"""What cannot be skinned is refused with one line that says why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.options import change_options
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.pipeline.skin import skin_sequence
from osteon.synth.shapes import make_sphere

from ..subjects import bent_tube, random_turns, soup

TUBE = bent_tube().sequence  # 8 frames, 106 vertices, 208 triangles


@pytest.fixture(params=["default", "paper"])
def preset(request) -> str:
    return request.param


def test_one_frame(preset, refused):
    with refused(GeometryError, "one frame", "two"):
        skin_sequence(TUBE.take_frames(np.array([3])), options=SkinOptions(preset=preset))


def test_no_triangles(preset, refused):
    with refused(GeometryError, "no triangles"):
        skin_sequence(replace(TUBE, faces=np.zeros((0, 3), np.int32)), options=SkinOptions(preset=preset))


def test_no_vertices(preset, refused):
    with refused(GeometryError, "no triangles"):
        skin_sequence(MeshSequence(np.zeros((3, 0, 3)), np.zeros((0, 3), int), np.zeros((0, 3))))


@pytest.mark.parametrize("at_rest", [True, False])
def test_all_frames_equal(preset, at_rest, refused):
    frames = np.repeat(TUBE.frames[:1] if at_rest else TUBE.frames[4:5], 5, axis=0)
    with refused(GeometryError, "equal"):
        skin_sequence(MeshSequence(frames, TUBE.faces, TUBE.rest), options=SkinOptions(preset=preset))


@pytest.mark.parametrize("rest", [TUBE.rest * np.float32([1, 0, 0]), np.ones_like(TUBE.rest)])
def test_all_triangles_without_area(preset, rest, refused):
    with refused(GeometryError, "zero area", "--rest"):
        skin_sequence(replace(TUBE, rest=rest), options=SkinOptions(preset=preset))


def test_more_bones_than_triangles(preset, refused):
    with refused(OptionError, "bones", 209, 208):
        skin_sequence(TUBE, options=SkinOptions(preset=preset, bones=209))


def test_more_bones_than_distinct_vertices(refused):
    sphere = make_sphere(1)  # 42 vertices, 80 triangles
    frames = np.stack([sphere.vertices, sphere.vertices * [1, 2, 1]])
    with refused(OptionError, "bones", 50, 42):
        skin_sequence(MeshSequence(frames, sphere.faces, sphere.vertices), options=SkinOptions(bones=50))


@pytest.mark.parametrize("bones", [42, 43, 79, 80])
def test_the_paper_can_give_a_bone_to_every_triangle(bones):
    sphere = make_sphere(1)
    frames = np.stack([sphere.vertices, sphere.vertices * [1, 2, 1]])
    sequence = MeshSequence(frames, sphere.faces, sphere.vertices)
    assert skin_sequence(sequence, options=SkinOptions(preset="paper", bones=bones)).model.n_bones == bones


@pytest.mark.parametrize("holdout", [9, 1000])
def test_nothing_left_to_test(preset, holdout, refused):
    with refused(OptionError, "holdout", holdout, 8):
        skin_sequence(TUBE, options=SkinOptions(preset=preset, holdout=holdout))


def test_nothing_left_to_fit(preset, refused):
    with refused(OptionError, "holdout"):
        skin_sequence(TUBE.take_frames(np.array([0, 3])), options=SkinOptions(preset=preset, holdout=2))


def test_no_bones_at_that_tolerance(refused):
    no_two_alike = soup(random_turns(np.random.default_rng(0), 4, 300, 1.5))
    with refused(OptionError, "tolerance", "--bones"):
        skin_sequence(no_two_alike, options=SkinOptions(preset="paper", tolerance=0.01))


@pytest.mark.parametrize("n_frames", [2, 8])
@pytest.mark.parametrize("tolerance", [1e-3, 2e-3])
def test_a_very_small_tolerance_fits_or_says_why(preset, n_frames, tolerance):
    """Distances are whole numbers of bytes: at a few frames a small tolerance is less than one."""
    sequence = TUBE.take_frames(np.arange(n_frames))
    options = change_options(SkinOptions(), preset=preset, tolerance=tolerance, rounds=1)
    try:
        n_bones, message = skin_sequence(sequence, options=options).model.n_bones, ""
    except OptionError as error:
        n_bones, message = 0, str(error)
    assert n_bones > 0 or message.startswith("tolerance")


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "fast"},
        {"bones": -1},
        {"bone_type": "soft"},
        {"influences": 0},
        {"influences": 9},
        {"tolerance": 0.0},
        {"tolerance": -0.1},
        {"tolerance": 2.0},
        {"tolerance": np.nan},
        {"weights": "tsvd"},
        {"weights": "bounded"},
        {"preset": "paper", "weights": "svd"},
        {"preset": "paper", "weights": "bounded", "delta": -0.1},
        {"preset": "paper", "weights": "bounded", "delta": np.nan},
        {"preset": "paper", "weights": "tsvd", "tsvd_threshold": -1.0},
        {"preset": "paper", "weights": "tsvd", "tsvd_threshold": 2.0},
        {"preset": "paper", "smooth_weights": 0.1},
        {"rounds": -1},
        {"stiffness": -1.0},
        {"stiffness": np.nan},
        {"smooth_weights": -0.1},
        {"smooth_weights": np.nan},
        {"holdout": 1},
        {"holdout": -2},
        {"seed": -1},
        {"threads": -1},
    ],
    ids=lambda o: " ".join(f"{k}={v}" for k, v in o.items()),
)
def test_options_out_of_range(options, refused):
    with refused(OptionError, list(options)[-1]):
        quick = {} if "preset" in options else {"rounds": 1}
        skin_sequence(TUBE, options=SkinOptions(**{"bones": 2, **quick, **options}))
