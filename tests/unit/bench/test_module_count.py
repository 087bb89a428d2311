"""Counting the modules that a command runs through."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon_bench.module_count import count_modules


def test_a_command_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    faces = np.array([[0, 1, 2]], np.int32)
    frames = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, np.float32)
    np.savez("triangle.npz", frames=frames, faces=faces, rest=frames[0])
    count = count_modules(["info", "triangle.npz"])
    assert "cli/info.py" in count.modules
    assert "core/mesh.py" in count.modules
    assert not [name for name in count.modules if name.startswith(("fit/", "lod/"))]
    assert sum(count.folders.values()) == len(count.modules)
    assert 0 < count.changes < len(count.modules)
