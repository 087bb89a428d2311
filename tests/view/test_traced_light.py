"""The reference of the Light panel: the transfer of one frame by rays in script, as Python computes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.apply.light.environment import load_environment
from osteon.apply.light.options import LightOptions
from osteon.apply.light.precompute import LightPlan
from osteon.apply.light.shade import seen_coefficients
from osteon.apply.light.transfer import frame_transfer
from osteon.pipeline.light import fit_light
from osteon.view.pack.model_pack import pack_model
from osteon_bench.light_page import empty_ground, exposure_of, page_settings, screen_colors
from tests.light_models import moving_body

from .engine_page import engine_page

OPTIONS = LightOptions(order=4, rank=2, directions=64, ground_points=8, threads=1)
TRACE = """(async () => {
  const { TracedLight } = await import("/engine/transfer/traced_light.js");
  const { readLit, readGround } = await import("/engine/transfer/read_lit.js");
  const { emptyPlane } = await import("/engine/transfer/light_ground.js");
  const { lightTransfer } = await import("/engine/transfer/relight.js");
  const { LIGHT } = await import("/engine/light.js");
  const { Vector3 } = await import("three");
  const [relight, frame, whole] = given;
  const moment = { first: frame, second: frame, between: 0 };
  const { character, renderer } = engine;
  const light = character.pack.light;
  const traced = new TracedLight(character);
  traced.at(moment, character.pack.rank);
  const progress = [];
  while (traced.work(5) && (whole || traced.traced < 32)) progress.push(traced.progress);
  character.needRelight();
  readGround(renderer, character, { ...relight, by: "live" }, { moment });
  lightTransfer(light, relight);
  const [seen, whole_sky] = [LIGHT.radiance.value, LIGHT.groundRadiance.value];
  traced.show(seen, whole_sky, emptyPlane(light, whole_sky, new Vector3()));
  const how = { ...relight, by: "reference", traced: true };
  return {
    ...{ traced: traced.traced, progress },
    lit: [...readLit(renderer, character, how, { moment })],
    ground: [...readGround(renderer, character, how, { moment })],
  };
})()"""
FRAME = 5


@pytest.fixture(scope="module", name="model")
def _model():
    return moving_body()


@pytest.fixture(scope="module", name="shown")
def _shown(model):
    """Colours of the page: of all directions, and of the first few."""
    sky = load_environment("sunset")
    light = fit_light(model, [sky], options=OPTIONS)
    with engine_page(160, 120) as page:
        assert page.load(pack_model(model, light=light))
        settings = page_settings(sky, rank=2)
        yield light, sky, [page.run(TRACE, settings, FRAME, whole) for whole in (True, False)]


def test_all_directions_give_the_transfer_of_python(model, shown):
    light, sky, (found, _) = shown
    plan = LightPlan.of(model, replace(OPTIONS, directions=512))
    scene = plan.scene(FRAME)
    still = np.ascontiguousarray(np.broadcast_to(np.eye(3), scene.shaded.rotations.shape))
    scene = replace(scene, shaded=replace(scene.shaded, rotations=still))
    expected = frame_transfer(scene, plan.options, "tree")
    exposure = exposure_of(sky)
    colors = exposure * np.maximum(0, expected.transfer @ seen_coefficients(light, sky))
    shown_colors = np.array(found["lit"]).reshape(-1, 3)
    steps = np.abs(shown_colors[: len(colors)] - screen_colors(colors[model.mesh.normal_of_vertex]))
    assert found["traced"] == 512
    assert np.quantile(steps, 0.99) < 1.5  # rays that graze an edge differ
    assert steps.max() < 6
    under = np.maximum(0, expected.ground @ sky.coefficients[:16].astype(np.float64))
    parts = np.minimum(1, under / empty_ground(light, sky))
    away = np.abs(np.array(found["ground"]).reshape(-1, 3) - screen_colors(parts))
    assert np.quantile(away, 0.95) < 2.5
    assert parts.min() < 0.95


def test_it_refines(shown):
    _, _, (found, few) = shown
    assert few["traced"] == 32
    progress = found["progress"]
    assert progress == sorted(progress)
    away = np.abs(np.array(found["lit"]) - np.array(few["lit"]))
    assert 0 < away.mean() < 12
