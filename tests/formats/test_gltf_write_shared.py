"""A real fit out to glTF: how small it is, how true, and the way it takes between frames.

Runs where the data folder beside the repository exists.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, SaveOptions, load_sequence, save_model
from osteon.pipeline.skin import skin_sequence

HORSE = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "sequences" / "horse.npz"
pytestmark = pytest.mark.skipif(not HORSE.is_file(), reason="no shared data beside the repository")


@pytest.fixture(name="horse", scope="module")
def _horse() -> tuple[MeshSequence, SkinnedModel]:
    sequence = load_sequence([HORSE])
    return sequence, skin_sequence(sequence, options=SkinOptions(bones=30, bone_type="flexible")).model


def error_percent(sequence: MeshSequence, frames: np.ndarray) -> float:
    source = sequence.frames.astype(np.float64)
    return float(100 * np.linalg.norm(source - frames) / np.linalg.norm(source - source.mean(axis=0)))


def test_sixteen_bits_take_a_twelfth_and_cost_no_accuracy(horse, tmp_path):
    sequence, model = horse
    path = tmp_path / "horse.glb"
    save_model(model, path, options=SaveOptions(quantize=True, short_rotations=True))
    assert 12 * path.stat().st_size <= sequence.frames.nbytes
    before, after = error_percent(sequence, pose_frames(model)), error_percent(sequence, load_sequence([path]).frames)
    assert after <= 1.01 * before


def detour(model: SkinnedModel, path: Path) -> float:
    """How much farther from a frame vertices are halfway to the next than the frames are apart, of the diagonal.

    A vertex counts for the bone that it follows most, and is shown with all its bones.
    """
    save_model(model, path)
    options = LoadOptions(fps=2 * model.clips[0].fps)
    shown = load_sequence([path], options=options).frames.astype(np.float64)
    owner = np.take_along_axis(model.skin.bones, model.skin.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    farthest = -np.inf
    for b in np.unique(owner):
        mine = shown[:, owner == b]
        moved = np.linalg.norm(mine[2::2] - mine[:-2:2], axis=-1).max(axis=1)
        for end in (mine[:-2:2], mine[2::2]):
            farthest = max(farthest, float((np.linalg.norm(mine[1::2] - end, axis=-1).max(axis=1) - moved).max()))
    return farthest / float(np.linalg.norm(np.ptp(model.rest, axis=0)))


def test_no_bone_takes_a_detour_between_frames(horse, tmp_path):
    assert detour(horse[1], tmp_path / "horse.glb") <= 3e-6
