"""Numbers that follow the turns of joints: radial basis functions over the settings of one joint, or of two.

    a_r(pose) = sum_q l_rq phi(sum_j |turn_j(pose), turn_jq|),   phi(x) = exp(-x / r0)

A driver is one joint or two; q runs over the settings at which it has a centre, its rest among them; |.,.| is the angle
between two turns of a joint, of a hinge the difference of its angles. A joint is named by the bone that it moves. Its
turn is how that bone is turned against the bone above it, in the axes of the rest pose, so that moving, turning or
scaling the whole scene changes nothing.

    symbol      name
    l           weights
    turn_jq     centres
    r0          radii

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.4.
Differs from the paper: drivers of two joints, whose angles add up: phi of a sum is the product of both phi, so that a
pair which is zero wherever one joint rests stays zero there. A hinge that is bent off its axis counts the part of its
turn about the axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, checked, checked_indices
from osteon.core.deformer import Arrays
from osteon.core.errors import GeometryError
from osteon.core.quaternions import quaternions_from_matrices
from osteon.core.transforms import nearest_rotation

__all__ = ["NO_JOINT", "JointRbf", "angles_between_turns", "joint_turns", "shape_function"]

#: In place of a second joint, or of a bone above.
NO_JOINT = -1
#: Matrices whose A'A is this near to a multiple of the identity are rotations but for rounding and size.
ALMOST_ROTATION = 1e-4


def joint_turns(transforms: FloatArray, parents: Int32, joints: Int64) -> Float64:
    """(f,n,4) unit quaternions of some joints: their bones against those above, from posed_from_rest (f,b,3,4)."""
    needed, place = np.unique(np.concatenate([joints, parents[joints]]), return_inverse=True)
    frames = _rotations(np.asarray(transforms[:, needed, :, :3], np.float64))
    mine, above = frames[:, place[: len(joints)]], frames[:, place[len(joints) :]]
    return quaternions_from_matrices(np.swapaxes(above, -1, -2) @ mine)


def _rotations(linear: Float64) -> Float64:
    """(…,3,3) the rotation in each; only what is none already is decomposed."""
    squares = np.swapaxes(linear, -1, -2) @ linear
    size = np.maximum(np.einsum("...ii->...", squares) / 3, np.finfo(np.float64).tiny)
    off = np.abs(squares / size[..., None, None] - np.eye(3)).max(axis=(-2, -1))
    out: Float64 = linear / np.sqrt(size)[..., None, None]
    bent = ~(off <= ALMOST_ROTATION) | (np.linalg.det(out) < 0)
    if bent.any():
        out[bent] = nearest_rotation(linear[bent])
    return out


def angles_between_turns(turns: Float64, centres: Float64, axis: FloatArray) -> Float64:
    """(f,q) radians between turns (f,4) and centres (q,4), about the axis (3,) of a hinge if that is not zero."""
    if np.any(axis):
        apart = _hinge_angles(turns, axis)[:, None] - _hinge_angles(centres, axis)
        return np.asarray(np.abs(apart - 2 * np.pi * np.round(apart / (2 * np.pi))))
    v, w = turns[:, None, :3], turns[:, None, 3:]
    along = w * turns_vector(centres) - centres[:, 3:] * v + np.cross(v, turns_vector(centres)[None])
    real = w[..., 0] * centres[:, 3] + np.einsum("fqi,qi->fq", np.broadcast_to(v, along.shape), centres[:, :3])
    return np.asarray(2 * np.arctan2(np.linalg.norm(along, axis=-1), np.abs(real)))


def turns_vector(turns: Float64) -> Float64:
    """(…,3) the imaginary part."""
    return np.asarray(turns[..., :3])


def _hinge_angles(turns: Float64, axis: FloatArray) -> Float64:
    """(…,) how far turns go about an axis."""
    return np.asarray(2 * np.arctan2(turns[..., :3] @ np.asarray(axis, np.float64), turns[..., 3]))


def shape_function(angles: FloatArray, radius: float) -> Float64:
    """phi"""
    return np.exp(-np.asarray(angles, np.float64) / radius)


@dataclass(frozen=True, slots=True)
class JointRbf:
    """Columns of numbers, each of which follows a driver."""

    parents: Int32  # (b,) the bone above each bone, -1 at a root
    axes: Float32  # (b,3) unit axis of hinges in the rest pose, zero where a joint turns freely
    joints: Int32  # (d,2) of each driver; -1 in place of a second one
    radii: Float32  # (d,) r0, radians
    counts: Int32  # (d,) centres
    centres: Float32  # (c,2,4) turns of both joints, those of the first driver first
    driver: Int32  # (r,) of each column
    weights: Float32  # (n,) l: for each column as many as its driver has centres

    def __post_init__(self) -> None:
        n_bones, n_drivers = len(self.parents), len(self.joints)
        put = object.__setattr__
        put(self, "parents", _indices("parents", self.parents, (n_bones,), n_bones))
        put(self, "axes", checked("axes", self.axes, (n_bones, 3)))
        put(self, "joints", _indices("joints", self.joints, (n_drivers, 2), n_bones))
        put(self, "radii", checked("radii", self.radii, (n_drivers,)))
        put(self, "counts", checked("counts", self.counts, (n_drivers,), np.int32))
        put(self, "driver", checked_indices("driver", self.driver, (None,), n_drivers))
        if (self.counts < 0).any() or (self.radii <= 0).any() or (self.joints[:, 0] == NO_JOINT).any():
            raise GeometryError("drivers: expected a joint, a positive radius and a number of centres for each")
        if (self.parents[self.joints[self.joints >= 0]] == NO_JOINT).any():
            raise GeometryError("joints: a driver names a root, which turns against nothing")
        put(self, "centres", checked("centres", self.centres, (int(self.counts.sum()), 2, 4)))
        put(self, "weights", checked("weights", self.weights, (int(self.counts[self.driver].sum()),)))

    @property
    def n_drivers(self) -> int:
        return len(self.joints)

    @property
    def n_columns(self) -> int:
        return len(self.driver)

    def joints_of(self, driver: int) -> list[int]:
        """One or two."""
        return [int(j) for j in self.joints[driver] if j != NO_JOINT]

    def values(self, transforms: FloatArray) -> Float64:
        """(f,r) a of every frame, from posed_from_rest transforms (f,b,3,4)."""
        out = np.zeros((len(transforms), self.n_columns))
        used = np.unique(self.joints[self.joints >= 0]).astype(np.int64)
        if not len(used) or not self.n_columns:
            return out
        if transforms.shape[1] <= max(int(used.max()), int(self.parents[used].max())):
            raise GeometryError(f"bones: joint {int(used.max())} has no bone; there are {transforms.shape[1]}")
        turns = dict(zip(used.tolist(), np.swapaxes(joint_turns(transforms, self.parents, used), 0, 1), strict=True))
        starts = np.cumsum([0, *self.counts[self.driver]])
        for d, (phi, columns) in enumerate(zip(self._shapes(turns), self._columns(), strict=True)):
            rows = [self.weights[starts[r] : starts[r + 1]] for r in columns]
            if rows:
                out[:, columns] = phi @ np.stack(rows, axis=1).astype(np.float64).reshape(self.counts[d], -1)
        return out

    def _shapes(self, turns: Mapping[int, Float64]) -> list[Float64]:
        """(f,q) phi at the centres of each driver."""
        stops = np.cumsum(self.counts)
        out = []
        for d, stop in enumerate(stops):
            centres = self.centres[stop - self.counts[d] : stop].astype(np.float64)
            apart = [
                angles_between_turns(turns[j], centres[:, i], self.axes[j]) for i, j in enumerate(self.joints_of(d))
            ]
            out.append(shape_function(np.sum(apart, axis=0), float(self.radii[d])))
        return out

    def _columns(self) -> list[Int64]:
        return [np.flatnonzero(self.driver == d) for d in range(self.n_drivers)]

    def cut(self, n_columns: int) -> Self:
        """The first columns alone."""
        kept = self.driver[:n_columns]
        return replace(self, driver=kept, weights=self.weights[: int(self.counts[kept].sum())])

    def arrays(self) -> Arrays:
        """All fields by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(**{name: arrays[name] for name in cls.__slots__})


def _indices(name: str, value: Int32, shape: tuple[int, ...], count: int) -> Int32:
    """Whole numbers from -1 to count - 1."""
    return np.asarray(checked_indices(name, np.asarray(value, np.int64) + 1, shape, count + 1) - 1, np.int32)
