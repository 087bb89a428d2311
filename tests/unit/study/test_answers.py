"""The file of answers: what it stores and refuses, other files, damaged files, and a full disk."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError
from osteon.study.answers import AnsweredAlready, AnswerFile, create_answer_file
from osteon.study.results import read_results

from .study_cases import FINGERPRINT, open_answers, paper_plan, token_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.sqlite"


def test_answers_come_back_with_their_questions(path):
    plan = paper_plan(2)
    answers = open_answers(path, plan)
    for rater, question, score in ((9, 5, 3), (9, 0, 10), (4, 5, 0)):
        answers.add(token_of(rater), question, score)
    assert answers.counts() == (3, 2)
    assert answers.answered(token_of(9)) == {0, 5}
    answers.close()
    again = AnswerFile(path)
    found = [(a.rater, a.number, a.score) for a in again.answers()]
    assert found == [(1, 5, 3), (1, 0, 10), (2, 5, 0)]
    assert all(a.question == plan.questions[a.number] for a in again.answers())
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


def test_the_table_refuses_unknown_questions(path):
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
    with pytest.raises(FileFormatError, match=r"study cannot be read|study is damaged"):
        AnswerFile(path)


def test_another_study_is_refused(path):
    create_answer_file(path, paper_plan(1), FINGERPRINT)
    answers = AnswerFile(path)
    with pytest.raises(FileFormatError, match="another study"):
        answers.begin_writing("f" * 64, paper_plan(1).questions)
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


def _execute(path: Path, *statements: str | tuple[str, tuple[object, ...]]) -> None:
    """Change the file without the checks of its tables."""
    base = sqlite3.connect(path)
    base.execute("PRAGMA foreign_keys = OFF")
    base.execute("PRAGMA ignore_check_constraints = ON")
    base.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        base.execute(*([statement] if isinstance(statement, str) else statement))
    base.commit()
    base.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of 36 answers."""
    path = tmp_path_factory.mktemp("written") / "study.sqlite"
    answers = open_answers(path, paper_plan(2))
    answers.base.execute("PRAGMA synchronous = OFF")
    for rater in range(3):
        for question in range(12):
            answers.add(token_of(rater), question, (rater + question) % 11)
    answers.close()
    return path.read_bytes()


def _use(path: Path) -> None:
    """Everything that `report` and `run` do with a file."""
    read_results(path).to_json()
    answers = AnswerFile(path)
    try:
        answers.begin_writing(FINGERPRINT, paper_plan(2).questions)
        answers.answered(token_of(1))
        answers.counts()
        answers.add(token_of(99), 0, 5)
    finally:
        answers.close()


NOT_UTF8 = "CAST(x'fffe80' AS TEXT)"


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE answer",),
        ("DROP TABLE question",),
        ("DROP TABLE study",),
        ("DROP TABLE rater",),
        ("ALTER TABLE answer RENAME COLUMN score TO points",),
        ("ALTER TABLE answer ADD COLUMN more TEXT",),
        ("DROP TABLE study", "CREATE TABLE study (key, value, more)"),
        ("DROP TABLE question", "CREATE TABLE question (id, character, candidate, view)"),
        ("DELETE FROM study",),
        ("DELETE FROM question",),
        ("DELETE FROM question WHERE id = 3",),
        ("UPDATE study SET value = x'00ff' WHERE key = 'key'",),
        ("UPDATE study SET value = '../<b>' WHERE key = 'key'",),
        (f"UPDATE study SET value = {NOT_UTF8}",),
        (f"UPDATE study SET key = {NOT_UTF8} WHERE key = 'began'",),
        (f"UPDATE question SET character = {NOT_UTF8} WHERE id = 2",),
        ("UPDATE question SET view = x'01' WHERE id = 2",),
        ("UPDATE question SET candidate = 'another' WHERE id = 2",),
        ("UPDATE answer SET score = 'many' WHERE question = 2",),
        ("UPDATE answer SET score = 11 WHERE question = 2",),
        ("UPDATE answer SET score = 5.5 WHERE question = 2",),
        ("UPDATE answer SET question = 99 WHERE question = 2",),
        ("UPDATE answer SET question = -1 WHERE question = 2",),
        ("UPDATE answer SET question = 'second' WHERE question = 2",),
        ("UPDATE answer SET rater = 'me' WHERE rater = 2",),
        ("UPDATE answer SET answered = x'01' WHERE question = 2",),
        (f"UPDATE answer SET answered = {NOT_UTF8} WHERE question = 2",),
        ("UPDATE sqlite_schema SET sql = 'CREATE TABLE answer (rater' WHERE name = 'answer'",),
        (f"UPDATE sqlite_schema SET sql = {NOT_UTF8} WHERE name = 'answer'",),
    ],
)
def test_wrong_tables_and_wrong_rows_are_one_sentence_that_names_the_file(path, written, statements):
    path.write_bytes(written)
    _execute(path, *statements)
    with pytest.raises(FileFormatError) as caught:
        _use(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_truncated_files_are_one_sentence_that_names_the_file(path, written):
    for size in range(0, len(written), 1021):
        path.write_bytes(written[:size])
        with pytest.raises(FileFormatError) as caught:
            _use(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_random_bytes_never_end_in_another_error(path, written):
    draw = random.Random(12)
    messages = []
    for _ in range(100):
        damaged = bytearray(written)
        for _ in range(draw.choice((1, 4, 40))):
            damaged[draw.randrange(100, len(written))] = draw.randrange(256)
        path.write_bytes(damaged)
        for extra in ("-wal", "-shm"):
            Path(f"{path}{extra}").unlink(missing_ok=True)
        try:
            _use(path)
        except FileFormatError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all(message.startswith(f"{path}: ") and "\n" not in message for message in messages)


def test_a_full_disk_is_one_sentence_and_loses_no_answer(path):
    answers = open_answers(path, paper_plan(1))
    pages = answers.base.execute("PRAGMA page_count").fetchone()[0]
    answers.base.execute(f"PRAGMA max_page_count = {pages}")
    answers.base.execute("PRAGMA synchronous = OFF")
    added = 0

    def fill() -> None:
        nonlocal added
        for rater in range(1000):
            answers.add(token_of(rater), 0, 5)
            added += 1

    with pytest.raises(FileFormatError, match=r"study\.sqlite: .* cannot be written \(database or disk is full\)"):
        fill()
    assert not answers.base.in_transaction
    assert answers.counts() == (added, added)
    answers.base.execute("PRAGMA max_page_count = 100000")
    answers.add(token_of(5000), 0, 5)
    answers.close()
    assert len(read_results(path).answers) == added + 1


def test_a_new_study_on_a_full_disk_is_one_sentence_and_no_file(path):
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        with pytest.raises(FileFormatError, match=r"study\.sqlite: .* cannot be written"):
            create_answer_file(path, paper_plan(100), FINGERPRINT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(path.parent.iterdir())
