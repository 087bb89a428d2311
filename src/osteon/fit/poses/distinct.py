"""Frames that show a pose of their own, and those among them that a fit should see.

A gait that is played twice holds every pose twice: half of its frames say nothing new, and a fit that was shown one of
a pair has seen the other. Training poses are chosen so that no other pose is far from all of them: first the one most
like the rest pose, then always the one farthest from those chosen (Gonzalez 1985, at most twice the best covering).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError, OptionError
from osteon.core.parallel import single_threaded_blas
from osteon.fit.poses.distances import PoseDistances

__all__ = ["LEAST_UNSEEN", "SAME_POSE", "check_count", "check_pose_list", "choose_training_poses", "distinct_poses"]

#: Poses closer than this (RMS over the diagonal, laid over one another) are one pose.
SAME_POSE = 1e-4
#: Poses that must be left to judge a fit by.
LEAST_UNSEEN = 2
#: With fewer distinct poses there is nothing to learn from some and to test on others.
LEAST_POSES = 3


def distinct_poses(distances: PoseDistances, tolerance: float = SAME_POSE, keep: Sequence[int] = ()) -> Int32:
    """Frames in order, without those that repeat an earlier one; frames to keep come before all others."""
    order = [*keep, *(f for f in range(distances.n_frames) if f not in keep)]
    far = np.full(distances.n_frames, np.inf)
    kept: list[int] = []
    with single_threaded_blas():  # its products are small
        for frame in order:
            if far[frame] > tolerance:
                kept.append(frame)
                far = np.minimum(far, distances.between(frame))
    return np.sort(np.array(kept, np.int32))


def choose_training_poses(distances: PoseDistances, distinct: Int32, count: int, name: str = "the sequence") -> Int32:
    """`count` of the distinct frames, in order, that cover the others; refuses to leave too few unseen."""
    check_count(len(distinct), count, name)
    chosen = [int(distinct[distances.between(distances.n_frames)[distinct].argmin()])]
    far: Float64 = distances.between(chosen[0])[distinct]
    while len(chosen) < count:
        chosen.append(int(distinct[far.argmax()]))
        far = np.minimum(far, distances.between(chosen[-1])[distinct])
    return np.sort(np.array(chosen, np.int32))


def check_pose_list(frames: Sequence[int], n_frames: int) -> tuple[int, ...]:
    """A list of training poses by a user: frames that exist, each once; negative ones count from the end."""
    numbers = tuple(f + n_frames if f < 0 else f for f in frames)
    for given, frame in zip(frames, numbers, strict=True):
        if not 0 <= frame < n_frames:
            raise OptionError(f"poses: there is no frame {given}; the sequence has frames 0 … {n_frames - 1}")
    if len(set(numbers)) < len(numbers):
        twice = next(f for i, f in enumerate(numbers) if f in numbers[:i])
        raise OptionError(f"poses: frame {twice} is named twice")
    return numbers


def check_count(n_distinct: int, count: int, name: str) -> None:
    """Refuse a sequence of too few poses, and training that leaves nothing to test on."""
    if n_distinct == 1:
        raise GeometryError(f"'{name}': all frames show one pose, so that there is nothing to compare")
    if n_distinct < LEAST_POSES:
        raise GeometryError(f"'{name}' has {n_distinct} distinct poses; a comparison needs at least {LEAST_POSES}")
    if n_distinct < count + LEAST_UNSEEN:
        most = max(1, n_distinct - LEAST_UNSEEN)
        raise OptionError(
            f"train: {count} of the {n_distinct} distinct poses of '{name}' leave fewer than {LEAST_UNSEEN} unseen; "
            f"train with {most} at most"
        )
