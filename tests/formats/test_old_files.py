"""Files that earlier versions wrote still read, and play as they did.

`tests/fixtures/vX.Y.Z` holds small files as that version wrote them; `expected.npz` beside them every 17th vertex of
the first, the middle and the last frame as that version played the model.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.deform.pose import pose_frames
from osteon.io import holds_model, load_model, load_sequence

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = sorted(path for path in FIXTURES.glob("v*/*") if path.name != "expected.npz")
#: 16-bit numbers and fewer keys, as part of the diagonal.
ROUGH, EXACT = 5e-4, 1e-6


def test_found_the_files() -> None:
    assert len(FILES) >= 6
    assert {path.suffix for path in FILES} >= {".npz", ".glb", ".gltf", ".usdc"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_an_old_file_reads_and_plays_as_it_did(path: Path) -> None:
    expected = np.load(path.parent / "expected.npz")[path.stem]
    loaded = load_model(path) if holds_model(path) else load_sequence(str(path))
    frames = pose_frames(loaded) if holds_model(path) else loaded.frames
    shown = frames[[0, loaded.n_frames // 2, loaded.n_frames - 1]][:, ::17]
    off = np.abs(shown - expected).max() / loaded.diagonal
    assert off <= (ROUGH if "quantized" in path.name else EXACT)


def test_old_models_keep_clips_corrections_and_joints() -> None:
    two = load_model(FIXTURES / "v0.1.0" / "two_clips.npz")
    assert [clip.name for clip in two.clips] == ["walk", "run"]
    assert two.rank > 0
    tree = load_model(FIXTURES / "v0.1.0" / "hierarchy.glb")
    assert tree.skeleton is not None
    assert (tree.skeleton.parents >= 0).any()
