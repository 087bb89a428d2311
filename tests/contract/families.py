"""One model for every registered deformer and displacement: what all contract tests are asked of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from osteon.core.animation import Animation
from osteon.core.character import Character
from osteon.core.model import SkinnedModel
from osteon.deform.corrections import StoredDisplacement
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.linear_blend import LinearBlend
from osteon.synth.baked import RandomOptions, bake_random_model

VERTICES, BONES, FRAMES = 240, 5, 7


def baked(bone_type: str) -> SkinnedModel:
    options = RandomOptions(vertices=VERTICES, bones=BONES, frames=FRAMES, influences=3, bone_type=bone_type)
    return bake_random_model(4, options=options).model


def linear_blend() -> SkinnedModel:
    return baked("flexible").with_parts(fallback=None)


def dual_quaternion() -> SkinnedModel:
    plain = baked("rigid")
    return plain.with_parts(deformer=DualQuaternion(plain.skin), fallback=plain.skin)


#: A family that is registered needs a line here.
DEFORMER_CASES: dict[str, Callable[[], SkinnedModel]] = {
    LinearBlend.kind: linear_blend,
    DualQuaternion.kind: dual_quaternion,
}


def corrections() -> SkinnedModel:
    plain = baked("flexible")
    rng = np.random.default_rng(8)
    basis, normals = (0.05 * rng.normal(size=(3, VERTICES, 3)) for _ in range(2))
    displacement = StoredDisplacement(basis.astype(np.float32), normals.astype(np.float32))
    animation = Animation(plain.track, plain.clips, rng.normal(size=(FRAMES, 3)).astype(np.float32))
    character = Character(plain.mesh, plain.deformer, (displacement,))
    return SkinnedModel(character, animation)


#: A kind of displacement that is registered needs a line here.
DISPLACEMENT_CASES: dict[str, Callable[[], SkinnedModel]] = {
    StoredDisplacement.kind: corrections,
}
