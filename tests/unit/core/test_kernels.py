"""Types of the arguments of kernels."""

from __future__ import annotations

import gc

import numba
import numpy as np
import pytest

from osteon.core.kernels import ARRAY_TYPES, KERNELS
from osteon.deform.pose import blend_matrices


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
@pytest.mark.parametrize("n_axes", [1, 2, 3, 4])
@pytest.mark.parametrize("writable", [True, False])
def test_types_of_arguments_exist_before_a_call(dtype: str, n_axes: int, writable: bool) -> None:
    """Otherwise two threads may create the same type twice, and a kernel finds no definition for one of them."""
    array = np.zeros((1,) * n_axes, dtype)
    array.setflags(write=writable)
    gc.collect()
    found = numba.typeof(array)
    assert any(found is known for known in ARRAY_TYPES)


def test_declared_types_are_the_same_objects() -> None:
    assert KERNELS[blend_matrices.key] is blend_matrices
    arrays = [kind for kind in blend_matrices.declared if isinstance(kind, numba.types.Array)]
    assert len(arrays) == 5
    assert all(any(kind is known for known in ARRAY_TYPES) for kind in arrays)
