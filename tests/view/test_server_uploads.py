"""Uploads side by side: counted while they arrive, given back once, and never more than one at a time may be."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from osteon.core.errors import OptionError, OsteonError
from osteon.view.server import uploads as upload_file
from osteon.view.server.uploads import Dropped, TooManyUploads, Uploads, plain_name

from .serving import RawLine, served, wait_until


async def bytes_of(size: int, pieces: int = 10) -> AsyncIterator[bytes]:
    """A body that lets others come in between."""
    for _ in range(pieces):
        yield bytes(size // pieces)
        await asyncio.sleep(0)


async def take(uploads: Uploads, drop: Dropped, index: int, size: int, pieces: int = 10) -> str:
    """As a route does: the name of the refusal, if there is one."""
    try:
        with uploads.taking(drop):
            await uploads.keep(drop, f"f{index}.obj", index, bytes_of(size, pieces))
    except OsteonError as error:
        return type(error).__name__
    return ""


def take_all(uploads: Uploads, *files: tuple[Dropped, int, int]) -> list[str]:
    async def scene() -> list[str]:
        return await asyncio.gather(*(take(uploads, *file) for file in files))

    return asyncio.run(scene())


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "dropped", limit=1000)


def test_the_files_of_a_drop_count_together_while_they_arrive(uploads):
    drop = uploads.drop("f.obj", "g", 3)
    said = take_all(uploads, (drop, 0, 700), (drop, 1, 700))
    assert said == ["TooLarge", "OptionError"] or said == ["OptionError", "TooLarge"]
    assert (uploads.size, uploads.begun, uploads.arriving, uploads.waiting) == (0, 0, 0, {})
    assert not list(uploads.folder.rglob("*.obj"))


def test_all_drops_count_together_while_they_arrive(uploads):
    drops = [uploads.drop(f"f{i}.obj", None, 1) for i in range(8)]
    said = take_all(uploads, *((drop, 0, 900) for drop in drops))
    assert said.count("") == 4
    assert said.count("TooLarge") == 4
    assert uploads.size == 4 * 900
    assert uploads.begun == 4


def test_what_is_discarded_twice_is_given_back_once(uploads):
    kept, other = uploads.drop("a.obj", None, 1), uploads.drop("b.obj", None, 1)
    assert take_all(uploads, (kept, 0, 500), (other, 0, 300)) == ["", ""]
    for _ in range(3):
        uploads.discard(other)
    assert (uploads.size, uploads.begun) == (500, 1)
    assert not other.folder.exists()
    assert kept.folder.exists()


def test_what_still_arrives_of_a_discarded_drop_is_refused_and_not_counted(uploads):
    async def scene() -> None:
        drop = uploads.drop("f.obj", "g", 2)
        slow = asyncio.create_task(take(uploads, drop, 0, 500))
        for _ in range(4):
            await asyncio.sleep(0)
        assert 0 < uploads.size < 500  # counted before it is complete
        uploads.discard(drop)
        assert uploads.size > 0  # what is still written is still there
        assert await slow == "OptionError"
        assert (uploads.size, uploads.begun, uploads.arriving) == (0, 0, 0)
        again = uploads.drop("f.obj", "g", 2)
        assert again is not drop

    asyncio.run(scene())


def test_only_so_many_files_arrive_at_a_time(uploads, monkeypatch):
    monkeypatch.setattr(upload_file, "MAX_ARRIVING", 3)
    drops = [uploads.drop(f"f{i}.obj", None, 1) for i in range(5)]
    said = take_all(uploads, *((drop, 0, 10) for drop in drops))
    assert said.count("TooManyUploads") == 2
    assert uploads.arriving == 0


def test_only_so_many_files_are_kept(uploads, monkeypatch):
    monkeypatch.setattr(upload_file, "MAX_FILES", 2)
    drops = [uploads.drop(f"f{i}.obj", None, 1) for i in range(10)]
    assert take_all(uploads, *((drop, 0, 0) for drop in drops)).count("TooLarge") == 2


def test_the_same_place_twice_is_refused_also_while_the_first_arrives(uploads):
    drop = uploads.drop("f.obj", "g", 3)
    assert take_all(uploads, (drop, 0, 100), (drop, 0, 100)) == ["OptionError", "OptionError"]
    assert uploads.size == 0


def test_a_group_whose_sender_went_away_gives_way(uploads, monkeypatch):
    monkeypatch.setattr(upload_file, "MAX_GROUPS", 2)
    for group in ("a", "b"):
        assert take_all(uploads, (uploads.drop("f.obj", group, 2), 0, 100)) == [""]
    with pytest.raises(TooManyUploads, match="arriving at the same time"):
        uploads.drop("f.obj", "c", 2)
    monkeypatch.setattr(upload_file, "ABANDONED", -1.0)
    uploads.drop("f.obj", "c", 2)
    assert list(uploads.waiting) == ["c"]
    assert uploads.size == 0


def test_a_group_cannot_change_its_count(uploads):
    uploads.drop("f.obj", "g", 2)
    with pytest.raises(OptionError, match="2 files of this sequence were announced, now 3"):
        uploads.drop("f.obj", "g", 3)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("NUL.obj", "_NUL.obj"), ("com1.x.obj", "_com1.x.obj"), ("console.obj", "console.obj"),
        ("a%0d%0aSet-Cookie%3a.obj", "a__Set-Cookie_.obj"), (".hidden.obj", "hidden.obj"), ("a.obj%20.", "a.obj"),
        ("%2fetc%2f..%2fa.OBJ", "a.obj"),
    ],
)  # fmt: skip
def test_names_mean_nothing_to_a_file_system(header, name):
    assert plain_name(header) == name


def test_uploads_side_by_side_over_real_lines(tmp_path):
    chunk = b"8000\r\n" + bytes(0x8000) + b"\r\n"
    with served(tmp_path / "view") as running:
        running.session.uploads.limit = 500_000
        raw = [RawLine(running.port) for _ in range(10)]
        for i, line in enumerate(raw):
            name = f"X-Name: f{i}.obj"
            line.begin("POST", f"/{running.token}/open?group=g&index={i}&count=99", name, "Transfer-Encoding: chunked")
        assert wait_until(lambda: running.session.uploads.arriving == 10)
        for line in raw:
            line.pour(chunk, 40_000)
        assert wait_until(lambda: running.session.uploads.size > 300_000)  # none of them is complete
        pouring = [threading.Thread(target=line.pour, args=(chunk, 400_000)) for line in raw]
        for thread in pouring:
            thread.start()
        most, end = 0, time.monotonic() + 300
        while running.session.uploads.arriving and time.monotonic() < end:
            most = max(most, running.session.uploads.size)
        assert most <= 500_000
        for thread in pouring:
            thread.join(300)
        for line in raw:
            line.close()
        assert wait_until(lambda: running.session.uploads.size == 0)
        assert running.session.uploads.begun == 0
        assert running.get("scene").status == 200


def test_every_one_of_many_parallel_uploads_gets_a_status(tmp_path):
    """200 uploads at the same time: those over the limit are refused with 503 and a text, none is closed silently."""
    with served(tmp_path / "view") as running:
        raw = [RawLine(running.port) for _ in range(200)]
        for i, line in enumerate(raw):
            line.begin("POST", f"/{running.token}/open", f"X-Name: f{i}.obj", "Content-Length: 200000")
        for line in raw:
            line.pour(bytes(200_000), 200_000)
        found = [line.rest_of_answer() for line in raw]
        for line in raw:
            line.close()
    statuses = [int(answer[9:12]) for answer in found]
    assert set(statuses) <= {400, 503}  # 400: no mesh; 503: over the limit
    assert statuses.count(400) >= upload_file.MAX_ARRIVING
    assert all(b"files are arriving already" in answer for answer in found if answer[9:12] == b"503")


def test_a_sender_that_goes_away_in_the_midst_is_forgotten(tmp_path):
    with served(tmp_path / "view") as running:
        for i in range(20):
            line = RawLine(running.port)
            query = f"?group=g{i}&index=0&count=2" if i % 2 else ""
            line.begin("POST", f"/{running.token}/open{query}", "X-Name: a.obj", "Content-Length: 1000000")
            line.pour(bytes(10_000), 100_000)
            line.close()
        assert wait_until(lambda: running.session.uploads.arriving == 0)
        assert wait_until(lambda: running.session.uploads.size == 0)
        assert running.session.uploads.waiting == {}
        assert not list((tmp_path / "view" / "dropped").rglob("*.obj"))
