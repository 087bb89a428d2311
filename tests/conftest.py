"""Helpers for all tests: complaints on one line, and which tests may be skipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from osteon.core.errors import OsteonError

from .skip_rules import pytest_make_collect_report, pytest_runtest_makereport, pytest_terminal_summary

__all__ = ["one_line_error", "pytest_make_collect_report", "pytest_runtest_makereport", "pytest_terminal_summary"]


@contextmanager
def one_line_error(kind: type[OsteonError], *parts: object) -> Iterator[None]:
    """The block raises exactly `kind`, with a message of one line that holds all `parts`."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert type(caught.value) is kind
    assert message
    assert "\n" not in message
    assert len(message) < 400
    for part in parts:
        assert str(part) in message, message


@pytest.fixture(name="refused")
def _refused():
    return one_line_error
