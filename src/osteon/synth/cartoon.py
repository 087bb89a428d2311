"""A flat cartoon cat for posing in 2D: a mesh of even triangles in the plane z = 0, its stick skeleton, poses to try.

The outline is the zero set of a field: strokes with a radius that changes along them, joined smoothly. Points start on
a lattice of equal triangles, repel each other along the edges of their Delaunay triangulation, and are projected back
onto the outline when they leave it, until the shape is evenly filled.

Based on: P.-O. Persson and G. Strang, A simple mesh generator in MATLAB, 2004.

Differs from the paper: all edges have one length; the strokes' field is a true distance only near the outline,
where it is used; thin triangles at the rim are removed at the end instead of relaxed further.

Notes
Measured with the 1,218 points of spacing 0.04, as the 1st percentile of the triangles' smallest angles: 20 rounds 35.0
degrees in 0.3 s, 60 rounds 38.6 degrees in 0.9 s, 120 rounds 40.0 degrees in 2.0 s. With a new triangulation in
every round instead of every fourth the angle is 38.7 degrees after 1.8 s.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
from scipy.spatial import Delaunay

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OptionError
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import shells, triangle_neighbors
from osteon.synth.implicit_surface import smooth_minimum
from osteon.synth.posing import JointRotations, join_poses, rotate_joints, rotate_z, sticks_of

Stroke = tuple[tuple[float, float, float], ...]  # x, y, radius

# fmt: off
BODY: Stroke = ((0, 1.06, 0.17), (0, 0.80, 0.24), (0, 0.62, 0.26))
HEAD: Stroke = ((-0.16, 1.47, 0.33), (0, 1.49, 0.36), (0.16, 1.47, 0.33))
TUFT: Stroke = ((0.0, 1.80, 0.09), (0.03, 1.90, 0.05), (0.09, 1.95, 0.02))
TAIL: Stroke = ((0.10, 0.56, 0.10), (0.30, 0.46, 0.070), (0.50, 0.38, 0.066), (0.68, 0.37, 0.068), (0.80, 0.46, 0.070),
                (0.82, 0.58, 0.066), (0.75, 0.66, 0.050))
#: Parts of the left side (x > 0), which are mirrored.
PAIRED: tuple[Stroke, ...] = (
    ((0.24, 1.66, 0.16), (0.33, 1.88, 0.09), (0.39, 2.04, 0.02)),  # ear
    ((0.30, 1.36, 0.16), (0.46, 1.30, 0.07), (0.57, 1.30, 0.015)),  # whiskers
    ((0.10, 1.02, 0.11), (0.30, 1.01, 0.088), (0.52, 0.98, 0.080), (0.74, 0.93, 0.074), (0.86, 0.90, 0.105),
     (0.92, 0.885, 0.100)),  # arm and mitten
    ((0.82, 0.93, 0.055), (0.82, 1.03, 0.048)),  # thumb
    ((0.13, 0.56, 0.15), (0.18, 0.34, 0.112), (0.21, 0.15, 0.098), (0.23, 0.095, 0.095), (0.38, 0.075, 0.075)),  # leg
)
CHAINS = (
    (("pelvis", (0, 0.62, 0)), ("waist", (0, 0.80, 0)), ("chest", (0, 1.00, 0)), ("neck", (0, 1.18, 0)),
     ("crown", (0, 1.52, 0))),
    (("crown", (0, 1.52, 0)), ("ear.L", (0.395, 2.05, 0))),
    (("pelvis", (0, 0.62, 0)), ("tail", (0.20, 0.51, 0)), ("tail.1", (0.46, 0.39, 0)), ("tail.2", (0.69, 0.37, 0)),
     ("tail.3", (0.815, 0.50, 0)), ("tail.tip", (0.72, 0.70, 0))),
    (("chest", (0, 1.00, 0)), ("shoulder.L", (0.19, 1.02, 0)), ("elbow.L", (0.48, 0.985, 0)),
     ("wrist.L", (0.77, 0.925, 0)), ("hand.L", (1.01, 0.865, 0))),
    (("pelvis", (0, 0.62, 0)), ("hip.L", (0.14, 0.52, 0)), ("knee.L", (0.185, 0.32, 0)), ("ankle.L", (0.215, 0.12, 0)),
     ("toe.L", (0.45, 0.07, 0))),
)
# fmt: on
BLEND = 0.05  # width of the blend between strokes
ROUNDS = 60
RENEWED = 4  # rounds between triangulations
SLIVER = 20.0  # degrees; triangles of the rim with a smaller angle are removed


def make_cartoon(spacing: float = 0.04) -> tuple[Float64, Int32, StickSkeleton]:
    """Vertices (v,3) with z = 0, faces (t,3) counter-clockwise, and the skeleton; edges are about `spacing` long."""
    if not 0.015 <= spacing <= 0.08:
        raise OptionError(f"spacing: expected 0.015 … 0.08 (the cat is 2 high), got {spacing}")
    points = _relaxed(_lattice(spacing), spacing)
    flat, faces = _without_slivers(points, _triangles(points, spacing))
    return np.concatenate([flat, np.zeros((len(flat), 1))], axis=1), faces, sticks_of(CHAINS, "cartoon")


@lru_cache(maxsize=1)
def _pieces() -> tuple[Float64, Int32]:
    """(n,2,3) straight pieces of all strokes, and the first piece of each stroke."""
    mirrored = [tuple((-x, y, r) for x, y, r in stroke) for stroke in PAIRED]
    strokes = [list(itertools.pairwise(stroke)) for stroke in (BODY, HEAD, TUFT, TAIL, *PAIRED, *mirrored)]
    first = np.cumsum([0, *(len(stroke) for stroke in strokes[:-1])])
    return np.array(list(itertools.chain.from_iterable(strokes))), first.astype(np.int32)


def _field(points: Float64) -> Float64:
    """(n,) negative inside; near the outline the distance to it."""
    pieces, first = _pieces()
    start, line = pieces[:, 0], pieces[:, 1] - pieces[:, 0]
    offset = points - start[:, None, :2]
    along = np.clip(np.einsum("pni,pi->pn", offset, line[:, :2]) / (line[:, :2] ** 2).sum(axis=1)[:, None], 0, 1)
    away = np.linalg.norm(offset - along[..., None] * line[:, None, :2], axis=2)
    field = np.full(len(points), np.inf)
    for part in np.minimum.reduceat(away - start[:, 2:] - along * line[:, 2:], first, axis=0):
        field = smooth_minimum(field, part, BLEND)
    return field


def _lattice(spacing: float) -> Float64:
    """Points of equal triangles inside the outline."""
    x, y = np.meshgrid(np.arange(-1.2, 1.2, spacing), np.arange(-0.1, 2.2, spacing * np.sqrt(0.75)))
    x[1::2] += spacing / 2
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    inside: Float64 = points[_field(points) < 0]
    return inside


def _relaxed(points: Float64, spacing: float) -> Float64:
    """Push points apart along short edges, and project them onto the outline, `ROUNDS` times."""
    edges = np.zeros((0, 2), np.int32)
    for round_ in range(ROUNDS):
        if round_ % RENEWED == 0:
            edges = _edges(_triangles(points, spacing))
        vector = points[edges[:, 0]] - points[edges[:, 1]]
        length = np.linalg.norm(vector, axis=1)
        wanted = 1.2 * np.sqrt((length**2).mean())  # slightly more than there is room for, so that points press outward
        push = vector * (np.maximum(wanted - length, 0) / length)[:, None]
        force = np.stack(
            [np.bincount(edges[:, 0], p, len(points)) - np.bincount(edges[:, 1], p, len(points)) for p in push.T],
            axis=1,
        )
        points = _projected(points + 0.2 * force)
    return points


def _projected(points: Float64) -> Float64:
    """Project points outside onto the outline by two Newton steps."""
    points, outside, h = points.copy(), np.flatnonzero(_field(points) > 0), 1e-6
    for _ in range(2):
        moved = points[outside]
        field = _field(moved)
        slope = np.stack([(_field(moved + h * e) - field) / h for e in np.eye(2)], axis=1)
        points[outside] -= slope * (field / np.maximum((slope**2).sum(axis=1), 1e-3))[:, None]
    return points


def _triangles(points: Float64, spacing: float) -> Int32:
    """(t,3) Delaunay triangles inside the outline, counter-clockwise."""
    faces: Int32 = Delaunay(points).simplices.astype(np.int32)
    faces = faces[_field(points[faces].mean(axis=1)) < -0.03 * spacing]
    a, b, c = (points[faces[:, i]] for i in range(3))
    clockwise = (b - a)[:, 0] * (c - a)[:, 1] < (b - a)[:, 1] * (c - a)[:, 0]
    faces[clockwise] = faces[clockwise][:, ::-1]
    return faces


def _edges(faces: Int32) -> Int32:
    both = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return np.unique(both, axis=0)


def _without_slivers(points: Float64, faces: Int32) -> tuple[Float64, Int32]:
    """The largest piece without slivers at its rim, and only the points it uses."""
    while True:
        rim = (triangle_neighbors(faces) < 0).any(axis=1)
        slivers = rim & (_smallest_angles(points, faces) < SLIVER)
        if not slivers.any():
            break
        faces = faces[~slivers]
    _, piece = shells(faces, len(points))
    count = np.bincount(piece[faces[:, 0]])
    faces = faces[piece[faces[:, 0]] == count.argmax()]
    used, renumbered = np.unique(faces, return_inverse=True)
    return points[used], renumbered.reshape(-1, 3).astype(np.int32)


def _smallest_angles(points: Float64, faces: Int32) -> Float64:
    """(t,) degrees."""
    corners = points[faces]
    sides = np.roll(corners, -1, axis=1) - corners
    sides /= np.linalg.norm(sides, axis=2, keepdims=True)
    cosines = -(sides * np.roll(sides, -1, axis=1)).sum(axis=2)
    smallest: Float64 = np.degrees(np.arccos(np.clip(cosines, -1, 1))).min(axis=1)
    return smallest


def cartoon_poses(skeleton: StickSkeleton, n_frames: int = 24) -> PoseTrack:
    """Four poses (wave, jump, kick, lean) and a dance that repeats after `n_frames`; one clip per pose."""
    track = {
        name: rotate_joints(skeleton, {joint: _rotate(angle) for joint, angle in angles.items()}, np.array([shift]))
        for name, (angles, shift) in POSES.items()
    }
    phase = 2 * np.pi * np.arange(n_frames) / n_frames
    shift = np.stack([0.10 * np.sin(phase), 0.03 * np.cos(2 * phase), 0 * phase], axis=1)
    return join_poses({**track, "dance": rotate_joints(skeleton, _dance(phase), shift)})


def _rotate(degrees: Float64 | float) -> Float64:
    """(f,3,3) counter-clockwise rotations."""
    return rotate_z(np.radians(np.atleast_1d(np.asarray(degrees, np.float64))))


# fmt: off
POSES = {
    "wave": ({"neck": 8, "shoulder.L": 12, "elbow.L": 46, "wrist.L": 18, "shoulder.R": 42, "elbow.R": 18,
              "tail.1": 14, "tail.2": 14}, (0.0, 0.0, 0.0)),
    "jump": ({"shoulder.L": 22, "elbow.L": 24, "shoulder.R": -22, "elbow.R": -24, "hip.L": 34, "hip.R": -34,
              "knee.L": -14, "knee.R": 14, "tail": 12, "tail.1": 18}, (0.0, 0.35, 0.0)),
    "kick": ({"pelvis": -7, "chest": -5, "neck": 12, "hip.R": -48, "knee.R": 4, "ankle.R": -24, "hip.L": 7,
              "shoulder.L": 18, "elbow.L": 24, "shoulder.R": 16, "elbow.R": -34, "tail.1": 14}, (0.0, 0.0, 0.0)),
    "lean": ({"waist": -12, "chest": -10, "neck": 8, "shoulder.L": 16, "elbow.L": 14, "shoulder.R": -14,
              "elbow.R": -22, "hip.R": -12, "tail": -10, "tail.2": 24}, (0.0, 0.0, 0.0)),
}
# fmt: on


def _dance(phase: Float64) -> JointRotations:
    """Hips to one side, arms to the other."""
    sway, lag = np.sin(phase), np.sin(phase - 0.9)
    angles = {"waist": 7 * sway, "chest": 7 * sway, "neck": -10 * lag, "tail": 10 * lag, "tail.1": 14 * lag}
    angles |= {"tail.2": 16 * np.sin(phase - 1.8)}
    for side, sign in (("L", 1), ("R", -1)):
        up = 0.5 + 0.5 * sign * sway
        angles |= {f"shoulder.{side}": sign * (-4 + 16 * up), f"elbow.{side}": sign * (-2 + 44 * up)}
        angles |= {f"hip.{side}": -9 * sway + 4 * sign, f"knee.{side}": 8 * sway}
    return {joint: _rotate(angle) for joint, angle in angles.items()}
