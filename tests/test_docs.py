"""What the documentation names is there: files of the project in backticks, and links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .source_modules import LAYERS, SOURCE

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
#: The changelog names files of before, too.
OF_TODAY = [page for page in PAGES if page.name != "CHANGELOG.md"]

#: First words of paths, and where these start; `page/` lies in `view/`.
STARTS = {
    **dict.fromkeys(LAYERS, SOURCE),
    "osteon_bench": SOURCE.parent,
    "page": SOURCE / "view",
    **dict.fromkeys(("src", "tests", "docs", "scripts", "benchmarks"), ROOT),
}

_QUOTED = re.compile(r"`([\w*./-]+)`")
_LINK = re.compile(r"\]\(([^)#]+)(#[^)]*)?\)")
#: A word that stands for any name, as in `osteon_bench/NAME.py`.
_ANY = re.compile(r"(?<![A-Za-z])[A-Z]{3,}(?![A-Za-z])")


def paths_in(text: str) -> list[str]:
    """Paths of the project that a text names in backticks; files of people who use it are not meant."""
    named = [path for path in _QUOTED.findall(text) if not _ANY.search(path)]
    return [path for path in named if path.split("/")[0] in STARTS and "/" in path.rstrip("/")]


def bare_files_in(text: str) -> list[str]:
    """Names of modules without a folder."""
    return [path for path in _QUOTED.findall(text) if "/" not in path and path.endswith(".py")]


def is_there(path: str) -> bool:
    return any(STARTS[path.split("/")[0]].glob(path.rstrip("/")))


def test_found_the_pages_and_paths() -> None:
    assert len(PAGES) >= 12
    assert sum(len(paths_in(page.read_text(encoding="utf-8"))) for page in PAGES) > 100


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [path for path in paths_in(text) if not is_there(path)] == []
    assert [
        name for name in bare_files_in(text) if not ((ROOT / name).is_file() or any(SOURCE.parent.rglob(name)))
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    links = [target for target, _ in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    assert [target for target in links if not (page.parent / target).exists()] == []


def test_the_check_sees_what_is_missing() -> None:
    assert paths_in("see `fit/no_such_file.py`, `frames/`, `out/pose_1.obj`, `osteon_bench/NAME.py`") == [
        "fit/no_such_file.py"
    ]
    assert not is_there("fit/no_such_file.py")
    assert is_there("page/engine/pack.js")
    assert is_there("page/engine/p*.js")


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
