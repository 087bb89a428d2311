"""The rig that moved a mesh, reduced to what its motion shows: the truth that recovered skeletons are scored against.

A joint counts if it rotates by more than MIN_ROTATION against its nearest ancestor that counts, and if its branch moves
at least MIN_SHARE of the vertices. The vertices of a joint that does not count belong to its nearest ancestor that
does. Further roots (feet that are animated in world space) are children of the joint that they share the most weight
with.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, IntArray
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.transforms import apply, nearest_rotation
from osteon.measure.skeleton_score import ScoredRig

#: A joint counts if it rotates by more than this, in degrees, and moves this share of the vertices by itself.
MIN_ROTATION, MIN_SHARE = 5.0, 3e-3


def true_rig(model: SkinnedModel, frames: IntArray | slice = slice(None), rest_frame: int | None = None) -> ScoredRig:
    """The reduced rig of a model, as its `frames` show it, in its rest pose or in one of its frames."""
    if model.skeleton is None:
        raise GeometryError(f"'{model.name}': expected a model with a skeleton, found none")
    transforms = model.track.transforms.astype(np.float64)
    weights = np.zeros((len(model.rest), model.n_bones))
    np.add.at(weights, (np.arange(len(weights))[:, None], model.skin.bones), model.skin.weights)
    parents = _one_tree(model.skeleton.parents.astype(np.int64), weights)
    rotations = nearest_rotation(transforms[frames][..., :3])
    into = _counted(parents, rotations, weights)
    counts = np.flatnonzero(into == np.arange(len(into)))
    merged = np.zeros((len(weights), len(counts)))
    number = np.searchsorted(counts, into)
    for j in range(len(parents)):
        merged[:, number[j]] += weights[:, j]
    above = [int(number[parents[j]]) if parents[j] >= 0 else -1 for j in counts.tolist()]
    places = model.skeleton.world_from_joint[counts, :, 3].astype(np.float64)
    rest = model.rest.astype(np.float64)
    if rest_frame is not None:
        places = apply(transforms[rest_frame, counts], places[:, None])[:, 0]
        rest = np.einsum("vj,jvi->vi", weights, apply(transforms[rest_frame], rest[None]), optimize=True)
    return ScoredRig(places, np.array(above, np.int64), merged / merged.sum(axis=1, keepdims=True), rest)


def _one_tree(parents: np.ndarray, weights: Float64) -> np.ndarray:
    """The parents with one root: that of the largest tree."""
    parents, shared = parents.copy(), weights.T @ weights
    while np.count_nonzero(parents < 0) > 1:
        root = _roots_of(parents)
        masses = np.bincount(root, weights.sum(axis=0), minlength=len(parents))
        least = min(np.flatnonzero(parents < 0).tolist(), key=lambda j: masses[j])
        own = root == least
        common = np.where(own[:, None] & ~own[None], shared, -1.0)
        inner, outer = np.unravel_index(int(common.argmax()), common.shape)
        while inner >= 0:  # the joint that meets the other tree becomes the root of its own
            above = parents[inner]
            parents[inner], outer, inner = outer, inner, above
    return parents


def _roots_of(parents: np.ndarray) -> np.ndarray:
    root = np.arange(len(parents))
    while (parents[root] >= 0).any():
        root = np.where(parents[root] >= 0, parents[root], root)
    return root


def _counted(parents: np.ndarray, rotations: Float64, weights: Float64) -> np.ndarray:
    """(j,) the joint that each joint is merged into: itself if it counts."""
    into = np.arange(len(parents))
    share = weights.mean(axis=0)
    children = [np.flatnonzero(parents == j).tolist() for j in range(len(parents))]
    order = [j for j in range(len(parents)) if parents[j] < 0]
    for j in order:
        order += children[j]
    angles = np.zeros(len(parents))
    for j in order:  # parents first
        if parents[j] >= 0:
            above = into[parents[j]]
            relative = np.swapaxes(rotations[:, above], 1, 2) @ rotations[:, j]
            cosine = (np.einsum("fij,ij->f", relative, relative[0]).min() - 1) / 2
            angles[j] = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
            if angles[j] <= MIN_ROTATION:
                into[j] = above
    owned = np.array([share[into == j].sum() for j in range(len(parents))])
    for j in order[::-1]:  # children first: joints that move too little go to their parents
        if parents[j] >= 0 and into[j] == j and owned[j] < MIN_SHARE:
            above = into[parents[j]]
            into[into == j] = above
            owned[above] += owned[j]
    for j in order:
        while into[into[j]] != into[j]:
            into[j] = into[into[j]]
    return into
