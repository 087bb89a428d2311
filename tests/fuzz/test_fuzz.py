"""Some hundred damaged files for every reader, always the same ones, and those that once did harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from osteon.core.errors import OsteonError
from osteon_bench.fuzzing.attempt import attempt_file
from osteon_bench.fuzzing.campaign import fuzz_reader
from osteon_bench.fuzzing.readers import READERS, is_installed, make_input

CORPUS = Path(__file__).parent / "corpus"
KEPT = sorted(path for path in CORPUS.rglob("*") if path.is_file())
#: Damaged files a reader: about a minute of one core in all.
INPUTS = 700


@pytest.fixture(params=[pytest.param(name, id=name) for name in READERS])
def reader(request):
    found = READERS[request.param]
    if not is_installed(found):
        pytest.skip(f"{found.package} is not installed")
    return found


def _beside(reader, folder):
    for name, data in reader.companions().items():
        (folder / name).write_bytes(data)


def test_every_seed_is_read_by_some_loader(reader, tmp_path):
    _beside(reader, tmp_path)
    for number, data in enumerate(reader.seeds()):
        path = tmp_path / f"seed{reader.suffix}" if reader.name != "mtl" else tmp_path / "input.mtl"
        path.write_bytes(data)
        assert any(_opens(loader, path) for loader in reader.loaders()), number


def _opens(loader, path):
    try:
        loader(path)
    except OsteonError:
        return False
    return True


def test_inputs_are_the_same_for_a_seed_and_differ_from_it(reader):
    seeds = reader.seeds()
    first = [make_input(reader, seeds, 0, n) for n in range(60)]
    assert first == [make_input(reader, seeds, 0, n) for n in range(60)]
    assert first[: len(seeds)] == seeds
    assert len(set(first)) > 40
    assert first[len(seeds) :] != [make_input(reader, seeds, 1, n) for n in range(len(seeds), 60)]


def test_damaged_files_are_read_or_refused(reader):
    found = fuzz_reader(reader, INPUTS, seed=0)
    assert not [(one.number, one.failure.what) for one in found.failed]
    assert found.inputs == INPUTS
    assert found.coverage > 0.3


def test_the_corpus_is_there():
    assert len(KEPT) >= 5
    assert {path.parent.name for path in KEPT} <= set(READERS)
    assert sum(path.stat().st_size for path in KEPT) < 200_000


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_once_did_harm(kept, tmp_path):
    reader = READERS[kept.parent.name]
    if not is_installed(reader):
        pytest.skip(f"{reader.package} is not installed")
    _beside(reader, tmp_path)
    path = tmp_path / f"input{reader.suffix}"
    path.write_bytes(kept.read_bytes())
    assert attempt_file(reader.loaders(), path) is None
