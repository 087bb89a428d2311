"""Two subjects that no skeleton moves: a ball that bounces and squashes, and a body of cloth that collapses.

The ball is squashed by one affine map a frame, so a single flexible bone reproduces it exactly, and a rigid one does
not. The cloth is the surface of the fox without anything inside: particles at its vertices, springs along its edges,
gravity and a floor. It folds everywhere, so few of its triangles move alike. Layers do not collide; a vertex that was
higher at rest comes to lie higher on the heap.

Based on: Müller et al., Position based dynamics, 2007 (edges as distance constraints, averaged over the edges of a
vertex, and velocities from the change of positions).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from osteon.core.animation import Clip
from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError
from osteon.core.sequence import MeshSequence
from osteon.core.topology import vertex_graph
from osteon.synth.shapes import make_sphere

FPS = 30.0
#: Of the ball: height of the jump in diameters, bounces per second, and how far the impact flattens it.
JUMP, BOUNCES, FLAT = 1.2, 1.0, 0.35


@dataclass(frozen=True, slots=True)
class SoftBodyOptions:
    """Length and resolution of a soft body."""

    frames: int = 48
    resolution: int = 60  # grid cells over the length of the fox; subdivisions of the ball follow from it
    friction: float = 0.6  # part of the sliding along the floor that is lost per step

    def __post_init__(self) -> None:
        if self.frames < 2:
            raise OptionError(f"frames: expected at least 2, got {self.frames}")
        if not 40 <= self.resolution <= 200:
            raise OptionError(f"resolution: expected 40 … 200 cells, got {self.resolution}")
        if not 0 <= self.friction <= 1:
            raise OptionError(f"friction: expected 0 … 1, got {self.friction}")


DEFAULT_SOFT_BODY = SoftBodyOptions()


def make_bouncing_ball(options: SoftBodyOptions = DEFAULT_SOFT_BODY) -> MeshSequence:
    """A ball that rolls while it bounces; its volume is constant."""
    ball = make_sphere(3 if options.resolution < 100 else 4)
    time = np.arange(options.frames) / FPS
    phase = BOUNCES * time % 1.0
    height = JUMP * 4 * phase * (1 - phase)
    squash = 1 - FLAT * np.exp(-((np.minimum(phase, 1 - phase) / 0.09) ** 2))
    angle = 1.1 * time
    turn = np.zeros((options.frames, 3, 3))
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
    turn[:, 1, 0], turn[:, 0, 1], turn[:, 2, 2] = -np.sin(angle), np.sin(angle), 1
    scales = np.stack([squash**-0.5, squash, squash**-0.5], axis=1)
    frames = np.einsum("fi,fij,vj->fvi", scales, turn, ball.vertices)
    frames[..., 0] += 0.4 * time[:, None]
    frames[..., 1] += height[:, None] - frames[..., 1].min(axis=1, keepdims=True)
    clip = Clip("bounce", 0, options.frames, FPS)
    return MeshSequence(
        frames.astype(np.float32), ball.faces, ball.vertices.astype(np.float32), (clip,), name="bouncing ball"
    )


#: Of the cloth: steps per frame, rounds of constraints per step, gravity in body lengths per second squared.
STEPS, ROUNDS, GRAVITY = 4, 8, 3.0
#: Air drag per second; height of the heap in body lengths; stiffness against bending and against compression, 0 … 1.
DRAG, HEAP, BENDING, SOFT = 1.5, 0.12, 0.25, 0.3


def make_collapse(options: SoftBodyOptions = DEFAULT_SOFT_BODY) -> MeshSequence:
    """The fox as a bag of cloth that falls in on itself."""
    from osteon.synth.creature import CreatureOptions, make_creature

    body = make_creature(CreatureOptions(frames=2, resolution=options.resolution))
    points = body.rest.astype(np.float64)
    graph = vertex_graph(body.faces, len(points))
    frames = _fall(points, _pairs(graph), _pairs((graph @ graph) > 0), options)
    clip = Clip("collapse", 0, options.frames, FPS)
    return MeshSequence(frames.astype(np.float32), body.faces, body.rest, (clip,), body.asset, name="collapsing fox")


def _pairs(graph: Any) -> Int32:
    """(n,2) the edges of a sparse graph, each once."""
    found = graph.tocoo()
    pairs: Int32 = np.stack([found.row, found.col], axis=1)[found.row < found.col].astype(np.int32)
    return pairs


def _fall(rest: Float64, edges: Int32, bends: Int32, options: SoftBodyOptions) -> Float64:
    """(f,v,3) the frames of the simulation; the first is the rest pose. `bends` are vertices two edges apart."""
    pairs = np.concatenate([edges, bends])
    ends = np.repeat([[-1.0, 1.0]], len(pairs), axis=0)
    rows = np.repeat(np.arange(len(pairs)), 2)
    difference = csr_array((ends.ravel(), (rows, pairs.ravel())), shape=(len(pairs), len(rest)))
    gather = csr_array(difference.T)
    length = np.linalg.norm(difference @ rest, axis=1)
    stretch = np.repeat([1.0, BENDING], [len(edges), len(bends)])
    squeeze = np.repeat([SOFT, BENDING], [len(edges), len(bends)])
    degree = np.bincount(pairs.ravel(), np.repeat(stretch, 2), len(rest))[:, None]
    size = float(np.ptp(rest, axis=0).max())
    bottom, top = float(rest[:, 1].min()), float(rest[:, 1].max())
    floor = bottom + HEAP * size * (rest[:, 1] - bottom) / (top - bottom)
    step = 1 / (FPS * STEPS)
    points, velocity = rest.copy(), np.zeros_like(rest)
    frames = [rest]
    for _ in range(options.frames - 1):
        for _ in range(STEPS):
            velocity[:, 1] -= step * GRAVITY * size
            velocity *= 1 - step * DRAG
            moved = points + step * velocity
            for _ in range(ROUNDS):
                along = difference @ moved
                now = np.sqrt(np.einsum("pi,pi->p", along, along))
                excess = now - length
                pull = -0.5 * excess * np.where(excess > 0, stretch, squeeze) / np.maximum(now, 1e-12)
                moved += (gather @ (pull[:, None] * along)) / degree
                np.maximum(moved[:, 1], floor, out=moved[:, 1])
            grounded = moved[:, 1] <= floor
            moved[grounded] -= options.friction * (moved - points)[grounded] * (1, 0, 1)
            velocity, points = (moved - points) / step, moved
        frames.append(points)
    return np.stack(frames)
