"""One command of Osteon in a separate process: its messages, its time and its memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osteon.core.parallel import end_group

#: Starts a command from a small process and writes its exit code and its memory: a fork of a large process would count
#: the memory of its parent.
_LAUNCHER = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(process.pid, 0)
open(sys.argv[1], "w").write(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss]))
"""
#: Seconds after which a command is stopped.
PATIENCE = 600.0


@dataclass(frozen=True, slots=True)
class CommandRun:
    """The result of a command."""

    words: tuple[str, ...]
    code: int  # exit code; negative: the signal that ended it
    out: str
    stderr: str  # standard error
    seconds: float
    megabytes: float  # most memory of the process or of a child of it

    @property
    def done(self) -> bool:
        return self.code == 0

    @property
    def broke(self) -> bool:
        """Neither success nor rejection: a traceback, a signal, or an undefined exit code."""
        return self.code not in (0, 2) or "Traceback (most recent call last)" in self.stderr

    @property
    def reason(self) -> str:
        """The last line of its messages."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return lines[-1] if lines else f"exit code {self.code} without a word"

    def facts(self) -> dict[str, Any]:
        """The report that `--json -` printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found


def run_command(*words: str) -> CommandRun:
    """Run `osteon WORDS`; its process group ends with it, at the latest at the time limit."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.json"
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(facts), sys.executable, "-m", "osteon", *words],
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
        finally:
            end_group(process.pid)
        process.wait()
        seconds = time.perf_counter() - started
        code, most = json.loads(facts.read_text()) if facts.exists() else (-signal.SIGKILL, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return CommandRun(words, code, texts[0], texts[1], seconds, _megabytes(most))


def _megabytes(most: float) -> float:
    """`ru_maxrss` counts kilobytes, on a Mac bytes."""
    return most / 1e6 if sys.platform == "darwin" else most * 1024 / 1e6
