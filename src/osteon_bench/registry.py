"""The benches. A new one is a file `NAME.py` of this folder with a function `bench_NAME`, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from osteon_bench.rows import Row
    from osteon_bench.run import BenchRun

__all__ = ["BENCHES", "Bench", "find_bench"]


@dataclass(frozen=True, slots=True)
class Bench:
    """What the command line lists of a bench without importing it."""

    summary: str
    options: tuple[str, ...] = ("data", "threads")  # what has an effect on it


BENCHES = {
    "paper": Bench("Table 1 of Skinning Mesh Animations, the paper's figures beside ours"),
    "peers": Bench(
        "against Dem Bones on the same arrays, bones, influences and threads", ("data", "threads", "search")
    ),
    "growth": Bench("time and memory while frames, vertices and bones double", ("threads",)),
    "files": Bench("size and truth of files, and whether three.js, USD and Khronos' validator agree"),
    "shading": Bench(
        "shading as players show it, with normals in the fit and corrections of their own",
        ("data", "threads", "against"),
    ),
    "engines": Bench("scaled bones: error and time, and default files in every engine that is installed"),
    "engine-normals": Bench("by which matrix players turn normals, and which morph targets of normals they show", ()),
    "seen": Bench("pictures by three.js of files and of their sources, and FLIP between them; Dem Bones, textures"),
    "simplex": Bench("posing by a skeleton: Table 1 of Simplex Transformations, exactness, flips", ("data",)),
    "eigenskin": Bench("corrections that follow joints: simulated hands in poses seen and unseen, cost, players"),
    "elastic": Bench("simulated flesh: exactness, balance, inversions, load steps, time; a beam against CalculiX"),
    "deformers": Bench("families of deformers: a twisted bar, agreement with the paper, error and cost"),
    "rig": Bench("skeletons from meshes alone, against the rigs that moved them; articulated against free bones"),
    "rig-kept": Bench("characters with --rig: what three.js and their JSON show of them before and after", ("data",)),
    "compare": Bench("models on poses that they have not seen; closest points against libigl"),
    "lod": Bench(
        "fewer bones, blends and triangles: what is left of the error, cost of the search and of levels, no pops",
        ("data",),
    ),
    "fuzz": Bench("damaged files: inputs, lines run, crashes and hangs of every reader", ("threads", "inputs")),
    "faults": Bench("kills and power cuts: what six commands leave, and whether the next run continues", ("inputs",)),
    "firstrun": Bench("what compiling costs the first run, beside another checkout", ("against",)),
    "strangers": Bench("files that others made: read, skinned, played, and skinned again on their own rigs"),
    "view": Bench("the page: a crowd against streamed vertices, its first picture, its bundle"),
}


def find_bench(name: str) -> Callable[[BenchRun], list[Row]]:
    """The function of a bench."""
    module = name.replace("-", "_")
    function: Callable[[BenchRun], list[Row]] = getattr(import_module(f"osteon_bench.{module}"), f"bench_{module}")
    return function
