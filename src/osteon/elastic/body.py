"""Flesh on a skeleton: the shape of the flesh for joint rotations.

Bones move rigidly and hold the nodes around them; all others move to the shape of least energy. A pose is reached in
load steps: fractions of its joint rotations. Each starts at the result of the previous one, moved by blended bones.

Based on: P. Kry, D. James, D. Pai, EigenSkin, 2002, section 3.
Differs from the paper: linear tetrahedra unless quadratic ones are chosen, another material, and no CalculiX.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError
from osteon.core.kinematics import pose_joints
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import compose, dual_quaternions_from_transforms, invert, transforms_from_dual_quaternions
from osteon.elastic.attachment import BoneRoom, bone_room, hold_nodes
from osteon.elastic.elements import Material, TetElements
from osteon.elastic.newton import Equilibrium, NewtonOptions, StiffnessSystem, factor_symmetric, find_equilibrium
from osteon.elastic.solid import Solid

#: Largest residual force, over the reactions, of a converged pose.
IN_BALANCE = 1e-4
#: Largest number of load steps; it is doubled while a pose does not converge.
MOST_STEPS = 32

JointRotations = Mapping[int, Float64]


@dataclass(frozen=True, slots=True)
class PosedBody:
    """The flesh in one pose."""

    places: Float64  # (n,3) of nodes
    surface: Float64  # (v,3)
    equilibrium: Equilibrium  # of the last load step
    load_steps: int
    newton_steps: int  # of all load steps
    inverted: int  # inverted elements
    least_dilation: float  # of any element: volume over volume at rest
    seconds: float

    @property
    def in_balance(self) -> bool:
        return self.equilibrium.imbalance <= IN_BALANCE


@dataclass(frozen=True, slots=True)
class ElasticBody:
    """A solid on a skeleton, ready for poses."""

    solid: Solid
    skeleton: StickSkeleton
    material: Material
    held: Int32  # (n,) the bone that holds each node, -1 where it is free
    weights: Float64  # (n,b) of blended bones
    system: StiffnessSystem

    @staticmethod
    def of(
        solid: Solid, skeleton: StickSkeleton, material: Material | None = None, room: BoneRoom | None = None
    ) -> ElasticBody:
        """Attach the solid to the bones; pass `room` if it is known, so that it is not computed again."""
        surface = solid.surface
        known = room or bone_room(surface.rest.astype(np.float64), surface.faces, skeleton)
        held = hold_nodes(solid, skeleton, known)
        elements = TetElements.of(solid.points, solid.tets, solid.fill)
        weights = harmonic_weights(elements, held, skeleton.n_bones)
        system = StiffnessSystem.of(elements, held >= 0)
        return ElasticBody(solid, skeleton, material or Material(), held, weights, system)

    def pose(
        self,
        joint_rotations: JointRotations,
        shift: Float64 | None = None,
        *,
        load_steps: int = 1,
        options: NewtonOptions | None = None,
    ) -> PosedBody:
        """The flesh in a pose: rotations (3,3) by number of the joint, and the shift (3,) of the root.

        If a load step does not converge, the pose is computed again with twice as many.
        """
        if load_steps < 1:
            raise OptionError(f"load_steps: expected 1 or more, got {load_steps}")
        started = time.perf_counter()
        reached = self._walk(joint_rotations, shift, load_steps, options or NewtonOptions())
        while not reached[-1].imbalance <= IN_BALANCE and 2 * load_steps <= MOST_STEPS:
            load_steps *= 2
            reached = self._walk(joint_rotations, shift, load_steps, options or NewtonOptions())
        places = reached[-1].places
        elements = self.system.elements
        dilations = elements.dilations(places).reshape(elements.n_elements, -1).min(axis=1)
        return PosedBody(
            places,
            self.solid.carry(places),
            reached[-1],
            load_steps,
            sum(one.steps for one in reached),
            int((dilations <= 0).sum()),
            float(dilations.min()),
            time.perf_counter() - started,
        )

    def _walk(
        self, joint_rotations: JointRotations, shift: Float64 | None, load_steps: int, options: NewtonOptions
    ) -> list[Equilibrium]:
        """Equilibria of all load steps; the last one is bad if one of them is."""
        places, before = self.solid.points, None
        reached: list[Equilibrium] = []
        for step in range(1, load_steps + 1):
            now = bone_transforms(self.skeleton, joint_rotations, shift, step / load_steps)
            moved = now if before is None else compose(now, invert(before))
            places = blend_bones(places, self.weights, moved, self.skeleton)
            fixed = np.flatnonzero(self.held >= 0)
            carried = now[self.held[fixed]]
            places[fixed] = np.einsum("nij,nj->ni", carried[..., :3], self.solid.points[fixed]) + carried[..., 3]
            reached.append(find_equilibrium(self.system, self.material, places, options=options))
            if not reached[-1].imbalance <= IN_BALANCE:
                break
            places, before = reached[-1].places, now
        return reached


def bone_transforms(
    skeleton: StickSkeleton, joint_rotations: JointRotations, shift: Float64 | None = None, part: float = 1.0
) -> Float64:
    """(b,3,4) posed_from_rest of the bones, with a part of each rotation and of the shift."""
    from scipy.spatial.transform import Rotation

    rotations_by_joint = joint_rotations
    if part < 1:
        vectors = {j: Rotation.from_matrix(matrix).as_rotvec() for j, matrix in joint_rotations.items()}
        rotations_by_joint = {j: Rotation.from_rotvec(part * vector).as_matrix() for j, vector in vectors.items()}
    places, rotations = pose_joints(skeleton, rotations_by_joint, {})
    head = skeleton.tree.head
    carried = np.einsum("bij,bj->bi", rotations, skeleton.joints[head])
    offset = places[head] - carried + (0 if shift is None else part * shift)
    return np.concatenate([rotations, offset[..., None]], axis=-1)


# Initial guess for Newton's method: flesh moved by bones that are blended with smooth weights.
#
# Weights of bone b are harmonic in the solid: 1 at the nodes it holds, 0 at those of others, and in between
#
#     minimise   sum_e V_e |grad w_b|^2
#
# Rigid motions of bones are blended as dual quaternions, so that no cross-section collapses at a bent joint. A motion
# may start at any shape: only the motion of the bones since that shape is applied.
#
# Based on: L. Kavan et al., Skinning with dual quaternions, 2007; P. Joshi et al., Harmonic coordinates, 2007.


def harmonic_weights(elements: TetElements, held: Int32, n_bones: int) -> Float64:
    """(n,b) weights, together 1 at each node; held (n,) is the bone of each node, -1 where it is free."""
    n = len(held)
    each = elements.tets.shape[1]
    pairs = elements.volumes[:, None, None] * (elements.gradients @ elements.gradients.swapaxes(1, 2))
    pairs = pairs.reshape(elements.n_elements, -1, each, each).sum(axis=1)
    rows, columns = np.repeat(elements.tets, each, axis=1).ravel(), np.tile(elements.tets, (1, each)).ravel()
    laplacian = csr_array((pairs.ravel(), (rows, columns)), shape=(n, n))
    free, fixed = np.flatnonzero(held < 0), np.flatnonzero(held >= 0)
    weights = np.zeros((n, n_bones))
    weights[fixed, held[fixed]] = 1
    among = laplacian[free]
    weights[free] = factor_symmetric(csc_array(among[:, free])).solve(-(among[:, fixed] @ weights[fixed]))
    weights = np.maximum(weights, 0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def blend_bones(places: Float64, weights: Float64, transforms: Float64, skeleton: StickSkeleton) -> Float64:
    """(n,3) places moved by rigid transforms (b,3,4) of the bones."""
    screws = dual_quaternions_from_transforms(transforms)
    for b in skeleton.tree.order.tolist():
        above = int(skeleton.tree.parent[b])
        if above >= 0 and screws[b, :4] @ screws[above, :4] < 0:
            screws[b] *= -1  # the shorter way round from its parent
    motion = transforms_from_dual_quaternions(weights @ screws)
    return np.asarray(np.einsum("nij,nj->ni", motion[..., :3], places) + motion[..., 3])
