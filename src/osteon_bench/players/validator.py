"""The Khronos glTF validator. One Node process validates many files, because its start takes longer than a file."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osteon.core.errors import OsteonError
from osteon_bench.players.tools import PACKAGES, SCRIPTS, why_no_validator

_SEVERITIES = ("error", "warning", "information", "hint")


@dataclass(frozen=True, slots=True)
class Message:
    """One message about a file."""

    severity: str  # error, warning, information or hint
    code: str
    text: str
    pointer: str  # where in the document

    def __str__(self) -> str:
        return f"{self.severity} {self.code} at {self.pointer}: {self.text}"


def validate(path: Path) -> list[Message]:
    """The errors and warnings of one file."""
    return validate_all([path])[0]


def validate_all(paths: Sequence[Path], *, least: str = "warning") -> list[list[Message]]:
    """The messages of each file that are at least as severe as `least`."""
    reason = why_no_validator()
    if reason:
        raise OsteonError(f"files cannot be validated: {reason}")
    kept = _SEVERITIES[: _SEVERITIES.index(least) + 1]
    return [[m for m in map(_message, report) if m.severity in kept] for report in _run(paths)]


def _run(paths: Sequence[Path]) -> list[list[dict[str, Any]]]:
    command = [str(shutil.which("node")), str(SCRIPTS / "validate.mjs"), str(PACKAGES)]
    request = json.dumps([str(Path(path).resolve()) for path in paths])
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise OsteonError(f"the glTF validator failed: {next((x for x in lines if 'Error' in x), 'no message')}")
    reports: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return reports


def _message(found: dict[str, Any]) -> Message:
    where = found.get("pointer", f"byte {found.get('offset', 0)}")
    return Message(_SEVERITIES[found["severity"]], found["code"], found["message"], where)
