"""A galloping fox: the built-in subject that moves like flesh, not like a skin.

rest surface -> heat weights -> gallop of the bones -> muscles and squash -> dual quaternions -> swing -> volume held.
Options and seed change the motion only: all sequences of one resolution share their mesh and can be clips of one rig.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.asset import Asset, Material
from osteon.core.clips import Clip
from osteon.core.errors import OptionError
from osteon.core.normals import vertex_normals
from osteon.core.sequence import MeshSequence
from osteon.synth.anatomy import build_body, coat_colors, ramp
from osteon.synth.flesh import bind_bones, blend_bones, enclosed_volume, hold_volume, swing_behind
from osteon.synth.gait import GaitVariation, gallop
from osteon.synth.muscle import bulge_shapes, contractions, squash_trunk
from osteon.synth.rig import BONES, Pose

__all__ = ["CreatureOptions", "make_creature"]

TRUNK = ("back", "chest", "loin", "pelvis")
SQUASH = 0.07  # how much flatter the trunk is at the hardest landing


@dataclass(frozen=True, slots=True)
class CreatureOptions:
    """How the creature is made and how it runs."""

    frames: int = 48  # of one gallop cycle; frame `frames` would be frame 0 again
    resolution: int = 101  # grid cells over its length, 40 … 400; 101 gives about 8,000 vertices
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
    """What does not depend on the motion."""

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
    """Softness (v,), and (frequency in cycles, damping), of all that hangs loose."""
    x, y, z = np.abs(body.vertices[:, 0]), body.vertices[:, 1], body.vertices[:, 2]
    belly = trunk * ramp(y, 0.78, 0.58) * ramp(z, -0.45, -0.10) * ramp(z, 0.42, 0.15)
    tail = ramp(z, -0.62, -1.30)
    ears = ramp(y, 1.28, 1.54) * ramp(z, 0.80, 0.74)
    cheeks = ramp(x, 0.07, 0.15) * ramp(y, 1.22, 1.16) * ramp(y, 1.0, 1.06) * ramp(z, 0.50, 0.56)
    return [(0.5 * belly, (4.0, 0.22)), (0.6 * tail, (2.6, 0.35)), (0.7 * ears, (4.5, 0.20)), (cheeks, (4.0, 0.2))]
