"""Comparing models: who takes part, what is seen and unseen, and what bad input says."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.character import Deformer
from osteon.core.errors import GeometryError, OptionError
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.fit.models import registry as contestants
from osteon.fit.models.registry import CONTESTANTS, Contestant, ContestantSweep, find_contestants
from osteon.pipeline.compare import bones_for_comparison, compare_models
from osteon.pipeline.comparison import Comparison
from osteon.pipeline.options import CompareOptions

from ...subjects import bent_tube

OPTIONS = CompareOptions(bones=3, train=5, threads=1)


@pytest.fixture(scope="module")
def tube() -> MeshSequence:
    """A tube of three bones in 12 poses, two of them shown twice."""
    sequence = bent_tube(3, n_frames=12).sequence
    rough = sequence.frames + 2e-3 * np.random.default_rng(0).normal(size=sequence.frames.shape)
    frames = np.concatenate([rough, rough[[3, 5]]])
    return sequence.with_parts(frames=frames, clips=(), name="tube")


@pytest.fixture(scope="module")
def found(tube: MeshSequence) -> Comparison:
    return compare_models(tube, options=OPTIONS)


def test_poses_are_seen_or_unseen(found: Comparison) -> None:
    assert found.distinct.tolist() == list(range(12))
    assert (len(found.training), len(found.unseen)) == (5, 7)
    assert not set(found.training) & set(found.unseen)
    assert "2 of 14 frames repeat poses and were not used" in found.notes
    for result in found.results:
        assert result.training.frames.tolist() == found.distinct[found.training].tolist()
        assert result.unseen.frames.tolist() == found.distinct[found.unseen].tolist()


def test_all_registered_models_take_part(found: Comparison) -> None:
    assert [result.word for result in found.results] == [
        word for word, each in CONTESTANTS.items() if not each.only_if_named
    ]
    assert found.n_bones == 3
    assert found.baseline is found.results[0]


def test_linear_blending_finds_its_own_subject(found: Comparison) -> None:
    base = found.baseline
    assert base is not None
    off = base.unseen.deviation
    assert off.percent(off.mean) < 0.2  # the noise is 0.1 % of the diagonal
    assert base.training.distortion.rms <= 1.1 * base.unseen.distortion.rms
    assert off.mean <= off.rms <= off.worst.distance
    assert off.mean <= base.unseen.distortion.rms
    assert base.cost.multiply_adds == 12 * base.cost.slots + 9
    assert base.cost.floats == 3 * found.sequence.n_vertices  # as many slots as there are bones


def test_posing_gives_what_was_measured(found: Comparison) -> None:
    base = found.results[0]
    posed = found.pose(base, found.unseen.tolist())
    apart = posed.astype(float) - found.sequence.frames[found.unseen]
    assert np.sqrt((apart**2).sum(axis=2).mean()) == pytest.approx(base.unseen.distortion.rms, rel=1e-5)


def test_the_report_is_json(found: Comparison) -> None:
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert set(told["models"]) == {word for word, each in CONTESTANTS.items() if not each.only_if_named}
    unseen = told["models"]["ssd"]["unseen"]
    assert unseen.keys() >= {"geometric_deviation", "normal_deviation_degrees", "rms", "max", "error_percent"}
    assert unseen["geometric_deviation"]["max"]["frame"] in told["unseen_poses"]
    assert len(unseen["per_frame"]) == 7
    assert told["models"]["ssd"]["unseen_rms_over_ssd"] == 1
    assert told["closest_on_unseen_poses"] in CONTESTANTS


def test_unseen_poses_change_no_weight(tube: MeshSequence, found: Comparison) -> None:
    poses = tube.take_frames(found.distinct)
    whole = bones_for_comparison(poses, found.training, OPTIONS)
    changed = poses.frames.copy()
    changed[found.unseen[0]] *= 1.3
    other = bones_for_comparison(poses.with_parts(frames=changed), found.training, OPTIONS)
    assert np.array_equal(whole.influences.weights, other.influences.weights)
    assert np.array_equal(whole.transforms.values[found.training], other.transforms.values[found.training])


def test_a_list_of_poses_is_taken(tube: MeshSequence) -> None:
    taken = compare_models(tube, options=CompareOptions(models="ssd", poses="0,13,-6,7", bones=3, threads=1))
    assert taken.distinct[taken.training].tolist() == [0, 7, 8, 13]
    assert 5 not in taken.distinct  # frame 13 shows it
    with pytest.raises(GeometryError, match="frame 13 repeats a pose"):
        compare_models(tube, options=CompareOptions(poses="5,13,0", bones=3))
    with pytest.raises(OptionError, match="there is no frame 40"):
        compare_models(tube, options=CompareOptions(poses="0,40"))


def test_more_bones_than_poses_can_tell(tube: MeshSequence) -> None:
    few = compare_models(tube, options=CompareOptions(models="ssd", train=2, bones=6, threads=1))
    assert any("6 bones are more than 2 training poses can tell apart" in note for note in few.notes)
    assert any("set 4 bones or fewer" in note for note in few.notes)


def test_bad_input(tube: MeshSequence) -> None:
    still = tube.with_parts(frames=np.repeat(tube.frames[:1], 4, axis=0), clips=())
    with pytest.raises(GeometryError, match="all frames show one pose"):
        compare_models(still)
    with pytest.raises(OptionError, match="train with 10 at most"):
        compare_models(tube, options=CompareOptions(train=11))
    bare = MeshSequence(tube.frames, np.zeros((0, 3), np.int32), tube.rest)
    with pytest.raises(GeometryError, match="no triangles"):
        compare_models(bare)


def test_words() -> None:
    assert list(find_contestants(("dqs", "ssd"))) == ["dqs", "ssd"]
    with pytest.raises(OptionError, match=r"models: unknown model 'foo'; known are ssd, dqs, mwe, as"):
        find_contestants(("ssd", "foo"))
    with pytest.raises(OptionError, match="dqs is named twice"):
        find_contestants(("dqs", "ssd", "dqs"))
    with pytest.raises(OptionError, match="expected frame numbers"):
        CompareOptions(poses="a,b")
    with pytest.raises(OptionError, match="omit it"):
        CompareOptions(train=4, poses="0,1")


@dataclass(frozen=True)
class Swept:
    """What a fit of a test gives."""

    deformer: Deformer
    sweep: SimpleNamespace


@dataclass(frozen=True)
class SweptOptions:
    """Options of a class of its own."""

    seed: int
    threads: int
    towards: str = "ssd"


def swept(problem, transforms, influences, options):  # type: ignore[no-untyped-def]
    """A contestant of a test: linear blending that says it tried two strengths."""
    assert (options.seed, options.towards) == (4, "zero")
    fit = contestants.contest_linear_blend(problem, transforms, influences, options)
    tried = SimpleNamespace(
        strengths=np.array([1.0, 0.1]), training=np.array([1.0, 2.0]), held_out=np.array([3.0, 4.0])
    )
    return Swept(fit.deformer, tried)


def test_a_contestant_is_a_line(tube: MeshSequence, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"options": f"{__name__}:SweptOptions", "settings": (("towards", "zero"),), "only_if_named": True}
    monkeypatch.setitem(CONTESTANTS, "new", Contestant("a new one", f"{__name__}:swept", 12, **options))
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__, SimpleNamespace(**globals())))
    assert "new" not in find_contestants()
    asked = CompareOptions(models="new", train=4, bones=3, threads=1, seed=4)
    result = compare_models(tube, options=asked).results[0]
    assert result.sweep == ContestantSweep((0.1, 1.0), (2.0, 1.0), (4.0, 3.0))
    assert result.cost.multiply_adds == 36


def test_models_play_all_frames_of_the_input(tube: MeshSequence, found: Comparison) -> None:
    for result in found.results:
        model = found.animated(result)
        assert (model.n_frames, model.clips) == (14, tube.clips)
        assert model.skeleton is found.skeleton
        assert model.track.names == found.skeleton.names
        played = pose_frames(model)
        poses = found.pose(result, range(12))
        assert np.abs(played[:12] - poses).max() < 1e-6 * tube.diagonal
        assert np.abs(played[12:] - poses[[3, 5]]).max() < 1e-6 * tube.diagonal


def test_a_pose_that_comes_again_elsewhere_is_played_there(tube: MeshSequence) -> None:
    turn = Rotation.from_rotvec([0.4, 1.2, -0.3]).as_matrix()
    moved = tube.frames[4].astype(float) @ turn.T + [2.0, -1.0, 0.5]
    frames = np.concatenate([tube.frames[:12], moved[None]])
    again = tube.with_parts(frames=frames, clips=())
    asked = CompareOptions(models="ssd,as", train=4, bones=3, threads=1)
    found = compare_models(again, options=asked)
    assert found.places.poses[12] == 4
    for result in found.results:
        played = pose_frames(found.animated(result))
        laid = played[4].astype(float) @ turn.T + [2.0, -1.0, 0.5]
        assert np.abs(played[12] - laid).max() < 1e-5 * tube.diagonal
