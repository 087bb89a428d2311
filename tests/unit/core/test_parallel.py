from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from osteon.core.errors import OptionError
from osteon.core.parallel import available_threads, for_blocks, single_threaded_blas


@settings(max_examples=60, deadline=None)
@given(count=st.integers(0, 300), block=st.integers(1, 70), threads=st.integers(0, 4))
def test_blocks_cover_everything_exactly_once(count, block, threads):
    visits, blocks = np.zeros(count, int), []

    def work(start: int, stop: int) -> None:
        visits[start:stop] += 1
        blocks.append((start, stop))

    for_blocks(work, count, block, threads)
    assert (visits == 1).all()
    assert sorted(blocks) == [(s, min(s + block, count)) for s in range(0, count, block)]


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_reach_the_caller(threads):
    def work(start: int, stop: int) -> None:
        if start == 4:
            raise KeyError("block four")

    with pytest.raises(KeyError, match="block four"):
        for_blocks(work, 10, 2, threads)


def test_an_error_drops_blocks_not_yet_begun():
    begun = []

    def work(start: int, stop: int) -> None:
        begun.append(start)
        if start == 0:
            raise ValueError("stop")
        time.sleep(0.002)

    with pytest.raises(ValueError, match="stop"):
        for_blocks(work, 1000, 1, 2)
    assert len(begun) < 500


def test_several_threads_work_at_once():
    meeting = threading.Barrier(2, timeout=300)
    for_blocks(lambda start, stop: meeting.wait() and None, 2, 1, 2)


def test_available_threads(refused):
    assert available_threads(3) == 3
    assert available_threads() >= 1
    with refused(OptionError, "threads", "-1"):
        available_threads(-1)


def test_blas_gets_one_thread_and_its_own_back():
    before = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    with single_threaded_blas():
        assert [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"] == [1] * len(before)
    assert [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"] == before
