"""Calls of kernels: types of arguments, and the first call from several threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from osteon.core import kernels
from osteon.core.arrays import Float64
from osteon.core.kernels import kernel

UInt8 = NDArray[np.uint8]


def scaled(values: Float64, out: Float64) -> None:
    for i in range(values.shape[0]):
        out[i] = 3.0 * values[i]


def added(first: UInt8, values: Float64, out: Float64) -> None:
    for i in range(values.shape[0]):
        out[i] = first[0, 0, 0, 0, 0] + values[i]


def test_arguments_of_other_types_are_refused() -> None:
    triple = kernel("f8.1r f8.1")(scaled)
    with pytest.raises(TypeError, match=r"scaled: got array\(float32, 1d, C\) where it states"):
        triple(np.ones(3, np.float32), np.empty(3))


def test_a_call_that_is_interrupted_while_another_thread_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread looks up the types of its arguments before, and compares them after the kernel was compiled.

    numba asks Python for the type of the first argument, a read-only array of a kind not seen before; the second one,
    which is writable, needs a conversion.
    """
    add = kernel("u1.5r f8.1r f8.1")(added)
    began, compiled, out = threading.Event(), threading.Event(), np.zeros(3)
    typeof = kernels.Kernel.typeof_pyval
    failed: list[BaseException] = []

    def slow_typeof(self: kernels.Kernel, value: object) -> object:
        began.set()
        assert compiled.wait(600)
        return typeof(self, value)

    def call() -> None:
        first = np.full((1,) * 5, 2, np.uint8)
        first.setflags(write=False)
        try:
            add(first, np.ones(3), out)
        except BaseException as error:
            failed.append(error)

    monkeypatch.setattr(kernels.Kernel, "typeof_pyval", slow_typeof)
    thread = threading.Thread(target=call)
    thread.start()
    assert began.wait(600)
    add.ready()
    compiled.set()
    thread.join(600)
    assert not failed
    assert out.tolist() == [3.0, 3.0, 3.0]
