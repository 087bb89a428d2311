"""The benchmarks. A new one is a file `NAME.py` in this folder with a function `bench_NAME`, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from osteon_bench.rows import Row
    from osteon_bench.run import BenchRun


@dataclass(frozen=True, slots=True)
class Bench:
    """The summary of a benchmark for the command line, without importing it."""

    summary: str
    options: tuple[str, ...] = ("data", "threads")  # options that have an effect


BENCHES = {
    "paper": Bench("Table 1 of Skinning Mesh Animations, the paper's figures beside ours"),
    "peers": Bench(
        "comparison with Dem Bones on the same arrays, bones, influences and threads", ("data", "threads", "search")
    ),
    "growth": Bench("time and memory while frames, vertices and bones double", ("threads",)),
    "files": Bench("size and accuracy of files, and agreement of three.js, USD and Khronos' validator"),
    "shading": Bench(
        "shading as players show it, with normals in the fit and corrections of normals",
        ("data", "threads", "against"),
    ),
    "engines": Bench("scaled bones: error and time, and default files in every engine that is installed"),
    "engine-normals": Bench("how players transform normals, and which morph targets of normals they support", ()),
    "seen": Bench("pictures by three.js of files and of their sources, and FLIP between them; Dem Bones, textures"),
    "simplex": Bench("posing by a skeleton: Table 1 of Simplex Transformations, exactness, flips", ("data",)),
    "eigenskin": Bench("corrections driven by joints: simulated hands in training and validation poses, cost, players"),
    "elastic": Bench("simulated flesh: exactness, balance, inversions, load steps, time; a beam against CalculiX"),
    "deformers": Bench("families of deformers: a twisted bar, agreement with the paper, error and cost"),
    "rig": Bench("recovered skeletons against the rigs that moved the mesh; articulated against free bones"),
    "rig-kept": Bench("characters before and after --rig, in three.js and as JSON", ("data",)),
    "compare": Bench("models on unseen poses; closest points against libigl"),
    "lod": Bench(
        "fewer bones, blends and triangles: error, cost of the search and of levels, no pops",
        ("data",),
    ),
    "edit": Bench("edits of the rest pose against the same edits in frames of the source; bytes, order, time, players"),
    "light": Bench("precomputed light: Mitsuba, compression, non-negative factors, time, the page's shader"),
    "collide": Bench(
        "collision of skinned characters: exactness, and time against skinning all vertices and refitting"
    ),
    "scale": Bench("batches on processes and on Dask: throughput, kills, bad assets", ("small",)),
    "fuzz": Bench("damaged files: inputs, line coverage, crashes and hangs of every reader", ("threads", "inputs")),
    "faults": Bench("kills and power cuts: what six commands leave, and whether the next run continues", ("inputs",)),
    "firstrun": Bench("compile time of the first run, compared with another checkout", ("against",)),
    "strangers": Bench("third-party files: read, skinned, played, and skinned again on their own rigs"),
    "view": Bench("the page: a crowd against streamed vertices, its first picture, its bundle"),
}


def find_bench(name: str) -> Callable[[BenchRun], list[Row]]:
    """The function of a bench."""
    module = name.replace("-", "_")
    function: Callable[[BenchRun], list[Row]] = getattr(import_module(f"osteon_bench.{module}"), f"bench_{module}")
    return function
