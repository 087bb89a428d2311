"""Rigid bodies kicked by a moving character: every clip is simulated from the beginning of the scene.

The character is kinematic: its skinned surface moves as the animation says, whatever it touches, and carries its
velocity into every contact. Between two frames its vertices move linearly. A clip may be repeated; then the way from
its last frame to its first takes one frame, as players interpolate it.

The solver is `bodies_solver.py`, contacts are `bodies_contacts.py`, and the tree of the surface is `bodies_surface.py`.

Notes, why an own solver. The package rapier3d 0.36 (Apache-2.0) has the engine Rapier in single precision. Contacts
come from its own search only: a hook may change or drop those of a pair, not add any; its continuous collision
detection sees rigid motions, not vertices that move; a deforming mesh has no velocity at its vertices. pybullet 3.2
(zlib) takes no contacts from outside either. Both would need a rebuilt mesh per step, and would miss what passes
between two steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from osteon.apply.collide.bodies_contacts import FOUND, KEPT, MOST_POINTS
from osteon.apply.collide.bodies_options import BodyOptions
from osteon.apply.collide.bodies_solver import DONE, TOO_FAST, place_all, run_interval
from osteon.apply.collide.bodies_state import BODY, CONTACT, KINDS, WORLD, reach_of
from osteon.apply.collide.bodies_surface import SweptSurface
from osteon.apply.collide.scene import Scene
from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress, report_progress
from osteon.deform.pose import pose_frames

#: Frames that are posed at once.
POSED = 32
#: Triangles per body that are listed at first; the lists grow.
LISTED = 1024


@dataclass(frozen=True, slots=True)
class BodyTrack:
    """The motion of all bodies during one clip."""

    clip: Clip
    loops: int
    seconds: Float64  # (k,) moments of the keys, from 0
    positions: Float64  # (k,n,3)
    rotations: Float64  # (k,n,4) quaternions x y z w
    velocities: Float64  # (k,n,6) linear, then angular
    touched: Int32  # (n,) steps in which the character touched each body
    first_touch: Float64  # (n,) seconds, NaN without one
    kick: Float64  # (n,) the largest impulse of the character on each body
    steps: int  # of the solver


def simulate_bodies(
    model: SkinnedModel, scene: Scene, *, options: BodyOptions | None = None, progress: Progress | None = None
) -> tuple[BodyTrack, ...]:
    """The motion of a scene's bodies during every clip of a model."""
    options = options or BodyOptions()
    placed = place_scene(model, scene)
    surface = SweptSurface.of(pose_frames(model, 0, 1)[0], model.faces)
    total, done, tracks = sum(clip.n_frames for clip in model.clips), 0, []
    for clip in model.clips:
        simulation = Simulation(placed, options.steps)

        def listen(fraction: float, before: int = done, frames: int = clip.n_frames) -> None:
            report_progress(progress, "simulate bodies", (before + fraction * frames) / total)

        tracks.append(simulation.play(model, clip, surface, options, listen))
        done += clip.n_frames
    return tuple(tracks)


def place_scene(model: SkinnedModel, scene: Scene) -> Scene:
    """The scene in units of the model's file, with gravity and the height of the ground."""
    placed = scene.in_units_of(model.diagonal)
    if placed.ground is None or placed.ground.height is not None:
        return placed
    lowest = np.inf
    for start in range(0, model.n_frames, POSED):
        posed = pose_frames(model, start, min(start + POSED, model.n_frames))
        lowest = min(lowest, float((posed @ placed.up).min()))
    return replace(placed, ground=replace(placed.ground, height=lowest))


