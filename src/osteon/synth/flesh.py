"""Flesh over moving bones that linear blend skinning can only approximate.

Bones are blended as dual quaternions, soft parts follow as damped springs, and the volume is preserved.

Based on: L. Kavan et al., Skinning with dual quaternions, 2007; I. Baran, J. Popović, Automatic rigging, 2007 (heat).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from osteon.core.arrays import Float64, Int32
from osteon.core.sticks import project_on_segments
from osteon.core.transforms import dual_quaternions_from_transforms, transforms_from_dual_quaternions
from osteon.fit.skin.bone_weights import heat_weights
from osteon.synth.gait import BONES, Pose


def bind_bones(vertices: Float64, faces: Int32, heads: Float64, tails: Float64, softness: float = 0.35) -> Float64:
    """Weights (v,b): heat flows from the nearest bone to every vertex and diffuses along the surface."""
    _, distance = project_on_segments(vertices[:, None], heads, tails - heads)
    return heat_weights(vertices, faces, distance, softness)


def blend_bones(points: Float64, weights: Float64, rotations: Float64, heads: Float64, rest_heads: Float64) -> Float64:
    """(f,v,3) rest points (f,v,3) transformed by bones: rotations (f,b,3,3) about joints that move to heads (f,b,3)."""
    shift = heads - np.einsum("fbij,bj->fbi", rotations, rest_heads)
    screws = dual_quaternions_from_transforms(np.concatenate([rotations, shift[..., None]], axis=-1))
    away = np.einsum("fbq,fq->fb", screws[..., :4], screws[:, 0, :4]) < 0  # all in the hemisphere of the first bone's
    blends = transforms_from_dual_quaternions(weights @ np.where(away[..., None], -screws, screws))  # (f,v,3,4)
    moved: Float64 = np.einsum("fvij,fvj->fvi", blends[..., :3], points) + blends[..., 3]
    return moved


def swing_behind(frames: Float64, softness: Float64, frequency: float, damping: float) -> Float64:
    """(f,v,3) displacements of points attached to `frames` (f,v,3) by damped springs, in the periodic steady state.

    u'' + 2 damping w u' + w^2 u = -p'' with w = 2 pi frequency, in cycles of the sequence. The periodic solution is
    exact in the frequency domain: U(k) = k^2 / (w^2 - k^2 + 2 i damping w k) P(k). `softness` (v,) scales it, 0 is
    firm.
    """
    out = np.zeros_like(frames)
    soft = np.nonzero(softness > 1e-3)[0]
    k = np.arange(len(frames) // 2 + 1)
    response = k**2 / (frequency**2 - k**2 + 2j * damping * frequency * k)
    spectrum = np.fft.rfft(frames[:, soft], axis=0) * response[:, None, None]
    out[:, soft] = softness[soft, None] * np.fft.irfft(spectrum, len(frames), axis=0)
    return out


def hold_volume(frames: Float64, faces: Int32, mask: Float64, goal: float) -> Float64:
    """Frames (f,v,3) inflated or deflated along their normals, where `mask` (v,) allows, to enclose `goal`.

    The derivative g of the volume by a vertex is a sixth of the normals around it, each twice its triangle's area; the
    volume is cubic, so it is a third of the sum of p.g. One Newton step along the unit normals comes within 0.2 %.
    """
    held = np.empty_like(frames)
    gather = _gather(faces, frames.shape[1])
    for f, points in enumerate(frames):
        slope = gather @ _facing(points, faces) / 6
        size = np.sqrt((slope**2).sum(axis=1))
        amount = (goal - (points * slope).sum() / 3) / (mask @ size)
        held[f] = points + (amount * mask / size)[:, None] * slope
    return held


def enclosed_volume(points: Float64, faces: Int32) -> float:
    """Volume inside a closed mesh (v,3)."""
    return float((points[faces[:, 0]] * _facing(points, faces)).sum() / 6)


def _facing(points: Float64, faces: Int32) -> Float64:
    """(t,3) normals whose length is twice the area."""
    a = points[faces[:, 0]]
    return np.cross(points[faces[:, 1]] - a, points[faces[:, 2]] - a)


def _gather(faces: Int32, n_vertices: int) -> Any:
    """(v,t) sparse sum over the triangles around each vertex."""
    rows, columns = faces.T.ravel(), np.tile(np.arange(len(faces)), 3)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n_vertices, len(faces)))


# Muscles that swell as their joint bends, and a trunk that is squashed on landing; both displace the rest shape.
#
# A muscle is a spindle along a bone. When it shortens it thickens in the middle and thins at its ends: across it the
# displacement along the normal falls off like a Gaussian, along it as (1 - s^2) exp(-s^2 / 2), whose integral is zero.

FULL_BEND = 0.7  # radians of joint angle at which a muscle is three quarters contracted
SPINE_HEIGHT = 0.80  # the height about which the trunk is squashed


@dataclass(frozen=True, slots=True)
class Muscle:
    """A pair of muscles, defined on the left side; `driver` is the bone whose joint contracts it."""

    center: tuple[float, float, float]
    along: str  # the bone it is attached to
    length: float  # half length of the spindle
    width: float  # half width
    driver: str
    swell: float  # displacement at full bend; contracted by bending forward (+) or backward (-)


# A positive joint angle rotates hanging leg bones backward, and lowers bones that point forward.
MUSCLES = (
    Muscle((0.150, 0.640, 0.300), "humerus", 0.110, 0.062, "radius", -0.054),  # triceps and biceps
    Muscle((0.120, 0.800, 0.330), "scapula", 0.110, 0.060, "humerus", 0.036),  # shoulder
    Muscle((0.120, 0.440, 0.310), "radius", 0.080, 0.040, "forecannon", 0.016),  # forearm
    Muscle((0.060, 0.640, 0.450), "humerus", 0.090, 0.060, "scapula", -0.022),  # breast
    Muscle((0.150, 0.690, -0.320), "femur", 0.110, 0.065, "tibia", 0.054),  # thigh
    Muscle((0.120, 0.800, -0.460), "femur", 0.110, 0.065, "femur", 0.040),  # rump
    Muscle((0.120, 0.470, -0.420), "tibia", 0.090, 0.042, "hindcannon", -0.018),  # calf
    Muscle((0.095, 0.930, -0.200), "loin", 0.160, 0.060, "loin", -0.026),  # back
    Muscle((0.095, 0.960, 0.430), "neck", 0.120, 0.060, "neck", 0.030),  # neck
)


def bulge_shapes(vertices: Float64) -> Float64:
    """(m,v) displacement of each vertex along its normal by each muscle at full bend, left muscles first."""
    shapes = []
    for sign in (1.0, -1.0):
        for muscle in MUSCLES:
            bone = BONES[_on_side(muscle.along, sign)]
            axis = bone.vector / bone.length
            offset = vertices - np.multiply(muscle.center, (sign, 1, 1))
            s = offset @ axis
            across = (offset**2).sum(axis=1) - s**2
            s = s / muscle.length
            shapes.append((1 - s**2) * np.exp(-(s**2) / 2 - across / (2 * muscle.width**2)))
    return np.stack(shapes)


def contractions(pose: Pose) -> Float64:
    """(f,m) displacement of each muscle's middle, from joint angles; saturates, at half as much when stretched."""
    columns = []
    for sign in (1.0, -1.0):
        for muscle in MUSCLES:
            bend = np.tanh(bend_angle(pose, _on_side(muscle.driver, sign)) / np.copysign(FULL_BEND, muscle.swell))
            columns.append(abs(muscle.swell) * bend * (0.75 + 0.25 * bend))
    return np.stack(columns, axis=1)


