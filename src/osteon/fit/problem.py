"""The least squares problem of a fit: a centred and scaled copy of a sequence, stored by vertex.

    minimise over bones T and weights w:   sum_v sum_f || sum_b w_vb T_b^f p_v - x_v^f ||^2
                                         + h^2 sum_n sum_f || sum_b w_vb L_b^f n_n - m_n^f ||^2

| symbol | name |
| --- | --- |
| p_v   | points (v,4), homogeneous rest position |
| x_v^f | targets (v,3f), row v holds all frames of a vertex |
| L_b   | linear part of T_b |
| n_n, m_n^f | normals of the rest pose and of the frames (`NormalRows`); v is the vertex of n |
| h     | a length: the weight of a normal against a position. 0 is the fit of the paper |

Stock players shade with the blended matrix times the stored normal, L n. Positions alone leave L undetermined across a
sheet, so a fit that includes the shading has both terms. A normal is a row of the same problem, with [h n; 0] for
[p; 1].

Rest pose and every frame are measured from their own centroid in units of the rest pose's RMS radius, the frames
relative to the size of the body in them (`play_scale`, `core/mesh.py`). Bones absorb the difference exactly (weights
sum to one), and a character that walks across the scene loses no digits.

Units. Bare arrays of transforms and points inside `fit/` are in problem units. Transforms in input units are a
`BoneTrack` or an `InputTransforms`, which no fit function accepts: each stage converts at its entrance (`from_input`)
and at its exit (`to_input`), and a type checker finds the places that do not.

| space | transforms | points |
| --- | --- | --- |
| input units   | `BoneTrack`, `InputTransforms` | `rest_to_input(points)`, `MeshSequence` |
| problem units | arrays (f,b,3,4) | `points`, `targets` |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.animation import BoneTrack, BoneType
from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, IntArray
from osteon.core.errors import GeometryError
from osteon.core.frames import frame_centers, vertex_tracks
from osteon.core.sequence import MeshSequence

#: Vertices per block of the conversion, which avoids a float64 copy of the whole sequence.
BLOCK = 2048


@dataclass(frozen=True, slots=True)
class InputTransforms:
    """posed_from_rest transforms in the units of the input, in double precision."""

    values: Float64  # (f,b,3,4)

    @staticmethod
    def of(track: BoneTrack) -> InputTransforms:
        return InputTransforms(track.transforms.astype(np.float64))

    @property
    def n_bones(self) -> int:
        return int(self.values.shape[1])

    def take_frames(self, frames: IntArray) -> InputTransforms:
        return InputTransforms(self.values[frames])

    def to_track(self, bone_type: BoneType, names: tuple[str, ...] = ()) -> BoneTrack:
        """The bone track in single precision, as a model stores it."""
        return BoneTrack(self.values.astype(np.float32), bone_type, names)


@dataclass(frozen=True, slots=True)
class NormalRows:
    """Rows of normals in the problem."""

    rest: Float64  # (n,3) unit normals of the rest pose
    targets: Float32  # (n,3f) unit normals of the frames; zero where a frame has none
    vertex: Int64  # (n,) the vertex of each, ascending
    weight: float = 0.0  # h^2, in squared units of the problem
    energy: Float64 | None = None  # (n,) squared norm of each row of targets; None: computed

    def __post_init__(self) -> None:
        if self.energy is None:
            energy = np.einsum("nf,nf->n", self.targets, self.targets, dtype=np.float64)
            object.__setattr__(self, "energy", energy)

    def take_frames(self, frames: Int64) -> NormalRows:
        """The same rows with only the given frames."""
        some = self.targets.reshape(len(self.targets), -1, 3)[:, frames]
        return replace(self, targets=np.ascontiguousarray(some).reshape(len(some), -1), energy=None)

    def subset(self, vertices: Int32) -> NormalRows:
        """The rows of some ascending vertices, renumbered."""
        chosen = np.flatnonzero(np.isin(self.vertex, vertices))
        number = np.searchsorted(vertices, self.vertex[chosen])
        return NormalRows(self.rest[chosen], self.targets[chosen], number.astype(np.int64), self.weight)


@dataclass(frozen=True, slots=True)
class FitProblem:
    """Normalised rest points and targets, and the conversion to and from input units."""

    points: Float64  # (v,4)
    targets: Float32  # (v,3f)
    energy: Float64  # (v,) squared norm of a row of targets
    rest_center: Float64  # (3,)
    frame_centers: Float64  # (f,3)
    rest_scale: float  # units of the rest pose in one unit here
    posed_scale: float  # units of the frames in one unit here; the same unless the rig carried a scale
    motion: float  # || P - time mean of P ||, the denominator of E, in units here
    normals: NormalRows | None = None  # None: positions alone

    @property
    def n_frames(self) -> int:
        return int(self.targets.shape[1] // 3)

    @property
    def n_vertices(self) -> int:
        return int(self.points.shape[0])

    def error_percent(self, squared_errors: Float64) -> float:
        """E % from the squared error of every vertex."""
        return float(100 * np.sqrt(max(0.0, float(squared_errors.sum()))) / self.motion)

    def subset(self, vertices: Int32) -> FitProblem:
        """The problem of some vertices; its E estimates that of all."""
        share = len(vertices) / self.n_vertices
        return FitProblem(
            self.points[vertices],
            self.targets[vertices],
            self.energy[vertices],
            self.rest_center,
            self.frame_centers,
            self.rest_scale,
            self.posed_scale,
            self.motion * float(np.sqrt(share)),
            None if self.normals is None else self.normals.subset(vertices),
        )

    def take_frames(self, frames: Int64) -> FitProblem:
        """The problem of the given frames; E refers to these frames."""
        some = np.ascontiguousarray(self.targets.reshape(self.n_vertices, -1, 3)[:, frames])
        real = some.astype(np.float64)
        motion = float(np.sqrt(((real - real.mean(axis=1, keepdims=True)) ** 2).sum()))
        return replace(
            self,
            targets=some.reshape(self.n_vertices, -1),
            energy=(real**2).sum(axis=(1, 2)),
            frame_centers=self.frame_centers[frames],
            motion=max(motion, 1e-300),
            normals=None if self.normals is None else self.normals.take_frames(frames),
        )

    def with_normals(self, normals: NormalRows | None) -> FitProblem:
        """The same problem with these rows of normals, or without any."""
        return replace(self, normals=normals)

    def sampled(self, count: int, seed: int) -> FitProblem:
        """The problem of `count` random vertices, or this one if it has few more."""
        chosen = self.sampled_vertices(count, seed)
        return self if chosen is None else self.subset(chosen)

    def sampled_vertices(self, count: int, seed: int) -> Int32 | None:
        """`count` random vertices in ascending order, or None if there are few more."""
        if self.n_vertices <= 1.25 * count:
            return None
        chosen = np.random.default_rng(seed).permutation(self.n_vertices)[:count]
        return np.sort(chosen).astype(np.int32)

    def to_input(self, transforms: Float64) -> InputTransforms:
        """Transforms (f,b,3,4) of this problem in the units of the input."""
        out = transforms.copy()
        out[..., :3] *= self.posed_scale / self.rest_scale
        out[..., 3] = self.posed_scale * transforms[..., 3] + self.frame_centers[:, None]
        out[..., 3] -= out[..., :3] @ self.rest_center
        return InputTransforms(out)

    def from_input(self, transforms: InputTransforms | BoneTrack) -> Float64:
        """(f,b,3,4) transforms of the input in the units of this problem; the inverse of `to_input`."""
        values = transforms.transforms if isinstance(transforms, BoneTrack) else transforms.values
        out = np.array(values, np.float64)
        out[..., 3] += out[..., :3] @ self.rest_center
        out[..., 3] = (out[..., 3] - self.frame_centers[:, None]) / self.posed_scale
        out[..., :3] *= self.rest_scale / self.posed_scale
        return out

    def rest_to_input(self, points: Float64) -> Float64:
        """Points of the rest pose (…,3) in the units of the input."""
        return self.rest_scale * points + self.rest_center

    def rest_from_input(self, points: FloatArray) -> Float64:
        """Points of the rest pose (…,3) of the input in the units of this problem."""
        return np.asarray((points - self.rest_center) / self.rest_scale)


def pose_problem(
    sequence: MeshSequence,
    vertices: Int32 | None = None,
    frames: Int32 | None = None,
    *,
    play_scale: float = 1.0,
    still: bool = False,
) -> FitProblem:
    """Centre and scale a sequence, or only some vertices and frames of it, for fitting.

    `play_scale` is the size of the frames relative to the rest pose (`MeshSequence.play_scale`). Equal frames are an
    error unless `still` is set; E is meaningless for them.
    """
    chosen = np.arange(sequence.n_vertices, dtype=np.int32) if vertices is None else vertices
    source = sequence.source if frames is None else sequence.source.take(frames)
    n_frames, n_vertices = source.n_frames, len(chosen)
    rest = sequence.rest[chosen].astype(np.float64)
    rest_center = rest.mean(axis=0)
    rest -= rest_center
    rest_scale = float(np.sqrt((rest**2).sum(axis=1).mean()))
    if rest_scale <= 0:
        raise GeometryError("rest: all vertices are at one point; choose a rest pose that has an extent")
    scale = rest_scale * play_scale
    centers = frame_centers(source)
    targets = vertex_tracks(source, chosen)  # in input units; normalised in place below
    energy = np.empty(n_vertices)
    motion = 0.0
    for start in range(0, n_vertices, BLOCK):
        rows = targets[start : start + BLOCK]
        local = rows.astype(np.float64).reshape(-1, n_frames, 3)
        part = local.transpose(1, 0, 2).copy(order="C")  # by frame, the order of the sum below
        part -= part.mean(axis=0)
        motion += float(np.square(part, out=part).sum())
        local -= centers
        local /= scale
        rows[:] = local.reshape(rows.shape)
        energy[start : start + BLOCK] = (rows.astype(np.float64) ** 2).sum(axis=1)
    if not still and motion <= (1e-9 * scale) ** 2 * n_frames * n_vertices:
        raise GeometryError("frames: nothing moves, all frames are equal; choose a sequence that deforms")
    points = np.concatenate([rest / rest_scale, np.ones((n_vertices, 1))], axis=1)
    motion = float(np.sqrt(motion)) / scale
    return FitProblem(points, targets, energy, rest_center, centers, rest_scale, scale, motion)
