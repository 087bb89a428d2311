"""Work on blocks of fixed size by several threads.

The blocks do not depend on the number of threads and every block writes its own part of the result,
so the answer is the same on one thread and on many. BLAS gets one thread for the same reason.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache

from osteon.core.errors import OptionError

__all__ = ["available_threads", "for_blocks", "single_threaded_blas"]


def available_threads(asked: int = 0) -> int:
    """`asked`, or, for 0, as many as this process may use."""
    if asked < 0:
        raise OptionError(f"threads: expected 0 (all) or more, got {asked}")
    return asked or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else asked or os.cpu_count() or 1


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


#: Says of a thread that it works for `for_blocks`: what it calls has the other workers busy already.
_here = threading.local()


def _be_worker() -> None:
    _here.is_worker = True


@cache
def _workers(threads: int) -> ThreadPoolExecutor:
    """Threads that stay: a fit has some hundred calls, and starting two threads for each took a tenth of its time."""
    return ThreadPoolExecutor(threads, "osteon", initializer=_be_worker)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.cache_clear)  # threads do not come along


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread: the blocks are the parallel part, and results stay the same on any machine."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
