"""USD plays what Osteon computes: its own skinning against `pose_frames`, and every validator it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import frame_times
from osteon.deform.pose import pose_frames
from osteon.io import save_model
from osteon.io.usd import joints

from ..tolerance import assert_same_points, worst_distance
from .usd_models import MODELS, corrected, flexible, played, rigid, two_clips

PLAYED = 1e-5


@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usdz", ".usd"])
@pytest.mark.parametrize("kind", MODELS)
def test_usd_plays_the_model(tmp_path: Path, kind: str, suffix: str) -> None:
    model = MODELS[kind]()
    save_model(model, tmp_path / f"model{suffix}")
    assert_same_points(played(tmp_path / f"model{suffix}"), pose_frames(model), PLAYED)


@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usdz"])
@pytest.mark.parametrize("kind", MODELS)
def test_validators_have_nothing_to_say(tmp_path: Path, kind: str, suffix: str) -> None:
    from pxr import Usd, UsdValidation

    save_model(MODELS[kind](), tmp_path / f"model{suffix}")
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    names = {validator.GetMetadata().name.partition(":")[0] for validator in validators}
    assert {"usdValidation", "usdSkelValidators", "usdGeomValidators", "usdShadeValidators"} <= names
    assert len(validators) >= 20
    stage = Usd.Stage.Open(str(tmp_path / f"model{suffix}"))
    errors = UsdValidation.ValidationContext(validators).Validate(stage)
    assert [(error.GetName(), error.GetMessage()) for error in errors] == []


def test_the_validators_find_a_fault(tmp_path: Path) -> None:
    from pxr import Usd, UsdValidation

    save_model(rigid(), tmp_path / "model.usda")
    stage = Usd.Stage.Open(str(tmp_path / "model.usda"))
    mesh = stage.GetDefaultPrim().GetChild("Mesh")
    mesh.RemoveAppliedSchema("SkelBindingAPI")
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert UsdValidation.ValidationContext(validators).Validate(stage)


def test_baking_gives_the_same(tmp_path: Path) -> None:
    """The way a renderer goes: UsdSkel writes the posed points into the stage."""
    from pxr import Gf, Usd, UsdSkel

    model = corrected()
    save_model(model, tmp_path / "model.usdc")
    stage = Usd.Stage.Open(str(tmp_path / "model.usdc"))
    assert UsdSkel.BakeSkinning(UsdSkel.Root(stage.GetDefaultPrim()), Gf.Interval(0, 100))
    points = stage.GetDefaultPrim().GetChild("Mesh").GetAttribute("points")
    frames = np.array([np.array(points.Get(code)) for code in range(model.n_frames)])
    assert_same_points(frames, pose_frames(model), PLAYED)


def test_half_precision_alone_would_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fine joints are there for a reason."""
    monkeypatch.setattr(joints, "TOLERANCE", np.inf)
    model = flexible()
    save_model(model, tmp_path / "model.usdc")
    assert worst_distance(played(tmp_path / "model.usdc"), pose_frames(model)) > PLAYED


def test_halfway_between_frames_nothing_jumps(tmp_path: Path) -> None:
    """No vertex is farther from both frames than the frames are apart where they differ most."""
    model = flexible()
    save_model(model, tmp_path / "model.usdc")
    halfway = played(tmp_path / "model.usdc", [f + 0.5 for f in range(model.n_frames - 1)])
    frames = pose_frames(model).astype(np.float64)
    apart = np.linalg.norm(np.diff(frames, axis=0), axis=2)
    reach = np.maximum(np.linalg.norm(halfway - frames[1:], axis=2), np.linalg.norm(halfway - frames[:-1], axis=2))
    assert (reach.max(axis=1) <= apart.max(axis=1)).all()
    assert np.sqrt((reach**2).mean()) < np.sqrt((apart**2).mean())


def test_clips_of_two_rates_keep_their_time(tmp_path: Path) -> None:
    from pxr import Usd

    model = two_clips()
    save_model(model, tmp_path / "model.usda")
    stage = Usd.Stage.Open(str(tmp_path / "model.usda"))
    assert (stage.GetTimeCodesPerSecond(), stage.GetStartTimeCode()) == (30.0, 0.0)
    assert stage.GetEndTimeCode() == pytest.approx(3 + 4 * 30 / 24)
    codes = stage.GetDefaultPrim().GetPrimAtPath("Skeleton/Animation").GetAttribute("rotations").GetTimeSamples()
    assert codes == pytest.approx(frame_times(model.clips, 30.0))
