"""Eight numbers in a register are what NumPy computes from them one by one."""

from __future__ import annotations

import numpy as np

from osteon.apply.collide.tree_table import f4_at
from osteon.core.arrays import Float32
from osteon.core.kernels import compiled_by
from osteon.core.lanes import LANES, all_lanes, least_lanes, load_lanes, most_lanes, single, store_lanes


@compiled_by({"_nrt": False}, "f4.1 f4.1 f4.1 f8")
def _compute(one: Float32, other: Float32, out: Float32, number: float) -> None:
    a, b, to = load_lanes(f4_at(one.ctypes.data), 1), load_lanes(f4_at(other.ctypes.data), 0), f4_at(out.ctypes.data)
    w = single(number)
    store_lanes(to, 0, a + b)
    store_lanes(to, LANES, a - b)
    store_lanes(to, 2 * LANES, a * b)
    store_lanes(to, 3 * LANES, abs(a))
    store_lanes(to, 4 * LANES, w * a - w)
    store_lanes(to, 5 * LANES, w - a * w)
    store_lanes(to, 6 * LANES, least_lanes(a, b))
    store_lanes(to, 7 * LANES, most_lanes(a, b))
    a += b
    a -= w
    a *= all_lanes(w)
    store_lanes(to, 8 * LANES, a)


def test_operations() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=LANES + 1).astype(np.float32), rng.normal(size=LANES).astype(np.float32)
    out = np.full((9, LANES), np.nan, np.float32)
    _compute(one, other, out.reshape(-1), 0.75)
    a, w = one[1:], np.float32(0.75)
    expected = [a + other, a - other, a * other, np.abs(a), w * a - w, w - a * w]
    expected += [np.minimum(a, other), np.maximum(a, other), (a + other - w) * w]
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-6)


def test_the_second_one_where_one_is_not_a_number() -> None:
    one, other = np.full(LANES + 1, np.nan, np.float32), np.ones(LANES, np.float32)
    out = np.zeros((9, LANES), np.float32)
    _compute(one, other, out.reshape(-1), 1.0)
    assert (out[6:8] == 1).all()
