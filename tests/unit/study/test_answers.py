"""The file of answers: what it keeps, what it refuses, and which files are none."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError
from osteon.study.answers import AnsweredAlready, AnswerFile, create_answer_file

from .study_cases import FINGERPRINT, open_answers, paper_plan, token_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.sqlite"


def test_answers_come_back_with_what_was_asked(path):
    plan = paper_plan(2)
    answers = open_answers(path, plan)
    for rater, question, score in ((9, 5, 3), (9, 0, 10), (4, 5, 0)):
        answers.add(token_of(rater), question, score)
    assert answers.counts() == (3, 2)
    assert answers.answered(token_of(9)) == {0, 5}
    answers.close()
    again = AnswerFile(path)
    found = [(a.rater, a.question, a.score) for a in again.answers()]
    assert found == [(1, 5, 3), (1, 0, 10), (2, 5, 0)]
    assert all(a.asked == plan.questions[a.question] for a in again.answers())
    again.close()


def test_every_answer_is_on_the_disk_when_it_is_acknowledged(path):
    answers = open_answers(path, paper_plan(1))
    assert answers.base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert answers.base.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert not answers.base.in_transaction
    answers.add(token_of(1), 0, 5)
    assert not answers.base.in_transaction
    answers.close()


def test_a_second_answer_to_a_question_is_refused(path):
    answers = open_answers(path, paper_plan(1))
    answers.add(token_of(1), 2, 5)
    with pytest.raises(AnsweredAlready):
        answers.add(token_of(1), 2, 6)
    answers.add(token_of(2), 2, 7)
    assert [a.score for a in answers.answers()] == [5, 7]
    answers.close()


@pytest.mark.parametrize("score", [-1, 11, 5.5, "many", None, b"5"])
def test_the_table_refuses_what_is_no_score(path, score):
    answers = open_answers(path, paper_plan(1))
    with pytest.raises(sqlite3.IntegrityError):
        answers.add(token_of(1), 0, score)
    assert answers.counts() == (0, 0)
    assert answers.base.execute("SELECT count(*) FROM rater").fetchone() == (0,)  # all of the transaction went
    answers.close()


def test_the_table_refuses_questions_that_nobody_asked(path):
    answers = open_answers(path, paper_plan(1))
    with pytest.raises(sqlite3.IntegrityError):
        answers.add(token_of(1), 99, 5)
    answers.close()


def test_the_address_stays_the_same(path, tmp_path):
    keys = []
    for _ in range(2):
        file = AnswerFile(path) if path.exists() else open_answers(path, paper_plan(1))
        keys.append(file.key)
        file.close()
    other = open_answers(tmp_path / "other.sqlite", paper_plan(1))
    assert keys[0] == keys[1] != other.key
    other.close()


def _changed(path: Path, pragma: str) -> None:
    base = sqlite3.connect(path)
    base.execute(pragma)
    base.commit()
    base.close()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is no file of answers"),
        (b"rater,score\n1,5\n" * 20, "is no file of answers"),
        (b"SQLite format 3\0" + bytes(200), "is no file of answers"),
    ],
)
def test_other_files_are_refused_and_left_as_they_are(path, content, says):
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=says):
        AnswerFile(path)
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_databases_of_others_are_refused(path):
    _changed(path, "CREATE TABLE answer (score)")
    with pytest.raises(FileFormatError, match="is no file of answers"):
        AnswerFile(path)


def test_another_version_is_refused_by_its_number(path):
    create_answer_file(path, paper_plan(1), FINGERPRINT)
    _changed(path, "PRAGMA user_version = 7")
    with pytest.raises(FileFormatError, match="version 7, this Osteon reads version 1"):
        AnswerFile(path)


def test_a_damaged_study_is_refused(path):
    create_answer_file(path, paper_plan(4), FINGERPRINT)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + bytes(len(data) - 4096))
    with pytest.raises(FileFormatError, match=r"study cannot be read|does not say"):
        AnswerFile(path)


def test_another_study_is_refused(path):
    create_answer_file(path, paper_plan(1), FINGERPRINT)
    answers = AnswerFile(path)
    with pytest.raises(FileFormatError, match="another study"):
        answers.begin_writing("f" * 64)
    answers.close()


def test_results_can_be_read_while_people_answer(path):
    answers = open_answers(path, paper_plan(1))
    answers.add(token_of(1), 0, 5)
    reader = AnswerFile(path)
    rows = reader.answers()
    assert next(rows).score == 5  # in the midst of reading
    answers.add(token_of(2), 0, 6)
    rows.close()
    assert reader.counts() == (2, 2)
    reader.close()
    answers.add(token_of(3), 0, 7)
    answers.close()
    again = AnswerFile(path)
    assert again.counts() == (3, 3)
    again.close()
