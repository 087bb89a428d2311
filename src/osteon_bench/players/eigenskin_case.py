"""A jointed tube with synthetic EigenSkin displacements, for players: coefficients are baked, tables are in extras.

Every joint has columns of positions and normals, and the first two joints share one. The columns are waves of both
signs and of different size on the half of the tube that is nearer to the joint.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.model import SkinnedModel
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.joint_rbf import NO_JOINT, JointRbf, joint_rotations

#: Columns per joint, and frames whose joint rotations are the centres.
EACH, CENTRES = 2, (2, 6, 10)
#: The longest displacement, as a fraction of the diagonal.
LENGTH = 0.03


def with_eigenskin(model: SkinnedModel) -> SkinnedModel:
    """Add eigendisplacements of all joints to a model with a hierarchy."""
    assert model.skeleton is not None  # or it has no joints
    parents, places = model.skeleton.parents, model.skeleton.world_from_joint[..., 3].astype(np.float64)
    joints = np.flatnonzero(parents != NO_JOINT)
    drivers = np.array([*([j, NO_JOINT] for j in joints), joints[:2]], np.int32)
    column_driver = np.array([*np.tile(np.arange(len(joints)), EACH), len(joints)], np.int32)
    rng = np.random.default_rng(7)
    rbf = JointRbf(
        parents,
        np.zeros((len(parents), 3), np.float32),
        drivers,
        np.full(len(drivers), 1.0, np.float32),
        np.full(len(drivers), len(CENTRES), np.int32),
        _centres(model, parents, drivers).astype(np.float32),
        column_driver,
        rng.uniform(-1, 1, len(column_driver) * len(CENTRES)).astype(np.float32),
    )
    basis = _waves(model, places[drivers[column_driver, 0]], rng)
    displacement = EigenSkin(basis.astype(np.float32), rbf, (20 * basis[:, ::-1]).astype(np.float32))
    return SkinnedModel(replace(model.character, displacements=(displacement,)), model.animation)


def _centres(model: SkinnedModel, parents: Int32, drivers: Int32) -> Float64:
    """(c,2,4) rotations of both joints of each driver in some frames; the identity in place of a second one."""
    transforms = model.track.transforms[list(CENTRES)].astype(np.float64)
    out = np.zeros((len(drivers), len(CENTRES), 2, 4))
    out[..., 3] = 1.0
    for d, pair in enumerate(drivers):
        known = pair[pair != NO_JOINT].astype(np.int64)
        out[d, :, : len(known)] = joint_rotations(transforms, parents, known)
    return out.reshape(-1, 2, 4)


def _waves(model: SkinnedModel, places: Float64, rng: np.random.Generator) -> Float64:
    """(r,v,3) smooth near the position (3,) of a column, zero elsewhere."""
    rest = model.rest.astype(np.float64)
    out = np.empty((len(places), len(rest), 3))
    for r, place in enumerate(places):
        away = np.linalg.norm(rest - place, axis=1) / (0.5 * model.mesh.diagonal)
        wave = np.sin(rest @ rng.normal(0, 2.0, (3, 3)) + rng.uniform(0, 6, 3))
        out[r] = LENGTH * model.mesh.diagonal * np.maximum(0.0, 1 - away**2)[:, None] * wave
    return out
