"""Children that stay from one file to the next answer as new ones do, and are replaced when they are unfit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.core.sequence import MeshSequence
from osteon.io import load_sequence
from osteon.io.alembic.read import ALEMBIC_TASK
from osteon.io.load.source import Source
from osteon.io.native import client
from osteon.io.native.client import FrameRoom, NativeChild
from osteon_bench.fuzzing import reused_children as module
from osteon_bench.fuzzing.forked import Fork
from osteon_bench.fuzzing.line_coverage import LineCoverage
from osteon_bench.fuzzing.readers import READERS
from osteon_bench.fuzzing.reused_children import reuse_child

pytest.importorskip("alembic3d")
CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"


@pytest.fixture(autouse=True)
def forks(monkeypatch):
    """Every fork that is made; none is left."""
    made: list[Fork] = []

    class Watched(Fork):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(module, "Fork", Watched)
    yield made
    module._end_idle()
    assert all(fork.poll() is not None for fork in made)


@pytest.fixture
def file(tmp_path):
    def write(data: bytes) -> Path:
        (tmp_path / "input.abc").write_bytes(data)
        return tmp_path / "input.abc"

    return write


def test_one_child_reads_many_files_each_as_it_is(file, forks):
    written, cage, _ = READERS["alembic"].seeds()
    read = reuse_child(load_sequence)
    for data in (written, cage, written, written):
        path = file(data)
        alone, lent = load_sequence(path), read(path)
        assert isinstance(lent, MeshSequence)
        np.testing.assert_array_equal(lent.frames, alone.frames)
        np.testing.assert_array_equal(lent.faces, alone.faces)
    assert len(forks) == 1
    assert [entry.name for entry in path.parent.iterdir()] == ["input.abc"]


def test_one_that_dies_is_replaced(file, forks):
    read, sound = reuse_child(load_sequence), READERS["alembic"].seeds()[0]
    assert read(file(sound))
    before = Fork.deaths
    with pytest.raises(FileFormatError, match="the library failed on it"):
        read(file((CORPUS / "alembic" / "the-library-dies.abc").read_bytes()))
    assert Fork.deaths == before + 1
    assert read(file(sound))
    assert len(forks) == 2


def test_an_old_one_is_replaced(file, forks, monkeypatch):
    monkeypatch.setattr(module, "OLD", 2)
    path, before = file(READERS["alembic"].seeds()[0]), Fork.deaths
    for _ in range(4):
        reuse_child(load_sequence)(path)
    assert len(forks) == 2
    assert Fork.deaths == before


def test_one_left_in_the_middle_of_an_answer_is_replaced(file, forks):
    source = Source(file(READERS["alembic"].seeds()[0]))
    asked = {"question": "sequence", "fps": "file", "clips": [], "path": str(source.path)}
    with module.reused_children():
        child = NativeChild(ALEMBIC_TASK, source, 1000)
        child.send(asked)
        child.end()
        assert forks[0].poll() is not None
        again = NativeChild(ALEMBIC_TASK, source, 1000)
        room = FrameRoom(source)
        assert again.query(asked, room).value["clips"]
        again.end()
    assert room.frames is not None
    assert len(forks) == 2
    assert forks[1].poll() is None


def test_lines_are_counted_in_a_fork_of_its_own(file, forks):
    path = file(READERS["alembic"].seeds()[0])
    count = LineCoverage(("alembic.read", "alembic.ogawa"))
    with count.counting():
        reuse_child(load_sequence)(path)
    assert {Path(name).name for name, _ in count.run} == {"read.py", "ogawa.py"}
    assert [fork.poll() is not None for fork in forks] == [True]


def test_outside_the_block_children_are_new(file):
    assert client.start_process is client._start_interpreter
