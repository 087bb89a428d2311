"""Bake a level to a separate model: only its active bones, a skin on these, and a rest pose fitted to them.

A bone b that follows its leader l by a constant offset needs no joint if the rest pose of its vertices includes the
offset. With a bind pose D of the leaders a vertex of the level is

    x_v = blend_b( w_vb, T_l D_l^-1 . D_l O_b ) [p_v; 1]

If all D_l O_b moved p_v to one position, that could be its rest position, which depends on leaders only. This nearly
holds if D is a pose in which the surface is intact; the residual is minimised over all frames:

    minimise over p'    sum_f || A_v^f [p' + d'^f; 1] - x_v^f ||^2 + small || p' - p'_0 ||^2

    symbol      name
    O_b, l      offsets, leaders: `BoneOrder.leaders`
    D           bind_pose, of the leaders
    A           blends of the new skin under T_l D_l^-1
    p'_0, d'    the rest pose and its displacements, moved by the blend of all D_l O_b

Two bind poses are tried: the model's own, and the frame nearest to the mean of all; the closer one is kept.
Bones that follow nothing are bound to one joint that does not move.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.1.1: defaults as changes of the bind pose.
Differs from the paper: it changes the mesh alone; here the bind matrices change with it, and vertices are fitted.

Notes. Root mean square distance from the source in % of the diagonal, of the level and of what is baked by the model's
bind pose and by that of a frame, each fitted. CesiumMan, 14 of 19 bones: .141, .144, .188; 5 bones .898, .920, .898.
FpsArms, 24 of 48: .032, .065, .039; 12 bones .130, .161, .133. Without the fit: .148 and .238, .923 and .928; .311 and
.040, .318 and .133. Fitted to the source instead of the level, parts that rotate about an axis shrink towards it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from osteon.core.animation import Animation, BoneTrack, bone_type_of, wider_type
from osteon.core.arrays import Bool, Float32, Float64, Int32, Int64
from osteon.core.character import Deformer, Displacement, Skeleton, Skin, StoredDisplacement
from osteon.core.mesh import Asset, scale_of_bones
from osteon.core.model import SkinnedModel
from osteon.core.transforms import compose, identity, invert
from osteon.deform.edits import edited_model
from osteon.deform.normals import unit_vectors
from osteon.deform.pose import blends_of, displaced_rest, pose_frames, pose_points
from osteon.io.metadata.baked import baked_model
from osteon.lod.bone_order import BoneOrder

#: Weight of the blended rest position of a vertex, relative to the sum over all frames.
HELD = 1e-4
#: Number of evenly spaced frames in which the rest pose is fitted.
FRAMES = 128
#: Frames that are posed at a time, and the number of positions that are kept between passes over all frames.
BLOCK, KEPT = 16, 4_000_000
#: Name of the joint of bones that follow nothing.
STILL = "still"


def bake_level(
    model: SkinnedModel, order: BoneOrder, bones: int, skin: Skin | None = None, *, frames: int = FRAMES
) -> SkinnedModel:
    """Bake a model to at most `bones` active bones of an order that serves all its clips.

    `skin` has the weights of the level, if they differ from the model's; its rest pose is fitted in so many frames.
    Edits become part of it.
    """
    model = edited_model(model)
    level = _Level.of(model, order, bones, skin or model.skin, frames)
    if level.is_whole:
        return level.built(identity(model.n_bones), model.rest.astype(np.float64))
    tried = [level.fitted(pose) for pose in level.bind_poses()]
    return min(tried, key=level.distance)


@dataclass(frozen=True, slots=True)
class _Level:
    """The level to bake: a model, its leading bones, and the target positions of its vertices."""

    model: SkinnedModel
    deformer: Deformer  # of the model's bones, with the weights of the level
    active: Int64  # (n,) leading bones
    leaders: Int32  # (b,) the leader of each bone, -1: none
    offsets: Float64  # (b,3,4)
    frames: Int64  # in which the rest pose is fitted
    _kept: list[Float32] = field(default_factory=list)  # (n,v,3) positions of blocks of frames

    @staticmethod
    def of(model: SkinnedModel, order: BoneOrder, bones: int, skin: Skin, fitted: int) -> _Level:
        count = int(order.active_counts[bones])
        leaders, offsets = order.leaders(count)
        if count == order.n_ordered:  # duplicate joints are their own leaders too: all joints are kept
            leaders, offsets = np.arange(model.n_bones, dtype=np.int32), identity(model.n_bones)
        fallback = model.character.fallback
        used = np.unique(np.concatenate([_used(skin), *([] if fallback is None else [_used(fallback)])]))
        active = np.unique(leaders[used][leaders[used] >= 0]).astype(np.int64)
        frames = np.unique(np.linspace(0, model.n_frames - 1, fitted).round().astype(np.int64))
        return _Level(model, type(model.deformer).from_skin(skin), active, leaders, offsets, frames)

    @property
    def is_whole(self) -> bool:
        """Whether every used bone is its own leader."""
        used = _used(self.deformer.bone_weights())
        return bool((self.leaders[used] == used).all())

    @property
    def follows_nothing(self) -> Bool:
        """(b,1,1) bones that do not move."""
        return np.asarray((self.leaders < 0)[:, None, None])

    @property
    def still(self) -> Float64:
        """(3,4) a bone that does not move, at the size of the posed body."""
        out = identity()
        out[:, :3] *= scale_of_bones(self.model.animation.transforms)
        return out

    def positions(self) -> Iterator[tuple[int, Float64]]:
        """Frames, and (v,3) the vertices of the level there."""
        blocks = self._kept or self._posed_blocks()
        keep = not self._kept and len(self.frames) * self.model.n_vertices <= KEPT
        at = 0
        for block in blocks:
            if keep:
                self._kept.append(block)
            for points in block:
                yield int(self.frames[at]), points.astype(np.float64)
                at += 1

    def _posed_blocks(self) -> Iterator[Float32]:
        """(n,v,3) positions of the level, block by block."""
        for frames in self._blocks():
            few = self.model.take_frames(frames)
            transforms = few.animation.transforms.astype(np.float64)
            leaders = np.where(self.follows_nothing, identity(), transforms[:, np.maximum(self.leaders, 0)])
            yield pose_points(self.deformer, displaced_rest(few, 0, len(frames)), compose(leaders, self.offsets))

    def _blocks(self) -> list[Int32]:
        """The frames in blocks."""
        return [self.frames[start : start + BLOCK].astype(np.int32) for start in range(0, len(self.frames), BLOCK)]

    def bind_poses(self) -> list[Float64]:
        """(b,3,4) candidate bind poses of the leaders."""
        central = self.model.animation.transforms[self._central_frame()].astype(np.float64)
        kind, own = bone_type_of(self._transforms(central)), self.model.track.bone_type
        return [identity(self.model.n_bones), *([central] if wider_type(kind, own) == own else [])]

    def _central_frame(self) -> int:
        """The frame nearest to the mean of all, each centred."""
        mean = sum((x - x.mean(axis=0) for _, x in self.positions()), np.zeros((1, 3))) / len(self.frames)
        return min(((float(((x - x.mean(axis=0) - mean) ** 2).sum()), f) for f, x in self.positions()))[1]

    def _transforms(self, pose: Float64) -> Float64:
        """(f,n+1,3,4) the leaders from their bind pose, and last the joint that does not move."""
        transforms = self.model.animation.transforms[:, self.active].astype(np.float64)
        moved = compose(transforms, invert(pose[self.active]))
        return np.concatenate([moved, np.broadcast_to(self.still, (len(moved), 1, 3, 4))], axis=1)

    def _bind_from_rest(self, pose: Float64) -> Float64:
        """(b,3,4) D O of every bone."""
        leaders = np.where(self.follows_nothing, invert(self.still), pose[np.maximum(self.leaders, 0)])
        return compose(leaders, self.offsets)

    def fitted(self, pose: Float64) -> SkinnedModel:
        """The level on leaders in a bind pose, its rest pose fitted in all frames."""
        blended = blends_of(self.deformer, self._bind_from_rest(pose))
        rest = np.einsum("vij,vj->vi", blended[..., :3], self.model.rest.astype(np.float64)) + blended[..., 3]
        start = self.built(pose, rest)
        normal, right = np.zeros((len(rest), 3, 3)), np.zeros((len(rest), 3))
        for f, target in self.positions():
            blends = blends_of(start.deformer, start.animation.transforms[f].astype(np.float64))
            linear, shift = blends[..., :3], displaced_rest(start, f, f + 1)[0] - start.rest
            left = target - blends[..., 3] - np.einsum("vij,vj->vi", linear, shift)
            normal += np.swapaxes(linear, 1, 2) @ linear
            right += np.einsum("vji,vj->vi", linear, left)
        held = HELD * np.trace(normal, axis1=1, axis2=2)[:, None] / 3 + 1e-300
        found = np.linalg.solve(normal + held[..., None] * np.eye(3), (right + held * rest)[..., None])[..., 0]
        return start.with_mesh(rest=found)

    def built(self, pose: Float64, rest: Float64) -> SkinnedModel:
        """The level on leaders in a bind pose, with rest pose (v,3)."""
        place = np.full(self.model.n_bones + 1, len(self.active))  # the last: bones that follow nothing
        place[self.active] = np.arange(len(self.active))
        character, own = self.model.character, self.deformer.bone_weights()
        skin = _on_leaders(own, place[self.leaders])
        fallback = None if character.fallback is None else _on_leaders(character.fallback, place[self.leaders])
        n_joints = 1 + max(int(each.bones.max()) for each in (skin, fallback) if each is not None)
        names = tuple(self.model.track.names[b] for b in self.active)
        names = (*names, _free(STILL, names))[:n_joints]
        transforms = self._transforms(pose)[:, :n_joints]
        corrections, coefficients = self._corrections(self._bind_from_rest(pose))
        baked = replace(
            character,
            mesh=replace(character.mesh, rest=rest.astype(np.float32), asset=self._asset(self._bind_from_rest(pose))),
            deformer=type(self.deformer).from_skin(skin),
            displacements=corrections,
            fallback=fallback,
            skeleton=self._skeleton(pose, names),
        )
        track = BoneTrack(transforms.astype(np.float32), bone_type_of(transforms), names)
        return SkinnedModel(baked, Animation(track, self.model.clips, coefficients))

    def _asset(self, bind_from_rest: Float64) -> Asset:
        """The attributes of the mesh, with its normals rotated to the bind pose."""
        asset = self.model.asset
        if asset.normals is None:
            return asset
        linear = blends_of(self.deformer, bind_from_rest)[self.model.mesh.vertex_of_normal, :, :3]
        turned = unit_vectors(np.einsum("nij,nj->ni", linear, asset.normals.values))
        return replace(asset, normals=replace(asset.normals, values=turned))

    def _corrections(self, bind_from_rest: Float64) -> tuple[tuple[Displacement, ...], Float32 | None]:
        """All displacements as corrections of the new rest pose, rotated with it, and their coefficients.

        If no bone is removed they are unchanged, so that displacements that follow joints still do.
        """
        if self.is_whole and len(self.active) == self.model.n_bones:
            return self.model.character.displacements, self.model.animation.coefficients
        found = [d for d in self.model.character.displacements if d.basis.shape[0]]
        if not found:
            return (), None
        linear = blends_of(self.deformer, bind_from_rest)[..., :3]
        unscaled = linear / np.cbrt(np.maximum(np.abs(np.linalg.det(linear)), 1e-300))[:, None, None]
        stored = baked_model(self.model).corrections
        assert stored is not None  # of these displacements
        basis = np.einsum("vij,rvj->rvi", linear, stored.basis).astype(np.float32)
        normals = None
        if stored.normal_basis is not None:
            unscaled = unscaled[self.model.mesh.vertex_of_normal]
            normals = np.einsum("nij,rnj->rni", unscaled, stored.normal_basis).astype(np.float32)
        return (StoredDisplacement(basis, normals),), stored.coefficients

    def _skeleton(self, pose: Float64, names: tuple[str, ...]) -> Skeleton | None:
        """The joints of the leaders, each a child of its nearest leading ancestor, and the joint that does not move."""
        rig = self.model.skeleton
        if rig is None or len(rig.names) != self.model.n_bones:
            return None
        place = {int(b): i for i, b in enumerate(self.active)}
        parents = np.full(len(names), -1, np.int32)
        for i, b in enumerate(self.active):
            ancestor = int(rig.parents[b])
            while ancestor >= 0 and ancestor not in place:
                ancestor = int(rig.parents[ancestor])
            parents[i] = place.get(ancestor, -1)
        world = identity(len(names))
        world[: len(self.active)] = compose(pose[self.active], rig.world_from_joint[self.active].astype(np.float64))
        kept = tuple(rig.names[b] for b in self.active)
        return Skeleton((*kept, *names[len(kept) :]), parents, world.astype(np.float32))

    def distance(self, baked: SkinnedModel) -> float:
        """Sum of squared distances between the level and its baked model."""
        posed = (points for frames in self._blocks() for points in pose_frames(baked.take_frames(frames)))
        return sum(float(((at - target) ** 2).sum()) for at, (_, target) in zip(posed, self.positions(), strict=True))


def _used(skin: Skin) -> Int32:
    """Bones that have some weight."""
    return np.unique(skin.bones[skin.weights != 0])


def _on_leaders(skin: Skin, place: Int64) -> Skin:
    """Map bones of a skin by `place`: merges slots of the same bone, the largest first, and drops empty ones."""
    bones, weights = place[skin.bones].astype(np.int32), skin.weights.astype(np.float64)
    for later in range(1, bones.shape[1]):
        for first in range(later):
            same = (bones[:, later] == bones[:, first]) & (weights[:, later] != 0)
            weights[same, first] += weights[same, later]
            weights[same, later] = 0
    order = np.argsort(-np.abs(weights), axis=1, kind="stable")
    bones, weights = np.take_along_axis(bones, order, axis=1), np.take_along_axis(weights, order, axis=1)
    n_slots = max(1, int((weights != 0).sum(axis=1).max()))
    kept = weights[:, :n_slots]
    return Skin(np.where(kept != 0, bones[:, :n_slots], bones[:, :1]), kept.astype(np.float32))


def _free(name: str, taken: tuple[str, ...]) -> str:
    """The name, with _ appended until it is unique."""
    return name if name not in taken else _free(f"{name}_", taken)
