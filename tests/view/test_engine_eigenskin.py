"""EigenSkin in the page's shader: positions and normals as Python has them, with eigennormals or shared columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from osteon.core.model import SkinnedModel
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_frames
from osteon.view.pack.model_pack import pack_model
from osteon_bench.players.cases import make_cases

from .eigenskin_case import arm
from .engine_page import EnginePage, decode, engine_page


@pytest.fixture(scope="module")
def engine() -> Iterator[EnginePage]:
    with engine_page(160, 120) as started:
        yield started


def case(name: str) -> SkinnedModel:
    if name == "shared":
        return next(one.model for one in make_cases() if one.name == "eigenskin")
    model = arm()[1].model
    if name == "bytes":
        packed = tuple(one.in_8_bits() for one in model.character.displacements)
        return SkinnedModel(replace(model.character, displacements=packed), model.animation)
    return model


@pytest.mark.parametrize("name", ["own", "bytes", "shared"])
def test_positions_and_normals_are_pythons(engine: EnginePage, name: str) -> None:
    model = case(name)
    (found,) = model.character.displacements
    assert isinstance(found, EigenSkin)
    assert bool(found.n_normals) == (name != "shared")
    engine.load(pack_model(model))
    plain = SkinnedModel(replace(model.character, displacements=()), model.animation)
    for frame in (3, 8):
        posed = pose_frames(model, frame, frame + 1)[0]
        assert np.abs(engine.positions(frame) - posed).max() <= 2e-6 * model.diagonal
        shown = decode(engine.run("page.normals(...given)", frame, model.rank)).reshape(-1, 3).astype(np.float64)
        shown /= np.linalg.norm(shown, axis=1, keepdims=True)
        expected, without = (pose_normals(each, frame)[model.mesh.normal_of_vertex] for each in (model, plain))
        np.testing.assert_allclose(shown, expected, atol=1e-5)
        assert np.abs(expected - without).max() > 1e-3  # or nothing was shown
    assert engine.complaints == []
