"""Which tests may be skipped, and what is said of it.

A test that lacks a browser, a player, the page or an extra is skipped with its reason; where CI=true it fails, so that
no machine that is meant to check all of it passes by checking less. Measured data is not part of the project: tests
of it may be skipped everywhere, and one line at the end says how many were.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

__all__ = ["NO_DATA", "pytest_make_collect_report", "pytest_runtest_makereport", "pytest_terminal_summary"]

#: The reason of every test that lacks measured data.
NO_DATA = "no shared data beside the repository"


def _reason(report: Any) -> str:
    """Why a test or file was skipped; empty if it was not, or if it failed as it was expected to."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return ""
    longrepr = report.longrepr
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return str(reason).removeprefix("Skipped: ")


def _judged(report: Any) -> Any:
    """A skip for any reason but data is a failure where CI=true."""
    reason = _reason(report)
    if reason and NO_DATA not in reason and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: {reason}; where CI=true everything but measured data must be there"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return _judged((yield))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The closing line about measured data."""
    lacking = sum(NO_DATA in _reason(report) for report in terminalreporter.stats.get("skipped", []))
    if lacking:
        checks = "1 check was" if lacking == 1 else f"{lacking} checks were"
        terminalreporter.write_line(f"measured data is not there (../shared/data): {checks} left out", yellow=True)
