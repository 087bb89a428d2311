"""Characters of `bench lod`: third-party ones, and built-in ones for cases that these do not cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.character import Corrections
from osteon.core.model import SkinnedModel
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.joint_rbf import NO_JOINT, JointRbf
from osteon.io import load_model
from osteon.synth.baked import smooth_series
from osteon_bench.run import BenchRun
from osteon_bench.subjects import JointedOptions, make_jointed


def level_characters(run: BenchRun) -> Iterator[tuple[str, SkinnedModel]]:
    """Third-party characters, and built-in ones for cases that these do not cover."""
    folder = run.data.parent / "characters"
    paths = sorted(folder.glob("*.glb"))
    if not paths:
        run.report_missing(f"'{folder}' has no characters; name the folder beside it with --data")
    yield from ((path.stem, model) for path in paths if (model := load_model(path)).skeleton is not None)
    jointed = JointedOptions(joints=9, frames=16, influences=4, vertices=60)
    plain = make_jointed(1, jointed)
    yield "jointed, corrected", corrected_model(plain)
    yield "jointed, columns that follow joints", joint_driven_model(plain)
    yield "jointed, dual quaternions", _turned(plain)
    yield "jointed, six influences", make_jointed(2, JointedOptions(joints=9, frames=16, influences=6, vertices=60))
    yield "jointed, one bone", make_jointed(3, JointedOptions(joints=1, frames=16, vertices=200))


def corrected_model(model: SkinnedModel) -> SkinnedModel:
    """With smooth corrections."""
    rng = np.random.default_rng(0)
    waves = np.sin(model.rest @ rng.normal(0, 2.0, (3, 9)) + rng.uniform(0, 6, 9)).reshape(-1, 3, 3)
    basis = (0.02 * waves.transpose(1, 0, 2)).astype(np.float32)
    return model.with_corrections(Corrections(basis, smooth_series(rng, model.n_frames, (3,)).astype(np.float32)))


def joint_driven_model(model: SkinnedModel) -> SkinnedModel:
    """With two columns per joint, around it, that follow its rotations (EigenSkin)."""
    skeleton, rng = model.skeleton, np.random.default_rng(1)
    assert skeleton is not None
    joints = np.flatnonzero(skeleton.parents >= 0).astype(np.int32)
    driver = np.repeat(np.arange(len(joints), dtype=np.int32), 2)
    rotations = Rotation.from_rotvec([[0.0, 0, 0], [0.5, 0, 0.2], [-0.3, 0.4, 0]]).as_quat()
    weights = rng.normal(size=(len(driver), len(rotations))) * (0, 1, 1)
    rbf = JointRbf(
        skeleton.parents,
        np.zeros((model.n_bones, 3), np.float32),
        np.stack([joints, np.full_like(joints, NO_JOINT)], axis=1),
        np.ones(len(joints), np.float32),
        np.full(len(joints), len(rotations), np.int32),
        np.tile(rotations[None, :, None], (len(joints), 1, 2, 1)).reshape(-1, 2, 4).astype(np.float32),
        driver,
        weights.astype(np.float32).ravel(),
    )
    around = model.skin.dense(model.n_bones)[:, joints[driver]].T[..., None]
    basis, normals = (around * rng.normal(0, size, (len(driver), 1, 3)) for size in (0.02, 0.2))
    learned = EigenSkin(basis.astype(np.float32), rbf, normals.astype(np.float32))
    return SkinnedModel(replace(model.character, displacements=(learned,)), model.animation)


def _turned(model: SkinnedModel) -> SkinnedModel:
    return model.with_character(deformer=DualQuaternion(model.skin), fallback=model.skin)
