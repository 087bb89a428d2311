"""How different the poses of a sequence are: RMS distances between frames, each pair laid over one another rigidly.

    d(i,j)^2 = min over rotations R of  1/v || X_i - R X_j ||^2  =  (|X_i|^2 + |X_j|^2 - 2 sum of s) / v

X_i (3,v) are the vertices of frame i about their mean, s the singular values of X_i X_j', the last one negative where
its determinant is. A body that only walks or turns keeps its pose.

Based on: W. Kabsch, A solution for the best rotation to relate two sets of vectors, 1976.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.frame_blocks import vertex_tracks
from osteon.core.sequence import MeshSequence

__all__ = ["PoseDistances", "pose_distances", "sampled_vertices"]

#: Vertices that are compared, spread evenly over their numbers; poses of a body differ in more than a few.
SAMPLE = 1000


@dataclass(frozen=True, slots=True)
class PoseDistances:
    """Poses of a sequence, ready to be compared; the rest pose is the last of them."""

    poses: Float64  # (v,p,3) about their means, in diagonals, over the root of v
    sizes: Float64  # (p,) squared

    @staticmethod
    def of(tracks: Float64, rest: Float64, diagonal: float) -> PoseDistances:
        """Vertices in all frames (v,f,3) and in the rest pose (v,3) at the size of the body as it plays."""
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
        found: Float64 = np.sqrt(np.maximum(squared, 0))
        return found

    def turn(self, target: int, source: int) -> Float64:
        """(3,3) the rotation that lays one frame over another."""
        u, _, vt = np.linalg.svd(self.poses[:, target].T @ self.poses[:, source])
        u[:, 2] *= np.sign(np.linalg.det(u @ vt))
        rotation: Float64 = u @ vt
        return rotation


def pose_distances(sequence: MeshSequence) -> PoseDistances:
    """The poses of all frames and the rest pose at the size of the body as it plays."""
    vertices = sampled_vertices(sequence.n_vertices)
    tracks = vertex_tracks(sequence.source, vertices).reshape(len(vertices), -1, 3).astype(np.float64)
    rest = sequence.play_scale * sequence.rest[vertices].astype(np.float64)
    return PoseDistances.of(tracks, rest, sequence.diagonal)


def sampled_vertices(n_vertices: int) -> Int64:
    """Numbers of the vertices that are compared."""
    count = min(SAMPLE, n_vertices)
    return np.unique(np.linspace(0, n_vertices - 1, count).round().astype(np.int64))
