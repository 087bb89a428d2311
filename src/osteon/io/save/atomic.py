"""Files and folders that appear whole, and several outputs that appear together.

An output is written under a temporary name in its own folder, flushed to the disk, and renamed when all outputs of its
batch are complete. A folder that exists is exchanged with the new one. An error or a signal (Ctrl-C, SIGTERM, SIGHUP)
removes what is under temporary names. A process that is killed leaves them; they carry its id and start time, and the
next output in the same folder removes those of processes that have ended.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from osteon.core.errors import FileFormatError, OsteonError
from osteon.io.load.source import PathLike

Check = Callable[[Path], None]

#: Host, boot, process, start time, kind ("old": the name that a replaced folder has for a moment), digits, output.
_TEMPORARY = re.compile(r"^\.osteon-([0-9a-f]{8})-([0-9a-f]{8})-(\d+)-(\d+)-(new|old)-[0-9a-f]{8}-(.+)$", re.DOTALL)
#: Bytes of an output's name that fit into a temporary name; file systems allow 255 in all.
_LONGEST = 180
#: Files that are flushed at the same time: file systems combine them, which is 20 times as fast as one by one.
_FLUSHES = 16
_RENAME_EXCHANGE, _AT_FDCWD = 2, -100


def check_output(path: PathLike) -> None:
    """Refuse an output file that could not be written, before the long work starts."""
    target = Path(path)
    if target.is_dir():
        raise FileFormatError(f"{target}: is a folder; name a file in it")
    if target.exists() and not target.is_file():
        raise FileFormatError(f"{target}: is a device, expected a file or a new name")
    folder = target.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise FileFormatError(f"{target}: {folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise FileFormatError(f"{target}: the folder {folder} cannot be written to")


def check_folder(path: PathLike, expected: re.Pattern[str]) -> None:
    """Refuse to replace a folder that holds other files than those named like `expected`: they would be deleted."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise FileFormatError(f"{target}: is a file, expected a folder or a new name")
    if not target.is_dir():
        return
    if target.resolve() == Path.cwd().resolve():
        raise FileFormatError(f"{target}: the whole folder is replaced, which cannot be the current one; name another")
    for entry in target.rglob("*"):
        name = entry.relative_to(target).as_posix()
        is_expected = not entry.is_symlink() and expected.fullmatch(name + "/" * entry.is_dir())
        if not is_expected and not is_temporary(entry.name):
            raise FileFormatError(f"{target}: holds '{name}', which is not part of this output; name an empty folder")


