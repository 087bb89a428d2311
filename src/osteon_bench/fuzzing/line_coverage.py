"""Line coverage of a reader's functions. Python's tracing is slow, so only some inputs are traced."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Line = tuple[str, int]  # file and line
#: Functions that write are not part of a reader.
WRITERS = ("write", "pack", "_pack", "_write")


def own_lines(modules: tuple[str, ...]) -> set[Line]:
    """All lines of all functions of the named modules and packages of osteon.io, or of osteon.apply."""
    found: set[Line] = set()
    for name in modules:
        module = f"osteon.{name}" if name.startswith("apply.") else f"osteon.io.{name}"
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{module}, which a reader of fuzzing/readers.py names, does not exist")
        origin = Path(spec.origin)
        files = sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]
        for file in files:
            code = compile(file.read_text(encoding="utf-8"), str(file), "exec")
            found |= {(str(file), line) for line in _lines_below(code)}
    return found


def _stub() -> None: ...  # like the functions of a protocol, which are never executed


def _lines_below(code: CodeType) -> set[int]:
    """Lines of the functions in `code`; those of the module itself run on import."""
    lines: set[int] = set()
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not constant.co_name.startswith(WRITERS):
            lines |= _lines_below(constant)
            if constant.co_flags & 0x2 and constant.co_code != _stub.__code__.co_code:  # a function, not a class
                head = constant.co_firstlineno
                lines |= {line for _, _, line in constant.co_lines() if line is not None and line > head}
    return lines


class LineCoverage:
    """The lines executed inside `counting()`."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self.own = own_lines(modules)
        self._files = {file for file, _ in self.own}
        self.seen: set[Line] = set()

    @contextmanager
    def counting(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    @property
    def run(self) -> set[Line]:
        return self.seen & self.own
