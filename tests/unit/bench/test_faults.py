"""`osteon bench faults`: commands that are killed at a chosen call, and what is counted as a fault."""

from __future__ import annotations

import json
import os
import signal

import pytest

from osteon.io import save_sequence
from osteon.synth.baked import bake_cylinder
from osteon_bench.fault_server import FaultServer
from osteon_bench.faults import _is_partial

COMMAND = ("info", "tube.npz", "--json", "r.json", "-q", "--force")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_command_is_killed_before_each_of_its_calls(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    save_sequence(bake_cylinder(1).sequence, work / "tube.npz")
    (work / "r.json").write_text("{}")
    with FaultServer() as server:
        for call in (1, 2, 3):  # the file is flushed, renamed, and its folder flushed
            assert server.run(COMMAND, work, call=call)["code"] == -signal.SIGKILL
            left = [name for name in os.listdir(work) if name.startswith(".osteon-")]
            assert len(left) == (1 if call < 3 else 0)
            assert ((work / "r.json").read_text() == "{}") == (call < 3)
        done = server.run(COMMAND, work)
        assert (done["code"], done["calls"]) == (0, 3)
        assert server.run(COMMAND, work, seconds=0.0)["code"] == -signal.SIGKILL
    assert sorted(os.listdir(work)) == ["r.json", "tube.npz"]
    assert json.loads((work / "r.json").read_text())["kind"] == "sequence"


def test_what_counts_as_a_partial_file():
    expected = {"poses/a.obj": b"whole", "poses/poses.json": b"{}"}
    assert not _is_partial("poses/a.obj", b"whole", expected)
    assert not _is_partial("poses/poses.json", b'{"poses": []}', expected)
    assert not _is_partial("poses/.osteon-left", b"", expected)
    assert _is_partial("poses/a.obj", b"", expected)
    assert _is_partial("poses/poses.json", b'{"poses":', expected)
    assert _is_partial("poses/other.obj", b"x", expected)
