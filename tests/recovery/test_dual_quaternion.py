"""A tube that twists and bends by dual quaternions is found again by `model="dqs"`, and linear blending cannot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import about, joint_skin
from osteon.synth.shapes import make_tube

FRAMES = 16


@pytest.fixture(scope="module")
def twisted() -> MeshSequence:
    """Two rigid bones; the second twists by up to 150 degrees and bends a little."""
    tube = make_tube(24, 48, 0.25, 2.0)
    skin = joint_skin(tube.vertices[:, 0] - tube.vertices[:, 0].min(), 2, 2.0, 0.8)
    tau = 2 * np.pi * np.arange(FRAMES) / FRAMES
    turns = np.stack([np.radians(150) * np.sin(tau), 0.4 * (1 - np.cos(tau)), 0.3 * np.sin(2 * tau)], axis=1)
    linear = np.stack([np.tile(np.eye(3), (FRAMES, 1, 1)), Rotation.from_rotvec(turns).as_matrix()], axis=1)
    pivots = np.tile(tube.vertices.mean(axis=0), (2, 1))
    transforms = about(linear, pivots, np.tile(pivots, (FRAMES, 1, 1)))
    track = BoneTrack(transforms.astype(np.float32), "rigid")
    model = linear_blend_model(tube.vertices.astype(np.float32), tube.faces, skin, track).with_character(
        deformer=DualQuaternion(skin)
    )
    return MeshSequence(pose_frames(model), tube.faces, tube.vertices.astype(np.float32))


def test_dual_quaternions_are_found_again(twisted: MeshSequence) -> None:
    errors = {}
    for name in ("lbs", "dqs"):
        fit = skin_sequence(twisted, options=SkinOptions(bones=2, bone_type="rigid", model=name, influences=2))
        errors[name] = fit.report.error_percent
        if name == "dqs":
            worst = np.abs(pose_frames(fit.model) - twisted.frames).max() / twisted.diagonal
    assert errors["lbs"] > 2
    assert errors["dqs"] < 0.05
    assert worst < 1e-3
