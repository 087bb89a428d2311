"""Rigs are preserved: characters before and after `osteon skin --rig`, read by three.js and as plain JSON.

- Frames of a character skinned on it: nodes, tree, order, local rest transforms, inverse bind matrices, names,
materials
  and clips are unchanged; the new clip is the fitted motion.
- Clips without a mesh: no byte of the JSON's other values or of the buffer differs, and the character's own clips are
  unchanged.
- The same clips on the character at 0.5, 2 and 100 times its size: its size is unchanged.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from osteon_bench.foreign.command import CommandRun, run_command
from osteon_bench.kept_reader import changed_bytes, changed_parts, read_plain, write_clips_alone, write_resized
from osteon_bench.players.browser import WebPlayer, start_players
from osteon_bench.players.tools import why_no_browser
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

CHARACTERS = ("Soldier", "CesiumMan", "Fox", "FpsArms", "RiggedFigure")
SIZES = (0.5, 2.0, 100.0)
#: Largest extent of a body in a clip over that at rest.
LARGEST = 1.5
#: Number of skinned frames; different from that of the character, so that the motion is matched.
FRAMES = 20
#: Numbers of three.js that differ by less are equal: it computes matrices in double precision from the same floats.
EQUAL = 1e-6
#: Largest deviation of three.js from `osteon play`, in diagonals.
APART = 1e-4
MOMENTS = 8


def bench_rig_kept(run: BenchRun) -> list[Row]:
    """All rows."""
    folder = run.data.parent / "characters"
    missing = why_no_browser(("three",))
    if missing:
        run.report_missing(f"three.js cannot play: {missing}")
        return []
    rows: list[Row] = []
    with start_players(("three",)) as players, TemporaryDirectory(prefix="osteon-rig-kept-") as scratch:
        for name in CHARACTERS:
            path = folder / f"{name}.glb"
            if not path.is_file():
                run.report_missing(f"'{path}' is missing; name the folder beside it with --data")
                continue
            place = Path(scratch) / name
            place.mkdir()
            run.report(f"{name}: skinned")
            rows += _skinned(name, path, place, players["three"])
            run.report(f"{name}: clips")
            rows += _clips(name, path, place, players["three"])
    return rows


def _skinned(name: str, path: Path, place: Path, player: WebPlayer) -> list[Row]:
    """Some frames of the character, skinned on it."""
    frames, out = place / "frames.npz", place / "skinned.glb"
    _save_frames(path, frames)
    done = run_command("skin", str(frames), "--rig", str(path), "-o", str(out), "--force", "--json", "-")
    case = f"{name}, skinned on its rig"
    if not done.done:
        return [_failed(case, done)]
    before, after = read_plain(path), read_plain(out)
    player.open(path)
    held = player.describe()
    player.open(out)
    return [
        at_most(case, "parts of the JSON that changed", len(changed_parts(before, after)), 0),
        *_held_rows(case, held, player.describe()),
        at_most(case, "three.js beside osteon play, of the diagonal", _apart(out, player), APART),
        figure(case, "E %", float(done.facts()["error_percent"])),
        figure(case, "bytes after / before", out.stat().st_size / path.stat().st_size),
    ]


def _failed(case: str, run: CommandRun) -> Row:
    return at_most(f"{case}: {run.reason}", "exit code", float(run.code), 0)


def _save_frames(path: Path, target: Path) -> None:
    from osteon.io import load_model, save_sequence
    from osteon.io.save.sequences import played_sequence

    model = load_model(path)
    count = FRAMES if model.n_frames != FRAMES else FRAMES - 1
    chosen = np.unique(np.linspace(0, model.n_frames - 1, count).astype(np.int32))
    save_sequence(played_sequence(model.take_frames(chosen)), target)


def _held_rows(case: str, before: dict[str, Any], after: dict[str, Any]) -> list[Row]:
    """Differences in three.js; only the original clips are compared."""
    counts = {
        "nodes whose name, parent or order changed": _differing(_tree(before), _tree(after)),
        "nodes whose local rest changed": _differing(_matrices(before["nodes"]), _matrices(after["nodes"])),
        "skeletons whose joints or inverse binds changed": _differing(before["skins"], after["skins"]),
        "materials that changed": _differing(before["materials"], after["materials"]),
        "meshes that changed": _differing(before["meshes"], after["meshes"]),
        "clips that changed": _differing(before["clips"], after["clips"][: len(before["clips"])]),
    }
    return [at_most(case, f"three.js: {what}", count, 0) for what, count in counts.items()]


def _tree(held: dict[str, Any]) -> list[Any]:
    return [(node["name"], node["parent"]) for node in held["nodes"]]


def _matrices(nodes: list[dict[str, Any]]) -> list[Any]:
    return [node["matrix"] for node in nodes]


def _differing(one: list[Any], other: list[Any]) -> int:
    return sum(not _equal(a, b) for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are the same, numbers up to rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) <= EQUAL * max(1.0, abs(one))
    return bool(one == other)


def _apart(path: Path, player: WebPlayer) -> float:
    """Deviation of the last clip in three.js from `osteon play`."""
    from osteon.deform.pose import pose_frames
    from osteon.io import load_model

    model = load_model(path)
    clip = model.clips[-1]
    frames = np.unique(np.linspace(clip.start, clip.stop - 1, MOMENTS).astype(np.int64))
    shown = player.corners(len(model.clips) - 1, [(f - clip.start) / clip.fps for f in frames.tolist()])
    posed = np.stack([pose_frames(model, f, f + 1)[0] for f in frames.tolist()])[:, model.faces.ravel()]
    return float(np.abs(shown - posed).max() / model.diagonal)


def _clips(name: str, path: Path, place: Path, player: WebPlayer) -> list[Row]:
    """The clips of a character without its mesh, on itself and on scaled copies."""
    before = read_plain(path)
    clips, out = place / "clips.glb", place / "appended.glb"
    write_clips_alone(before, clips)
    done = run_command("skin", str(clips), "--rig", str(path), "-o", str(out), "--force", "--json", "-")
    case = f"{name}, clips without a mesh"
    if not done.done:
        return [_failed(case, done)]
    joints = done.facts()["joints"]
    player.open(path)
    held, own = player.describe(), _last_moments(player, 0)
    player.open(out)
    rows = [
        at_most(case, "bytes that changed, besides what was appended", changed_bytes(before, read_plain(out)), 0),
        *_held_rows(case, held, player.describe()),
        at_least(case, "joints matched / moved", joints["matched"] / joints["moved"], 1.0),
        at_most(
            case, "own clip in three.js, moved by, in units of the file", _moved(own, _last_moments(player, 0)), 0.0
        ),
        at_most(case, "appended clip beside the own one", _moved(own, _last_moments(player, len(held["clips"]))), 0.0),
    ]
    for size in SIZES:
        rows.append(_resized(name, before, place, size, player))
    return rows


def _last_moments(player: WebPlayer, clip: int) -> list[np.ndarray]:
    return list(player.positions(clip, np.linspace(0, player.durations[clip], MOMENTS).tolist()))


def _moved(one: list[np.ndarray], other: list[np.ndarray]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def _resized(name: str, before: Any, place: Path, size: float, player: WebPlayer) -> Row:
    """The largest extent of a clip in three.js over that of the rest pose, on a character of another size."""
    character, out = place / f"size_{size:g}.glb", place / f"moving_{size:g}.glb"
    write_resized(before, character, size)
    done = run_command(
        "skin", str(place / "clips.glb"), "--rig", str(character), "-o", str(out), "--force", "--json", "-"
    )
    case = f"{name}, {size:g} times as large"
    if not done.done:
        return _failed(case, done)
    player.open(out)
    rest = _extent(player.positions(None, [0.0]))
    played = max(_extent(_last_moments(player, clip)) for clip in range(len(player.clips)))
    return at_most(case, "largest extent of its clips / of rest", played / rest, LARGEST)


def _extent(parts: list[np.ndarray]) -> float:
    """The largest diagonal of the bounds in any frame."""
    frames = np.concatenate(parts, axis=1)
    return float(np.linalg.norm(np.ptp(frames, axis=1), axis=1).max())
