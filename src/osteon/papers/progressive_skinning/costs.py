"""Tables 1 and 2, and figures 6 and 7: what bones and blends cost, and what they contribute."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.transforms import identity
from osteon.deform.pose import pose_character
from osteon.lod.level_player import LevelPlayer, LocalKeys, plan_level
from osteon.lod.search.fit_orders import runs_of
from osteon.lod.search.level_errors import OPERATIONS, blend_moments, level_errors
from osteon.lod.search.skin_motion import read_skin_motion
from osteon.papers.drawings import curves
from osteon.papers.entries import Compared, Shown, Table
from osteon.papers.progressive_skinning.soldier import Soldier, soldier
from osteon.papers.progressive_skinning.surface import surface_drawing
from osteon.papers.run import PaperRun
from osteon.report.charts import Axis, Series
from osteon.report.page_parts import number

#: Table 1 of the paper: operations that interpolate the parts of a bone's transform.
INTERPOLATION = {
    "Scale": "1 SUB, 1 MADD",
    "Translate": "1 SUB, 1 MADD",
    "Rotation-Slerp": "4 TRIG, 1 DOT, 2 MADD",
    "Rotation-Lerp": "1 SUB, 2 MADD, 1 RSQRT",
}
#: Characters per call, bones and keys of the timed track, and repetitions; the fastest counts.
CROWD, BONES, KEYS = 64, 44, 8


def _best(work: Callable[[], object], runs: int) -> float:
    """Processor seconds of the fastest of several runs, which other programs on the machine hardly affect."""
    found = []
    for _ in range(runs + 1):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found[1:])


def _timed_keys(angle: float, stretched: bool) -> LocalKeys:
    """Keys of bones without parents that rotate by an angle (radians) per key; with `stretched` also scaled."""
    turn = angle * np.arange(KEYS) / 2
    quaternions = np.stack([np.sin(turn), 0 * turn, 0 * turn, np.cos(turn)], axis=1)
    rotations = np.repeat(quaternions[:, None], BONES, axis=1)
    rotations[1:] *= np.where((rotations[1:] * rotations[:-1]).sum(axis=2, keepdims=True) < 0, -1, 1)
    scale = 1 + 0.1 * np.arange(KEYS)[:, None, None, None] * np.eye(3)
    stretches = np.broadcast_to(scale, (KEYS, BONES, 3, 3)).copy() if stretched else np.empty((0, BONES, 3, 3))
    return LocalKeys(
        np.ascontiguousarray(rotations), np.ones((KEYS, BONES, 3)), stretches, np.full(BONES, -1, np.int64),
        identity(BONES),
    )  # fmt: skip


def interpolation_costs(runs: int) -> dict[str, float]:
    """Nanoseconds per bone that the run time takes for a bone, by what is interpolated."""
    from osteon.lod.bone_order import BoneOrder

    order = BoneOrder(
        np.arange(BONES, dtype=np.int32), np.full(BONES, -1, np.int32), identity(BONES).astype(np.float32),
        np.zeros(BONES + 1), 0.0,
    )  # fmt: skip
    frames = np.random.default_rng(0).uniform(0, KEYS - 1, CROWD)
    found = {}
    for name, angle, stretched in (
        ("translation and a rotation by less than 26 degrees per key", 0.2, False),
        ("translation and a rotation by 90 degrees per key", np.pi / 2, False),
        ("scale, translation and a rotation by less than 26 degrees", 0.2, True),
    ):
        player = LevelPlayer(_timed_keys(angle, stretched), order, plan_level(order, BONES))
        found[name] = 1e9 * _best(lambda player=player: player.prepare(frames), runs) / CROWD / BONES  # type: ignore[misc]
    return found


def table_1(run: PaperRun) -> Shown:
    """Operations that interpolate a bone, and what our run time takes for a bone."""
    found = interpolation_costs(run.size(40, 3))
    printed = tuple((f"{name} (paper)", operations, "-") for name, operations in INTERPOLATION.items())
    ours = tuple((f"Osteon: {name}", "whole bone", f"{number(value)} ns") for name, value in found.items())
    rows = printed + ours
    table = Table(("transform", "operations", "time per bone"), rows, frozenset(range(len(printed))))
    text = (
        "The paper counts operations. Ours are times of the run time of Python: a bone's keys interpolated, made a "
        f"matrix and multiplied with its parent and bind matrix, for {CROWD} characters of {BONES} bones. Short arcs "
        "need no sines; scale is skipped where no bone changes its size."
    )
    return Shown(text, (table,), numbers=found)


#: Seconds are the least of so many runs.
RUNS = 20


def blend_seconds(body: Soldier, runs: int) -> list[float]:
    """Processor seconds of posing the character with 1 … k blends on one thread, runs alternating."""
    clip = 0
    matrices = body.transforms_at(clip, body.levels.orders[clip].n_ordered, np.zeros(1)).copy()
    characters = [body.with_blends(k) for k in range(1, body.levels.blends.n_blends + 1)]
    best = np.full(len(characters), np.inf)
    for _ in range(runs + 1):
        for k, one in enumerate(characters):
            begin = time.process_time()
            pose_character(one, matrices, threads=1)
            best[k] = min(best[k], time.process_time() - begin)
    return [float(value) for value in best]


def table_2(run: PaperRun) -> Shown:
    """Operations per vertex with one to four blends, and our times."""
    body = soldier(run)
    seconds = blend_seconds(body, run.size(4 * RUNS, 2))
    each = [1e9 * value / body.model.n_vertices for value in seconds]
    count = min(len(each), len(OPERATIONS))
    rows = (
        ("operations (paper)", *(f"{value:g}" for value in OPERATIONS[:count])),
        ("operations over one blend (paper)", *(number(value / OPERATIONS[0]) for value in OPERATIONS[:count])),
        ("ns per vertex", *(number(value) for value in each[:count])),
        ("time over one blend", *(number(value / each[0]) for value in each[:count])),
    )
    head = ("blends", *(str(k) for k in range(1, count + 1)))
    why = "Ours is a time in the run time of Python, which also loads weights and stores vertices."
    compared = tuple(
        Compared(f"{k + 1} blends over one", OPERATIONS[k] / OPERATIONS[0], each[k] / each[0], "Table 2", why=why)
        for k in range(1, count)
    )
    text = f"Operations of the vertex shader, and times of posing the {body.name} ({body.model.n_vertices:,} vertices)."
    return Shown(text, (Table(head, rows, frozenset((0, 1))),), compared, {"ns_per_vertex": each})


#: Instances of the scene of figure 6, and counts of bones.
INSTANCES, COUNTS = 16, 9


def frame_seconds(body: Soldier, counts: list[int], runs: int) -> Float64:
    """(n,k) processor seconds of a frame by active bones and blends: matrices and vertices of all instances."""
    clip = int(np.argmax([order.base for order in body.levels.orders]))
    frames = np.linspace(0, body.model.clips[clip].n_frames - 1, INSTANCES)
    players = [body.player(clip, count) for count in counts]
    characters = [body.with_blends(k) for k in range(1, body.levels.blends.n_blends + 1)]
    found = np.full((len(players), len(characters)), np.inf)
    for _ in range(runs + 1):
        for i, player in enumerate(players):
            for k, one in enumerate(characters):
                begin = time.process_time()
                pose_character(one, player.prepare(frames), threads=1)
                found[i, k] = min(found[i, k], time.process_time() - begin)
    return found


def frame_rate(run: PaperRun) -> Shown:
    """Figure 6: frames per second of the crowd over active bones and blends."""
    body = soldier(run)
    n_bones, n_blends = body.levels.n_ordered, body.levels.blends.n_blends
    counts = sorted({max(1, round(n_bones * part)) for part in np.linspace(0, 1, run.size(COUNTS, 3))})
    seconds = frame_seconds(body, counts, run.size(RUNS, 1))
    rates = 1 / seconds
    names = ("active bones", "blends", "frames per second")
    drawing = surface_drawing(
        "Frame rate over bones and blends", counts, list(range(1, n_blends + 1)), rates, names,
        note=f"{INSTANCES} instances of {body.model.n_vertices:,} vertices, each in its own frame; nothing is drawn.",
    )  # fmt: skip
    preparing = curves(
        "Preparing matrices",
        [Series("", counts, _prepare_times(body, counts, run.size(4 * RUNS, 1)), dots=True)],
        Axis("active bones", whole=True),
        Axis("microseconds for all instances"),
        note="Interpolation, kinematics and palette alone, where the number of bones counts.",
    )
    whole = float(seconds[-1, -1])
    saved = [100 * (1 - float(one) / whole) for one in (seconds[0, -1], seconds[-1, 0])]
    text = (
        f"{INSTANCES} instances of the {body.name}, posed by the run time of Python on one thread of this machine: "
        f"all bones and blends take {number(1000 * whole)} ms per frame. One bone instead of all saves "
        f"{number(saved[0])} % of it, one blend instead of all {number(saved[1])} %. In the paper bones limit the "
        "frame rate and blends run on the graphics card; here the CPU poses the vertices as well."
    )
    return Shown(text, (drawing, preparing), numbers={"bones": counts, "seconds": seconds})


def _prepare_times(body: Soldier, counts: list[int], runs: int) -> list[float]:
    """Microseconds of preparing the matrices of all instances by the number of bones."""
    clip = int(np.argmax([order.base for order in body.levels.orders]))
    frames = np.linspace(0, body.model.clips[clip].n_frames - 1, INSTANCES)
    players = [body.player(clip, count) for count in counts]
    return [1e6 * _best(lambda player=player: player.prepare(frames), runs) for player in players]  # type: ignore[misc]


def error_by_bones(run: PaperRun) -> Shown:
    """Figure 7: squared error in percent of the largest, over active bones, and over blends."""
    body = soldier(run)
    motion = read_skin_motion(body.model, body.levels.blends.skin)
    moments = blend_moments(motion, body.levels.blends)
    orders = body.levels.orders
    grids = [level_errors(motion, moments, order, part) for order, part in zip(orders, runs_of(motion), strict=False)]
    total = np.sum(grids, axis=0)
    base = sum(order.base for order in orders)
    counts = list(range(1, len(total)))
    chart = curves(
        "Error over active bones, all clips",
        [
            Series(
                f"{k + 1} {'blend' if k == 0 else 'blends'}", counts, (100 * total[1:, k] / base).tolist(), kind=k % 5
            )
            for k in range(total.shape[1])
        ],
        Axis("active bones", whole=True),
        Axis("squared error, % of that of one bone"),
        note="The largest error is that of the root of the rig alone, copied by all bones.",
    )
    shown = sorted(range(len(orders)), key=lambda c: -orders[c].base)[:5]
    by_clip = curves(
        "Error over active bones by clip, all blends",
        [
            Series(orders[c].clip, counts, np.maximum(100 * orders[c].shares[1:], 1e-6).tolist(), kind=i)
            for i, c in enumerate(shown)
        ],
        Axis("active bones", whole=True),
        Axis("squared error, % of that of one bone", log=True),
        note="Values below 0.000001 % are shown as that.",
    )
    quarter = max(1, round(len(counts) / 4))
    text = (
        f"With a quarter of the bones ({quarter} of {len(counts)}) {number(100 * float(total[quarter, -1]) / base)} % "
        f"of the squared error of the {body.name} is left, over all clips: each clip moves few of the "
        "bones, in its own order."
    )
    return Shown(text, (chart, by_clip), numbers={"percent": 100 * total / base})
