"""Eight numbers of float32 in one vector register, as compiled kernels see them.

    p = load_lanes(pointer, at)          # eight numbers side by side
    q = abs(p) * w + p                   # with eight numbers or one
    store_lanes(pointer, at, q)

LLVM maps the operations to the registers of the machine: one of AVX, two of SSE or NEON.

Notes. Loops over eight numbers of arrays stay scalar: LLVM does not vectorise loops of fewer than 16 steps that need
checks whether arrays overlap, and sums in arrays are loaded and stored for every term. Boxes of eight nodes of the
horse in a new pose (`apply/collide/pose_bounds.py`): 314 ns by such loops, 100 ns with these registers; of the Soldier
168 and 55 ns.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core import typing as numba_typing
from numba.core.types import CPointer
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

#: Numbers of a register.
LANES = 8
#: Untyped functions of numba.
_signature: Any = numba_typing.signature  # type: ignore[attr-defined]
_register: Any = infer_global
_lower: Any = lower_builtin
_intrinsic: Any = intrinsic
#: Products and sums may be fused.
_FLAGS = ("contract", "nsz")


class Lanes:
    """Eight numbers, in a compiled kernel."""

    def __add__(self, other: Lanes | float) -> Lanes:
        raise NotImplementedError

    def __sub__(self, other: Lanes | float) -> Lanes:
        raise NotImplementedError

    def __mul__(self, other: Lanes | float) -> Lanes:
        raise NotImplementedError

    def __abs__(self) -> Lanes:
        raise NotImplementedError

    __radd__, __rsub__, __rmul__ = __add__, __sub__, __mul__


class LanesType(types.Type):
    """The type of eight numbers."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")  # type: ignore[no-untyped-call]


lanes_type: Any = LanesType()  # type: ignore[no-untyped-call]
_FLOATS = CPointer(types.float32)  # type: ignore[no-untyped-call]
_VECTOR = ir.VectorType(ir.FloatType(), LANES)


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    """A vector of LLVM."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


def _splat(builder: Any, number: Any) -> Any:
    """A number in all lanes."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), lanes)


def _define(operators: tuple[Any, ...], instruction: str) -> None:
    """Define operators of two vectors, or of a vector and a number."""
    pairs = [(lanes_type, lanes_type), (lanes_type, types.float32), (types.float32, lanes_type)]

    class Cases(ConcreteTemplate):  # type: ignore[misc]
        cases = [_signature(lanes_type, *pair) for pair in pairs]  # noqa: RUF012

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        both = [
            value if kind is lanes_type else _splat(builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        return getattr(builder, instruction)(*both, flags=_FLAGS)

    for each in operators:
        _register(each)(Cases)
        for pair in pairs:
            _lower(each, *pair)(lower)


_define((operator.add, operator.iadd), "fadd")
_define((operator.sub, operator.isub), "fsub")
_define((operator.mul, operator.imul), "fmul")


@_register(abs)
class _Absolute(ConcreteTemplate):  # type: ignore[misc]
    cases = [_signature(lanes_type, lanes_type)]  # noqa: RUF012


@_lower(abs, LanesType)  # type: ignore[untyped-decorator]
def _absolute(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.v{LANES}f32")  # type: ignore[no-untyped-call]
    return builder.call(function, arguments)


def _select(comparison: str) -> Any:
    """The code of an intrinsic: the first of two vectors where the comparison holds, else the second."""

    def select(typing_context: Any, one: Any, other: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.select(builder.fcmp_ordered(comparison, *arguments), *arguments)

        return _signature(lanes_type, lanes_type, lanes_type), generate

    return select


def _place(builder: Any, pointer: Any, index: Any) -> Any:
    """The address of eight numbers."""
    return builder.bitcast(builder.gep(pointer, [index]), _VECTOR.as_pointer())


def _load(typing_context: Any, pointer: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(builder, *arguments), align=4)

    return _signature(lanes_type, _FLOATS, types.int64), generate


def _store(typing_context: Any, pointer: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _place(builder, *arguments[:2]), align=4)
        return context.get_dummy_value()

    return _signature(types.void, _FLOATS, types.int64, lanes_type), generate


def _repeat(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[0])

    return _signature(lanes_type, types.float32), generate


#: A number as float32, so that it and eight numbers can be added and multiplied.
single: Callable[[float], float] = np.float32  # type: ignore[assignment]
#: Eight numbers of an array, from an index on.
load_lanes: Callable[[list[float], int], Lanes] = _intrinsic(_load)
#: Store eight numbers in an array, from an index on.
store_lanes: Callable[[list[float], int, Lanes], None] = _intrinsic(_store)
#: A number in all lanes.
all_lanes: Callable[[float], Lanes] = _intrinsic(_repeat)
#: The smaller and the larger of two vectors, lane by lane; the second where one of them is NaN.
least_lanes: Callable[[Lanes, Lanes], Lanes] = _intrinsic(_select("<"))
most_lanes: Callable[[Lanes, Lanes], Lanes] = _intrinsic(_select(">"))
