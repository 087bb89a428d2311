"""The bench of foreign files: what counts as one source, and what becomes of good, still and damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest

from osteon.io import save_model
from osteon_bench.foreign.command import CommandRun
from osteon_bench.foreign.sources import find_sources
from osteon_bench.foreign.trial import agree
from osteon_bench.rows import Row
from osteon_bench.run import BenchRun
from osteon_bench.strangers import bench_strangers

from ...subjects import bent_tube

TRIANGLE = "v 0 0 {z}\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def test_numbered_meshes_of_a_folder_are_one_source_and_other_files_their_own(tmp_path: Path) -> None:
    for name in ("walk/a1.obj", "walk/a2.obj", "walk/a10.obj", "walk/prop.obj", "run1.glb", "run2.glb", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = {source.name: [file.name for file in source.files] for source in find_sources(tmp_path)}
    assert found == {
        "run1.glb": ["run1.glb"],
        "run2.glb": ["run2.glb"],
        "walk/a#.obj": ["a1.obj", "a2.obj", "a10.obj"],
        "walk/prop.obj": ["prop.obj"],
    }


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    folder = tmp_path_factory.mktemp("foreign")
    save_model(bent_tube().model, folder / "bar.glb")
    (folder / "still.obj").write_text(TRIANGLE.format(z=0))
    (folder / "damaged.glb").write_bytes(b"glTF and then nothing")
    return bench_strangers(BenchRun(folder, 1))


def test_a_character_is_skinned_played_and_skinned_again_on_its_own_rig(rows: list[Row]) -> None:
    found = {row.metric: row for row in rows if row.case == "bar.glb"}
    assert found["E % on its own rig"].value < 0.01
    assert found["E % on its own rig"].bound == 0.1
    assert found["seconds of the slowest command"].value > 0
    assert 20 < found["MB at most"].value < 1000


def test_refusals_are_counted_by_reason_and_nothing_breaks(rows: list[Row]) -> None:
    totals = {row.metric: row.value for row in rows if row.case == "all"}
    assert (totals["files"], totals["animated"], totals["refused"]) == (3, 1, 1)
    assert totals["tracebacks, signals and wrong codes"] == 0
    assert totals["files on which info and skin disagree"] == 0
    reasons = [row.metric for row in rows if row.case == "refused"]
    assert len(reasons) == 1
    assert reasons[0].startswith("FILE: ")


def test_a_folder_without_files_is_missed(tmp_path: Path) -> None:
    run = BenchRun(tmp_path, 1)
    assert bench_strangers(run) == []
    assert "--data" in run.missing[0]


@pytest.mark.parametrize(("code", "said", "broke"), [(2, "osteon: no", False), (1, "", True), (-11, "", True)])
def test_what_counts_as_broken(code: int, said: str, broke: bool) -> None:
    run = CommandRun(("info",), code, "", said, 1.0, 10.0)
    assert run.broke is broke


@pytest.mark.parametrize(
    ("facts", "code", "said", "agrees"),
    [
        (None, 2, "osteon: a.glb: is damaged", True),
        (None, 0, "", False),
        ({"kind": "sequence", "frames": 9}, 0, "", True),
        ({"kind": "sequence", "frames": 9}, 2, "osteon: a.fbx: cannot be read as FBX", False),
        ({"kind": "sequence", "frames": 9}, 2, "osteon: a.fbx: nothing moves, all frames are equal", True),
        ({"kind": "mesh", "frames": 1}, 2, "osteon: a.obj: has one frame; a sequence needs at least two", True),
        ({"kind": "mesh", "frames": 1}, 2, "osteon: a.fbx: holds no triangles", False),
        ({"kind": "clips", "frames": 9}, 2, "osteon: a.glb: holds clips but no mesh; play them with --rig FILE", True),
    ],
)
def test_info_and_skin_agree_where_both_read_a_file_or_neither(
    facts: dict[str, object] | None, code: int, said: str, agrees: bool
) -> None:
    assert agree(facts, CommandRun(("skin",), code, "", said, 1.0, 10.0)) is agrees


def test_a_traceback_is_broken_whatever_the_code() -> None:
    assert CommandRun(("info",), 2, "", "Traceback (most recent call last):\n", 1.0, 10.0).broke
