"""Deformers and displacements that UsdSkel has no form for: arrays as attributes of the mesh that only Osteon reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.deformer import Arrays

__all__ = ["read_stored_arrays", "store_arrays"]

PREFIX = "userProperties:"


def store_arrays(pxr: Any, mesh: Any, owner: str, kind: str, arrays: Arrays) -> dict[str, Any]:
    """Write arrays, number after number, whole ones as integers, others as float32; what the metadata say of them."""
    types = pxr.Sdf.ValueTypeNames
    for name, array in arrays.items():
        flat, whole = np.ascontiguousarray(array).reshape(-1), array.dtype.kind in "iu"
        stored = mesh.GetPrim().CreateAttribute(
            f"{PREFIX}{owner}:{name}", types.IntArray if whole else types.FloatArray, True, pxr.Sdf.VariabilityUniform
        )
        values = pxr.Vt.IntArray.FromNumpy if whole else pxr.Vt.FloatArray.FromNumpy
        stored.Set(values(flat.astype(np.int32 if whole else np.float32)))
    return {"kind": kind, "shapes": {name: list(array.shape) for name, array in arrays.items()}}


def read_stored_arrays(mesh: Any, owner: str, stored: dict[str, Any]) -> tuple[str, Arrays]:
    """The kind and the arrays that the metadata speak of; raises what numbers raise that do not fit."""
    arrays = {str(name): _array(mesh, f"{owner}:{name}", shape) for name, shape in stored["shapes"].items()}
    return str(stored["kind"]), arrays


def _array(mesh: Any, name: str, shape: list[int]) -> NDArray[Any]:
    attribute = mesh.GetPrim().GetAttribute(PREFIX + name)
    if not attribute or not attribute.HasValue():
        raise KeyError(name)
    return np.array(attribute.Get()).reshape([int(size) for size in shape])
