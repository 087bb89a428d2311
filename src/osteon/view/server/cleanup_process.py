"""A process that cleans up after the server, however that ends: even a killed server leaves no process and no folder.

    python cleanup_process.py FOLDER < pipe

Each line from the pipe is the process group of the worker, 0 for none. When the pipe closes, because the server closed
it or ended, the last group is killed and the folder removed. As a program it imports nothing of Osteon, so that it
starts quickly.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

#: Seconds to wait for the cleanup; a large folder takes some time.
PATIENCE = 20.0


class CleanupProcess:
    """Starts the cleanup process and sends it the process group of the worker."""

    def __init__(self, folder: Path) -> None:
        # In its own session: a signal from the terminal that ends the server must not end the cleanup.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__)), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """Set the process group of the worker; 0 for none."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # the process has ended or its pipe is closed
            self._process.stdin.write(f"{group}\n".encode())
            self._process.stdin.flush()

    def close(self) -> None:
        """Clean up now."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)

    def __enter__(self) -> CleanupProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


def main() -> None:
    group = 0
    for line in sys.stdin.buffer:
        if line.strip().isdigit():
            group = int(line)
    if group > 1 and hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
