"""Sequences made elsewhere from known bones, where the data folder beside the repository exists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.fit.skin.weights import fit_weights
from osteon.measure.distortion import measure_distortion
from osteon.pipeline.skin import skin_sequence

from ..tolerance import RECOVERED, assert_near, assert_plays

SEQUENCES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "sequences"
pytestmark = pytest.mark.skipif(not SEQUENCES.is_dir(), reason="no shared data beside the repository")

N_BONES = {"cylinder": 4, "cheburashka": 11}


def load(name: str) -> tuple[MeshSequence, np.ndarray, np.ndarray]:
    """The sequence, its true weights (v,b) and its true bones (f,b,3,4)."""
    with np.load(SEQUENCES / f"{name}.npz") as data:
        sequence = MeshSequence(data["frames"], data["faces"], data["rest"], name=name)
        return sequence, data["gt_weights"].astype(np.float64), data["gt_bones"].astype(np.float64)


#: Why the Cheburashka is not found again; worst vertex and RMS in parts of the diagonal:
#: 1. The descent ends in a valley beside the truth: 1.2e-2 and 7e-4 with rigid bones, 0.8e-2 and 4e-4 with flexible
#:    ones, nearly all vertices beyond 1e-4, where the true bones would leave a tenth (2.). This is most of it: a truth
#:    of eight influences is missed by as much (test_the_truth_with_eight_influences). More starts are what is missing.
#: 2. 6 % of its vertices follow nine to eleven bones, and we keep eight: even with the true bones the best eight leave
#:    4e-3 and 0.7e-4 (test_weights_of_known_bones_are_found_again).
#: 3. Frames, weights and bones of the file are rounded, and one vertex misses by 1.3e-4: even the truth does not play
#:    the file to 1e-4 (test_the_truth_itself).
OUT_OF_REACH = pytest.mark.xfail(
    strict=True,
    reason="ends in a local minimum; the truth has up to 11 influences a vertex, we have 8; it is itself off by 1.3e-4",
)
BESIDE_THE_TRUTH = pytest.mark.xfail(strict=True, reason="ends in a local minimum")


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
@pytest.mark.parametrize("name", ["cylinder", pytest.param("cheburashka", marks=OUT_OF_REACH)])
def test_known_bones_are_found_again(name, bone_type):
    sequence, weights, bones = load(name)
    linear = bones[..., :3]
    assert_near(linear @ np.swapaxes(linear, 2, 3), np.broadcast_to(np.eye(3), linear.shape), 1e-5)  # they are rigid
    influences = min(8, int((weights > 1e-4).sum(axis=1).max()))
    options = SkinOptions(bones=N_BONES[name], bone_type=bone_type, influences=influences)
    fit = skin_sequence(sequence, options=options)
    assert fit.model.n_bones == N_BONES[name] == bones.shape[1]
    assert_plays(fit.model, sequence)


def play(rest: np.ndarray, weights: np.ndarray, bones: np.ndarray) -> np.ndarray:
    """Linear blending of all bones, in double precision."""
    points = np.concatenate([rest.astype(np.float64), np.ones((len(rest), 1))], axis=1)
    return np.einsum("vb,fbij,vj->fvi", weights, bones, points, optimize=True)


def eight_largest(weights: np.ndarray) -> np.ndarray:
    """Weights (v,b) with all but eight of a vertex left away."""
    out = weights.copy()
    np.put_along_axis(out, np.argsort(-weights, axis=1)[:, 8:], 0.0, axis=1)
    return out / out.sum(axis=1, keepdims=True)


def test_the_truth_itself():
    sequence, weights, bones = load("cheburashka")
    assert 0.05 < ((weights > 1e-4).sum(axis=1) > 8).mean() < 0.07
    apart = np.linalg.norm(play(sequence.rest, weights, bones) - sequence.frames, axis=2) / sequence.diagonal
    assert RECOVERED < apart.max() < 1.5 * RECOVERED
    assert np.sqrt((apart**2).mean()) < 2e-6


@BESIDE_THE_TRUTH
def test_the_truth_with_eight_influences():
    sequence, weights, bones = load("cheburashka")
    frames = play(sequence.rest, eight_largest(weights), bones).astype(np.float32)
    cut = MeshSequence(frames, sequence.faces, sequence.rest)
    fit = skin_sequence(cut, options=SkinOptions(bones=11, bone_type="rigid", influences=8))
    assert_plays(fit.model, cut)


def test_weights_of_known_bones_are_found_again():
    """Eight influences of the eleven that the truth has."""
    sequence, _, bones = load("cheburashka")
    track = BoneTrack(bones.astype(np.float32), "rigid")
    skin = fit_weights(sequence, track, options=SkinOptions(influences=8))
    model = linear_blend_model(sequence.rest, sequence.faces, skin, track)
    found = measure_distortion(sequence.frames, sequence.faces, lambda a, b: pose_frames(model, a, b))
    assert found.rms < 1e-4 * sequence.diagonal
