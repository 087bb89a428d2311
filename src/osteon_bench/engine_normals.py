"""How players transform normals, and whether they support morph targets of normals, against the table of engines.

The plates are described in players/normal_plates.py. A row of a plate moved by bones is the deviation of the shaded
normal from the form that the table of engines states. A row of a plate with morph targets is 1 if the player shows the
file correctly; it has a bound if the table states that it does.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from osteon.io.engines import ENGINES, Engine
from osteon_bench.players.normal_plates import CASES, PlateCase
from osteon_bench.players.normal_players import ANGLE_TOLERANCE, NORMAL_PLAYERS, NormalPlayer, PlateReading
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

#: Value for a player that shows nothing.
NOTHING = 180.0


def bench_engine_normals(run: BenchRun) -> list[Row]:
    """Rows of every installed player."""
    rows: list[Row] = []
    for player in NORMAL_PLAYERS:
        reason = player.why_not()
        if reason:
            run.report_missing(f"{player.name}: omitted, {reason}")
            continue
        run.report(f"{player.name}: {len(_cases(player))} plates")
        with tempfile.TemporaryDirectory(prefix="osteon-plates-") as folder:
            readings = player.read(_cases(player), Path(folder))
        for case, reading in zip(_cases(player), readings, strict=True):
            run.report(f"{player.name}, {case.name}: {reading.error or f'{reading.angle:.1f} degrees'}")
            rows.append(_row(player, case, reading))
    return rows


def _cases(player: NormalPlayer) -> list[PlateCase]:
    """Accessors without data exist in glTF only."""
    return [case for case in CASES if player.engine != "usd" or case.zeros not in ("empty accessor", "sparse accessor")]


def _row(player: NormalPlayer, case: PlateCase, reading: PlateReading) -> Row:
    engine = ENGINES[player.engine]
    title = f"{player.name}, {case.name}"
    form = engine.normals
    if form is None:
        return figure(title, "degrees of the shaded normal", NOTHING if reading.angle is None else reading.angle)
    if not case.targets:
        off = NOTHING if reading.angle is None else abs(reading.angle - case.angle(form))
        return at_most(title, f"degrees from normals turned by {form}", off, ANGLE_TOLERANCE)
    shown = float(reading.shows(case.angle(form), case.middle))
    metric = "shown as the file says: 1, otherwise: 0"
    return at_least(title, metric, shown, 1.0) if _must_show(engine, case) else figure(title, metric, shown)


def _must_show(engine: Engine, case: PlateCase) -> bool:
    """Whether the table of engines states that it shows the targets of a plate."""
    room = engine.most_targets(2)
    fits = room is None or len(case.targets) <= room
    stored = case.zeros == "stored zeros" or (case.zeros != "nothing" and engine.empty_accessors)
    return engine.normal_targets and fits and stored
