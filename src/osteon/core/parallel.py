"""Threads for blocks of work, and limits of child processes.

The blocks of `for_blocks` do not depend on the number of threads and every block writes its own part of the result, so
results are the same on one thread and on many. BLAS runs on one thread for the same reason.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from osteon.core.errors import OptionError


def available_threads(requested: int = 0) -> int:
    """`requested`, or for 0 the number of cores that this process may use."""
    if requested < 0:
        raise OptionError(f"threads: expected 0 (all) or more, got {requested}")
    if requested:
        return requested
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def for_blocks(work: Callable[[int, int], None], count: int, block: int, threads: int) -> None:
    """Call work(start, stop) for every block of 0 … count. An error or Ctrl-C drops the blocks not yet begun."""
    starts = range(0, count, block)
    if threads <= 1 or len(starts) <= 1 or getattr(_here, "is_worker", False):
        for start in starts:
            work(start, min(start + block, count))
        return
    pool = _workers(threads)
    futures = [pool.submit(work, start, min(start + block, count)) for start in starts]
    try:
        for future in futures:
            future.result()
    finally:
        for future in futures:
            future.cancel()
        wait(futures)


#: Marks worker threads of `for_blocks`: nested calls run serially, as the other workers are busy.
_here = threading.local()


def _be_worker() -> None:
    _here.is_worker = True


@cache
def _workers(threads: int) -> ThreadPoolExecutor:
    """A persistent pool: a fit has some hundred calls, and starting two threads for each took a tenth of its time."""
    return ThreadPoolExecutor(threads, "osteon", initializer=_be_worker)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.cache_clear)  # a forked process has no threads


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread: the blocks are the parallel part, and results stay the same on any machine."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


_PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Kill this process when `parent`, which started it, ends; at once if it has ended already."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if sys.platform != "win32" and os.getppid() != parent:
        os._exit(1)


def leave_no_dump() -> None:
    """Write no core dump when this process crashes."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_memory(n_bytes: int) -> None:
    """Limit the address space of this process to its current size and `n_bytes` more; larger allocations fail."""
    held = Path("/proc/self/statm")
    if not held.exists():
        return
    import resource

    limit = int(held.read_text().split()[0]) * resource.getpagesize() + n_bytes
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def end_group(leader: int) -> None:
    """Kill a process group at once; does nothing if it has ended or `leader` is not the leader of a group."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
