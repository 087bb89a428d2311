"""Every registered figure and table is made of coarse subjects, and comes out on the page and as files."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from osteon.core.errors import OptionError
from osteon.papers.entries import Compared, Drawing, Made, Panels, Table
from osteon.papers.page import build_paper_page
from osteon.papers.registry import PAPERS
from osteon.papers.run import PaperOptions, PaperRun, read_numbers
from osteon.papers.single_files import named_parts, write_single_files

NUMBERS = pytest.mark.parametrize("number", list(PAPERS))


@pytest.fixture(scope="module")
def made_of() -> dict[int, tuple[Made, ...]]:
    """What was made of each paper; it is made when it is first asked for."""
    return {}


def make(number: int, kept: dict[int, tuple[Made, ...]]) -> tuple[Made, ...]:
    if number not in kept:
        kept[number] = PaperRun(PaperOptions(quick=True)).make(PAPERS[number].entries())
    return kept[number]


@NUMBERS
def test_entries_are_distinct_and_described(number: int) -> None:
    entries = PAPERS[number].entries()
    assert len(entries) >= 5
    assert len({entry.key for entry in entries}) == len(entries)
    for kind in ("figure", "table"):
        numbers = [entry.number for entry in entries if entry.kind == kind]
        assert numbers == sorted(numbers)
    assert all(entry.title and entry.shows.endswith(".") for entry in entries)


@NUMBERS
def test_every_entry_has_content(number: int, made_of: dict[int, tuple[Made, ...]]) -> None:
    for one in make(number, made_of):
        for _, part in named_parts(one):
            if isinstance(part, Panels):
                assert all(picture.width >= 100 and picture.alt for picture in part.pictures)
            elif isinstance(part, Table):
                assert part.rows
            else:
                assert isinstance(part, Drawing)
                assert len(re.findall("<(path|circle|rect)", part.svg)) >= 3
                assert not re.search(r"[\"MLHV ](nan|inf)\b", part.svg)
        assert one.shown.text.endswith((".", ")"))
        json.dumps(one.to_json(), allow_nan=False)


@NUMBERS
def test_the_page_and_the_files(number: int, made_of: dict[int, tuple[Made, ...]], tmp_path: Path) -> None:
    made = make(number, made_of)
    page = build_paper_page(number, PAPERS[number], made, subjects="Built-in ones.")
    assert all(f'<section id="{one.entry.key}">' in page for one in made)
    assert not re.search(r"(src|href)=.?http", page)
    write_single_files(tmp_path / "pictures", made)
    names = {path.stem for path in (tmp_path / "pictures").iterdir()}
    assert names == {name for one in made for name, _ in named_parts(one)}
    for path in (tmp_path / "pictures").iterdir():
        if path.suffix == ".svg":
            assert ET.parse(path).getroot().get("viewBox")
        elif path.suffix == ".png":
            assert np.asarray(Image.open(path).convert("L")).std() > 3, f"{path.name} is blank"


def test_subjects_of_a_folder_replace_built_in_ones(tmp_path: Path) -> None:
    from osteon.io import save_sequence
    from osteon.papers.subjects import find_subject
    from osteon.synth.baked import bake_rigid_body

    folder = tmp_path / "data" / "sequences"
    folder.mkdir(parents=True)
    save_sequence(bake_rigid_body().sequence, folder / "horse.npz")
    run = PaperRun(PaperOptions(data=tmp_path / "data", quick=True))
    assert find_subject(run, "horse").measured
    assert find_subject(run, "horse").sequence is find_subject(run, "horse").sequence
    assert not find_subject(run, "ball").measured


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="--data"):
        PaperRun(PaperOptions(data=tmp_path / "nothing"))


def test_numbers_differ_only_with_a_reason() -> None:
    with pytest.raises(OptionError, match="say why"):
        Compared("bones", 30, 29, "Table 1")
    assert not Compared("bones", 30, 30.0001, "Table 1").differs
    with pytest.raises(OptionError, match="finite"):
        Compared("bones", 30, float("nan"), "Table 1", why="None.")


def test_numbers_of_figures() -> None:
    assert read_numbers("3, 7-9") == (3, 7, 8, 9)
    for wrong in ("", "a", "9-7", "0", "1-", "1-1000"):
        with pytest.raises(OptionError, match="expected numbers"):
            read_numbers(wrong)


def test_chosen_entries() -> None:
    entries = PAPERS[1].entries()
    assert PaperOptions().chosen(entries) == entries
    assert [e.key for e in PaperOptions(figures=(7, 5), tables=(1,)).chosen(entries)] == [
        "figure-5",
        "figure-7",
        "table-1",
    ]
    assert [e.key for e in PaperOptions(tables=(1,)).chosen(entries)] == ["table-1"]
    with pytest.raises(OptionError, match="no figure 99"):
        PaperOptions(figures=(99,)).chosen(entries)
