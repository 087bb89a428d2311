"""Levels of detail: error of fewer bones, blends and triangles, cost of the search and of a level, and no pops.

Characters are all skinned ones in `characters/` beside the folder of data, and built-in jointed ones. Shares are of the
squared vertex error with only the root active and all others copying it; a quarter, half and three quarters are of the
bones that vertices use.

- `lod_bones`: shares by clip, compared with the paper's basic form and with all orders of bones; moments compared with
  posed vertices; time compared with a compiled search that poses.
- `lod_bones`, too: fewer blends compared with keeping the largest weights.
- `lod_play`: preparing matrices with a quarter of the bones; motion of vertices as the level changes.
- `lod_fade`: how far vertices move because of the level, while the controller runs.
- `lod_held`: the figures that a level prints, and its pictures, against the file of that level.
- `lod_files`: every level of every file in Khronos' validator and in three.js.
- `lod_page`: preparing matrices in the page.
- `lod_mesh`: fewer triangles compared with fast-simplification with transferred weights, on the horse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from osteon.core.model import SkinnedModel
from osteon.lod.progressive_skin import ProgressiveSkin
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Built-in characters: seeds by number of joints.
BUILT_IN = {"eight joints": (1, 8), "twelve joints": (2, 12)}


@dataclass(frozen=True, slots=True)
class LevelCase:
    """A character with its levels."""

    name: str
    model: SkinnedModel
    levels: ProgressiveSkin
    measured: bool  # a third-party character, which has bounds of the error


def bounded(case: LevelCase, label: str, metric: str, value: float, bound: float) -> Row:
    """A row with its bound if the character has one."""
    return at_most(label, metric, value, bound) if case.measured else figure(label, metric, value)


def bench_lod(run: BenchRun) -> list[Row]:
    """All rows."""
    from osteon_bench.lod_bones import blend_rows, bone_rows, set_rows, time_rows
    from osteon_bench.lod_fade import fade_rows
    from osteon_bench.lod_files import file_rows
    from osteon_bench.lod_mesh import mesh_rows
    from osteon_bench.lod_page import page_rows
    from osteon_bench.lod_play import play_rows, pop_rows

    cases = list(_cases(run))
    rows: list[Row] = []
    for case in cases:
        run.report(f"{case.name}: bones and blends")
        rows += bone_rows(case) + blend_rows(case) + pop_rows(case) + fade_rows(case)
    rows += set_rows(run, cases)
    largest = max(cases, key=lambda case: case.model.n_vertices)
    rows += time_rows(run, largest) + page_rows(run, largest) + mesh_rows(run, cases)
    return rows + [row for case in cases for row in play_rows(run, case)] + file_rows(run)


def _cases(run: BenchRun) -> Iterator[LevelCase]:
    """All skinned test characters."""
    from osteon.lod.fit_progressive import fit_progressive

    for name, model in _models(run):
        run.report(f"{name}: search")
        yield LevelCase(name, model, fit_progressive(model).skin, name not in BUILT_IN)


def _models(run: BenchRun) -> Iterator[tuple[str, SkinnedModel]]:
    from osteon.io import load_model
    from osteon_bench.subjects import JointedOptions, make_jointed

    folder = run.data.parent / "characters"
    paths = sorted(folder.glob("*.glb"))
    if not paths:
        run.report_missing(f"'{folder}' has no characters; name the folder beside it with --data")
    for path in paths:
        model = load_model(path)
        if model.skeleton is not None:
            yield path.stem, model
    for name, (seed, joints) in BUILT_IN.items():
        yield name, make_jointed(seed, JointedOptions(joints=joints, frames=24, influences=4, vertices=40))
