"""Phrases that are avoided in the code, its messages, the docs and the page, and what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "conventions.md"
WRITTEN = (".py", ".md", ".js", ".css", ".html", ".json", ".glsl")
NOT_OURS = {"node_modules", "static", "__pycache__", "package-lock.json"}

#: A pattern that is not to be found, and what to write instead.
INSTEAD = {
    r"leaves? (it|one|them|this|--[\w-]+) away": "omit",
    r"left away": "omitted",
    r"so manieth": "every n-th",
    r"is as none": "is a cache miss",
    r"as good as its end": "counts as its exit",
    r"\bare a gift\b": "are precomputed and not timed",
    r"everybody who has": "all that have",
    r"the only one of its kind": "unique",
    r"as many as there are": "one per",
    r"where whole numbers lie": "the quantisation grid",
    r"what is cut off": "what is truncated",
    r"is the business of": "is handled by",
    r"\b(far|near)[ _]side\b": "child, client",
    r"\bdoorway\b": "redirect page",
    r"\bio[./]doors\b": "io/load, io/save, io/formats, io/native",
    r"\bknows of\b": "lists",
    r"\bbelieves\b": "assumes",
    r"\bhears\b": "receives",
    r"leads nowhere": "cannot be resolved",
    r"\bPatientProtocol\b": "IdleTimeoutProtocol",
    r"\bJointOptions\b": "JointRefinementOptions",
    r"\btold\b": "receives, is reported",
    r"\b(asks|is asked|are asked)\b": "requests, is requested",
    r"\bwants\b": "requires",
    r"\bkeepers?\b": "cleanup process",
    r"\bshel(f|ves)\b": "cache",
    r"\bfreedoms\b": "joint sliders, joint limits",
    r"\bin vain\b": "without effect",
    r"\bof before\b": "of earlier versions",
    r"\b(nobody|everybody)\b": "no user, all users",
    r"\"\"\"What ": "a noun: the result, not `What …`",
    r"\b(\d+|ms|bytes|floats|numbers) an? (vertex|frame|bone|pair|triangle|clip)\b": "per",
}


def files() -> list[Path]:
    """All files that are written by hand; the glossary itself lists words to avoid."""
    found = [path for folder in ("src", "docs") for path in sorted((ROOT / folder).rglob("*"))]
    found += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    return [path for path in found if path.suffix in WRITTEN and not NOT_OURS & set(path.parts) and path != GLOSSARY]


def phrases_in(text: str, pattern: str) -> list[str]:
    return [match[0] for match in re.finditer(pattern, text, re.IGNORECASE)]


def test_the_files_are_scanned() -> None:
    suffixes = {path.suffix for path in files()}
    assert len(files()) > 400
    assert {".py", ".md", ".js"} <= suffixes


@pytest.mark.parametrize("pattern", INSTEAD)
def test_plain_words(pattern: str) -> None:
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in files()}
    found = [f"{path}: {phrase}" for path, text in texts.items() for phrase in phrases_in(text, pattern)]
    assert not found, f"write '{INSTEAD[pattern]}' instead"


def test_a_phrase_is_found() -> None:
    assert phrases_in("there are no frames; leave --rest away", next(iter(INSTEAD))) == ["leave --rest away"]
