"""The two readers of a skinned file, as a model and as frames, show the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, load_model, load_sequence

#: Part of the diagonal by which a vertex may be off.
AGREED = 1e-5


def assert_readers_agree(path: Path, options: LoadOptions | None = None) -> SkinnedModel:
    """The model in a file, after its poses were compared with the frames of the same file."""
    options = options or LoadOptions()
    model, sequence = load_model(path, options=options), load_sequence(path, options=options)
    assert model.clips == sequence.clips
    assert np.array_equal(model.faces, sequence.faces)
    apart = np.linalg.norm(pose_frames(model).astype(float) - sequence.frames, axis=2).max()
    assert apart <= AGREED * max(sequence.diagonal, AGREED)
    return model
