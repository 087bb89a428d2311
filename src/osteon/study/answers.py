"""The answers of a study in one SQLite file: what is acknowledged is on the disk, whatever happens to the server.

    study      what the study is: fingerprint, the key of its address, when it began
    question   every candidate of every character from every side, numbered from 0
    rater      a random token of a browser; nothing else is known of anybody
    answer     a rater, a question, a score of 0 … 10, when

The journal is a write-ahead log that is brought to the disk with every transaction (synchronous FULL), and an answer is
one transaction. The tables refuse what the server refuses: a second answer of a rater to a question, and scores that
are no whole numbers from 0 to 10. Other programs know the file by its application number, other versions by theirs.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from osteon.core.errors import FileFormatError, OsteonError
from osteon.io.save.atomic import atomic_file
from osteon.study.plan import Question, StudyPlan

__all__ = ["HIGHEST", "LOWEST", "AnswerFile", "AnsweredAlready", "GivenAnswer", "create_answer_file"]

#: The scale of the ratings.
LOWEST, HIGHEST = 0, 10
#: "OSTY": by which a study is known.
APPLICATION = 0x4F535459
VERSION = 1
#: Seconds to wait for another program that writes.
PATIENCE = 10.0

_MAGIC = b"SQLite format 3\0"
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
    """A rater answered this question before."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One answer, with what was asked."""

    rater: int  # 1, 2, … in the order in which they came
    question: int  # its number in the file
    asked: Question
    score: int
    answered: str  # when, UTC


def create_answer_file(path: Path, plan: StudyPlan, fingerprint: str) -> None:
    """Write the file of a study that nobody has answered yet; it appears whole or not at all."""
    facts = {"fingerprint": fingerprint, "key": secrets.token_urlsafe(24), "began": _now()}
    with atomic_file(path) as temporary, closing(sqlite3.connect(temporary)) as base:
        base.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {_TABLES}")
        with base:
            base.executemany("INSERT INTO study VALUES (?, ?)", facts.items())
            asked = ((i, q.character, q.candidate, q.view) for i, q in enumerate(plan.questions))
            base.executemany("INSERT INTO question VALUES (?, ?, ?, ?)", asked)


class AnswerFile:
    """An open file of answers; one thread uses it."""

    def __init__(self, path: Path) -> None:
        """Open a study; refuses a file that is none, or of another version."""
        _check_kind(path)
        self.path = path
        try:
            self.base = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=rw",
                uri=True,
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
            self.base.execute("PRAGMA foreign_keys = ON")
            self.facts = dict(self.base.execute("SELECT key, value FROM study"))
            rows = self.base.execute("SELECT character, candidate, view FROM question ORDER BY id")
            self.questions = [Question(*row) for row in rows]
        except sqlite3.Error as error:
            raise FileFormatError(f"{path}: the study cannot be read ({error}); restore it from a copy") from error
        if not {"fingerprint", "key"} <= self.facts.keys():
            raise FileFormatError(f"{path}: the study does not say which one it is; restore it from a copy")

    def begin_writing(self, fingerprint: str) -> None:
        """Get ready for answers; refuses the file of another study."""
        if self.facts.get("fingerprint") != fingerprint:
            raise FileFormatError(
                f"{self.path}: holds the answers of another study, with other files or names; name another file with -o"
            )
        with self._telling():
            self.base.execute("PRAGMA journal_mode = WAL")
            self.base.execute("PRAGMA synchronous = FULL")

    @property
    def key(self) -> str:
        """The secret part of the address; the same for every run, so that links stay good."""
        return str(self.facts["key"])

    def answered(self, token: str) -> set[int]:
        """Questions that a rater has answered."""
        query = "SELECT question FROM answer JOIN rater ON rater.id = answer.rater WHERE token = ?"
        return {row[0] for row in self.base.execute(query, (token,))}

    def add(self, token: str, question: int, score: int) -> None:
        """Keep an answer: when this returns, it is on the disk."""
        with self._telling(), self._transaction():
            self.base.execute("INSERT OR IGNORE INTO rater (token) VALUES (?)", (token,))
            rater = self.base.execute("SELECT id FROM rater WHERE token = ?", (token,)).fetchone()[0]
            row = (rater, question, score, _now())
            try:
                self.base.execute("INSERT INTO answer VALUES (?, ?, ?, ?)", row)
            except sqlite3.IntegrityError as error:
                if question in self.answered(token):
                    raise AnsweredAlready("this question was answered already") from error
                raise

    def counts(self) -> tuple[int, int]:
        """How many answers there are, and of how many raters."""
        query = "SELECT count(*), count(DISTINCT rater) FROM answer"
        answers, raters = self.base.execute(query).fetchone()
        return int(answers), int(raters)

    def answers(self) -> Iterator[GivenAnswer]:
        """All answers, by rater, in the order in which they were given."""
        query = "SELECT rater, question, score, answered FROM answer ORDER BY rater, answered, rowid"
        numbers: dict[int, int] = {}
        for rater, question, score, answered in self.base.execute(query):
            number = numbers.setdefault(rater, len(numbers) + 1)
            yield GivenAnswer(number, question, self.questions[question], score, answered)

    def close(self) -> None:
        self.base.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.base.execute("ROLLBACK")
            raise
        self.base.execute("COMMIT")

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Troubles of the disk as a sentence."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise FileFormatError(f"{self.path}: cannot be written ({error})") from error


def _check_kind(path: Path) -> None:
    """Refuse what is no study by its first bytes, before SQLite may change anything in it."""
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
