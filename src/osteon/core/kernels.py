"""Declarations of compiled kernels. Importing this module imports numba, which takes a second: never for `--help`.

A kernel declares the types of its arguments, so it is compiled once, and callers pass arrays of these types.
`"f8.2 i8"` means: a contiguous array of doubles with two axes, and an integer; `f4.2r` may be read-only. Such
kernels can be compiled before they are called, several at a time (`core/compile_kernels.py`).

Kernels of geometry (`exact`, `lean`, `inlined`) neither fuse nor reorder sums. Then x1 y2 - x2 y1 changes only its sign
with the order of the two points, which counting crossings relies on, and a distance is the same in every kernel.

Notes, what made compiling cheaper. Literals in calls (a 0, a 3) each made a separate kernel. Counting references to
arrays is code in every loop, so kernels make no arrays (`_nrt`): scratch arrays come from the caller. An assignment
between slices compiles the formatting of its error message, 3.5 s. What BLAS or a few NumPy calls do as fast is no
kernel.
Named tuples of many arrays cost 20 … 60 ns when they are passed to a function that is not inlined, and as much again
for counting references: on 86,000 triangles and 39 bones, range tests alone took 225 ms with plain functions, 45 ms
without counting references, and 12 ms inlined as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import trigger_event
from numba.core.registry import CPUDispatcher
from numpy.typing import NDArray

from osteon.core.compile_kernels import WAITED
from osteon.core.kernel_cache import KernelCache

#: A compiled function is called like the one that was written, so it keeps its type.
Function = TypeVar("Function", bound=Callable[..., Any])

#: Sums may be reordered and fused so that loops fill vector registers; NaN and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
_OPTIONS: dict[str, Any] = {"nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_SCALARS = {"f8": types.float64, "f4": types.float32, "i8": types.int64, "i4": types.int32, "u1": types.uint8}
_SCALARS |= {"b1": types.boolean, "i2": types.int16}

#: Kernels that state their types, by name, as their modules are imported.
KERNELS: dict[str, Kernel] = {}


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A function that numba compiles for the types it states, or for those it meets if it states none."""

    declared: tuple[Any, ...] | None = None
    overloads: Any
    _cache: Any
    _compiler: Any

    @property
    def key(self) -> str:
        """Where it is written."""
        return f"{self.py_func.__module__}:{self.py_func.__qualname__}"

    @property
    def is_cached(self) -> bool:
        """Whether compiling takes no time: it is there already, or on disk."""
        return bool(self.overloads) or (self.declared is not None and self._cache.holds(self.declared))

    def ready(self) -> None:
        """Compile for the types it states, or load what was compiled before."""
        if self.declared is not None:
            self.compile(self.declared)

    def declare(self, types_of_arguments: tuple[Any, ...]) -> None:
        """State the types, and let numba compile no others.

        Compilation counts as disabled from the beginning. numba reads that flag before it looks up the types of the
        arguments; a thread that is interrupted between the two, while another one compiles and disables it, would
        reject arguments that need a conversion (`tests/unit/core/test_kernels.py`).
        """
        self.declared = types_of_arguments
        self._can_compile = False

    def compile(self, sig: Any) -> Any:
        if self.declared is None:
            return super().compile(sig)
        waiting = nullcontext() if self.is_cached else WAITED.counting()
        with waiting, global_compiler_lock:
            if self.declared not in self.overloads:
                self.add_overload(self._load() or self._compile_now())
            return self.overloads[self.declared].entry_point

    def _load(self) -> Any:
        """The compiled kernel from the cache; None if it is not there."""
        found = self._cache.load_overload(self.declared, self.targetctx)
        if found is not None:
            self.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])  # type: ignore[no-untyped-call]
        return found

    def _compile_now(self) -> Any:
        """The compiled kernel, which is then stored in the cache."""
        with self._compiling_counter, trigger_event("numba:compile", data={"dispatcher": self}):
            made = self._compiler.compile(self.declared, None)
        self._cache.save_overload(self.declared, made)
        return made

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The types for a kernel that calls this one."""
        self.ready()
        return super().get_call_template(args, kws)

    def _search_new_conversions(self, *args: Any, **keywords: Any) -> Any:
        """Called for arguments that no compiled version takes as they are: before the first call, and to convert."""
        if self.declared is not None:
            self.ready()
            for given, stated in zip(map(self.typeof_pyval, args), self.declared, strict=True):
                if self.typingctx.can_convert(given, stated) is None:  # type: ignore[no-untyped-call]
                    raise TypeError(f"{self.key}: got {given} where it states {stated}")
        return super()._search_new_conversions(*args, **keywords)  # type: ignore[misc]


def _type_of(word: str, named: Mapping[str, Any]) -> Any:
    """The numba type of `f8.2r`, or of a record or named tuple in `named`."""
    name, _, axes = word.partition(".")
    meaning = named.get(name)
    if isinstance(meaning, tuple):
        fields, parts = meaning
        return types.NamedTuple(tuple(_type_of(part, named) for part in parts.split()), fields)  # type: ignore[no-untyped-call]
    scalar = _SCALARS[name] if meaning is None else numba.from_dtype(meaning)
    return types.Array(scalar, int(axes[0]), "C", readonly=axes.endswith("r")) if axes else scalar


def compiled_by(
    options: dict[str, Any], signature: str | None = None, named: Mapping[str, Any] | None = None
) -> Callable[[Function], Function]:
    """A decorator: compile with these options besides ours, cached on disk.

    `named` holds more types for the signature by name: dtypes of records, or (named tuple, signature of its fields).
    """

    def decorate(function: Function) -> Function:
        if getattr(numba.config, "DISABLE_JIT", False):
            return function
        out = Kernel(function, targetoptions={**_OPTIONS, **options})
        out._cache = KernelCache(out)
        if signature is not None:
            out.declare(tuple(_type_of(word, named or {}) for word in signature.split()))
            KERNELS[out.key] = out
        return cast(Function, out)

    return decorate


def kernel(signature: str, *, makes_arrays: bool = False) -> Callable[[Function], Function]:
    """Compile without the interpreter lock, with IEEE division by zero and sums in any order."""
    return compiled_by({"fastmath": _FASTMATH, "_nrt": makes_arrays}, signature)


def kernel_as_met(function: Function) -> Function:
    """Like `kernel`, compiled for the types that it is first called with."""
    return compiled_by({"fastmath": _FASTMATH})(function)


def part(function: Function) -> Function:
    """A piece of a kernel: written out where it is called, best in one place, and never compiled alone."""
    return compiled_by({"fastmath": _FASTMATH, "_nrt": False, "inline": "always"})(function)


Int64 = NDArray[np.int64]
Point = tuple[float, float, float]  # in a tuple, as small arrays would be made anew for every call

_LEAN: dict[str, Any] = {"_nrt": False}


def exact(function: Function) -> Function:
    """Compile without the interpreter lock, and with IEEE division by zero."""
    return compiled_by({})(function)


def lean(function: Function) -> Function:
    """Like `exact`, for functions that make no arrays: references are not counted."""
    return compiled_by(_LEAN)(function)


def inlined(function: Function) -> Function:
    """Like `lean`, for small functions of inner loops."""
    return compiled_by({**_LEAN, "forceinline": True})(function)


@inlined
def minus(a: Point, b: Point) -> Point:
    """The difference of two vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def dot(a: Point, b: Point) -> float:
    """The scalar product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a: Point, b: Point) -> Point:
    """The vector product of two vectors."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
