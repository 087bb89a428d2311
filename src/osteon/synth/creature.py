"""A galloping fox: a built-in subject that deforms like flesh and not by linear blend skinning.

rest surface -> heat weights -> gallop of the bones -> muscles and squash -> dual quaternions -> swing -> volume held.
Options and seed change the motion only: all sequences of one resolution share their mesh and can be clips of one rig.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError
from osteon.core.mesh import Asset, Material
from osteon.core.normals import vertex_normals
from osteon.core.sequence import MeshSequence
from osteon.synth.flesh import (
    bind_bones,
    blend_bones,
    bulge_shapes,
    contractions,
    enclosed_volume,
    hold_volume,
    squash_trunk,
    swing_behind,
)
from osteon.synth.gait import BONES, GaitVariation, Pose, gallop
from osteon.synth.implicit_surface import Sweep, body_surface

TRUNK = ("back", "chest", "loin", "pelvis")
SQUASH = 0.07  # relative flattening of the trunk at the hardest landing


@dataclass(frozen=True, slots=True)
class CreatureOptions:
    """Mesh resolution and motion of the creature."""

    frames: int = 48  # of one gallop cycle; frame `frames` would be frame 0 again
    resolution: int = 101  # grid cells over its length, 40 … 400; 101 results in about 8,000 vertices
    seed: int = 0  # another individual's gait; 0 is the typical one
    travel: float = 0.0  # units per cycle; 0 runs in place, gait.STRIDE keeps the feet from sliding
    jiggle: float = 1.0  # how far belly, ears, cheeks and tail swing, 0 … 2
    bulge: float = 1.0  # how much muscles swell and the trunk squashes, 0 … 2
    fps: float = 60.0  # frames per second

    def __post_init__(self) -> None:
        if self.frames < 2:
            raise OptionError(f"frames: expected at least 2, got {self.frames}")
        if not 40 <= self.resolution <= 400:
            raise OptionError(f"resolution: expected 40 … 400 cells, got {self.resolution}")
        if not (0 <= self.jiggle <= 2 and 0 <= self.bulge <= 2):
            raise OptionError(f"jiggle, bulge: expected 0 … 2, got {self.jiggle} and {self.bulge}")
        if self.seed < 0 or not np.isfinite(self.travel):
            raise OptionError(f"seed, travel: expected 0 or more and a finite length, got {self.seed}, {self.travel}")


DEFAULT_CREATURE = CreatureOptions()


@dataclass(frozen=True, slots=True)
class _Body:
    """The parts that do not depend on the motion."""

    vertices: Float64  # (v,3)
    faces: Int32  # (t,3)
    normals: Float64  # (v,3)
    weights: Float64  # (v,b)


def make_creature(options: CreatureOptions = DEFAULT_CREATURE) -> MeshSequence:
    """One cycle of a gallop; loops."""
    body = _body(options.resolution)
    phase = np.arange(options.frames) / options.frames
    pose = gallop(phase, GaitVariation.from_seed(options.seed))
    frames = _flesh_out(body, pose, options)
    frames[..., 2] += options.travel * phase[:, None]
    return MeshSequence(
        frames=frames.astype(np.float32),
        faces=body.faces,
        rest=body.vertices.astype(np.float32),
        clips=(Clip("gallop", 0, options.frames, options.fps),),
        asset=Asset(
            colors=coat_colors(body.vertices, body.normals).astype(np.float32),
            materials=(Material("coat", (1.0, 1.0, 1.0, 1.0)),),
            triangle_material=np.zeros(len(body.faces), np.int32),
        ),
        name="creature",
    )


@lru_cache(maxsize=2)
def _body(resolution: int) -> _Body:
    vertices, faces = build_body(resolution)
    heads, tails = (np.array([getattr(b, end) for b in BONES.values()], np.float64) for end in ("head", "tail"))
    weights = bind_bones(vertices, faces, heads, tails)
    return _Body(vertices, faces, vertex_normals(vertices, faces), weights)


def _flesh_out(body: _Body, pose: Pose, options: CreatureOptions) -> Float64:
    """(f,v,3) the moving surface."""
    trunk = body.weights[:, [list(BONES).index(b) for b in TRUNK]].sum(axis=1)
    swell = options.bulge * contractions(pose) @ bulge_shapes(body.vertices)
    shaped = body.vertices + swell[..., None] * body.normals
    shaped += squash_trunk(body.vertices, trunk, pose.heads["back"][:, 1], SQUASH * options.bulge)
    rotations = np.stack([pose.rotations[b] for b in BONES], axis=1)
    heads = np.stack([pose.heads[b] for b in BONES], axis=1)
    rest_heads = np.array([b.head for b in BONES.values()], np.float64)
    frames = blend_bones(shaped, body.weights, rotations, heads, rest_heads)
    swing = [swing_behind(frames, softness, *spring) for softness, spring in _soft_parts(body, trunk)]
    frames = frames + options.jiggle * np.sum(swing, axis=0)
    return hold_volume(frames, body.faces, 0.2 + trunk, enclosed_volume(body.vertices, body.faces))


def _soft_parts(body: _Body, trunk: Float64) -> list[tuple[Float64, tuple[float, float]]]:
    """Softness (v,), and (frequency in cycles, damping), of all loose parts."""
    x, y, z = np.abs(body.vertices[:, 0]), body.vertices[:, 1], body.vertices[:, 2]
    belly = trunk * ramp(y, 0.78, 0.58) * ramp(z, -0.45, -0.10) * ramp(z, 0.42, 0.15)
    tail = ramp(z, -0.62, -1.30)
    ears = ramp(y, 1.28, 1.54) * ramp(z, 0.80, 0.74)
    cheeks = ramp(x, 0.07, 0.15) * ramp(y, 1.22, 1.16) * ramp(y, 1.0, 1.06) * ramp(z, 0.50, 0.56)
    return [(0.5 * belly, (4.0, 0.22)), (0.6 * tail, (2.6, 0.35)), (0.7 * ears, (4.5, 0.20)), (cheeks, (4.0, 0.2))]


# The creature at rest: a fox-like animal of swept ellipses, one unit high at the withers.
#
# +x is its left, +y up, +z forward. Parts of the left side are listed, those of the right side mirrored.

LENGTH = 2.4  # from the tip of the tail to the nose

# fmt: off
TORSO = Sweep((
    (0, 0.805, -0.56, 0.050, 0.050), (0, 0.800, -0.50, 0.116, 0.098), (0, 0.797, -0.40, 0.144, 0.126),
    (0, 0.795, -0.22, 0.143, 0.122), (0, 0.775, -0.05, 0.152, 0.130), (0, 0.745, 0.13, 0.188, 0.146),
    (0, 0.735, 0.28, 0.204, 0.142), (0, 0.755, 0.40, 0.175, 0.122), (0, 0.790, 0.48, 0.115, 0.090),
))
NECK = Sweep((
    (0, 0.81, 0.34, 0.155, 0.110), (0, 0.92, 0.455, 0.138, 0.108),
    (0, 1.05, 0.555, 0.120, 0.102), (0, 1.16, 0.63, 0.100, 0.090),
), 0.09)
HEAD = Sweep((
    (0, 1.195, 0.62, 0.090, 0.100), (0, 1.215, 0.695, 0.118, 0.132), (0, 1.200, 0.765, 0.104, 0.112),
    (0, 1.165, 0.84, 0.068, 0.064), (0, 1.140, 0.92, 0.047, 0.042), (0, 1.128, 0.985, 0.034, 0.031),
    (0, 1.125, 1.005, 0.028, 0.026),
), 0.05)
NOSE = Sweep(((0, 1.148, 1.002, 0.022, 0.022), (0, 1.146, 1.018, 0.019, 0.020)), 0.012)
EYE = Sweep(((0.072, 1.224, 0.787, 0.027, 0.024), (0.074, 1.226, 0.797, 0.024, 0.022)), 0.010)
CHEEK = Sweep((
    (0.060, 1.160, 0.72, 0.065, 0.060), (0.115, 1.125, 0.67, 0.045, 0.040), (0.155, 1.105, 0.635, 0.018, 0.018),
), 0.06)
EAR = Sweep((
    (0.060, 1.26, 0.660, 0.062, 0.034), (0.086, 1.36, 0.645, 0.064, 0.028),
    (0.110, 1.45, 0.632, 0.044, 0.024), (0.128, 1.54, 0.622, 0.013, 0.017),
), 0.035, (0.45, 0.0, 0.893))
TAIL = Sweep((
    (0, 0.855, -0.50, 0.050, 0.050), (0, 0.855, -0.64, 0.055, 0.055), (0, 0.800, -0.80, 0.095, 0.090),
    (0, 0.735, -0.97, 0.122, 0.112), (0, 0.705, -1.13, 0.108, 0.100), (0, 0.715, -1.27, 0.065, 0.060),
    (0, 0.740, -1.37, 0.016, 0.016),
), 0.05)
FORELEG = Sweep((
    (0.085, 0.800, 0.320, 0.115, 0.055), (0.100, 0.700, 0.375, 0.105, 0.062), (0.110, 0.600, 0.330, 0.080, 0.056),
    (0.105, 0.520, 0.305, 0.058, 0.047), (0.098, 0.420, 0.318, 0.046, 0.041), (0.094, 0.270, 0.332, 0.037, 0.036),
    (0.094, 0.170, 0.332, 0.031, 0.031), (0.094, 0.090, 0.336, 0.033, 0.033), (0.094, 0.046, 0.365, 0.040, 0.041),
    (0.094, 0.038, 0.418, 0.034, 0.038),
), 0.06)
HINDLEG = Sweep((
    (0.075, 0.785, -0.415, 0.140, 0.080), (0.102, 0.690, -0.375, 0.125, 0.072), (0.114, 0.580, -0.320, 0.088, 0.062),
    (0.112, 0.490, -0.365, 0.060, 0.049), (0.108, 0.390, -0.455, 0.041, 0.039), (0.107, 0.305, -0.525, 0.038, 0.035),
    (0.107, 0.180, -0.512, 0.031, 0.031), (0.107, 0.090, -0.500, 0.033, 0.033), (0.107, 0.046, -0.468, 0.040, 0.041),
    (0.107, 0.038, -0.415, 0.034, 0.038),
), 0.06)
# fmt: on

PAIRED = (CHEEK, EAR, EYE, FORELEG, HINDLEG)
PARTS = [TORSO, NECK, HEAD, NOSE, TAIL, *PAIRED, *(p.mirrored() for p in PAIRED)]
#: The head gets smaller triangles: (axis, start, scale of the spacing).
ZONES = ((1, 1.06, 0.72), (2, 0.60, 0.72))

FUR, CREAM, SOCK, BLACK = (0.90, 0.45, 0.14), (0.98, 0.94, 0.87), (0.22, 0.15, 0.13), (0.05, 0.04, 0.05)


def build_body(resolution: int) -> tuple[Float64, Int32]:
    """Vertices (v,3) and faces (t,3) with `resolution` grid cells over the creature's length; watertight."""
    return body_surface(PARTS, LENGTH / resolution, ZONES)


