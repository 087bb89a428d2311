"""The ledger of a batch: what is finished, and every attempt, on the disk before anything depends on it.

An asset is finished if its record says so and the fingerprint of the record is that of the present input, options and
version. Outputs are moved to their place in three steps, so that a process that is killed at any moment repeats
nothing that is finished:

    1. the record becomes `placing`, with the size of every file that the command has written aside,
    2. the files are renamed to their place,
    3. the record becomes `finished`.

A batch that finds a record in `placing` carries on with step 2.

There are two ledgers with one interface. `SqliteLedger` is one file that many processes of one machine may write.
`FileLedger` has one JSON file per asset, for file systems that machines share, on which locks of SQLite do not hold.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from osteon.core.errors import FileFormatError
from osteon.io.save.atomic import atomic_file

State = Literal["waiting", "running", "placing", "finished", "failed"]
VERSION = 1
#: Seconds that a writer waits for others.
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file of an output."""

    path: str  # relative to the folder of the batch
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Record:
    """State of one asset."""

    name: str
    state: State = "waiting"
    fingerprint: str = ""  # of input, options and version
    attempts: int = 0  # with this fingerprint
    deaths: int = 0  # of these, how many ended without an answer: a process that died, or exceeded a limit
    runs: int = 0  # that finished, with any fingerprint: more than one is a repetition or a changed input
    reason: str = ""  # why it failed, or the note of a run that missed its bound
    seconds: float = 0.0  # of the run that finished or failed
    exit_code: int = 0
    files: tuple[PlacedFile, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)  # from the report of the command
    began: float = 0.0  # seconds since 1970, for people only: no decision depends on the clock

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(held: dict[str, Any]) -> Record:
        files = tuple(PlacedFile(**entry) for entry in held.get("files", ()))
        return Record(**{**held, "files": files})


class Ledger(Protocol):
    """Records of the assets of one batch."""

    def get(self, name: str) -> Record:
        """The record of an asset, `waiting` if there is none."""

    def put(self, record: Record) -> None:
        """Store a record; it is on the disk when this returns."""

    def records(self) -> list[Record]:
        """All records by name."""

    def digest(self, key: str) -> str | None:
        """A stored digest of a file's content."""

    def put_digest(self, key: str, value: str) -> None: ...

    def close(self) -> None: ...


class SqliteLedger:
    """One SQLite file; many processes of one machine may write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _ledger_errors(path):
            self._held = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            self._held.execute("PRAGMA journal_mode=WAL")
            self._held.execute("PRAGMA synchronous=FULL")
            self._held.execute("CREATE TABLE IF NOT EXISTS asset (name TEXT PRIMARY KEY, record TEXT NOT NULL)")
            self._held.execute("CREATE TABLE IF NOT EXISTS digest (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
            self._held.execute("CREATE TABLE IF NOT EXISTS about (version INTEGER NOT NULL)")
            stored = self._held.execute("SELECT version FROM about").fetchone()
            if stored is None:
                self._held.execute("INSERT INTO about VALUES (?)", (VERSION,))
        if stored is not None and stored[0] != VERSION:
            raise FileFormatError(f"{path}: is version {stored[0]} of the ledger, this release reads {VERSION}")

    def get(self, name: str) -> Record:
        with _ledger_errors(self._path):
            row = self._held.execute("SELECT record FROM asset WHERE name = ?", (name,)).fetchone()
        return Record(name) if row is None else _parsed(row[0], self._path)

    def put(self, record: Record) -> None:
        with _ledger_errors(self._path):
            values = (record.name, json.dumps(record.to_json()))
            self._held.execute("INSERT OR REPLACE INTO asset VALUES (?, ?)", values)

    def records(self) -> list[Record]:
        with _ledger_errors(self._path):
            rows = self._held.execute("SELECT record FROM asset ORDER BY name").fetchall()
        return [_parsed(row[0], self._path) for row in rows]

    def digest(self, key: str) -> str | None:
        with _ledger_errors(self._path):
            row = self._held.execute("SELECT value FROM digest WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put_digest(self, key: str, value: str) -> None:
        with _ledger_errors(self._path):
            self._held.execute("INSERT OR REPLACE INTO digest VALUES (?, ?)", (key, value))

    def close(self) -> None:
        self._held.close()


class FileLedger:
    """One JSON file per asset, replaced atomically; each asset has one writer at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str) -> Record:
        path = self._folder / f"{name}.json"
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return Record(name)
        return _parsed(text, path)

    def put(self, record: Record) -> None:
        with atomic_file(self._folder / f"{record.name}.json") as temporary:
            temporary.write_text(json.dumps(record.to_json(), indent=1), encoding="utf-8")

    def records(self) -> list[Record]:
        names = sorted(path.stem for path in self._folder.glob("*.json") if not path.name.startswith("."))
        return [self.get(name) for name in names]

    def digest(self, key: str) -> str | None:
        return None  # machines see files with their own times: contents are read again

    def put_digest(self, key: str, value: str) -> None:
        pass

    def close(self) -> None:
        pass


