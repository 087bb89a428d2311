"""Radial basis functions of joint rotations: numbers that follow the rotation of one joint, or of two.

    one joint:   a_r(s) = sum_q l_rq phi(|s, s_q|),                                    phi(x) = exp(-x / r0)
    two:         a_r(s, t) = sum_q l_rq (s . s_q) (t . t_q) phi(|s, s_q| + |t, t_q|)

A driver is one joint or two; q runs over its centres, rotations at which values are given, for one joint including its
rest. |.,.| is the angle between two rotations of a joint, for a hinge the difference of its angles; s . s_q is the
product of both as rotation vectors, so that a pair vanishes wherever one of its joints is at rest, and grows with both.
A joint is named by the bone that it moves. Its rotation is that of the bone relative to the parent bone, in the axes of
the rest pose, so that moving, rotating or scaling the whole scene changes nothing.

    symbol      name
    l           weights
    s_q, t_q    centres
    r0          radii

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.4.
Differs from the paper: drivers of two joints, "a subject of future work" there. For a hinge that is bent off its axis
only the rotation about the axis counts.

Notes, elastic hand, 8 joints, 10 poses of all of them, two columns per joint and one for each of 8 pairs, share of the
skin's error that is removed: without pairs 92.1 %. Pairs as a plain sum of phi with zeros where one joint is at rest:
93.4 (straight distance), 93.9 (sum of angles); growing with both rotations, as here: 95.1. Between r0 of 2 and of 100
radians pairs gain 0.3.
Built-in hand, 265 centres, 240 frames, a busy machine: both kinds of angle for every centre and all weights as one
matrix 81 ms; angles and rotation vectors once per joint, weights driver by driver 11 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, checked, checked_indices
from osteon.core.character import Arrays
from osteon.core.errors import GeometryError
from osteon.core.transforms import nearest_rotation, quaternions_from_matrices

#: In place of a missing second joint or parent bone.
NO_JOINT = -1


def joint_rotations(transforms: FloatArray, parents: Int32, joints: Int64, *, rigid: bool = False) -> Float64:
    """(f,n,4) unit quaternions: rotations of joints' bones relative to their parents, from posed_from_rest (f,b,3,4).

    Bones that are `rigid`, up to one common scale, are not decomposed.
    """
    needed, place = np.unique(np.concatenate([joints, parents[joints]]), return_inverse=True)
    linear = np.asarray(transforms[:, needed, :, :3], np.float64)
    frames = linear if rigid else nearest_rotation(linear)
    mine, parent = frames[:, place[: len(joints)]], frames[:, place[len(joints) :]]
    rotations = np.swapaxes(parent, -1, -2) @ mine
    if rigid:
        rotations /= np.sqrt(np.einsum("fjik,fjik->fj", rotations, rotations) / 3)[..., None, None]
    return quaternions_from_matrices(rotations)


def compare_rotations(rotations: Float64, centres: Float64, axes: FloatArray) -> tuple[Float64, Float64]:
    """(…) the angle between rotations (…,4) and centres (…,4), and the product of both as rotation vectors.

    Where an axis (…,3) is not zero, both are rotations of a hinge, and only the angle about the axis counts.
    """
    hinges = np.any(axes, axis=-1)
    if hinges.all():
        return _compare_hinges(rotations, centres, axes)
    free = _compare_free(rotations, centres)
    if not hinges.any():
        return free
    found = zip(_compare_hinges(rotations, centres, axes), free, strict=True)
    apart, product = (np.where(hinges, *both) for both in found)
    return apart, product


def _compare_hinges(rotations: Float64, centres: Float64, axes: FloatArray) -> tuple[Float64, Float64]:
    now, known = hinge_angles(rotations, axes), hinge_angles(centres, axes)
    return np.abs(_wrapped(now - known)), np.asarray(now * known)


def _compare_free(rotations: Float64, centres: Float64) -> tuple[Float64, Float64]:
    v, u, w, r = rotations[..., :3], centres[..., :3], rotations[..., 3:], centres[..., 3:]
    across = np.linalg.norm(w * u - r * v - np.cross(v, u), axis=-1)
    apart = 2 * np.arctan2(across, np.abs((rotations * centres).sum(axis=-1)))
    return np.asarray(apart), np.asarray((rotation_vectors(rotations) * rotation_vectors(centres)).sum(axis=-1))


def rotation_vectors(rotations: Float64) -> Float64:
    """(…,3) axis times angle of rotations (…,4), up to pi."""
    shorter = np.where(rotations[..., 3:] < 0, -rotations, rotations)
    length = np.linalg.norm(shorter[..., :3], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(length, shorter[..., 3:])
    return np.asarray(shorter[..., :3] * np.where(length > 0, angle / np.where(length > 0, length, 1), 2.0))


def hinge_angles(rotations: Float64, axes: FloatArray) -> Float64:
    """(…) angles of rotations (…,4) about axes (…,3), from -pi to pi."""
    return _wrapped(2 * np.arctan2((rotations[..., :3] * np.asarray(axes, np.float64)).sum(axis=-1), rotations[..., 3]))


def _wrapped(angles: Float64) -> Float64:
    return np.asarray(angles - 2 * np.pi * np.round(angles / (2 * np.pi)))


def _hinges_apart(rotations: Float64, axes: FloatArray, joints: Int64, centres: Float64) -> Float64:
    """(f,c) angles between rotations (f,n,4) of hinges with axes (n,3) and centres (c,4) of these joints."""
    return np.asarray(np.abs(_wrapped(hinge_angles(rotations, axes)[:, joints] - hinge_angles(centres, axes[joints]))))


def _rotations_apart(rotations: Float64, _axes: FloatArray, joints: Int64, centres: Float64) -> Float64:
    """(f,c) the same for ball joints. Near a centre eight digits remain, more than coefficients have."""
    unit = centres / np.linalg.norm(centres, axis=1, keepdims=True)  # stored in single precision
    cosine = np.abs(np.einsum("fci,ci->fc", rotations[:, joints], unit))
    return np.asarray(2 * np.arccos(np.minimum(cosine, 1.0)))


def _hinge_products(rotations: Float64, axes: FloatArray, joints: Int64, centres: Float64) -> Float64:
    """(f,c) angles of hinges times those of centres."""
    return np.asarray(hinge_angles(rotations, axes)[:, joints] * hinge_angles(centres, axes[joints]))


def _rotation_products(rotations: Float64, _axes: FloatArray, joints: Int64, centres: Float64) -> Float64:
    """(f,c) products of rotation vectors."""
    return np.asarray(np.einsum("fci,ci->fc", rotation_vectors(rotations)[:, joints], rotation_vectors(centres)))


def driver_shapes(rotations: Float64, centres: Float64, axes: FloatArray, radius: FloatArray | float) -> Float64:
    """(…) the basis functions of a driver: rotations (…,j,4) of its joints, centres (…,j,4), axes (…,j,3)."""
    apart, product = compare_rotations(rotations, centres, axes)
    out: Float64 = np.exp(-apart.sum(axis=-1) / radius)
    return out if apart.shape[-1] == 1 else out * product.prod(axis=-1)


@dataclass(frozen=True, slots=True)
class JointRbf:
    """Columns of numbers; each follows a driver."""

    parents: Int32  # (b,) the parent of each bone, -1 at a root
    axes: Float32  # (b,3) unit axis of hinges in the rest pose, zero for ball joints
    joints: Int32  # (d,2) of each driver; -1 in place of a second one
    radii: Float32  # (d,) r0, radians
    counts: Int32  # (d,) number of centres
    centres: Float32  # (c,2,4) rotations of both joints, those of the first driver first
    driver: Int32  # (r,) of each column
    weights: Float32  # (n,) l: for each column, one per centre of its driver

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
            raise GeometryError("joints: a driver names a root, which has no parent")
        put(self, "centres", checked("centres", self.centres, (int(self.counts.sum()), 2, 4)))
        put(self, "weights", checked("weights", self.weights, (int(self.counts[self.driver].sum()),)))

    @property
    def n_drivers(self) -> int:
        return len(self.joints)

    @property
    def n_columns(self) -> int:
        return len(self.driver)

    def joints_of(self, driver: int) -> list[int]:
        """Its joints, one or two."""
        return [int(j) for j in self.joints[driver] if j != NO_JOINT]

    def values(self, transforms: FloatArray, *, rigid: bool = False) -> Float64:
        """(f,r) a of every frame, from posed_from_rest transforms (f,b,3,4)."""
        used = np.unique(self.joints[self.joints >= 0]).astype(np.int64)
        if not len(used) or not self.n_columns:
            return np.zeros((len(transforms), self.n_columns))
        if transforms.shape[1] <= max(int(used.max()), int(self.parents[used].max())):
            raise GeometryError(f"bones: joint {int(used.max())} has no bone; there are {transforms.shape[1]}")
        return self.values_at(joint_rotations(transforms, self.parents, used, rigid=rigid), used)

    def values_at(self, rotations: Float64, joints: Int64) -> Float64:
        """(f,r) a for rotations (f,n,4) of joints in ascending order, which include those of all drivers."""
        shapes = self._shapes(rotations, joints)
        stop, first = np.cumsum(self.counts), np.cumsum(self.counts[self.driver]) - self.counts[self.driver]
        out = np.zeros((len(rotations), self.n_columns))
        for d in np.unique(self.driver).tolist():
            columns, count = np.flatnonzero(self.driver == d), int(self.counts[d])
            weights = self.weights[first[columns] + np.arange(count)[:, None]].astype(np.float64)
            out[:, columns] = shapes[:, stop[d] - count : stop[d]] @ weights
        return out

    def _shapes(self, rotations: Float64, used: Int64) -> Float64:
        """(f,c) the basis functions at all centres, from rotations (f,n,4) of the used joints."""
        joints = np.repeat(self.joints, self.counts, axis=0)
        place, centres, axes = np.searchsorted(used, joints), self.centres.astype(np.float64), self.axes[used]
        apart = np.zeros((len(rotations), len(joints)))
        growth, pair = np.ones_like(apart), joints[:, 1] != NO_JOINT
        for slot in (0, 1):
            there, hinge = joints[:, slot] != NO_JOINT, np.any(self.axes, axis=1)[joints[:, slot]]
            for chosen, compare in ((there & hinge, _hinges_apart), (there & ~hinge, _rotations_apart)):
                apart[:, chosen] += compare(rotations, axes, place[chosen, slot], centres[chosen, slot])
            for chosen, multiply in ((pair & hinge, _hinge_products), (pair & ~hinge, _rotation_products)):
                growth[:, chosen] *= multiply(rotations, axes, place[chosen, slot], centres[chosen, slot])
        return np.asarray(np.exp(-apart / np.repeat(self.radii, self.counts).astype(np.float64)) * growth)

    def take(self, columns: Int64) -> Self:
        """Only the given columns, in that order, and the drivers that they follow."""
        used, driver = np.unique(self.driver[columns], return_inverse=True)
        kept = np.isin(np.repeat(np.arange(self.n_drivers), self.counts), used)
        parts = np.split(self.weights, np.cumsum(self.counts[self.driver])[:-1]) if self.n_columns else []
        return replace(
            self,
            joints=self.joints[used],
            radii=self.radii[used],
            counts=self.counts[used],
            centres=self.centres[kept],
            driver=driver.astype(np.int32),
            weights=np.concatenate([np.zeros(0, np.float32), *(parts[r] for r in np.asarray(columns).tolist())]),
        )

    def joined(self, other: Self) -> Self:
        """The columns of both, which follow joints of the same bones."""
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("joints", "radii", "counts", "centres", "weights")
        }
        return replace(self, driver=np.concatenate([self.driver, other.driver + self.n_drivers]), **joined)

    def arrays(self) -> Arrays:
        """All fields by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(**{name: arrays[name] for name in cls.__slots__})


def _indices(name: str, value: Int32, shape: tuple[int, ...], count: int) -> Int32:
    """Whole numbers from -1 to count - 1."""
    return np.asarray(checked_indices(name, np.asarray(value, np.int64) + 1, shape, count + 1) - 1, np.int32)