class Simulation:
    """The state of a scene: bodies, the contacts of the last step, and scratch arrays of the kernels."""

    def __init__(self, scene: Scene, steps: float = 240.0) -> None:
        self.bodies = body_records(scene)
        self.world = world_record(scene, steps)
        n = len(self.bodies)
        self._contacts = np.zeros(n * (n + 3) * KEPT + 2 * KEPT, CONTACT)
        self._olds = np.zeros_like(self._contacts)
        self._found = np.zeros(FOUND, CONTACT)
        self._used = np.zeros(1, np.int64)
        self._points = np.zeros((2 * MOST_POINTS, 3))
        self._near = np.zeros((n, LISTED), np.int32)

    @property
    def contacts(self) -> NDArray[np.void]:
        """The contacts of the last step that pushed."""
        contacts = self._contacts[: self.world["contacts"][0]]
        return contacts[contacts["most"] > 0]

    @property
    def energy(self) -> float:
        """Kinetic and potential energy of all bodies that move."""
        b = self.bodies[self.bodies["fixed"] == 0]
        rotation = np.stack([[b[f"r{i}{j}"] for j in range(3)] for i in range(3)]).transpose(2, 0, 1)
        spin = np.einsum("nij,ni->nj", rotation, np.stack([b["wx"], b["wy"], b["wz"]], axis=1))
        inertia = np.stack([b["jx"], b["jy"], b["jz"]], axis=1)
        moving = b["mass"] * (b["vx"] ** 2 + b["vy"] ** 2 + b["vz"] ** 2) + (inertia * spin**2).sum(axis=1)
        w = self.world[0]
        height = b["mass"] * (b["x"] * w["gx"] + b["y"] * w["gy"] + b["z"] * w["gz"])
        return float((0.5 * moving - height).sum())

    def begin_interval(self, seconds: float) -> None:
        """Begin the interval between two frames: lists of triangles are outdated."""
        w = self.world
        w["began"] += w["span"]
        w["now"], w["span"], w["until"] = 0.0, seconds, seconds
        self.bodies["listed"] = 0

    def run(self, surface: SweptSurface, until: float) -> None:
        """Simulate up to some seconds after the beginning of the interval, in which the surface moves."""
        self.world["until"] = until
        while True:
            state = run_interval(
                *(self.world, self.bodies, self._contacts, self._olds, self._found, self._used, self._points),
                *(self._near, surface.begin, surface.end, surface.links, surface.bounds, surface.one_sided),
            )
            if state == TOO_FAST:
                raise GeometryError("bodies: they move too fast for their size; reduce velocities, or gravity")
            if state == DONE:
                break
            longest = int(self.bodies["count"].max())
            self._near = np.zeros((len(self.bodies), 2 * longest), np.int32)
            self.bodies["listed"] = 0
        if not all(np.isfinite(self.bodies[name]).all() for name in ("x", "y", "z", "vx", "vy", "vz")):
            raise GeometryError("bodies: positions overflow; reduce velocities or gravity")

    def play(
        self, model: SkinnedModel, clip: Clip, surface: SweptSurface, options: BodyOptions, listen: object = None
    ) -> BodyTrack:
        """Simulate all frames of a clip."""
        poses = _poses(model, clip, options.loops)
        count = clip.n_frames * options.loops - 1
        span = 1.0 / clip.fps
        seconds = key_moments(count * span, options.rate)
        keys = [self._key()]
        at, before = 1, next(poses)
        moved: SweptSurface | None = None
        for number, after in enumerate(poses):
            self.begin_interval(span)
            moved = surface.moved(before, after) if moved is None else moved.then(after)
            stop = (number + 1) * span
            while at < len(seconds) and seconds[at] < stop - 1e-9 * span:
                self.run(moved, seconds[at] - number * span)
                keys.append(self._key())
                at += 1
            self.run(moved, span)
            if at < len(seconds) and seconds[at] <= stop + 1e-9 * span:
                keys.append(self._key())
                at += 1
            if callable(listen):
                listen((number + 1) / count)
        state = np.stack(keys)
        hits = self.bodies["hits"].astype(np.int32)
        return BodyTrack(
            *(clip, options.loops, seconds, state[:, :, :3], state[:, :, 3:7], state[:, :, 7:]),
            *(hits, np.where(hits > 0, self.bodies["begun"], np.nan), self.bodies["kick"].copy()),
            int(self.world["steps"][0]),
        )

    def _key(self) -> Float64:
        """(n,13) places, rotations and velocities."""
        names = ("x", "y", "z", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "wx", "wy", "wz")
        return np.stack([self.bodies[name] for name in names], axis=1)


def _poses(model: SkinnedModel, clip: Clip, loops: int) -> Iterator[Float32]:
    """The vertices of every frame of a clip, as often as it is repeated."""
    for _ in range(loops):
        for start in range(clip.start, clip.stop, POSED):
            yield from pose_frames(model, start, min(start + POSED, clip.stop))


def key_moments(length: float, rate: float) -> Float64:
    """(k,) moments at a rate from 0 to the end, which is one of them."""
    moments = np.arange(int(np.floor(length * rate * (1 + 1e-12))) + 1) / rate
    if length - moments[-1] > 1e-6 / rate:
        moments = np.append(moments, length)
    return moments


def body_records(scene: Scene) -> NDArray[np.void]:
    """(n,) bodies at the beginning."""
    out = np.zeros(len(scene.bodies), BODY)
    for row, body in zip(out, scene.bodies, strict=True):
        row["kind"], row["fixed"], row["mass"] = KINDS[body.shape], body.fixed, body.mass
        row["a"], row["b"], row["c"] = body.size
        row["reach"], row["least"] = reach_of(body.shape, body.size)
        row["jx"], row["jy"], row["jz"] = body.inertia
        row["friction"], row["bounce"] = body.touch.friction, body.touch.restitution
        row["x"], row["y"], row["z"] = body.position
        row["qx"], row["qy"], row["qz"], row["qw"] = body.rotation
        if not body.fixed:
            row["vx"], row["vy"], row["vz"] = body.velocity
            row["wx"], row["wy"], row["wz"] = body.angular_velocity
    place_all(out)
    return out


def world_record(scene: Scene, steps: float) -> NDArray[np.void]:
    """(1,) facts of the whole scene, which must be in units of the file."""
    if scene.in_diagonals or scene.gravity is None:
        raise OptionError("scene: is not in units of a file; use place_scene")
    out = np.zeros(1, WORLD)
    out["gx"], out["gy"], out["gz"] = scene.gravity
    out["ux"], out["uy"], out["uz"] = scene.up
    out["longest"] = 1.0 / steps
    out["surface_friction"], out["surface_bounce"] = scene.character.friction, scene.character.restitution
    if scene.ground is not None:
        out["has_ground"], out["height"] = 1, scene.ground.height
        out["ground_friction"], out["ground_bounce"] = scene.ground.touch.friction, scene.ground.touch.restitution
    return out
