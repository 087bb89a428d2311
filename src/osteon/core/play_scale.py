"""The scale of a rig: how much larger or smaller the posed body is than its rest pose.

Exporters often store a mesh in centimetres below bones of scale 0.01. The posed size is the unit of all tolerances
and percentages, and regularisers such as stiffness compare bones with rotations at that size.

The scale is the median ratio of edge lengths. Ratios near one count as one, because bodies stretch; others are rounded
to the ratio of two common units if one is near.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.frames import FrameSource

__all__ = ["scale_of_bones", "scale_of_frames"]

#: Up to this factor a body may stretch or curl up; beyond it the rig carries a scale.
STRETCH = 2.0
#: Ratios of units up to powers of ten (metres, inches, feet), with the tolerance in the logarithm.
UNITS = {1.0: 0.1, 2.54: 0.02, 3.048: 0.02, 3.2808399: 0.02, 3.9370079: 0.02}
#: Frames and triangles that are sampled.
FRAMES, TRIANGLES = 8, 4096


def scale_of_frames(rest: FloatArray, faces: Int32, frames: FrameSource) -> float:
    """The posed size of a body over that of its rest pose; 1 unless its rig has a scale."""
    step = max(1, len(faces) // TRIANGLES)
    before = _edge_lengths(rest, faces[::step])
    solid = before > 0
    if not solid.any():
        return 1.0
    chosen = np.unique(np.linspace(0, frames.n_frames - 1, FRAMES).astype(np.int64))
    ratios = [_edge_lengths(frames.read(int(f), int(f) + 1)[0], faces[::step])[solid] / before[solid] for f in chosen]
    return _plain_scale(float(np.median(ratios)))


def scale_of_bones(transforms: FloatArray) -> float:
    """The common scale of posed_from_rest transforms (f,b,3,4); 1 unless they have one."""
    if not transforms.size:
        return 1.0
    step = max(1, len(transforms) // FRAMES)
    volumes = np.abs(np.linalg.det(transforms[::step, :, :, :3].astype(np.float64)))
    ratio = float(np.cbrt(np.median(volumes)))
    return 1.0 if _is_stretch(ratio) else ratio


def _edge_lengths(points: FloatArray, faces: Int32) -> Float64:
    corners = points[faces].astype(np.float64)
    lengths: Float64 = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).reshape(-1)
    return lengths


def _is_stretch(ratio: float) -> bool:
    """Whether a ratio is not the scale of a rig: near one, or invalid."""
    return not np.isfinite(ratio) or ratio <= 0 or 1 / STRETCH <= ratio <= STRETCH


def _plain_scale(ratio: float) -> float:
    """The ratio rounded to a ratio of units if one is near; 1 if it is near one or invalid."""
    if _is_stretch(ratio):
        return 1.0
    power = 10.0 ** np.floor(np.log10(ratio))
    usual = [(unit * tens, near) for unit, near in UNITS.items() for tens in (power, 10 * power)]
    fitting = [float(scale) for scale, near in usual if abs(np.log(ratio / scale)) <= near]
    return min(fitting, key=lambda scale: abs(np.log(ratio / scale)), default=ratio)
