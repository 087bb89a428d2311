"""The folder for intermediate files of a run, and those that killed runs left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

HOLD = """
from osteon.io.save.atomic import scratch_folder
with scratch_folder() as folder:
    (folder / "a.bin").write_bytes(b"pack")
    print(folder, flush=True)
    input()
"""


class Run:
    """A process that holds a temporary folder."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD],
            env=os.environ | {"TMPDIR": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.name = self.process.stdout.readline().strip().rsplit("/", 1)[1]

    def end(self, kill=False):
        if kill:
            self.process.send_signal(signal.SIGKILL)
        self.process.communicate("" if kill else "\n", timeout=300)


def test_folders_of_killed_runs_are_removed_by_the_next_run(tmp_path):
    names = lambda: {entry.name for entry in tmp_path.iterdir()}  # noqa: E731
    (tmp_path / "osteon-notes").write_text("a file of somebody")
    living, killed = Run(tmp_path), Run(tmp_path)
    killed.end(kill=True)
    assert names() == {"osteon-notes", living.name, killed.name}
    following = Run(tmp_path)
    assert names() == {"osteon-notes", living.name, following.name}
    assert (tmp_path / living.name / "a.bin").is_file()
    following.end()
    living.end()
    assert names() == {"osteon-notes"}
