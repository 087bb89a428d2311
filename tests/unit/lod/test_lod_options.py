"""Levels can be asked for by one thing, from fine to coarse."""

from __future__ import annotations

import pytest

from osteon.core.errors import OptionError
from osteon.lod.options import LodOptions


def test_the_usual_levels_are_for_sizes_on_the_screen():
    options = LodOptions()
    assert options.by == "pixels"
    assert options.n_coarser == 3
    assert options.tolerances() == pytest.approx([1 / 400, 1 / 200, 1 / 100])


def test_one_number_is_that_of_the_coarsest():
    assert LodOptions(bones="10").counts(80) == [40, 20, 10]
    assert LodOptions(triangles="25%", levels=3).counts(8000) == [4000, 2000]
    assert LodOptions(max_error="2", levels=3).tolerances() == pytest.approx([0.01, 0.02])
    assert LodOptions(bones="99").counts(80) == [80, 80, 80]


def test_a_list_names_every_level():
    options = LodOptions(bones="50%,25%,3")
    assert (options.by, options.n_coarser, options.is_list) == ("bones", 3, True)
    assert options.counts(49) == [25, 12, 3]
    assert LodOptions(screen="500,50").tolerances() == pytest.approx([0.002, 0.02])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"bones": "5", "screen": "3"}, "bones: levels are defined by --screen already"),
        ({"triangles": "5", "max_error": "3"}, "triangles: levels are defined by --max-error already"),
        ({"bones": "5,6"}, "bones: expected --bones from fine to coarse"),
        ({"max_error": "1,0.5"}, "max_error: expected --max-error from fine to coarse"),
        ({"screen": "50%"}, "screen: expected plain numbers"),
        ({"bones": "1.5"}, "bones: expected whole numbers"),
        ({"bones": "200%"}, "bones: expected at most 100%"),
        ({"bones": "0"}, "bones: expected positive numbers"),
        ({"bones": "nine"}, "bones: expected positive numbers with commas, got 'nine'"),
        ({"triangles": ",".join(str(n) for n in range(30, 10, -1))}, "triangles: expected 16 levels at most"),
        ({"keep_mesh": True, "triangles": "5"}, "keep_mesh: --triangles requests coarser meshes"),
        ({"levels": 1}, "levels: expected 2 … 17"),
        ({"form": "odd"}, "form: expected"),
    ],
)
def test_what_is_refused(given, told):
    with pytest.raises(OptionError, match=told):
        LodOptions(**given)
