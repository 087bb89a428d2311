"""More bones never give a clearly worse fit, whatever scale lies between the rest pose and the frames."""

from __future__ import annotations

from itertools import pairwise

import pytest

from osteon.core.animation import BoneType
from osteon.core.skin_options import SkinOptions
from osteon.pipeline.skin import skin_sequence
from osteon.synth.cloth import ClothOptions, make_cloth

#: Part by which an error may be larger than with half the bones.
CLEARLY = 0.05


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_twice_the_bones_are_no_worse(bone_type: BoneType, scale: float) -> None:
    cloth = make_cloth(ClothOptions(frames=12, columns=20, rows=14))
    cloth = cloth.with_parts(rest=scale * cloth.rest)
    options = [SkinOptions(bones=bones, bone_type=bone_type, rounds=12) for bones in (5, 10, 20, 40)]
    errors = [skin_sequence(cloth, options=asked).report.error_percent for asked in options]
    assert all(after <= (1 + CLEARLY) * before for before, after in pairwise(errors)), errors
