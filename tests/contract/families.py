"""One model for every registered deformer and displacement: what all contract tests are asked of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import Animation
from osteon.core.character import Character, StoredDisplacement
from osteon.core.model import SkinnedModel
from osteon.core.transforms import identity
from osteon.deform.animation_space import AnimationSpace
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.edits import Edits
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.joint_rbf import JointRbf
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.multi_weight import DIAGONAL, MultiWeight
from osteon.synth.baked import RandomOptions, bake_random_model

VERTICES, BONES, FRAMES = 240, 5, 7


def baked(bone_type: str) -> SkinnedModel:
    options = RandomOptions(vertices=VERTICES, bones=BONES, frames=FRAMES, influences=3, bone_type=bone_type)
    return bake_random_model(4, options=options).model


def linear_blend() -> SkinnedModel:
    return baked("flexible").with_character(fallback=None)


def dual_quaternion() -> SkinnedModel:
    plain = baked("rigid")
    return plain.with_character(deformer=DualQuaternion(plain.skin), fallback=plain.skin)


def animation_space() -> SkinnedModel:
    plain = baked("scaled")
    rng, skin = np.random.default_rng(5), plain.skin
    offsets = 0.1 * plain.diagonal * rng.normal(size=(*skin.weights.shape, 3))
    stray = 0.3 * rng.normal(size=skin.weights.shape)
    offsets -= offsets.mean(axis=1, keepdims=True)
    weights = skin.weights + stray - stray.mean(axis=1, keepdims=True)
    return plain.with_character(deformer=AnimationSpace(skin.bones, weights, offsets), fallback=skin)


def multi_weight() -> SkinnedModel:
    plain = baked("rigid")
    rng, skin = np.random.default_rng(6), plain.skin
    stray = 0.3 * rng.normal(size=(*skin.weights.shape, 12))
    stray[:, :, DIAGONAL] -= stray[:, :, DIAGONAL].mean(axis=1, keepdims=True)
    frames = identity(BONES)
    frames[..., :3] = Rotation.random(BONES, random_state=7).as_matrix()
    frames[..., 3] = plain.rest[:BONES]
    reference = skin.bones[np.arange(VERTICES), rng.integers(skin.n_influences, size=VERTICES)]
    deformer = MultiWeight(skin.bones, skin.weights[..., None] + stray, reference, frames)
    return plain.with_character(deformer=deformer, fallback=skin)


#: A family that is registered needs a line here.
DEFORMER_CASES: dict[str, Callable[[], SkinnedModel]] = {
    LinearBlend.kind: linear_blend,
    DualQuaternion.kind: dual_quaternion,
    AnimationSpace.kind: animation_space,
    MultiWeight.kind: multi_weight,
}


def corrections() -> SkinnedModel:
    plain = baked("flexible")
    rng = np.random.default_rng(8)
    basis, normals = (0.05 * rng.normal(size=(3, VERTICES, 3)) for _ in range(2))
    displacement = StoredDisplacement(basis.astype(np.float32), normals.astype(np.float32))
    animation = Animation(plain.track, plain.clips, rng.normal(size=(FRAMES, 3)).astype(np.float32))
    character = Character(plain.mesh, plain.deformer, (displacement,))
    return SkinnedModel(character, animation)


def joint_rbf(rng: np.random.Generator) -> JointRbf:
    """Two joints alone, one a hinge, and both together; five columns."""
    centres = np.zeros((9, 2, 4))
    centres[..., 3] = 1.0
    centres[1:4, 0] = Rotation.from_rotvec([[0.2, 0, 0], [0.5, 0, 0], [0.9, 0, 0]]).as_quat()
    centres[5:8, 0] = Rotation.random(3, random_state=2).as_quat()
    centres[8] = Rotation.random(2, random_state=3).as_quat()
    axes = np.zeros((BONES, 3))
    axes[1] = [1.0, 0.0, 0.0]
    driver = np.array([0, 1, 2, 0, 1])
    counts = np.array([4, 4, 1])
    weights = rng.normal(size=counts[driver].sum())
    parents, joints = np.arange(BONES) - 1, np.array([[1, -1], [3, -1], [3, 4]])
    return JointRbf(parents, axes, joints, np.array([0.7, 1.2, 4.0]), counts, centres, driver, weights)


def eigenskin() -> SkinnedModel:
    plain = baked("rigid")
    rng = np.random.default_rng(9)
    basis, normals = (0.05 * rng.normal(size=(5, VERTICES, 3)) for _ in range(2))
    for column in (*basis, *normals):
        column[rng.permutation(VERTICES)[:150]] = 0.0
    displacement = EigenSkin(basis, joint_rbf(rng), normals)
    return SkinnedModel(Character(plain.mesh, plain.deformer, (displacement,)), plain.animation)


def edits() -> SkinnedModel:
    plain = baked("flexible").with_character(fallback=None)
    rng = np.random.default_rng(10)
    basis = 0.05 * rng.normal(size=(3, VERTICES, 3))
    basis[0, 50:] = 0.0
    basis[1, :180] = 0.0
    displacement = Edits(("ears", "horns", "saddle"), np.array([1.0, -0.5, 0.3]), basis)
    return SkinnedModel(Character(plain.mesh, plain.deformer, (displacement,)), plain.animation)


#: A kind of displacement that is registered needs a line here.
DISPLACEMENT_CASES: dict[str, Callable[[], SkinnedModel]] = {
    StoredDisplacement.kind: corrections,
    EigenSkin.kind: eigenskin,
    Edits.kind: edits,
}
