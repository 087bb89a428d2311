"""What a process of ours may take and how it ends, for those that read files of strangers; where a system can do it."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["end_group", "end_with", "leave_no_dump", "limit_memory"]

_PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Have this process killed when `parent`, which started it, ends; at once if it has ended already."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if sys.platform != "win32" and os.getppid() != parent:
        os._exit(1)


def leave_no_dump() -> None:
    """No picture of this process on the disk when it crashes."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_memory(n_bytes: int) -> None:
    """Let this process, for good, take only so many addresses more than it has; beyond, allocations fail."""
    held = Path("/proc/self/statm")
    if not held.exists():
        return
    import resource

    limit = int(held.read_text().split()[0]) * resource.getpagesize() + n_bytes
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def end_group(leader: int) -> None:
    """End a process and all that it started, at once; nothing if they are gone or it leads no group."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
