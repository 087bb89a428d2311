"""Between frames a real fit takes no way round: halfway to the next frame no bone is farther away than that frame."""

from __future__ import annotations

import pytest

from osteon.core.skin_options import SkinOptions
from osteon.synth import SUBJECTS
from osteon_bench.players.cases import Case
from osteon_bench.players.deviation import TOLERANCE, read_reference, worst_detour, worst_deviation

BONES = 12


@pytest.fixture(scope="module")
def fox() -> Case:
    """The built-in fox with a few flexible bones."""
    from osteon import skin_sequence

    return Case(
        "fox",
        skin_sequence(SUBJECTS["creature"](), options=SkinOptions(bones=BONES, bone_type="flexible", rounds=8)).model,
    )


@pytest.mark.parametrize("engine", ["three", "babylon"])
def test_flexible_bones_take_no_way_round(engine, fox, saved, players):
    path = saved(fox)
    players[engine].open(path)
    play = players[engine].corners
    reference = read_reference(path, play)
    assert fox.model.track.bone_type == "flexible"
    assert worst_deviation(reference, play) <= TOLERANCE
    assert worst_detour(reference, play) <= TOLERANCE
