from __future__ import annotations

import numpy as np
import pytest

from osteon.core.arrays import checked, checked_indices, first_bad
from osteon.core.errors import GeometryError


def test_array_that_fits_is_frozen_without_a_copy():
    source = np.ones((4, 3), np.float32)
    array = checked("x", source, (None, 3))
    assert np.shares_memory(array, source)
    assert not array.flags.writeable
    assert source.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 2


def test_lists_and_other_types_are_converted():
    array = checked("x", [[1, 2], [3, 4]], (2, 2))
    assert array.dtype == np.float32
    strided = checked("x", np.arange(12.0).reshape(3, 4).T, (4, 3), np.float64)
    assert strided.flags.c_contiguous
    assert strided[1, 2] == 9


@pytest.mark.parametrize("shape", [(3,), (None, 3, 1), (4, None), (None, 2)])
def test_wrong_shapes_are_named(shape, refused):
    with refused(GeometryError, "rest", "expected shape", "(2, 3)"):
        checked("rest", np.zeros((2, 3)), shape)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_first_value_that_is_not_finite_is_named(bad, refused):
    frames = np.zeros((5, 4, 3))
    frames[2, 3, 1] = frames[4, 0, 0] = bad
    with refused(GeometryError, "frames", "(2, 3, 1)"):
        checked("frames", frames, (None, None, 3))


def test_infinities_that_cancel_are_seen(refused):
    with refused(GeometryError, "(0,)"):
        checked("x", [np.inf, -np.inf], (2,))


def test_finite_values_whose_sum_overflows_are_accepted():
    assert len(checked("x", [1.7e308, 1.7e308], (2,), np.float64)) == 2
    assert len(checked("x", np.full(8, 3e38, np.float32), (None,))) == 8


def test_value_too_large_for_float32_is_refused(refused):
    with refused(GeometryError, "x", "(1,)"):
        checked("x", [0.0, 1e300], (2,))


def test_empty_arrays_have_shapes_too():
    assert checked("x", np.zeros((0, 3)), (None, 3)).shape == (0, 3)
    assert first_bad(np.zeros((0, 3))) is None


def test_indices():
    array = checked_indices("faces", [[0, 1, 2]], (None, 3), 3)
    assert array.dtype == np.int32
    assert checked_indices("faces", np.zeros((0, 3)), (None, 3), 0).shape == (0, 3)  # an empty list has no type


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([[0, 1, 3]], "0 … 2"),
        ([[-1, 1, 2]], "-1"),
        ([[0.0, 1.0, 2.0]], "whole numbers"),
        (np.array([[0, 1, 2**40]]), str(2**40)),
        (np.array([[0, 1, 2**64 - 1]], np.uint64), str(2**64 - 1)),
        ([[True, False, True]], "bool"),
    ],
)
def test_bad_indices_are_refused(value, says, refused):
    with refused(GeometryError, "faces", says):
        checked_indices("faces", value, (None, 3), 3)
