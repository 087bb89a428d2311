"""How players turn normals, and which morph targets of normals they show: real players keep to the table of engines."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.io.engines import ENGINES
from osteon_bench import engine_normals
from osteon_bench.engine_normals import bench_engine_normals
from osteon_bench.players.normal_plates import CASES, FAN, direction, fan_places, write_fan, write_plate
from osteon_bench.players.normal_players import NORMAL_PLAYERS, NormalPlayer, PlateReading, _angle
from osteon_bench.run import BenchRun

from .conftest import need

BY_NAME = {case.name: case for case in CASES}
MOVED = [case for case in CASES if not case.targets]


@pytest.mark.parametrize("player", NORMAL_PLAYERS[:-1], ids=lambda player: player.name)
def test_players_keep_to_the_table(player, monkeypatch, tmp_path):
    """Blender, the last one, has an environment of its own: scripts/test-blender."""
    need(player.why_not())
    kept = [case for case in CASES if case.zeros in ("stored zeros", "nothing") and len(case.targets) < 7]
    monkeypatch.setattr(engine_normals, "NORMAL_PLAYERS", (player,))
    monkeypatch.setattr(engine_normals, "CASES", kept)
    run = BenchRun(tmp_path, 1)
    rows = bench_engine_normals(run)
    assert len(rows) == len(kept)
    assert [row for row in rows if not row.ok] == []
    assert not run.missing
    bounds = sum(row.bound is not None for row in rows)
    assert bounds == len(kept) - 2 if ENGINES[player.engine].normal_targets else len(MOVED)


def test_files_are_valid(messages, tmp_path):
    files = [write_plate(case, tmp_path / f"{i}.glb") for i, case in enumerate(CASES)] + [
        write_fan(tmp_path / "fan.glb")
    ]
    assert [said for said in messages(files) if said] == []


def test_the_forms_of_a_plate():
    angles = {form: round(BY_NAME["two bones that scale"].angle(form), 1) for form in FORMS}
    assert angles == dict(zip(FORMS, (21.8, 68.2, 58.0, 45.0), strict=True))
    assert {round(BY_NAME["one bone that turns"].angle(form), 6) for form in FORMS} == {60.0}
    rigid = BY_NAME["two rigid bones"]
    assert rigid.angle(FORMS[0]) == pytest.approx(rigid.angle(FORMS[2]))


FORMS = ("the linear part", "its inverse transpose", "the bones' inverse transposes", "the surface")


def test_a_colour_is_an_angle():
    colors = 255 * np.abs([direction(angle) for angle in FAN]) ** 0.5
    assert _angle(colors, colors[7]) == pytest.approx(FAN[7])
    assert _angle(colors, (colors[7] + colors[8]) / 2) == pytest.approx((FAN[7] + FAN[8]) / 2)
    assert len(fan_places()) == len(FAN)


def test_a_player_that_turns_normals_otherwise_is_seen(monkeypatch, tmp_path):
    def read(cases, folder):
        return [PlateReading(case.angle("its inverse transpose"), case.middle) for case in cases]

    broken = NormalPlayer("broken", "web", lambda: "", lambda cases, folder: [PlateReading(error="no")] * len(cases))
    absent = NormalPlayer("absent", "web", lambda: "it is not here", read)
    monkeypatch.setattr(
        engine_normals, "NORMAL_PLAYERS", (NormalPlayer("other", "web", lambda: "", read), broken, absent)
    )
    run = BenchRun(tmp_path, 1)
    missed = {row.case for row in bench_engine_normals(run) if not row.ok}
    assert {"other, one bone that scales", "other, two rigid bones"} <= missed
    assert "other, one bone that turns" not in missed
    assert "other, normals only, stored zeros for positions" not in missed
    assert {"broken, one bone that turns", "broken, normals only, stored zeros for positions"} <= missed
    assert run.missing == ["absent: omitted, it is not here"]
