"""Precomputed light in the page's shader: the colours that Python computes, to the last of 255 steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.apply.light.environment import SKIES, load_environment, project_sky, rotated
from osteon.apply.light.harmonics import rotate_sh, sh_basis
from osteon.apply.light.model_light import Environment, ModelLight
from osteon.apply.light.shade import light_colors
from osteon.core.model import SkinnedModel
from osteon.core.transforms import matrices_from_quaternions, unit_quaternions, unit_vectors
from osteon.view.pack.model_pack import pack_model
from osteon_bench.light_page import (
    baked_colors,
    baked_ground_parts,
    exposure_of,
    ground_parts,
    page_settings,
    screen_colors,
)
from tests.posable import posable_model

from .engine_cases import models
from .engine_page import EnginePage, engine_page
from .level_cases import made_levels
from .light_cases import RANK, random_light, random_sky

READ = """(async () => {
  const { readLit, readGround } = await import("/engine/transfer/read_lit.js");
  const read = given[2] === "ground" ? readGround : readLit;
  const character = given[2] === "coarse" ? engine.character.coarse[0] : engine.character;
  return [...read(engine.renderer, character, given[0], given[1])];
})()"""
BASIS = """(async () => {
  const sh = await import("/engine/transfer/spherical_harmonics.js");
  const [directions, coefficients, rotation] = given;
  return [directions.map((d) => [...sh.harmonicsAt(5, ...d)]), [...sh.rotated(coefficients, rotation)]];
})()"""
PANORAMA = """(async () => {
  const { readLight } = await import("/engine/hdr.js");
  const found = await readLight(new File([Uint8Array.from(given[0])], "light.hdr"));
  return found.map((c) => [...c]);
})()"""
SKY = """(async () => {
  const { environmentBy } = await import("/light/environments.js");
  return environmentBy(null, given[0]).map((c) => [...c]);
})()"""


@pytest.fixture(scope="module")
def page():
    with engine_page(160, 120) as started:
        yield started
        assert started.complaints == []
        assert started.said() == []


def lit(
    model: SkinnedModel, light: ModelLight, frame: float, sky: Environment, degrees: float = 0.0, rank: int = RANK
) -> np.ndarray:
    """(n,3) linear colours as the page is to show them."""
    return exposure_of(sky) * light_colors(model, light, rotated(sky, degrees), frame, rank=rank)


def settings_of(sky: Environment, **changes: Any) -> dict[str, Any]:
    return page_settings(sky, **{"rank": RANK, **changes})


def moment(frame: float) -> dict[str, Any]:
    first = int(frame)
    between = frame - first
    return {"moment": {"first": first, "second": first + (1 if between else 0), "between": between}}


def read(page: EnginePage, settings: dict[str, Any], when: dict[str, Any], what: str = "mesh") -> np.ndarray:
    """(n,3) sRGB in 0 … 255 from the graphics card."""
    return np.array(page.run(READ, settings, when, what)).reshape(-1, 3).astype(float)


def assert_same_colors(found: np.ndarray, linear: np.ndarray) -> None:
    """Equal to the last of 255 steps, and not trivially so."""
    expected = screen_colors(linear)
    assert expected.std() > 5
    assert np.abs(found - expected).max() <= 1


# ---- spherical harmonics --------------------------------------------------------------------------------------------


def test_basis_and_rotation_are_those_of_python(page: EnginePage) -> None:
    rng = np.random.default_rng(1)
    directions = unit_vectors(rng.normal(size=(40, 3)))
    coefficients = rng.normal(size=25)
    rotation = matrices_from_quaternions(unit_quaternions(rng.normal(size=4)))
    basis, turned = page.run(BASIS, directions.tolist(), coefficients.tolist(), rotation.tolist())
    np.testing.assert_allclose(basis, sh_basis(directions, 5), atol=1e-12)
    np.testing.assert_allclose(turned, rotate_sh(coefficients, rotation), atol=1e-12)
    # A rotated function has the value in a rotated direction that it had in that direction.
    np.testing.assert_allclose(
        sh_basis(directions @ rotation.T, 5) @ turned, np.array(basis) @ coefficients, atol=1e-12
    )


@pytest.mark.parametrize("name", list(SKIES))
def test_skies_are_those_of_the_command(page: EnginePage, name: str) -> None:
    expected = project_sky(SKIES[name]).coefficients.T
    np.testing.assert_allclose(page.run(SKY, name), expected, atol=2e-3 * np.abs(expected).max())


def test_a_panorama_is_that_of_the_command(page: EnginePage, tmp_path: Path) -> None:
    """Directions, handedness and colours, by a picture whose pixels all differ."""
    rng = np.random.default_rng(3)
    pixels = rng.uniform(0.2, 1, size=(8, 16, 3))
    pixels[2, 5] = (6, 1, 0.5)
    bits = np.concatenate([np.rint(pixels * 2.0**5), np.full((8, 16, 1), 131)], axis=2).astype(np.uint8)
    path = tmp_path / "light.hdr"
    path.write_bytes(b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 8 +X 16\n" + bits.tobytes())
    expected = load_environment(path).coefficients.T
    found = np.array(page.run(PANORAMA, list(path.read_bytes())))
    np.testing.assert_allclose(found, expected, atol=0.03 * np.abs(expected).max())


# ---- the shader -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [3, 4, 5])
def test_the_shader_lights_as_python_does(page: EnginePage, order: int) -> None:
    model = models()["flexible"]
    light, sky = random_light(model, order), random_sky(5)
    assert page.load(pack_model(model, light=light))
    for frame, degrees, rank in ((0, 0, RANK), (3.3, 40, RANK), (7, 200, 2), (5.5, -75, 0)):
        settings = settings_of(sky, rank=rank, turn=float(np.radians(degrees)), power=0.6)
        expected = 0.6 * lit(model, light, frame, sky, degrees, rank)
        assert_same_colors(read(page, settings, moment(frame)), expected)


def case(name: str) -> SkinnedModel:
    return posable_model(dual=True) if name == "screws" else models()[name]


@pytest.mark.parametrize("name", ["eight influences", "screws", "full", "far away", "mirrored"])
def test_every_kind_of_model(page: EnginePage, name: str) -> None:
    model, sky = case(name), random_sky(6)
    light = random_light(model, seed=2)
    assert page.load(pack_model(model, light=light))
    for frame in (1, 2.6):
        expected = lit(model, light, frame, sky)
        shown = expected[model.mesh.normal_of_vertex]
        assert_same_colors(read(page, settings_of(sky), moment(frame))[: model.n_vertices], shown)


def test_an_instance_of_a_crowd_has_its_own_time_and_rotation(page: EnginePage) -> None:
    model, sky = models()["flexible"], random_sky(7)
    light = random_light(model)
    page.load(pack_model(model, light=light))
    clip, angle = model.clips[0], 0.6
    instance = {
        "instancePlace": [3, 0, -2],
        "instanceTurn": [float(np.cos(angle)), float(np.sin(angle))],
        "instanceClip": [clip.start, clip.n_frames, clip.fps, 2.0],
    }
    when = {"seconds": 1.5 / clip.fps, "instance": instance}
    expected = lit(model, light, 3.5, sky, -np.degrees(angle))
    assert_same_colors(read(page, settings_of(sky), when), expected)
    part = ground_parts(light, rotated(sky, -np.degrees(angle)), 3.5, RANK)
    assert_same_colors(read(page, settings_of(sky), when, "ground"), part)


def test_the_ground(page: EnginePage) -> None:
    model, sky = models()["flexible"], random_sky(8)
    light = random_light(model, 5)
    page.load(pack_model(model, light=light))
    for frame in (0, 4.25):
        assert_same_colors(read(page, settings_of(sky), moment(frame), "ground"), ground_parts(light, sky, frame, RANK))


@pytest.mark.parametrize("channels", [1, 3])
def test_baked_colors(page: EnginePage, channels: int) -> None:
    model = models()["rigid"]
    light = random_light(model, channels=channels)
    own = light.environments[0]
    page.load(pack_model(model, light=light))
    for rank in (RANK, 2):
        colors = baked_colors(light.baked, 3.4, rank)
        settings = settings_of(random_sky(9), by="baked", rank=rank, power=0.5)  # the environment has no effect
        assert_same_colors(read(page, settings, moment(3.4)), 0.5 * exposure_of(own) * colors)
        part = baked_ground_parts(light, 3.4, rank)
        assert_same_colors(read(page, settings, moment(3.4), "ground"), part)


def test_occlusion_is_the_open_part_of_the_surroundings(page: EnginePage) -> None:
    model = models()["rigid"]
    for order in (1, 4):
        light = random_light(model, order)
        page.load(pack_model(model, light=light))
        part = np.maximum(0, np.sqrt(4 * np.pi) * light.transfer.at(2)[:, :1]) * np.ones(3)
        assert_same_colors(read(page, settings_of(random_sky(1), occlusion=True, power=3.0), moment(2)), part)


def test_a_coarser_mesh_has_its_own_light(page: EnginePage) -> None:
    levels = made_levels(posable_model(), parts=(0.5,))
    sky = random_sky(3)
    light = random_light(levels.model, coarse=levels.coarse)
    page.load(pack_model(levels.model, levels=levels, light=light))
    coarse, own = levels.coarse[0].character, light.coarse[0]
    whole = replace(light.transfer, mean=own.mean, basis=own.basis)
    model = SkinnedModel(replace(coarse, skeleton=None), levels.model.animation)
    expected = lit(model, replace(light, transfer=whole), 2, sky)
    found = read(page, settings_of(sky), moment(2), "coarse")
    assert_same_colors(found, expected[coarse.mesh.normal_of_vertex])