def ramp(value: Float64, start: float | Float64, stop: float | Float64) -> Float64:
    """Smooth step from 0 at `start` to 1 at `stop` (either order)."""
    s = np.clip((value - start) / (stop - start), 0, 1)
    step: Float64 = s * s * (3 - 2 * s)
    return step


def coat_colors(vertices: Float64, normals: Float64) -> Float64:
    """(v,4) RGBA of a red fox: pale throat, belly and tail tip, dark socks and ear tips, black nose and eyes."""
    x, y, z = np.abs(vertices[:, 0]), vertices[:, 1], vertices[:, 2]
    color = np.tile(np.asarray(FUR), (len(vertices), 1))

    def paint(tint: tuple[float, float, float], mask: Float64) -> None:
        color[:] += (np.asarray(tint) - color) * mask[:, None]

    def spot(at: tuple[float, float, float], inner: float, outer: float) -> Float64:
        return ramp(np.sqrt((x - at[0]) ** 2 + (y - at[1]) ** 2 + (z - at[2]) ** 2), outer, inner)

    paint(CREAM, ramp(y, 0.67, 0.57) * ramp(z, -0.36, -0.20) * ramp(y, 0.44, 0.54) * ramp(x, 0.125, 0.085))
    paint(CREAM, ramp(z - 0.70 * (y - 0.8), 0.43, 0.50) * ramp(y, 1.20, 1.10) * ramp(x, 0.11, 0.06) * ramp(y, 0.5, 0.6))
    jaw = 1.170 - 0.25 * (z - 0.75)
    paint(CREAM, ramp(y, jaw + 0.02, jaw - 0.02) * ramp(z, 0.56, 0.64) * ramp(y, 1.0, 1.05))
    paint(CREAM, 0.8 * ramp(y, 1.28, 1.33) * ramp(z, 0.76, 0.72) * ramp(normals[:, 2], 0.2, 0.6))  # inside the ears
    paint(CREAM, ramp(z, -1.08, -1.18))
    paint(SOCK, ramp(y, 0.38, 0.22) * ramp(z, -0.75, -0.70))
    paint(SOCK, ramp(y, 1.42, 1.48))
    paint(BLACK, spot((0, 1.150, 1.028), 0.026, 0.040))
    paint(BLACK, spot((0.086, 1.228, 0.806), 0.020, 0.033))
    return np.concatenate([color, np.ones((len(color), 1))], axis=1)