@contextmanager
def atomic_file(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path to write to, with the same suffix; it becomes `path` if the block ends without an error.

    Within an `output_batch` it becomes `path` when all outputs of the batch are complete.
    """
    with output_batch() as batch, batch.begin(Path(path), check_output) as temporary:
        yield temporary


@contextmanager
def atomic_folder(path: PathLike, check: Check) -> Iterator[Path]:
    """Yield a temporary folder to fill; it replaces `path`, and a folder there, unless `check` raises an error."""
    with output_batch() as batch, batch.begin(Path(path), check) as temporary:
        temporary.mkdir()
        yield temporary


@dataclass(slots=True)
class _Output:
    """One output and its temporary name."""

    path: Path  # as the caller named it
    target: Path  # all links followed
    check: Check  # raises an error if the output must not be replaced
    temporary: Path
    made: list[Path] = field(default_factory=list)  # folders created for it, innermost first
    placed: bool = False

    def make_parents(self) -> None:
        folder = self.target.parent
        while not folder.exists():
            self.made.append(folder)
            folder = folder.parent
        self.target.parent.mkdir(parents=True, exist_ok=True)

    def place(self) -> None:
        """Rename to the final name; a folder that was there is under the temporary name afterwards."""
        if self.target.is_dir():
            _exchange(self.temporary, self.target)
        else:
            os.replace(self.temporary, self.target)
        self.placed = True

    def clear(self) -> None:
        """Remove what is under the temporary name, and folders that were created for nothing."""
        _remove(self.temporary)
        for folder in [] if self.placed else self.made:
            with suppress(OSError):
                folder.rmdir()


@dataclass(slots=True)
class OutputBatch:
    """Outputs under temporary names, which are renamed together."""

    guard: Check | None = None  # raises an error if an output must not be replaced, besides the output's own check
    private: bool = False  # only the owner may read the files; otherwise a replaced file keeps its mode
    outputs: list[_Output] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)  # outputs that have their final names

    @contextmanager
    def begin(self, path: Path, check: Check) -> Iterator[Path]:
        """Yield the temporary path to write to. Errors of the operating system name the output."""

        def check_all(now: Path) -> None:
            check(now)
            if self.guard is not None:
                self.guard(now)

        check_all(path)
        output = _Output(path, Path(os.path.realpath(path)), check_all, temporary_path(Path(os.path.realpath(path))))
        if any(other.target == output.target for other in self.outputs):
            raise FileFormatError(f"{path}: two outputs have this name; name another")
        self.outputs.append(output)
        try:
            with _errors_named(output):
                output.make_parents()
                remove_leftovers(output.target.parent)
                yield output.temporary
        except BaseException:
            with signals_delayed():
                self.outputs.remove(output)
                output.clear()
            raise

    def commit(self) -> None:
        """Flush all outputs to the disk, then rename them to their final names."""
        for output in self.outputs:
            with _errors_named(output):
                output.check(output.path)  # a file may have appeared since the work began
                _flush_all(output.temporary)
                if output.target.exists() and not self.private:
                    shutil.copymode(output.target, output.temporary)
        with signals_delayed():
            for output in self.outputs:
                with _errors_named(output, self.written):
                    output.place()
                self.written.append(output.path)
            for output in self.outputs:
                with _errors_named(output):
                    for folder in {output.target.parent, *(made.parent for made in output.made)}:
                        _flush(folder)

    def discard(self) -> None:
        """Remove everything that is under a temporary name."""
        with signals_delayed():
            while self.outputs:
                self.outputs.pop().clear()


_OPEN: ContextVar[OutputBatch | None] = ContextVar("open output batch", default=None)


@contextmanager
def output_batch(new: OutputBatch | None = None) -> Iterator[OutputBatch]:
    """Outputs written inside the block get their names when it ends; within another block, when the outer one ends."""
    batch = _OPEN.get()
    if batch is not None:
        yield batch
        return
    batch = new or OutputBatch()
    token = _OPEN.set(batch)
    try:
        yield batch
        batch.commit()
    finally:
        _OPEN.reset(token)
        batch.discard()


def written_path(path: Path) -> Path:
    """The current path of the data of an output: its temporary name while its batch is open."""
    batch, target = _OPEN.get(), Path(os.path.realpath(path))
    found = [] if batch is None else [output for output in batch.outputs if output.target == target]
    return found[0].temporary if found else path


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder for intermediate files in the system's temporary directory; the block's end removes it."""
    parent = Path(tempfile.gettempdir())
    remove_leftovers(parent)
    folder = temporary_path(parent / "scratch")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        with signals_delayed():
            _remove(folder)


def temporary_path(target: Path, kind: str = "new") -> Path:
    """An unused hidden name in the same folder, with the same suffix, that names this process."""
    pid, name = os.getpid(), target.name
    name = name if len(os.fsencode(name)) <= _LONGEST else name[-_LONGEST // 4 :]
    mark = f"{_host()}-{_boot()}-{pid}-{_start_time(pid) or 0}"
    return target.with_name(f".osteon-{mark}-{kind}-{secrets.token_hex(4)}-{name}")


def named_path(temporary: Path) -> Path:
    """The output that a temporary name is for; any other path unchanged."""
    found = _TEMPORARY.match(temporary.name)
    return temporary.with_name(found[6]) if found else temporary


def is_temporary(name: str) -> bool:
    """Whether a file name is the temporary name of an output."""
    return _TEMPORARY.match(name) is not None


def remove_leftovers(folder: Path) -> None:
    """Remove files and folders under temporary names whose process has ended."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _TEMPORARY.match(entry.name)
            if found is None or not _has_ended(*found.group(1, 2, 3, 4)):
                continue
            target = folder / found[6]
            if found[5] == "old" and not target.exists():  # the process was killed between two renames
                os.rename(entry.path, target)
            else:
                _remove(Path(entry.path))


def _has_ended(host: str, boot: str, pid: str, start: str) -> bool:
    """Whether a process has ended; False if this cannot be determined, as for processes of other hosts."""
    if host != _host() or os.name != "posix":
        return False
    if boot != _boot():
        return True
    if sys.platform == "linux":
        return _start_time(int(pid)) != int(start)
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def _host() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return "0" * 8


def _start_time(pid: int) -> int | None:
    """Clock ticks from boot to the start of a process; None if it has ended, and on other systems than Linux."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _exchange(new: Path, target: Path) -> None:
    """Swap two folders in one step where the system can; otherwise the target is missing for a moment."""
    if _swap_names(new, target):
        return
    old = temporary_path(target, "old")
    os.rename(target, old)
    try:
        os.rename(new, target)
    except OSError:
        os.rename(old, target)
        raise
    os.rename(old, new)


def _swap_names(one: Path, other: Path) -> bool:
    """Linux `renameat2` with RENAME_EXCHANGE; False where the system or the file system does not have it."""
    import ctypes  # only where a folder is replaced

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        return False
    raise OSError(number, os.strerror(number), str(other))


def _flush_all(path: Path) -> None:
    """Flush a file, or a folder with everything in it, to the disk."""
    if not path.is_dir():
        _flush(path)
        return
    with ThreadPoolExecutor(_FLUSHES) as pool:
        list(pool.map(_flush, [path, *path.rglob("*")]))


def _flush(path: Path) -> None:
    is_folder = path.is_dir()
    if is_folder and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if not (is_folder and error.errno == errno.EINVAL):  # some network file systems cannot flush a folder
            raise
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def _errors_named(output: _Output, written: list[Path] | None = None) -> Iterator[None]:
    """Errors of the operating system (disk full, no permission) and temporary names in messages name the output."""
    path, temporary = output.path, str(output.temporary)
    try:
        yield
    except OsteonError as error:
        if temporary not in str(error):
            raise
        raise type(error)(str(error).replace(temporary, str(path))) from error
    except OSError as error:
        others = f"; already written: {', '.join(map(str, written))}" if written else ""
        raise FileFormatError(f"{path}: cannot be written ({error.strerror or error}){others}") from error


@contextmanager
def signals_delayed() -> Iterator[None]:
    """Delay Ctrl-C, SIGTERM and SIGHUP until the block has ended, so that renames and removals are not cut short."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: handler for number, handler in before.items() if handler not in (None, signal.SIG_IGN)}
    received: list[int] = []
    for number in before:
        signal.signal(number, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])
