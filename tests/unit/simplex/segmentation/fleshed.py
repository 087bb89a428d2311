"""Meshes around stick skeletons: the subjects of the tests of segmentation."""

from __future__ import annotations

import numpy as np

from osteon.core.sticks import StickSkeleton
from osteon.synth.implicit_surface import Grid, polygonise, split_quads
from osteon.synth.shapes import Shape


def stick_skeleton(joints, bones) -> StickSkeleton:
    """From plain lists."""
    return StickSkeleton(np.asarray(joints, float), np.asarray(bones, np.int32).reshape(-1, 2))


def bone_distances(skeleton: StickSkeleton, points: np.ndarray) -> np.ndarray:
    """(n,b) plain distances of points to bones."""
    start, vector = skeleton.joints[skeleton.bones[:, 0]], skeleton.vectors
    away = points[:, None] - start
    along = np.clip(np.einsum("nbk,bk->nb", away, vector) / (vector**2).sum(axis=1), 0, 1)
    return np.linalg.norm(away - along[..., None] * vector, axis=2)


def flesh(skeleton: StickSkeleton, radius: float = 0.12, cells: int = 28) -> Shape:
    """The closed surface at a distance from the bones."""
    low, high = skeleton.joints.min(axis=0) - 1.5 * radius, skeleton.joints.max(axis=0) + 1.5 * radius
    step = float((high - low).max()) / cells
    grid = Grid(tuple(np.arange(a - step, b + 2 * step, step) for a, b in zip(low, high, strict=True)))
    samples = np.stack(np.meshgrid(*grid.axes, indexing="ij"), axis=-1)
    field = bone_distances(skeleton, samples.reshape(-1, 3)).min(axis=1).reshape(samples.shape[:-1]) - radius
    vertices, quads = polygonise(field, grid)
    return Shape(vertices, split_quads(vertices, quads))


#: A palm with three fingers of two bones each, and a wrist.
HAND = stick_skeleton(
    [
        *([0, 0, 0], [0, 0.8, 0]),
        *([-0.6, 1.3, 0.05], [-0.8, 1.9, 0.1], [0, 1.5, 0.02], [0.02, 2.2, 0.2], [0.6, 1.2, 0], [0.9, 1.8, 0.1]),
    ],
    [[0, 1], [1, 2], [2, 3], [1, 4], [4, 5], [1, 6], [6, 7]],
)
