"""Count the modules that a command runs through: how many files a reader opens to follow it.

A module counts when one of its functions is called. Code that runs only while a module is imported does not count.
Every call is observed with `sys.setprofile`, in all threads of the process; child processes are not observed.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType

import osteon

PACKAGE = Path(osteon.__file__).parent
#: Commands that write the inputs of those below, run one after another in a temporary folder.
PREPARE: tuple[tuple[str, ...], ...] = (
    ("demo", "-o", "fox"),
    ("play", "fox/fox.glb", "-o", "frames.npz"),
    ("demo", "eigenskin", "-o", "hand"),
)
#: The commands to count.
COMMANDS: dict[str, tuple[str, ...]] = {
    "skin": ("skin", "frames.npz", "-o", "skin.glb"),
    "view": ("view", "fox/fox.glb", "frames.npz", "--export", "page.html"),
    "eigenskin": ("eigenskin", "hand/poses/rest.ply", "hand/poses", "-o", "eigenskin.glb"),
    "lod": ("lod", "fox/fox.glb", "-o", "lod.glb"),
}


@dataclass(frozen=True, slots=True)
class ModuleCount:
    """The modules of one command in the order of their first call."""

    modules: tuple[str, ...]
    changes: int  # of folder, over that order

    @property
    def folders(self) -> Counter[str]:
        """How many of the modules each folder of the package holds."""
        return Counter(name.split("/")[0] if "/" in name else "." for name in self.modules)


@dataclass(slots=True)
class _Observer:
    """Collects the files of the package whose functions are called."""

    modules: dict[str, None] = field(default_factory=dict)
    known: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event != "call":
            return
        path = frame.f_code.co_filename
        if path not in self.known:
            inside = Path(path).is_relative_to(PACKAGE)
            self.known[path] = Path(path).relative_to(PACKAGE).as_posix() if inside else None
        name = self.known[path]
        if name is not None and name not in self.modules and not self._is_importing(frame):
            self.modules[name] = None

    def _is_importing(self, frame: FrameType | None) -> bool:
        """Whether the call is part of the import of a module of the package."""
        while frame is not None:
            if frame.f_code.co_name == "<module>" and self.known.get(frame.f_code.co_filename) is not None:
                return True
            frame = frame.f_back
        return False


@contextlib.contextmanager
def _observed(observer: _Observer) -> Iterator[None]:
    threading.setprofile(observer)
    sys.setprofile(observer)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def count_modules(command: Sequence[str]) -> ModuleCount:
    """Run one command in this process, in the current folder, and count its modules."""
    from osteon.cli.main import main

    observer = _Observer()
    before, sys.argv = sys.argv, ["osteon", *command]
    try:
        with _observed(observer):
            main()
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"osteon {command[0]} failed with exit code {ended.code}") from ended
    finally:
        sys.argv = before
    modules = tuple(observer.modules)
    folders = [name.split("/")[0] for name in modules]
    return ModuleCount(modules, sum(a != b for a, b in pairwise(folders)))


def _main(names: list[str]) -> None:
    """Write the inputs (`--prepare`), or count the named commands and print a row for each."""
    from osteon.cli.main import main

    if names == ["--prepare"]:
        for command in PREPARE:
            sys.argv = ["osteon", *command, "--quiet"]
            main()
        return
    for name in names:
        count = count_modules(COMMANDS[name])
        folders = ", ".join(f"{folder} {n}" for folder, n in count.folders.most_common())
        sys.stdout.write(f"{name:<10}{len(count.modules):>4} modules, {count.changes} changes of folder: {folders}\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
