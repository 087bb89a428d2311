"""A deformer that UsdSkel has no method for: its arrays as attributes of the mesh that only Osteon reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.deformer import Arrays, Deformer, restore_deformer

__all__ = ["deformer_metadata", "read_stored_deformer", "store_deformer"]

PREFIX = "userProperties:deformer:"


def deformer_metadata(deformer: Deformer) -> dict[str, Any]:
    """What the metadata say of it: its kind, and the shapes of its arrays."""
    return {"kind": deformer.kind, "shapes": {name: list(array.shape) for name, array in deformer.arrays().items()}}


def store_deformer(pxr: Any, mesh: Any, deformer: Deformer) -> None:
    """Its arrays, number after number; whole numbers as integers, others as float32."""
    types = pxr.Sdf.ValueTypeNames
    for name, array in deformer.arrays().items():
        flat, whole = np.ascontiguousarray(array).reshape(-1), array.dtype.kind in "iu"
        stored = mesh.GetPrim().CreateAttribute(
            PREFIX + name, types.IntArray if whole else types.FloatArray, True, pxr.Sdf.VariabilityUniform
        )
        values = pxr.Vt.IntArray.FromNumpy if whole else pxr.Vt.FloatArray.FromNumpy
        stored.Set(values(flat.astype(np.int32 if whole else np.float32)))


def read_stored_deformer(mesh: Any, stored: dict[str, Any]) -> Deformer:
    """The deformer that the metadata speak of; raises what numbers raise that do not fit."""
    arrays: Arrays = {str(name): _array(mesh, str(name), shape) for name, shape in stored["shapes"].items()}
    return restore_deformer(str(stored["kind"]), arrays)


def _array(mesh: Any, name: str, shape: list[int]) -> NDArray[Any]:
    attribute = mesh.GetPrim().GetAttribute(PREFIX + name)
    if not attribute or not attribute.HasValue():
        raise KeyError(name)
    return np.array(attribute.Get()).reshape([int(size) for size in shape])
