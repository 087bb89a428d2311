"""Pictures of precomputed light: a row per environment, shadows darken the ground, colours are those of the light."""

from __future__ import annotations

import numpy as np

from osteon.report.light_picture import LitFrame, light_picture
from tests.light_models import ENVIRONMENTS, lit_body, moving_body


def test_shadows_darken_the_picture():
    frames = [LitFrame(5, shadows, "frame 5") for shadows in (False, True)]
    model, light = moving_body(), lit_body()
    plain, shaded = (light_picture(model, light, ENVIRONMENTS[:1], [one], title="light") for one in frames)
    assert plain.shape == shaded.shape
    assert shaded.astype(int).sum() < plain.astype(int).sum()
    brighter = (shaded.astype(int) - plain).max(axis=2) > 6
    assert brighter.mean() < 0.02


def test_every_environment_has_a_row_and_its_own_colours():
    model, light = moving_body(), lit_body()
    shown = [LitFrame(0, True, "a")]
    one, two = (light_picture(model, light, ENVIRONMENTS[:count], shown, title="light") for count in (1, 2))
    assert two.shape[0] > 1.7 * one.shape[0]
    assert two.shape[1] == one.shape[1]
    other = light_picture(model, light, ENVIRONMENTS[1:], shown, title="light")
    assert np.abs(other.astype(int) - one).max() > 20


def test_light_without_a_ground_is_drawn_without_one():
    from dataclasses import replace

    light = replace(lit_body(), ground=None)
    picture = light_picture(moving_body(), light, ENVIRONMENTS[:1], [LitFrame(0, True, "a")], title="light")
    assert picture.shape[2] == 3
