"""`osteon warm`: compile all kernels before they are needed."""

from __future__ import annotations

import time

import click

from osteon.cli.common import json_option, print_json, progress_bar, write_json
from osteon.cli.outputs import file_output, plan_outputs

#: Tasks that compile the kernels without declared signatures.
TASKS = tuple(f"osteon.cli.warm:{name}" for name in ("pose_figure", "fit_screws", "draw_triangle", "simplify_ring"))


@click.command()
@json_option
def warm(json_file: str | None, quiet: bool) -> None:
    """Compile all kernels now.

    Otherwise the first run of a command compiles its kernels, which takes some seconds.
    """
    from osteon.core.compile_kernels import Compiling
    from osteon.core.kernel_cache import cache_folder
    from osteon.fit.kernel_modules import ALL_KERNELS

    outputs = plan_outputs([], file_output("--json", json_file))
    begin = time.perf_counter()
    with progress_bar(quiet) as progress:
        count = Compiling(ALL_KERNELS, TASKS).wait(progress) - len(TASKS)
    folder = cache_folder()
    facts = {
        "compiled": count,
        "seconds": round(time.perf_counter() - begin, 2),
        "cache": None if folder is None else str(folder),
    }
    with outputs.writing():
        write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        click.echo(f"compiled in {facts['seconds']:.1f} s" if count else "all is compiled already")
        where = "nothing can be written, so every run compiles anew; set NUMBA_CACHE_DIR to a folder of yours"
        click.echo(where if folder is None else f"kept in '{folder}'")


def pose_figure() -> None:
    """Pose a coarse figure by its skeleton."""
    from osteon.simplex.poser import Poser
    from osteon.synth.figure import figure_poses, make_figure

    vertices, faces, skeleton = make_figure(30)
    Poser.of(vertices, faces, skeleton).pose(figure_poses(skeleton, 2))


def fit_screws() -> None:
    """Fit dual quaternions to a ring that tumbles."""
    from osteon.core.skin_options import SkinOptions
    from osteon.pipeline.skin import skin_sequence
    from osteon.synth import SUBJECTS

    skin_sequence(SUBJECTS["rigid"](), options=SkinOptions(bones=2, bone_type="rigid", model="dqs", rounds=1))


def simplify_ring() -> None:
    """Take a few triangles from a ring that tumbles."""
    from osteon.core.skin_options import SkinOptions
    from osteon.lod.mesh.simplify import simplify_model
    from osteon.pipeline.skin import skin_sequence
    from osteon.synth import SUBJECTS

    model = skin_sequence(SUBJECTS["rigid"](), options=SkinOptions(bones=1, rounds=1)).model
    simplify_model(model, triangles=[model.mesh.n_triangles - 2])


def draw_triangle() -> None:
    """Draw one triangle."""
    import numpy as np

    from osteon.report.raster import draw_mesh

    draw_mesh(np.eye(3), np.arange(3, dtype=np.int32)[None])