def _parsed(text: str, path: Path) -> Record:
    try:
        return Record.from_json(json.loads(text))
    except (ValueError, TypeError, AttributeError) as error:
        raise FileFormatError(
            f"{path}: holds a record that cannot be read; remove it, and its asset is run again"
        ) from error


@contextmanager
def _ledger_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise FileFormatError(f"{path}: the ledger cannot be used ({error})") from error


def begin(ledger: Ledger, record: Record, fingerprint: str) -> Record:
    """The record of an attempt that begins now."""
    if record.fingerprint != fingerprint:
        record = replace(record, attempts=0, deaths=0)
    begun = replace(
        record,
        state="running",
        fingerprint=fingerprint,
        attempts=record.attempts + 1,
        reason="",
        began=time.time(),
    )
    ledger.put(begun)
    return begun


def place(ledger: Ledger, record: Record, work: Path, folder: Path) -> Record:
    """Move the files of a finished run from `work` to the folder of the batch; see the head of this file."""
    files = tuple(
        PlacedFile(path.relative_to(work).as_posix(), path.stat().st_size)
        for path in sorted(work.rglob("*"))
        if path.is_file()
    )
    placing = replace(record, state="placing", files=files)
    ledger.put(placing)
    done = finish_placing(ledger, placing, work, folder)
    kept = {file.path for file in files}
    for old in record.files:  # of an earlier output, such as frames of a longer clip
        if old.path not in kept:
            with suppress(OSError):
                (folder / old.path).unlink()
    return done


def finish_placing(ledger: Ledger, record: Record, work: Path, folder: Path) -> Record:
    """Rename what is still aside, and mark the asset as finished; as failed if a file is at neither place."""
    for file in record.files:
        aside, final = work / file.path, folder / file.path
        if aside.is_file():
            final.parent.mkdir(parents=True, exist_ok=True)
            os.replace(aside, final)
    if not is_in_place(record, folder):
        lost = replace(record, state="waiting", files=(), reason="files of its output were lost")
        ledger.put(lost)
        return lost
    done = replace(record, state="finished", runs=record.runs + 1)
    ledger.put(done)
    return done


def is_in_place(record: Record, folder: Path) -> bool:
    """Whether all files of an output are there, with the sizes they were written with."""
    if not record.files:
        return False
    for file in record.files:
        with suppress(OSError):
            if (folder / file.path).stat().st_size == file.size:
                continue
        return False
    return True


@contextmanager
def read_ledger(folder: Path) -> Iterator[Ledger]:
    """The ledger of a folder that holds one, for reading."""
    with closing(open_ledger(folder, shared=(folder / "assets").is_dir())) as ledger:
        yield ledger


def open_ledger(state: Path, *, shared: bool) -> Ledger:
    """The ledger in the state folder of a batch; `shared`: several machines write."""
    state.mkdir(parents=True, exist_ok=True)
    return FileLedger(state / "assets") if shared else SqliteLedger(state / "ledger.sqlite")
