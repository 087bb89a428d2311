"""`osteon paper`: one page, single files, JSON, and refusals."""

from __future__ import annotations

import json

import pytest

from .conftest import Run


def test_writes_a_page_files_and_json(run_here: Run) -> None:
    folder = run_here.folder  # type: ignore[attr-defined]
    quick = ("paper", "1", "--quick", "--figures", "7", "-o", "page.html")
    done = run_here(*quick, "--pictures", "files", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    assert "Figure 7" in done.stdout
    assert {path.name for path in folder.iterdir()} == {"page.html", "files", "a.json"}
    assert [path.name for path in (folder / "files").iterdir()] == ["figure-7.svg"]
    facts = json.loads((folder / "a.json").read_text())
    assert list(facts["entries"]) == ["figure-7"]
    numbers = facts["entries"]["figure-7"]["numbers"]
    assert numbers["tsvd"]["negative"] > 0 == numbers["nnls"]["negative"]
    again = run_here(*quick)
    assert again.returncode == 2
    assert "page.html" in again.stderr


def test_standard_output_holds_json_only(run_here: Run) -> None:
    done = run_here("paper", "1", "--quick", "--figures", "7", "--json", "-", "--quiet")
    assert json.loads(done.stdout)["entries"]
    assert not list(run_here.folder.iterdir())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("1", "--figures", "99"), "the paper has no figure 99"),
        (("1", "--table", "2"), "the paper has no table 2"),
        (("1", "--figures", "x"), "expected numbers such as 3,7"),
        (("9",), "9"),
        (("1", "--data", "nowhere"), "'nowhere' is not a folder"),
        (("1", "-o", "page.pdf"), ".html"),
    ],
)
def test_refuses(run_here: Run, arguments: tuple[str, ...], words: str) -> None:
    done = run_here("paper", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert not list(run_here.folder.iterdir())  # type: ignore[attr-defined]
