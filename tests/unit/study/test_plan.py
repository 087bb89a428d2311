"""What a study asks, in which order, and study files that say it."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from osteon.core.errors import FileFormatError, OptionError
from osteon.study.plan import plan_character, question_order, read_study_file

from .study_cases import paper_plan, token_of


def test_the_paper_asks_24_questions():
    questions = paper_plan().questions
    assert len(questions) == len(set(questions)) == 24
    assert Counter(q.candidate for q in questions) == {"ssd": 8, "as": 8, "mwe": 8}
    assert {q.view for q in questions} == {"front", "back"}


def test_the_order_is_a_raters_own_and_stays():
    orders = [question_order(token_of(i), 24) for i in range(300)]
    assert orders == [question_order(token_of(i), 24) for i in range(300)]
    assert all(sorted(order) == list(range(24)) for order in orders)
    assert len(set(map(tuple, orders))) == 300
    first = Counter(order[0] for order in orders)
    assert len(first) == 24  # every question comes first for somebody
    assert max(first.values()) < 40


def test_names_come_from_files_unless_given():
    plan = plan_character("clips/horse.npz", ["a/ssd.glb", "b/as.npz"], ())
    assert plan.characters[0].name == "horse"
    assert plan.candidates == ["ssd", "as"]
    assert plan_character("h.npz", ["a.glb"], ("one",)).candidates == ["one"]


@pytest.mark.parametrize(
    ("candidates", "names", "says"),
    [
        ([], (), "at least one candidate"),
        (["a/x.glb", "b/x.glb"], (), "two candidates are called 'x'; name them with --names"),
        (["a.glb", "b.glb"], ("one",), "--names: expected 2"),
        (["a.glb", "b.glb"], ("one", ""), "empty"),
    ],
)
def test_bad_command_lines(candidates, names, says):
    with pytest.raises(OptionError, match=says):
        plan_character("h.npz", candidates, names)


def test_a_study_file_names_files_beside_it(tmp_path):
    path = tmp_path / "study.json"
    one = {"name": "horse", "reference": "h.npz", "candidates": {"ssd": "h1.npz", "as": "h2.npz"}}
    two = {"name": "arm", "reference": "/data/a.npz", "candidates": {"as": "a2.npz", "ssd": "a1.npz"}}
    path.write_text(json.dumps({"characters": [one, two]}))
    plan = read_study_file(path)
    assert plan.candidates == ["ssd", "as"]
    assert plan.characters[0].reference == str(tmp_path / "h.npz")
    assert plan.characters[1].reference == "/data/a.npz"
    assert len(plan.questions) == 8


GOOD = {"name": "a", "reference": "a.npz", "candidates": {"x": "x.npz"}}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "a list 'characters'"),
        ('{"characters": []}', "a list 'characters'"),
        (json.dumps({"characters": [1]}), "character 1 needs"),
        (json.dumps({"characters": [GOOD | {"candidates": {}}]}), "character 1 needs"),
        (json.dumps({"characters": [GOOD | {"candidates": {"x": 3}}]}), "character 1 needs"),
        (json.dumps({"characters": [GOOD | {"fps": 3}]}), "has 'fps', which has no effect"),
        (json.dumps({"characters": [GOOD, GOOD]}), "two characters are called 'a'"),
        (json.dumps({"characters": [GOOD, GOOD | {"name": "b", "candidates": {"y": "y"}}]}), "needs the same ones"),
    ],
)
def test_bad_study_files(tmp_path, content, says):
    path = tmp_path / "study.json"
    path.write_text(content)
    with pytest.raises(FileFormatError, match=says):
        read_study_file(path)


def test_the_fingerprint_follows_contents_not_places(tmp_path):
    def fingerprint(folder, candidate=b"c", names=("x",)):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "r.npz").write_bytes(b"r")
        (tmp_path / folder / "c.npz").write_bytes(candidate)
        plan = plan_character(str(tmp_path / folder / "r.npz"), [str(tmp_path / folder / "c.npz")], names)
        return plan.fingerprint()

    first = fingerprint("here")
    assert fingerprint("there") == first
    assert fingerprint("here", candidate=b"d") != first
    assert fingerprint("here", names=("y",)) != first
