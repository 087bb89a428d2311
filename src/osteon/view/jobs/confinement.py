"""What a process that reads files of strangers may take, and how it ends with all that it started.

The worker leads a group of its own, so that one signal reaches its children too. It dies with the server, where the
system can see to that; `keeper.py` sees to its children. Memory is limited a task at a time, above what the process
has already. Where a system lacks one of these, the others stand.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from osteon.core.processes import end_with, leave_no_dump
from osteon.io.load.limits import LARGEST_RATIO, MEMORY

__all__ = ["Limits", "confine", "limited_memory", "reading_limits"]

#: Seconds that dropped files may take to be read.
READING_SECONDS = 300.0
#: Bytes of memory that a dropped file may take, however small it is.
READING_BYTES = 4 << 30
#: No task may take more than this share of the machine's memory.
LARGEST_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Limits:
    """What one task may take."""

    memory: int = int(LARGEST_SHARE * MEMORY)  # bytes beyond what the worker has
    seconds: float | None = None  # None: a person watches and may cancel


def reading_limits(stored: int) -> Limits:
    """For reading files of so many bytes: twice what they may unpack to, and what a reader needs for itself."""
    return Limits(min(Limits().memory, READING_BYTES + 2 * LARGEST_RATIO * stored), READING_SECONDS)


def confine(parent: int) -> None:
    """Make this process the leader of a group that dies with `parent`, and leaves no dump of what it read."""
    if hasattr(os, "setsid"):
        os.setsid()
    end_with(parent)
    leave_no_dump()


@contextmanager
def limited_memory(n_bytes: int) -> Iterator[None]:
    """Let this process, and each that it starts, take only so much more memory; beyond, allocations fail.

    Data is limited, not addresses: threads reserve many of those that they never use.
    """
    data = Path("/proc/self/statm")
    if not data.exists():
        yield
        return
    import resource

    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = int(data.read_text().split()[5]) * resource.getpagesize() + n_bytes
    known = [known for known in (limit, before, most) if known != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(known), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))
