"""How large a body is while it plays, beside how large it stands: bones of other lengths tear it apart."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import FloatArray
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames

__all__ = ["size_of_rest"]

#: Frames of each clip that are looked at, spread over it.
FRAMES = 48


def size_of_rest(model: SkinnedModel, rest: FloatArray) -> float:
    """The largest diagonal of the bounds in a frame over that of `rest` (v,3)."""
    standing = _diagonal(rest)
    largest = 0.0
    for clip in model.clips:
        for f in np.unique(np.linspace(clip.start, clip.stop - 1, FRAMES).astype(np.int64)).tolist():
            largest = max(largest, _diagonal(pose_frames(model, f, f + 1)[0]))
    return largest / standing if standing > 0 else float("inf")


def _diagonal(points: FloatArray) -> float:
    return float(np.linalg.norm(np.ptp(points.astype(np.float64), axis=0)))