def bend_angle(pose: Pose, bone: str) -> Float64:
    """(f,) rotation of a bone about x relative to its parent, beyond that of the rest pose."""
    local = pose.rotations[BONES[bone].parent].transpose(0, 2, 1) @ pose.rotations[bone]
    angle: Float64 = np.arctan2(local[:, 2, 1], local[:, 1, 1])
    return angle


def squash_trunk(vertices: Float64, trunk: Float64, height: Float64, amount: float) -> Float64:
    """(f,v,3) displacements that flatten the trunk (mask (v,)) when it is pushed up and stretch it when it falls.

    `height` (f,) is the bounce over one cycle. Width grows as height shrinks, so every cross-section keeps its area.
    """
    push = np.real(np.fft.ifft(-((2 * np.pi * np.fft.fftfreq(len(height), 1 / len(height))) ** 2) * np.fft.fft(height)))
    flat = np.exp(-amount * np.tanh(push / (2 * np.std(push) + 1e-12)))[:, None]
    out = np.zeros((len(height), len(vertices), 3))
    out[..., 0] = (1 / flat - 1) * (trunk * vertices[:, 0])
    out[..., 1] = (flat - 1) * (trunk * (vertices[:, 1] - SPINE_HEIGHT))
    return out


def _on_side(name: str, sign: float) -> str:
    """The bone of that side, or the middle one if it has no sides."""
    return name if name in BONES else name + (".L" if sign > 0 else ".R")
