"""The input of the search: the bones that vertices use, their weighted points, and their motion.

Bones that no vertex uses are omitted. Duplicate joints, as when two skins bind one node differently, are one bone: if
both have the same placement in every frame, T_c = T_b K with a constant K, and points z of c become points K z of b.
With z_vb = sum of w [p; 1] over the slots of a vertex that belong to bone b,

    x_v^f = sum_b T_b^f z_vb

Lengths are in units of the body: the rest pose and the posed body are each centred and have a diagonal of one. Rigs
with a scale of 0.01 are then like all others, and a bone that follows nothing is the identity.

Notes. Errors are those of linear blending, for dual quaternions too: both agree to first order in the difference, and
the order only has to rank. Displacements of the rest pose are comparatively small, and ignored in the search.

Weights of vertices, Soldier, three blends: the largest distance of a vertex, in % of the diagonal, with 41, 38, 35, 32,
29, 26 and 23 bones, with vertices that count by a power of the area around them.

    power 0      .52  1.05  1.05  1.03  3.25  3.25  3.25
    power 0.25   .52   .64  1.00  1.02  1.40  3.26  3.26
    power 0.5    .52   .64  1.00  1.02  1.41  2.02  3.26
    power 0.75   .64  1.00  1.00  1.02  2.02  2.02  2.07
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Float64, Int32, Int64
from osteon.core.character import Skeleton, Skin
from osteon.core.errors import GeometryError
from osteon.core.mesh import scale_of_bones
from osteon.core.model import SkinnedModel
from osteon.core.topology import vertex_areas
from osteon.core.transforms import apply, compose, identity, invert
from osteon.lod.level_player import rest_pivots

#: Kinds of deformers whose slots hold a bone and a weight only.
FAMILIES = ("linear_blend", "dual_quaternion")
#: Joints are duplicates if no entry of their placements differs by more than this, in diagonals.
SAME_JOINT = 1e-5
#: Vertices count by this power of the area around them, in levels for a size on the screen.
AREA_POWER = 0.5


@dataclass(frozen=True, slots=True)
class SkinMotion:
    """Used bones, their weighted points and their motion, in units of the body."""

    bones: Int64  # (n,) their numbers in the model
    names: tuple[str, ...]  # (n,)
    parents: Int64  # (n,) the nearest used ancestor in the rig, -1 at a root
    transforms: Float64  # (f,n,3,4) posed_from_rest
    owners: Int64  # (v,k) the used bone of each slot
    holds: Float64  # (v,k,4) z of each slot
    clips: tuple[Clip, ...]
    rigid: bool  # whether all transforms are rigid
    pivots: Float64  # (n,3) rest pivot of each bone
    leaders: Int64  # (b,) for every bone of the model the used bone that it is or follows
    ties: Float64  # (b,3,4) its constant offset, in units of the model
    unit_from_rest: Float64  # (3,4)
    unit_from_posed: Float64  # (3,4)

    @property
    def n_bones(self) -> int:
        """Used bones."""
        return len(self.bones)

    @property
    def n_vertices(self) -> int:
        return len(self.owners)

    @property
    def roots(self) -> Int64:
        """Used bones without a used ancestor."""
        return np.flatnonzero(self.parents < 0)

    def weighed(self, weights: Float64) -> SkinMotion:
        """The same motion, in whose squared errors vertices count by weights (v,), scaled to the mean 1."""
        roots = np.sqrt(weights / (weights.mean() or 1.0))
        return replace(self, holds=self.holds * roots[:, None, None])

    @property
    def squared_unit(self) -> float:
        """The factor of squared errors from units of the body to those of the model."""
        return float(self.unit_from_posed[0, 0] ** -2)

    def offsets_in_model(self, offsets: Float64, parents: Int64) -> Float64:
        """(n,3,4) offsets in units of the model; of bones without a parent posed_from_rest."""
        unit_of_parent = np.where((parents < 0)[:, None, None], self.unit_from_posed, self.unit_from_rest)
        return compose(compose(invert(unit_of_parent), offsets), self.unit_from_rest)


def visible_weights(model: SkinnedModel) -> Float64:
    """(v,) the weights of vertices in levels for a size: between those of area alone and those of vertices alone."""
    weights: Float64 = vertex_areas(model.rest, model.faces) ** AREA_POWER
    return weights


def read_skin_motion(model: SkinnedModel, skin: Skin | None = None) -> SkinMotion:
    """The used bones of a model; raises GeometryError for deformers without plain weights and models without vertices.

    `skin` is the model's skin with its slots in another order.
    """
    if model.deformer.kind not in FAMILIES:
        known = " or ".join(FAMILIES)
        raise GeometryError(f"levels: expected a {known} skin, got {model.deformer.kind}; fit one of those")
    skin, transforms = skin or model.skin, model.animation.transforms.astype(np.float64)
    used = np.unique(skin.bones[skin.weights != 0])
    if not len(used):
        raise GeometryError("levels: expected vertices that follow bones, got none")
    unit_from_rest, unit_from_posed = _units(model.rest, model.mesh.diagonal, transforms[:, used])
    in_units = compose(compose(unit_from_posed, transforms), invert(unit_from_rest))
    leaders, ties = _same_joints(model.skeleton, transforms, used, model.diagonal)
    bones = np.unique(leaders[used])
    holds = _holds(skin.weights, apply(unit_from_rest, model.rest))
    place = np.full(model.n_bones, -1)
    place[bones] = np.arange(len(bones))
    _tie(holds, skin.bones, compose(compose(unit_from_rest, ties), invert(unit_from_rest)))
    parents = _parents(model.skeleton, model.n_bones, bones, leaders)
    leaders, ties = _lead_unused(model.skeleton, leaders, ties, bones)
    return SkinMotion(
        bones=bones,
        names=tuple(model.track.names[b] for b in bones),
        parents=parents,
        transforms=np.ascontiguousarray(in_units[:, bones]),
        owners=place[leaders[np.where(skin.weights != 0, skin.bones, bones[0])]],
        holds=holds,
        clips=model.clips,
        rigid=model.track.bone_type == "rigid",
        pivots=apply(unit_from_rest, rest_pivots(model)[bones]),
        leaders=leaders,
        ties=ties,
        unit_from_rest=unit_from_rest,
        unit_from_posed=unit_from_posed,
    )


def _units(rest: Float32, diagonal: float, transforms: Float64) -> tuple[Float64, Float64]:
    """unit_from_rest and unit_from_posed (3,4)."""
    length = diagonal or 1.0
    center = 0.5 * (rest.min(axis=0).astype(np.float64) + rest.max(axis=0))
    posed = apply(transforms, center[None])[..., 0, :].mean(axis=(0, 1))
    found = []
    for middle, size in ((center, length), (posed, length * scale_of_bones(transforms))):
        unit = identity()
        unit[:, :3] /= size
        unit[:, 3] = -middle / size
        found.append(unit)
    return found[0], found[1]


def _holds(weights: Float32, points: Float64) -> Float64:
    """(v,k,4) w [p; 1]."""
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    return np.ascontiguousarray(weights.astype(np.float64)[:, :, None] * homogeneous[:, None])


def _tie(holds: Float64, bones: Int32, ties: Float64) -> None:
    """Transfer the points of duplicate joints to the joints that they duplicate, in place."""
    tied = np.flatnonzero((ties != identity(len(ties))).any(axis=(1, 2)))
    for bone in tied:
        slots = bones == bone
        holds[slots, :3] = holds[slots] @ ties[bone].T


def _same_joints(skeleton: Skeleton | None, transforms: Float64, used: Int64, diagonal: float) -> tuple[Int64, Float64]:
    """For every bone the first used one with the same placement in all frames, and K with T = T_first K."""
    n_bones = transforms.shape[1]
    leaders, ties = np.arange(n_bones), identity(n_bones)
    placed = skeleton is not None and len(skeleton.names) == n_bones
    rest = skeleton.world_from_joint.astype(np.float64) if placed and skeleton is not None else ties
    world = compose(transforms, rest)
    world[..., 3] /= diagonal or 1.0
    size = np.abs(world[..., :3]).max(initial=1e-300)
    for i, b in enumerate(used):
        earlier = [c for c in used[:i] if leaders[c] == c]
        first = np.abs(world[0, earlier] - world[0, b]).max(axis=(1, 2)) <= SAME_JOINT * size
        for c in np.array(earlier, np.int64)[first]:
            if np.abs(world[:, c] - world[:, b]).max() <= SAME_JOINT * size:
                leaders[b] = c
                ties[b] = identity() if (rest[c] == rest[b]).all() else compose(rest[c], invert(rest[b]))
                break
    return leaders, ties


def _parents(skeleton: Skeleton | None, n_bones: int, bones: Int64, leaders: Int64) -> Int64:
    """(n,) the nearest used ancestor of each bone; -1 if the model has no skeleton."""
    found = np.full(len(bones), -1)
    if skeleton is None or len(skeleton.names) != n_bones:
        return found
    place = {int(b): i for i, b in enumerate(bones)}
    for i, b in enumerate(bones):
        ancestor = int(skeleton.parents[b])
        while ancestor >= 0 and (int(leaders[ancestor]) not in place or int(leaders[ancestor]) == b):
            ancestor = int(skeleton.parents[ancestor])
        found[i] = place[int(leaders[ancestor])] if ancestor >= 0 else -1
    return found


def _lead_unused(skeleton: Skeleton | None, leaders: Int64, ties: Float64, bones: Int64) -> tuple[Int64, Float64]:
    """Make unused bones follow their nearest used ancestor, or else the first used bone."""
    used = np.zeros(len(leaders), bool)
    used[bones] = True
    leaders, ties = leaders.copy(), ties.copy()
    for b in np.flatnonzero(~used[leaders]):
        ancestor = -1 if skeleton is None or len(skeleton.names) != len(leaders) else int(skeleton.parents[b])
        while ancestor >= 0 and not used[ancestor]:
            ancestor = int(skeleton.parents[ancestor]) if skeleton is not None else -1
        leaders[b], ties[b] = ancestor if ancestor >= 0 else bones[0], identity()
    return leaders, ties
