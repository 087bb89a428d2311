"""Options said once: types, ranges and what needs what, from the fields themselves."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, get_args

import pytest

from osteon.core.errors import OptionError
from osteon.core.options import (
    GIVEN,
    Kind,
    change_options,
    check_options,
    check_used,
    drop_unused,
    make_options,
    need,
    option,
    options_in,
)
from osteon.core.skin_options import Preset, SkinOptions
from osteon.io import LoadOptions, SaveOptions
from osteon.pipeline.options import Budget, parse_bytes
from osteon.simplex.options import EnergyOptions, PoserOptions

CLASSES = (SkinOptions, Budget, LoadOptions, SaveOptions, PoserOptions)

Model = Literal["lbs", "dqs"]


@dataclass(frozen=True, slots=True)
class Inner:
    depth: int = option(3, help="How deep.", flags=("--depth",), needs=(need(model="dqs"),))

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Outer:
    """A new option is one field, also one whose values need something."""

    kind: Literal["rigid", "flexible"] = option("flexible", help="Bones.", flags=("--kind",))
    model: Model = option(
        "lbs", help="Family.", flags=("--model",), needs=(need(kind="rigid", only_for=("dqs",), reason="turns only"),)
    )
    inner: Inner = field(default_factory=lambda: Inner())

    def __post_init__(self) -> None:
        check_options(self)


def test_every_field_of_skinning_is_an_option_with_a_flag_and_help():
    for cls in (SkinOptions, Budget, LoadOptions, SaveOptions):
        found = options_in(cls)
        assert [of.name for of in found] == [f.name for f in fields(cls)]
        assert all(of.option.flags and of.option.help for of in found)


def test_no_flag_means_two_things():
    flags = [flag for cls in CLASSES for of in options_in(cls) for flag in of.option.flags]
    assert len(flags) > 30
    assert len(flags) == len(set(flags))


def test_types_tell_what_a_value_may_be():
    kinds = {of.name: of.kind for cls in (SkinOptions, LoadOptions, Budget) for of in options_in(cls)}
    assert kinds["preset"] == Kind(None, get_args(Preset))
    assert kinds["fps"] == Kind(float, ("file",))
    assert kinds["rest"].base is Path
    assert kinds["clips"] == Kind(str, many=True)
    assert kinds["max_bytes"] == Kind(int)
    (bone_type,) = [of for of in options_in(SkinOptions) if of.name == "bone_type"]
    assert bone_type.choices == ("scaled", "rigid", "flexible")  # the default first


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"preset": "x"}, "preset: expected default or paper, got 'x'"),
        ({"weights": "x"}, "weights: expected tsvd, nnls or bounded, got 'x'"),
        ({"influences": 9}, "influences: expected 1 … 8, got 9"),
        ({"rank": -1}, "rank: expected 0 or more, got -1"),
        ({"rounds": 10**400}, f"rounds: expected 0 … 1e+06, got {10**400}"),
        ({"bones": -1}, "bones: expected 1 or more (or 0 to find the number), got -1"),
        ({"bones": 1.5}, "bones: expected a whole number, got 1.5"),
        ({"bones": True}, "bones: expected a whole number, got True"),
        ({"tolerance": 2.0}, "tolerance: expected a number between 0 and 2, got 2.0"),
        ({"stiffness": float("nan")}, "stiffness: expected 0 … 1e+06, got nan"),
        ({"holdout": 1}, "holdout: expected 0 (none) or 2 and more, got 1"),
    ],
)
def test_values_out_of_range(options, says):
    with pytest.raises(OptionError) as refused:
        SkinOptions(**options)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"preset": "paper", "rounds": 3}, "rounds: the paper preset does not refine"),
        ({"preset": "paper", "smooth_weights": 0.1}, "smooth_weights: the paper preset has no"),
        ({"preset": "paper", "stiffness": 0.1}, "stiffness: the paper preset"),
        ({"preset": "paper", "bones": 3, "tolerance": 0.1}, "tolerance: the paper preset"),
        ({"preset": "paper", "delta": 0.1}, "delta: needs --weights bounded"),
        ({"preset": "paper", "tsvd_threshold": 0.1}, "tsvd_threshold: needs --weights tsvd"),
        ({"weights": "tsvd"}, "weights: needs --preset paper"),
        ({"bone_type": "rigid", "stiffness": 0.1}, "stiffness: rigid bones"),
    ],
)
def test_values_without_effect(options, says):
    with pytest.raises(OptionError) as refused:
        SkinOptions(**options)
    assert str(refused.value).startswith(says)


def test_values_that_have_an_effect():
    flexible = SkinOptions(preset="paper", holdout=3, stiffness=0.1)  # the bones of frames left out are flexible
    assert (flexible.holdout, flexible.stiffness) == (3, 0.1)
    assert SkinOptions(preset="paper", tolerance=0.1).tolerance == 0.1
    assert SkinOptions(preset="paper", weights="bounded", delta=0.1, bones=3).delta == 0.1
    assert SkinOptions(bones=3, tolerance=0.1).bones == 3


def test_a_condition_on_a_name_that_does_not_exist_is_an_error():
    @dataclass(frozen=True)
    class Mistyped:
        width: int = option(1, help="Width.", needs=(need(wirtten=".glb", reason="never fires"),))

    with pytest.raises(LookupError, match="'width' needs 'wirtten'"):
        check_used(Mistyped(2))


def test_circumstances_are_asked_only_where_they_are_known():
    helpers = SkinOptions(helpers=2)
    check_used(helpers, rig=True)
    with pytest.raises(OptionError, match="--rig FILE"):
        check_used(helpers, rig=False)
    with pytest.raises(OptionError, match=r"^rounds: the rig defines the motion"):
        check_used(SkinOptions(rounds=3), rig=True, motion="kept")
    check_used(SkinOptions(rounds=3), rig=True, motion="found")
    check_used(SkinOptions(helpers=2, bone_type="rigid"), rig=True, motion="kept")
    with pytest.raises(OptionError, match=r"^bone_type: the rig defines"):
        check_used(SkinOptions(bone_type="rigid"), rig=True, motion="kept")
    check_used(SkinOptions(preset="paper"), rig=True, motion="kept")
    with pytest.raises(OptionError, match=r"^helpers: the paper preset adds no bones"):
        check_used(SkinOptions(preset="paper", helpers=2), rig=True)


def test_one_of_several_outputs_is_enough():
    small = SaveOptions(quantize=True)
    check_used(small, written=frozenset({".glb", ".npz"}))
    with pytest.raises(OptionError, match=r"^quantize: only glTF"):
        check_used(small, written=frozenset({".npz"}))
    assert drop_unused(small, written=".usdc") == SaveOptions()
    assert drop_unused(small, written=".gltf") == small


def test_a_change_takes_along_what_then_has_no_effect():
    paper = SkinOptions(preset="paper", weights="bounded", delta=0.1, bones=3)
    assert change_options(paper, preset="default") == SkinOptions(bones=3)
    assert change_options(SkinOptions(rounds=3), preset="paper") == SkinOptions(preset="paper")
    posed = PoserOptions(energy=EnergyOptions(follow=3))
    assert change_options(posed, method="ssd") == PoserOptions(method="ssd")


def test_options_within_options():
    assert [of.path for of in options_in(Outer)] == [("kind",), ("model",), ("inner", "depth")]
    made = make_options(Outer, {("kind",): "rigid", ("model",): "dqs", ("inner", "depth"): 5})
    assert made == Outer("rigid", "dqs", Inner(5))
    with pytest.raises(OptionError, match=r"^depth: needs --model dqs$"):
        Outer(inner=Inner(5))
    with pytest.raises(OptionError, match=r"^model dqs: turns only$"):
        Outer(model="dqs")
    boundary = next(of for of in options_in(PoserOptions) if of.flag == "--boundary")
    assert boundary.default == PoserOptions().groups.boundary.mode == "none"  # what holds it decides


def test_a_need_may_be_any_value():
    @dataclass(frozen=True)
    class Drawn:
        picture: str | None = option(None, help="A picture.")
        frame: int = option(0, help="Of it.", needs=(need(picture=GIVEN),))

    check_used(Drawn("a.png", 3))
    with pytest.raises(OptionError, match=r"^frame: needs picture$"):
        check_used(Drawn(frame=3))


@pytest.mark.parametrize(("text", "count"), [("400k", 400_000), ("2M", 2_000_000), ("1.5 MB", 1_500_000), ("7", 7)])
def test_sizes(text, count):
    assert parse_bytes(text) == count
