"""What `osteon compare` promises of every model that takes part: its file plays what was measured, and is viewed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.deform.pose import pose_frames
from osteon.deform.registry import DEFORMERS
from osteon.fit.models.registry import CONTESTANTS
from osteon.io import load_model, save_sequence
from osteon.io.comparisons import write_comparison_folder
from osteon.pipeline.compare import compare_models
from osteon.pipeline.comparison import Comparison
from osteon.pipeline.options import CompareOptions
from osteon.view.pack.schema import read_arrays
from osteon.view.server.collection import Collection, prepare_models
from osteon.view.server.model_files import find_models, method_name

from ..subjects import bent_tube


@pytest.fixture(scope="module")
def found() -> Comparison:
    sequence = bent_tube(3, n_frames=9).sequence
    rough = sequence.frames + 2e-3 * np.random.default_rng(0).normal(size=sequence.frames.shape)
    frames = np.concatenate([rough, rough[[2]]])  # the last one repeats a pose
    options = CompareOptions(models=",".join(CONTESTANTS), train=4, bones=3, threads=1)
    return compare_models(sequence.with_parts(frames=frames, clips=(), name="tube"), options=options)


@pytest.fixture(scope="module")
def folder(found: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("saved") / "models"
    write_comparison_folder(out, {r.word: found.animated(r) for r in found.results}, found.to_json())
    frames = found.sequence.frames[found.places.poses]
    save_sequence(found.sequence.with_parts(frames=frames, clips=found.places.clips), out.parent / "source.npz")
    return out


@pytest.mark.parametrize("word", CONTESTANTS)
def test_its_file_plays_what_was_measured(word: str, found: Comparison, folder: Path) -> None:
    result = next(result for result in found.results if result.word == word)
    model = load_model(folder / f"{word}.npz")
    assert model.deformer.kind in DEFORMERS
    assert model.skeleton is not None
    played = pose_frames(model)[found.distinct[found.unseen]].astype(float)
    apart = played - found.sequence.frames[found.unseen]
    assert np.sqrt((apart**2).sum(axis=2).mean()) == pytest.approx(result.unseen.distortion.rms, rel=1e-4)


def test_its_name_is_one_of_a_file() -> None:
    for word in CONTESTANTS:
        assert word == Path(word).name.lower()
        assert word not in ("source", "comparison")


def test_all_can_be_viewed_together(found: Comparison, folder: Path, tmp_path: Path) -> None:
    named = find_models([str(folder), str(folder.parent / "source.npz")])
    assert named is not None
    assert [model.label for model in named.models] == [method_name(word) for word in CONTESTANTS]
    collection = Collection(tmp_path)
    prepare_models(collection, named)
    for item, (word, contestant) in zip(collection.items.values(), CONTESTANTS.items(), strict=True):
        told = item.to_json()
        assert (told["label"], told["about"], told["group"]) == (method_name(word), contestant.title, "m1")
        result = next(result for result in found.results if result.word == word)
        off = result.unseen.deviation
        assert told["compared"]["unseen"]["rms"] == pytest.approx(off.percent(result.unseen.distortion.rms))
        held = read_arrays(item.pack, ["source", "transforms"])
        assert ("source" in held) == (item.id == "m1")  # the frames are there once
        assert told.get("source_in", "") == ("" if item.id == "m1" else "m1")
        assert held["transforms"].shape == (10, 3, 3, 4)
