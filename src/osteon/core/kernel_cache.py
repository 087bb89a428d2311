"""Compiled kernels on disk: one file per kernel, in a folder of the user.

A file is named after its kernel and a digest of all that its code depends on: the bytecode and constants of the
function and of every kernel it calls, in any file, its options and the types of its arguments. So any change
creates a new file, and nothing needs to be deleted. The folder is named after Osteon's version
and a digest of Python, numba and the processor. A file that is damaged or unreadable is a cache miss.

The folder is NUMBA_CACHE_DIR if that is set, else the user's cache folder, else a private folder among the temporary
files; where none can be written, kernels are compiled for each run. Loaded code is executed, so folders and files that
belong to another user, or that others can write to, are not used, wherever they are.

Internals of numba (`_Cache`, `CompileResult._rebuild`) are used in this file only; pyproject.toml bounds the version.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from osteon import __version__

config: Any = numba.config

SUFFIX = ".kernel"
#: Folders of versions that were not used for this time are removed, and replaced files of a kernel.
OLD_SECONDS = 30 * 24 * 3600.0
_DIGEST = 32  # bytes at the head of a file: those of what follows


class KernelCache(_Cache):  # type: ignore[misc]
    """The interface that numba calls before and after it compiles a kernel."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    @property
    def cache_path(self) -> str | None:
        folder = cache_folder()
        return None if folder is None else str(folder)

    @cached_property
    def _code_digest(self) -> bytes:
        digest = hashlib.sha256()
        _add_kernel(digest, self._kernel, set())
        return digest.digest()

    def _path(self, sig: Any) -> Path | None:
        folder = cache_folder()
        if folder is None:
            return None
        digest = hashlib.sha256(self._code_digest)
        for kind in sig:
            _add_type(digest, kind)
        return folder / f"{self._stem}{digest.hexdigest()[:24]}{SUFFIX}"

    @property
    def _stem(self) -> str:
        function = self._kernel.py_func
        return f"{function.__module__.rpartition('.')[2]}.{function.__name__}-"

    def holds(self, sig: Any) -> bool:
        """Whether there is a file for these types; it may be damaged."""
        path = self._path(sig)
        return path is not None and path.is_file()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        path = self._path(sig)
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                if not _is_ours(os.fstat(file.fileno())):
                    return None
                data = file.read()
            if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
                return None
            # numba would first import its whole compiler, 0.3 s: machine code needs the run time only.
            rtsys.initialize(target_context)  # type: ignore[no-untyped-call]
            return CompileResult._rebuild(target_context, *pickle.loads(data[_DIGEST:]))  # type: ignore[no-untyped-call]
        except Exception:  # any damage is a cache miss
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        path = self._path(sig)
        if path is None or data.library.has_dynamic_globals:
            return
        with suppress(Exception):  # a full disk must not stop the run
            payload: bytes = dumps(data._reduce())  # type: ignore[no-untyped-call]
            _write_whole(path, hashlib.sha256(payload).digest() + payload)
            _remove_replaced(path, self._stem)

    def enable(self) -> None:
        """Always on."""

    def disable(self) -> None:
        """Always on."""

    def flush(self) -> None:
        """Nothing is held back."""


def _write_whole(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _remove_replaced(path: Path, stem: str) -> None:
    """Remove old files of the same kernel with other sources or types."""
    for other in path.parent.glob(f"{stem}*{SUFFIX}"):
        if other != path and time.time() - other.stat().st_mtime > OLD_SECONDS:
            other.unlink(missing_ok=True)


def _add_kernel(digest: Any, kernel: Any, seen: set[int]) -> None:
    """Add the code of a kernel and of all kernels that it calls."""
    if id(kernel) in seen:
        return
    seen.add(id(kernel))
    function = kernel.py_func
    options = {name: sorted(value) if isinstance(value, set) else value for name, value in kernel.targetoptions.items()}
    digest.update(f"{function.__name__} {sorted(options.items())}".encode())
    for kind in getattr(kernel, "declared", None) or ():
        _add_type(digest, kind)
    _add_code(digest, function.__code__)
    cells = dict(zip(function.__code__.co_freevars, (c.cell_contents for c in function.__closure__ or ()), strict=True))
    for name in sorted(set(function.__code__.co_names) | set(cells)):
        value = cells.get(name, function.__globals__.get(name))
        if isinstance(value, Dispatcher):
            _add_kernel(digest, value, seen)
        else:
            _add_value(digest, name, value)


def _add_code(digest: Any, code: CodeType) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_argcount)).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(digest, constant)
        else:
            digest.update(repr(constant).encode())


