"""The date, machine and commit of a measurement; nothing identifies the owner of the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
#: Records of other benches do not change what is measured.
_RECORDS = ":(exclude,top)benchmarks/results"
#: Trade marks and other superfluous parts of a processor's name.
_NOISE = re.compile(r"\((?:R|TM)\)|\bCPU\b|\bProcessor\b|\b\d+-Core\b|@.*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunStamp:
    """The stamp of one run; unknown fields are empty."""

    version: str
    commit: str = ""  # short hash, with "+" if the tree had changes
    date: str = ""  # ISO 8601, UTC, to the minute
    machine: str = ""  # processor, cores, Python

    def text(self) -> str:
        """On one line."""
        return f"{self.version}, commit {self.commit or 'unknown'}, {self.date}, {self.machine}"


def stamp_run() -> RunStamp:
    """The stamp of a run that begins now."""
    from osteon import __version__

    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")
    return RunStamp(__version__, find_commit(PACKAGE), date, machine_text())


def find_commit(folder: Path) -> str:
    """The commit of a folder in a repository; empty without git, or if the repository ignores the folder."""
    if not _git(folder, "ls-files", "--", "."):
        return ""
    commit = _git(folder, "rev-parse", "--short", "HEAD") or ""
    changed = _git(folder, "status", "--porcelain", "--", ":(top)", _RECORDS)
    return f"{commit}+" if commit and changed else commit


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except OSError:  # no git
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def machine_text() -> str:
    """Processor, cores and Python, such as "Xeon Gold 6338, 2 cores, Python 3.12"."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{processor_name(_cpu_info())}, {os.cpu_count() or 1} cores, Python {python}"


def _cpu_info() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def processor_name(cpu_info: str) -> str:
    """The model from Linux's list of processors, without trade marks; else the architecture."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpu_info, re.MULTILINE)
    names = _NOISE.sub(" ", found[1]).split() if found else []
    return " ".join(names).removeprefix("Intel ") or platform.machine() or "unknown processor"
