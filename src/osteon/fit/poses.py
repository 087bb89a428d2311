"""Distances between the poses of a sequence, distinct poses, and training poses.

The distance of two frames is their RMS distance after rigid alignment:

    d(i,j)^2 = min over rotations R of  1/v || X_i - R X_j ||^2  =  (|X_i|^2 + |X_j|^2 - 2 sum of s) / v

X_i (3,v) are the vertices of frame i about their mean, s the singular values of X_i X_j', the last one negative where
its determinant is. A rigid motion of the body does not change its pose.

Based on: W. Kabsch, A solution for the best rotation to relate two sets of vectors, 1976.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.errors import GeometryError, OptionError
from osteon.core.frames import vertex_tracks
from osteon.core.parallel import single_threaded_blas
from osteon.core.sequence import MeshSequence

#: Number of compared vertices, evenly spaced by index.
SAMPLE = 1000


@dataclass(frozen=True, slots=True)
class PoseDistances:
    """Normalised poses of a sequence; the last one is the rest pose."""

    poses: Float64  # (v,p,3) about their means, in diagonals, over the root of v
    sizes: Float64  # (p,) squared

    @staticmethod
    def of(tracks: Float64, rest: Float64, diagonal: float) -> PoseDistances:
        """Poses from vertices in all frames (v,f,3) and in the rest pose (v,3), scaled to the size of the frames."""
        poses = np.concatenate([tracks, rest[:, None]], axis=1)
        poses -= poses.mean(axis=0)
        poses /= max(diagonal, 1e-300) * np.sqrt(len(poses))
        return PoseDistances(poses, np.einsum("vpi,vpi->p", poses, poses))

    @property
    def n_frames(self) -> int:
        return int(self.poses.shape[1]) - 1

    def between(self, pose: int) -> Float64:
        """(f,) distances of all frames from a frame, or from the rest pose (number f), in diagonals."""
        flat = self.poses.reshape(len(self.poses), -1)
        products = (self.poses[:, pose].T @ flat).reshape(3, -1, 3).swapaxes(0, 1)[: self.n_frames]
        values = np.linalg.svd(products, compute_uv=False)
        values[:, 2] *= np.where(np.linalg.det(products) < 0, -1, 1)
        squared = self.sizes[: self.n_frames] + self.sizes[pose] - 2 * values.sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(squared, 0)))

    def aligning_rotation(self, target: int, source: int) -> Float64:
        """(3,3) the rotation that aligns the frame `source` with the frame `target`."""
        u, _, vt = np.linalg.svd(self.poses[:, target].T @ self.poses[:, source])
        u[:, 2] *= np.sign(np.linalg.det(u @ vt))
        rotation: Float64 = u @ vt
        return rotation


def pose_distances(sequence: MeshSequence) -> PoseDistances:
    """The poses of all frames and of the rest pose, scaled to the size of the frames."""
    vertices = sampled_vertices(sequence.n_vertices)
    tracks = vertex_tracks(sequence.source, vertices).reshape(len(vertices), -1, 3).astype(np.float64)
    rest = sequence.play_scale * sequence.rest[vertices].astype(np.float64)
    return PoseDistances.of(tracks, rest, sequence.diagonal)


def sampled_vertices(n_vertices: int) -> Int64:
    """Numbers of the vertices that are compared."""
    count = min(SAMPLE, n_vertices)
    return np.unique(np.linspace(0, n_vertices - 1, count).round().astype(np.int64))


# Distinct poses, and those of them to train with.
#
# A gait of two periods contains every pose twice: half of its frames are redundant, and a repeated pose is no test of a
# fit that was trained on the first one. Training poses are chosen so that no other pose is far from all of them: first
# the one most like the rest pose, then repeatedly the one farthest from those chosen (Gonzalez 1985, at most twice the
# optimal radius).

#: Poses closer than this (RMS over the diagonal, after alignment) are equal.
SAME_POSE = 1e-4
#: Least number of unseen poses.
LEAST_UNSEEN = 2
#: Least number of distinct poses.
LEAST_POSES = 3


def distinct_poses(distances: PoseDistances, tolerance: float = SAME_POSE, keep: Sequence[int] = ()) -> Int32:
    """Frames in order, without repetitions of an earlier pose; frames to keep take precedence over all others."""
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
