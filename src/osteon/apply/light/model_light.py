"""The light of a model: compressed transfer, its ground, environments, and baked colours, as files store them.

    radiance of a point of albedo 1 = max(0, sum_i t_i L'_i),    t = mean + sum_r q_r basis_r,    L' = R_v^-1 L

t is in the frame of the point, which its bones rotate by R_v (`vertex_frames`), so the environment L, given in the
frame of the world, is rotated back (`rotate_sh`). L = seen E for an environment E of order 5: without a ground its
first bands; above a ground its upper half, and light from the ground below. The ground has the frame of the world, and
the whole environment: L = the first bands of E. It sees the upper half only, but a horizon in E would need more bands.

With one coefficient per point (`order` 1) the light is ambient occlusion, and t / y_00 is the part of the surroundings
that a point sees, weighted by the cosine; an environment is not needed. Points are the normals of the mesh: one per
vertex, or several on hard edges.

Baked colours are those under the first environment, sum_k w_k colors_k, with non-negative factors; there are weights
for every number of first colours.

Arrays by name (`ModelLight.arrays`): `mean`, `basis`, `coefficients` of the transfer; the same as `ground.mean`, …, and
`ground.centers` (f,3); `seen` (c,25); `environments` (e,25,3); `baked.weights` (k,f,k), `baked.colors` (k,n,1|3),
`baked.ground` (k,g,1|3); `coarse_1.mean`, `coarse_1.basis` and `coarse_1.colors` of coarser meshes. The rest is JSON
(`header`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from osteon.apply.light.compress import CompressedTransfer, Float16, between
from osteon.apply.light.harmonics import MOST_ORDER, n_coefficients
from osteon.apply.light.options import UpAxis
from osteon.core.arrays import Float32, Float64, checked
from osteon.core.character import Arrays
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel, StoredLight


@dataclass(frozen=True, slots=True)
class Environment:
    """Light from far away, as coefficients of order 5 in the frame of the world."""

    name: str
    coefficients: Float32  # (25,3) red, green, blue; linear

    def __post_init__(self) -> None:
        shape = (n_coefficients(MOST_ORDER), 3)
        object.__setattr__(self, "coefficients", checked("coefficients", self.coefficients, shape))


@dataclass(frozen=True, slots=True)
class GroundLight:
    """The transfer of a square grid on the ground, which follows the character."""

    transfer: CompressedTransfer  # of its points, row by row, in the frame of the world
    centers: Float32  # (f,3) the middle of the grid
    half: float  # half the length of a side, along the two axes after `up`
    resolution: int  # points per side

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", checked("centers", self.centers, (None, 3)))
        if self.transfer.n_points != self.resolution**2 or len(self.centers) != len(self.transfer.coefficients):
            raise GeometryError(f"ground: expected {self.resolution}² points and a centre per frame")


@dataclass(frozen=True, slots=True)
class BakedColors:
    """Colours under one environment as products of non-negative factors."""

    weights: Float32  # (k,f,k) of the first i + 1 colours in every frame, zero for the others
    colors: Float16  # (k,n,1|3)
    ground: Float16 | None  # (k,g,1|3)
    errors: tuple[float, ...]  # relative root mean square at rank 1 … k

    def __post_init__(self) -> None:
        kept = len(self.weights)
        object.__setattr__(self, "weights", checked("weights", self.weights, (kept, None, kept)))
        object.__setattr__(self, "colors", checked("colors", self.colors, (kept, None, None), np.float16))
        if self.ground is not None:
            shape = (kept, None, self.colors.shape[2])
            object.__setattr__(self, "ground", checked("ground", self.ground, shape, np.float16))
        least = min(float(part.min(initial=0)) for part in (self.weights, self.colors))
        if least < 0 or self.colors.shape[2] not in (1, 3):
            raise GeometryError("baked: expected non-negative colours of one or three channels")

    @property
    def rank(self) -> int:
        return len(self.colors)

    def weights_at(self, moment: float, rank: int | None = None) -> Float64:
        """(k,) the weights of the colours at a moment, of which the first `rank` are used."""
        used = self.rank if rank is None else min(max(rank, 1), self.rank)
        return between(self.weights[used - 1], moment)

    def at(self, moment: float, rank: int | None = None) -> Float64:
        """(n,1|3) the colours at a moment."""
        return np.asarray(np.tensordot(self.weights_at(moment, rank), self.colors.astype(np.float64), axes=1))


@dataclass(frozen=True, slots=True)
class CoarseLight:
    """Transfer of the points of a coarser mesh, in place of those of the model."""

    mean: Float16  # (n,c)
    basis: Float16  # (r,n,c)
    colors: Float16 | None  # (k,n,1|3)


@dataclass(frozen=True, slots=True)
class ModelLight:
    """Precomputed light of a model, and of its coarser meshes."""

    order: int  # of the spherical harmonics; 1: ambient occlusion
    up: UpAxis
    transfer: CompressedTransfer
    seen: Float32  # (c,25) from the coefficients of an environment to those that the character sees
    ground: GroundLight | None = None
    environments: tuple[Environment, ...] = ()
    baked: BakedColors | None = None  # under the first environment
    coarse: tuple[CoarseLight, ...] = ()

    def __post_init__(self) -> None:
        count = n_coefficients(self.order)
        if not 1 <= self.order <= MOST_ORDER or self.transfer.mean.shape[1] != count:
            raise GeometryError(f"light: expected order² coefficients, got {self.transfer.mean.shape[1]}")
        object.__setattr__(self, "seen", checked("seen", self.seen, (count, n_coefficients(MOST_ORDER))))
        if self.up not in get_args(UpAxis):
            raise GeometryError(f"up: expected x, y or z, got {self.up}")

    @property
    def is_occlusion(self) -> bool:
        return self.order == 1

    @property
    def n_frames(self) -> int:
        return len(self.transfer.coefficients)

    def check_fit(self, model: SkinnedModel) -> None:
        """Refuse light that was computed for another model."""
        found = (self.transfer.n_points, self.n_frames)
        if found != (model.mesh.n_normals, model.n_frames):
            raise GeometryError(
                f"light: is of {found[0]} points in {found[1]} frames, the model has {model.mesh.n_normals} in "
                f"{model.n_frames}; compute it again"
            )

    def arrays(self) -> Arrays:
        """All numbers by name."""
        found: Arrays = {**_transfer_arrays(self.transfer), "seen": self.seen}
        if self.ground is not None:
            found |= {f"ground.{name}": array for name, array in _transfer_arrays(self.ground.transfer).items()}
            found["ground.centers"] = self.ground.centers
        if self.environments:
            found["environments"] = np.stack([one.coefficients for one in self.environments])
        if self.baked is not None:
            found |= {"baked.weights": self.baked.weights, "baked.colors": self.baked.colors}
            found |= {} if self.baked.ground is None else {"baked.ground": self.baked.ground}
        for number, one in enumerate(self.coarse, 1):
            found |= {f"coarse_{number}.mean": one.mean, f"coarse_{number}.basis": one.basis}
            found |= {} if one.colors is None else {f"coarse_{number}.colors": one.colors}
        return found

    def header(self) -> dict[str, Any]:
        """All that is not an array, as plain JSON."""
        found: dict[str, Any] = {"order": self.order, "up": self.up, "errors": list(self.transfer.errors)}
        found["environments"] = [one.name for one in self.environments]
        if self.ground is not None:
            known = {"half": self.ground.half, "resolution": self.ground.resolution}
            found["ground"] = known | {"errors": list(self.ground.transfer.errors)}
        if self.baked is not None:
            found["baked"] = {"errors": list(self.baked.errors)}
        return found | {"coarse": len(self.coarse)}

    def stored(self) -> StoredLight:
        """As a file holds it."""
        return StoredLight(self.arrays(), self.header())

    @classmethod
    def from_stored(cls, stored: StoredLight) -> Self:
        """The inverse of `stored`; refuses what does not fit."""
        try:
            return cls._from(stored.arrays, stored.header)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise GeometryError(f"light: the stored light is damaged ({error}); compute it again") from error

    @classmethod
    def _from(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        transfer = _transfer_from(arrays, header["errors"], "")
        ground = None
        if "ground" in header:
            own = header["ground"]
            under = _transfer_from(arrays, own["errors"], "ground.")
            ground = GroundLight(under, arrays["ground.centers"], float(own["half"]), int(own["resolution"]))
        names = header["environments"]
        environments = tuple(Environment(str(name), arrays["environments"][i]) for i, name in enumerate(names))
        baked = None
        if "baked" in header:
            errors = tuple(float(error) for error in header["baked"]["errors"])
            baked = BakedColors(arrays["baked.weights"], arrays["baked.colors"], arrays.get("baked.ground"), errors)
        coarse = tuple(
            CoarseLight(arrays[f"coarse_{i}.mean"], arrays[f"coarse_{i}.basis"], arrays.get(f"coarse_{i}.colors"))
            for i in range(1, int(header["coarse"]) + 1)
        )
        order, up = int(header["order"]), header["up"]
        return cls(order, up, transfer, arrays["seen"], ground, environments, baked, coarse)

    @property
    def n_bytes(self) -> int:
        """Size of all arrays in a file."""
        return sum(array.nbytes for array in self.arrays().values())


def _transfer_arrays(transfer: CompressedTransfer) -> Arrays:
    return {"mean": transfer.mean, "basis": transfer.basis, "coefficients": transfer.coefficients}


def _transfer_from(arrays: Mapping[str, NDArray[Any]], errors: Any, prefix: str) -> CompressedTransfer:
    mean, basis, coefficients = (arrays[prefix + name] for name in ("mean", "basis", "coefficients"))
    return CompressedTransfer(mean, basis, coefficients, tuple(float(error) for error in errors))


#: y_00, by which the first coefficient of a transfer is divided to get ambient occlusion.
Y00 = 1 / math.sqrt(4 * math.pi)
