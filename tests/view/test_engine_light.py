"""Precomputed light in the page's shader: the colours that Python computes, to the last of 255 steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from osteon.apply.light.harmonics import rotate_sh, sh_basis
from osteon.apply.light.model_light import ModelLight
from osteon.core.model import SkinnedModel
from osteon.core.transforms import matrices_from_quaternions, unit_quaternions
from osteon.view.pack.model_pack import pack_model

from .engine_cases import models
from .engine_page import EnginePage, engine_page
from .light_cases import RANK, exposure, lit, random_light, random_sky, relight, screen

READ = """(async () => {
  const { readLit, readGround } = await import("/engine/transfer/read_lit.js");
  const read = given[2] ? readGround : readLit;
  return [...read(engine.renderer, engine.character, given[0], given[1])];
})()"""
SH = """(async () => {
  const sh = await import("/engine/transfer/spherical_harmonics.js");
  return (%s)(sh);
})()"""


@pytest.fixture(scope="module")
def page():
    with engine_page(160, 120) as started:
        yield started
        assert started.complaints == []
        assert started.said() == []


def moment(frame: float) -> dict[str, float]:
    first = int(frame)
    between = frame - first
    return {"first": first, "second": first + (1 if between else 0), "between": between}


def read(page: EnginePage, settings: dict[str, Any], when: dict[str, Any], *, ground: bool = False) -> np.ndarray:
    return np.array(page.run(READ, settings, when, ground)).reshape(-1, 3)


@pytest.mark.parametrize("order", [3, 4, 5])
def test_the_shader_lights_as_python_does(page: EnginePage, order: int) -> None:
    model = models()["flexible"]
    light, sky = random_light(model, order), random_sky(5)
    assert page.load(pack_model(model, light=light))
    for frame, degrees, rank in ((0, 0, RANK), (3.3, 40, RANK), (7, 200, 2), (5.5, -75, 0)):
        power = 0.6
        expected = power * exposure(sky) * lit(model, light, frame, sky, degrees, rank)
        assert expected.std() > 0.05
        settings = relight(sky, rank=rank, turn=float(np.radians(degrees)), power=power)
        found = read(page, settings, {"moment": moment(frame)})
        assert np.abs(found - screen(expected)).max() <= 1, (order, frame, degrees, rank)
