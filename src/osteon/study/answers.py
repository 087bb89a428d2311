"""The answers of a study in one SQLite file: an acknowledged answer is on the disk.

    study      facts about the study: fingerprint, secret key of its address, time of creation
    question   every candidate of every character from every side, numbered from 0
    rater      a random token per browser; nothing else is stored about a person
    answer     rater, question, score 0 … 10, time

The file uses a write-ahead log that is synchronised with every transaction (synchronous FULL), and an answer is one
transaction. The tables enforce what the server checks: one answer per rater and question, and integer scores from 0 to
10. The application number in the header identifies the file, the user version its format.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from osteon.core.errors import FileFormatError, OsteonError
from osteon.io.save.atomic import atomic_file
from osteon.study.plan import Question, StudyPlan

#: The scale of the ratings.
LOWEST, HIGHEST = 0, 10
#: "OSTY", the application number of a study.
APPLICATION = 0x4F535459
VERSION = 1
#: Seconds to wait for another program that writes.
BUSY_TIMEOUT = 10.0

_MAGIC = b"SQLite format 3\0"
_KEY = re.compile(r"[\w-]{16,128}", re.ASCII)
_TABLES = f"""
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE question (
    id INTEGER PRIMARY KEY, character TEXT NOT NULL, candidate TEXT NOT NULL, view TEXT NOT NULL,
    UNIQUE (character, candidate, view));
CREATE TABLE rater (id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE);
CREATE TABLE answer (
    rater INTEGER NOT NULL REFERENCES rater (id),
    question INTEGER NOT NULL REFERENCES question (id),
    score INTEGER NOT NULL CHECK (typeof(score) = 'integer' AND score BETWEEN {LOWEST} AND {HIGHEST}),
    answered TEXT NOT NULL,
    PRIMARY KEY (rater, question));
"""


class AnsweredAlready(OsteonError):
    """A rater has already answered this question."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and its question."""

    rater: int  # 1, 2, … in the order of their first answers
    number: int  # of the question in the file
    question: Question
    score: int
    time: str  # UTC


def create_answer_file(path: Path, plan: StudyPlan, fingerprint: str) -> None:
    """Write the file of a study without answers; it appears whole or not at all."""
    facts = {"fingerprint": fingerprint, "key": secrets.token_urlsafe(24), "began": _now()}
    with (
        atomic_file(path) as temporary,
        _file_errors(path, "written", "check its disk"),
        closing(sqlite3.connect(temporary)) as base,
    ):
        base.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {_TABLES}")
        with base:
            base.executemany("INSERT INTO study VALUES (?, ?)", facts.items())
            questions = ((i, q.character, q.candidate, q.view) for i, q in enumerate(plan.questions))
            base.executemany("INSERT INTO question VALUES (?, ?, ?, ?)", questions)


