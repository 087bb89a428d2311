"""Runs of equal lines that stand twice, as a person reads them: without blank lines, comments, imports and brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: Lines in a row that make a run.
RUN = 10

_NO_WORDS = re.compile(r"\W*")
_COMMENT = {".py": re.compile(r"#")}
_OTHER_COMMENT = re.compile(r"//|/\*|\* ")
_IMPORT = re.compile(r"(from [\w.]+ )?import\b|export \{.*\} from")


@dataclass(frozen=True, slots=True)
class Line:
    """A line that counts."""

    file: Path
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


def lines_that_count(file: Path, text: str) -> list[Line]:
    """All but blank lines, comments, imports and mere punctuation, without their indent."""
    comment = _COMMENT.get(file.suffix, _OTHER_COMMENT)
    found, in_import = [], False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        begins = bool(_IMPORT.match(line))
        if not (begins or in_import or comment.match(line) or _NO_WORDS.fullmatch(line)):
            found.append(Line(file, number, line))
        opened = begins and ("(" in line or "{" in line) and not line.rstrip(";").endswith((")", '"'))
        in_import = opened or (in_import and ")" not in line and "}" not in line)
    return found


def repeated_runs(files: Iterable[tuple[Path, str]], run: int = RUN) -> list[str]:
    """Where `run` lines in a row stand a second time: both places, one for each stretch of repeated lines."""
    first: dict[tuple[str, ...], Line] = {}
    found: list[str] = []
    for file, text in files:
        lines = lines_that_count(file, text)
        repeated_before = False
        for i in range(len(lines) - run + 1):
            key = tuple(line.text for line in lines[i : i + run])
            earlier = first.setdefault(key, lines[i])
            repeated = earlier is not lines[i]
            if repeated and not repeated_before:
                found.append(f"{earlier} and {lines[i]}: {run} equal lines from '{lines[i].text}'")
            repeated_before = repeated
    return found
