"""Children that parse: what they find comes back whole, and what brings them down costs one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError
from osteon.io.load.source import Source
from osteon.io.native.client import NativeTask, query_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and limits of POSIX")

CHILD = """
import ctypes, os
from pathlib import Path
import numpy as np
from osteon.core.errors import GeometryError

def answer(request, outlet):
    path = Path(request["path"])
    path.with_suffix(".pid").write_text(str(os.getpid()))
    what = request["question"]
    if what == "frames":
        for f in range(3):
            outlet.frames(f, 3, np.full((1, 2, 3), f, np.float32))
        turned = np.arange(6).reshape(2, 3).T
        return {"name": "\\ud800"}, {"none": np.empty((0, 3)), "one": np.float64(7), "turned": turned}
    if what == "refuse":
        raise GeometryError(f"{path} (frame 3): is bent")
    if what == "bug":
        return None + 1
    if what == "abort":
        print("to nowhere")
        os.abort()
    if what == "exit":
        os._exit(0)
    if what == "memory":
        return len(bytearray(1 << 46)), {}
    if what == "nonsense":
        outlet._file.write(b"x" * 100)
        outlet._file.flush()
    ctypes.PyDLL(None).sleep(100)  # holds the lock of the interpreter, as a library does
"""


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NativeTask:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "some_child.py").write_text(CHILD)
    (tmp_path / "a.bin").write_bytes(b"data")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    return NativeTask("BIN", "some_child", silence=1.0)


def is_gone(pid: int, seconds: float = 300.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def pid_of(path: Path, seconds: float = 300.0) -> int:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.05)
    raise AssertionError("the child did not begin")


def test_values_arrays_and_frames_come_back(far: NativeTask, tmp_path: Path) -> None:
    seen: list[float] = []
    source = Source(tmp_path / "a.bin")
    found = query_child(far, source, {"question": "frames"}, progress=lambda event: seen.append(event.fraction))
    assert found.value == {"name": "\ud800"}
    np.testing.assert_array_equal(found.arrays["frames"][:, 0, 0], [0, 1, 2])
    np.testing.assert_array_equal(found.arrays["turned"], [[0, 3], [1, 4], [2, 5]])
    assert (found.arrays["none"].shape, float(found.arrays["one"])) == ((0, 3), 7.0)
    assert len(seen) == 3
    assert is_gone(pid_of(tmp_path / "a.pid"))


def test_a_kept_child_answers_again(far: NativeTask, tmp_path: Path) -> None:
    source, pid = Source(tmp_path / "a.bin"), tmp_path / "a.pid"
    query_child(far, source, {"question": "frames"}, keep=True)
    first = pid_of(pid)
    query_child(far, source, {"question": "frames"})
    assert pid_of(pid) == first
    assert is_gone(first)


@pytest.mark.parametrize(
    ("question", "kind", "said"),
    [
        ("refuse", GeometryError, "a.bin (frame 3): is bent"),
        ("abort", FileFormatError, "cannot be read as BIN: the library failed on it"),
        ("exit", FileFormatError, "cannot be read as BIN: the library failed on it"),
        ("nonsense", FileFormatError, "cannot be read as BIN: the library"),
        ("memory", FileFormatError, "needs more memory than it may take"),
        ("hang", FileFormatError, "the library does not come to an end with it"),
    ],
)
def test_whatever_happens_there_is_one_line_here(
    far: NativeTask, tmp_path: Path, refused, question, kind, said
) -> None:
    with refused(kind, "a.bin", said):
        query_child(far, Source(tmp_path / "a.bin"), {"question": question})
    assert is_gone(pid_of(tmp_path / "a.pid"))


def test_a_fault_of_ours_is_no_fault_of_the_file(far: NativeTask, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="TypeError"):
        query_child(far, Source(tmp_path / "a.bin"), {"question": "bug"})


def test_a_reader_that_is_not_there(tmp_path: Path, refused) -> None:
    (tmp_path / "a.bin").write_bytes(b"data")
    with refused(FileFormatError, "a.bin", "did not start"):
        query_child(NativeTask("BIN", "no_such_module"), Source(tmp_path / "a.bin"), {"question": "x"})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_child_outlives_who_asked(far: NativeTask, tmp_path: Path, number: int) -> None:
    (tmp_path / "temporary").mkdir()
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'modules')!r})\n"
        "from pathlib import Path\n"
        "from osteon.io.native.client import NativeTask, query_child\n"
        "from osteon.io.load.source import Source\n"
        "task = NativeTask('BIN', 'some_child', silence=90.0)\n"
        f"query_child(task, Source(Path({str(tmp_path / 'a.bin')!r})), {{'question': 'hang'}})\n"
    )
    asking = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"TMPDIR": str(tmp_path / "temporary")},
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests may run in the background
    )
    try:
        child = pid_of(tmp_path / "a.pid")
        asking.send_signal(number)
        assert asking.wait(timeout=300) != 0
    finally:
        asking.kill()
    assert is_gone(child)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_no_folder_is_used(far: NativeTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    query_child(far, Source(tmp_path / "a.bin"), {"question": "frames"})
    assert list((tmp_path / "temporary").iterdir()) == []
