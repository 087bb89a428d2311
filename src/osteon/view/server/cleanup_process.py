"""A process that clears up after the server, however that ends: even killed, it leaves no process and no folder.

    python keeper.py FOLDER < line

Each line is the group of the worker, 0 for none. When the line closes, because the server says so or is gone, the
last group is ended and the folder removed. Run as a program it imports nothing of Osteon, so that it starts quickly.
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

__all__ = ["Keeper"]

#: Seconds to wait for the end of the keeper; a large folder takes some.
PATIENCE = 20.0


class Keeper:
    """The client: sends the process the id of the worker."""

    def __init__(self, folder: Path) -> None:
        # In a session of its own: what ends the server in a terminal must not end its keeper.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__)), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """The worker leads this group; 0: there is none."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # the keeper is gone or closed: then there is nothing to tell
            self._process.stdin.write(f"{group}\n".encode())
            self._process.stdin.flush()

    def close(self) -> None:
        """Have everything cleared up now."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)

    def __enter__(self) -> Keeper:
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
