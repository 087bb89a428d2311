"""Too little memory ends in one line, in whatever way the system reports it."""

from __future__ import annotations

import errno
import subprocess
import sys

import numpy as np
import pytest

from osteon.cli.main import is_out_of_memory


def _raised_from(cause: BaseException) -> BaseException:
    try:
        raise RuntimeError("broken") from cause
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (ImportError("x.so: failed to map segment from shared object"), True),
        (OSError("x.so: failed to map segment from shared object"), True),
        (RuntimeError("can't start new thread"), True),
        (_raised_from(MemoryError()), True),
        (RuntimeError("broken"), False),
        (ImportError("No module named 'x'"), False),
    ],
)
def test_errors_about_memory_are_recognised(error, expected):
    assert is_out_of_memory(error) == expected


def test_numpys_own_error_is_recognised():
    with pytest.raises(MemoryError) as found:
        np.empty(1 << 50)
    assert is_out_of_memory(found.value)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of addresses is kept on Linux")
@pytest.mark.parametrize("megabytes", [250, 400])
def test_a_command_with_little_memory_ends_in_one_line(tmp_path, megabytes):
    frames = np.random.default_rng(1).random((40, 20_000, 3), np.float32)
    faces = np.random.default_rng(2).permutation(20_000)[:19_998].reshape(-1, 3)
    np.savez(tmp_path / "walk.npz", frames=frames, faces=faces)
    code = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({megabytes} << 20,) * 2)\n"
        "from osteon.cli.main import main; sys.argv = ['osteon', *sys.argv[1:]]; main()"
    )
    command = [sys.executable, "-c", code, "skin", "walk.npz", "-o", "walk.glb", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 2
    assert "not enough memory" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "walk.glb").exists()
