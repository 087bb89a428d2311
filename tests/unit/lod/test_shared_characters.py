"""Characters of others: what a quarter, half and three quarters of their bones leave of the error."""

from __future__ import annotations

from pathlib import Path

import pytest

from osteon.io import load_model
from osteon.lod.fit_progressive import fit_progressive
from tests.skip_rules import NO_DATA

CHARACTERS = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "characters"
#: Most that may be left, in %: somewhat above what is.
CEILINGS = {
    ("CesiumMan", "animation_0"): (1.1, 0.12, 0.026),
    ("Fox", "Walk"): (3.8, 0.9, 0.06),
    ("Fox", "Run"): (3.5, 0.75, 0.08),
    ("RiggedFigure", "animation_0"): (1e-6, 1e-6, 1e-6),
    ("RiggedSimple", "animation_0"): (1e-6, 1e-6, 1e-6),
}


@pytest.mark.skipif(not CHARACTERS.is_dir(), reason=NO_DATA)
@pytest.mark.parametrize("name", sorted({name for name, _ in CEILINGS}))
def test_shares(name: str) -> None:
    orders = fit_progressive(load_model(CHARACTERS / f"{name}.glb")).skin.orders
    found = {order.clip: order for order in orders}
    for (character, clip), ceilings in CEILINGS.items():
        if character == name:
            order = found[clip]
            for part, ceiling in zip((0.25, 0.5, 0.75), ceilings, strict=True):
                assert 100 * order.shares[order.count_for_share(part)] <= ceiling