def _add_value(digest: Any, name: str, value: Any) -> None:
    """Add a global that a kernel reads, which is a constant of the compiled code."""
    if hasattr(value, "_defn"):  # an intrinsic, which generates code: its whole module counts (`core/lanes.py`)
        digest.update(Path(str(sys.modules[value._defn.__module__].__file__)).read_bytes())
    elif isinstance(value, np.ndarray):
        digest.update(f"{name} {value.dtype} {value.shape}".encode() + value.tobytes())
    elif isinstance(value, (type, ModuleType)) or callable(value):
        digest.update(f"{name} {getattr(value, '__name__', '')} {getattr(value, '_fields', '')}".encode())
    else:
        digest.update(f"{name} {value!r}".encode())


def _add_type(digest: Any, kind: Any) -> None:
    """Add a numba type, with the field names of named tuples."""
    digest.update(f"{kind} {getattr(getattr(kind, 'instance_class', None), '_fields', '')}".encode())
    for part in getattr(kind, "types", ()):
        _add_type(digest, part)


def holds_kernels(module: str) -> bool:
    """Whether the cache has kernels of the module with this name (without its packages)."""
    folder = cache_folder()
    return folder is not None and any(folder.glob(f"{module}.*{SUFFIX}"))


@cache
def cache_folder() -> Path | None:
    """The folder of this version on this machine, created if missing; None where nothing can be written."""
    for root in _roots():
        folder = root / _folder_name()
        with suppress(OSError):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            if not (_is_ours(root.stat()) and _is_ours(folder.lstat())):
                continue
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)
            prune_folders(root)
            return folder
    return None


def _roots() -> Iterator[Path]:
    """Folders to try in this order; the one among the temporary files is created only if it is needed."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR) / "osteon-kernels"
        return
    with suppress(RuntimeError, KeyError):  # no home folder
        yield user_caches() / "osteon" / "kernels"
    own = Path(tempfile.gettempdir()) / f"osteon-kernels-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    if _is_private(own):
        yield own


def user_caches() -> Path:
    """The cache folder of this user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if os.path.isabs(named) else Path.home() / ".cache"


def _is_private(folder: Path) -> bool:
    """Create the folder; whether only this user can write to it."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and _is_ours(about)


def _is_ours(about: os.stat_result) -> bool:
    """Whether a folder or file belongs to this user or to root, and no other user can write to it."""
    if not hasattr(os, "getuid"):  # Windows: the folder is below the user's own
        return True
    return about.st_uid in (0, os.getuid()) and not about.st_mode & 0o022


@cache
def _folder_name() -> str:
    from numba.core.registry import cpu_target

    machine = cpu_target.target_context.codegen().magic_tuple()
    settings = (config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT)
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr((machine, [str(s) for s in settings], versions)).encode()).hexdigest()
    return f"{__version__}-{digest[:16]}"


def prune_folders(root: Path) -> None:
    """Remove kernels of other versions and machines that were not used for a month, and nothing else."""
    for folder in root.iterdir():
        with suppress(OSError):
            if folder.name == _folder_name() or time.time() - folder.stat().st_mtime < OLD_SECONDS:
                continue
            for file in folder.glob(f"*{SUFFIX}"):
                file.unlink()
            folder.rmdir()  # not if anything else is in it