class AnswerFile:
    """An open file of answers, used by one thread.

    Everything read from the file is checked: a damaged file raises a `FileFormatError` that names it.
    """

    def __init__(self, path: Path) -> None:
        """Open a study; refuses other files and other versions."""
        _check_header(path)
        self.path = path
        with self._reading():
            self.base = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=rw",
                uri=True,
                timeout=BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._reading():
                self.base.execute("PRAGMA foreign_keys = ON")
                facts = dict(self.base.execute("SELECT key, value FROM study").fetchall())
                questions = self.base.execute("SELECT id, character, candidate, view FROM question ORDER BY id")
                self.questions = [self._question(number, row) for number, row in enumerate(questions)]
            fingerprint, key = facts.get("fingerprint"), facts.get("key")
            if not isinstance(fingerprint, str) or not isinstance(key, str) or not _KEY.fullmatch(key):
                raise self._damaged("its fingerprint or its key is missing")
            self.fingerprint, self.key = fingerprint, key  # the key is the secret part of the address
            if not self.questions:
                raise self._damaged("it has no questions")
        except BaseException:
            self.base.close()
            raise

    def begin_writing(self, fingerprint: str, questions: Sequence[Question]) -> None:
        """Prepare for answers to these questions; refuses the file of another study."""
        if self.fingerprint != fingerprint:
            raise FileFormatError(
                f"{self.path}: holds the answers of another study, with other files or names; name another file with -o"
            )
        if self.questions != list(questions):
            raise self._damaged("its questions are not those of the study")
        with self._writing():
            self.base.execute("PRAGMA journal_mode = WAL")
            self.base.execute("PRAGMA synchronous = FULL")

    def answered(self, token: str) -> set[int]:
        """Questions that a rater has answered."""
        query = "SELECT question FROM answer JOIN rater ON rater.id = answer.rater WHERE token = ?"
        with self._reading():
            return {row[0] for row in self.base.execute(query, (token,))}

    def add(self, token: str, question: int, score: int) -> None:
        """Store an answer; it is on the disk when this method returns."""
        with self._writing(), self._transaction():
            self.base.execute("INSERT OR IGNORE INTO rater (token) VALUES (?)", (token,))
            rater = self.base.execute("SELECT id FROM rater WHERE token = ?", (token,)).fetchone()
            if rater is None:
                raise self._damaged("it does not store raters")
            try:
                self.base.execute("INSERT INTO answer VALUES (?, ?, ?, ?)", (rater[0], question, score, _now()))
            except sqlite3.IntegrityError as error:
                if question in self.answered(token):
                    raise AnsweredAlready("this question was answered already") from error
                raise

    def counts(self) -> tuple[int, int]:
        """Number of answers and of raters."""
        with self._reading():
            answers, raters = self.base.execute("SELECT count(*), count(DISTINCT rater) FROM answer").fetchone()
        return int(answers), int(raters)

    def answers(self) -> Iterator[Answer]:
        """All answers, ordered by rater and time."""
        query = "SELECT rater, question, score, answered FROM answer ORDER BY rater, answered, rowid"
        numbers: dict[int, int] = {}
        with self._reading():
            for rater, number, score, time in self.base.execute(query):
                if not _is_integer(rater) or not _is_integer(number, 0, len(self.questions) - 1):
                    raise self._damaged("an answer belongs to no rater or to no question")
                if not _is_integer(score, LOWEST, HIGHEST) or not isinstance(time, str):
                    raise self._damaged(f"an answer is not an integer from {LOWEST} to {HIGHEST} with a time")
                yield Answer(numbers.setdefault(rater, len(numbers) + 1), number, self.questions[number], score, time)

    def close(self) -> None:
        self.base.close()

    def _question(self, number: int, row: tuple[object, ...]) -> Question:
        found, character, candidate, view = row
        if found != number or not (isinstance(character, str) and isinstance(candidate, str) and isinstance(view, str)):
            raise self._damaged(f"question {number + 1} is missing or has no names")
        return Question(character, candidate, view)

    def _damaged(self, problem: str) -> FileFormatError:
        return FileFormatError(f"{self.path}: the study is damaged ({problem}); restore the file from a copy")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with _file_errors(self.path, "read", "restore it from a copy"):
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with _file_errors(self.path, "written", "check its disk, or restore it from a copy"):
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.base.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.base.execute("COMMIT")
        except BaseException:
            if self.base.in_transaction:  # SQLite itself rolls back when the disk is full
                self.base.execute("ROLLBACK")
            raise


@contextmanager
def _file_errors(path: Path, done: str, advice: str) -> Iterator[None]:
    """Raise what SQLite reports about a file as a `FileFormatError`; broken constraints concern the caller."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except (sqlite3.Error, UnicodeDecodeError) as error:  # texts of a damaged file may not be UTF-8
        reason = "a text in it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error).splitlines()[0]
        raise FileFormatError(f"{path}: the study cannot be {done} ({reason}); {advice}") from error


def _check_header(path: Path) -> None:
    """Refuse other files by their first bytes, before SQLite may change anything in them."""
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({os.strerror(error.errno or 0)})") from error
    if len(head) < 100 or not head.startswith(_MAGIC) or int.from_bytes(head[68:72], "big") != APPLICATION:
        raise FileFormatError(f"{path}: is no file of answers that `osteon study run` wrote")
    version = int.from_bytes(head[60:64], "big")
    if version != VERSION:
        raise FileFormatError(f"{path}: is a study of version {version}, this Osteon reads version {VERSION}")


def _is_integer(value: object, low: int | None = None, high: int | None = None) -> bool:
    return isinstance(value, int) and (low is None or value >= low) and (high is None or value <= high)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
