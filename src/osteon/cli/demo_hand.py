"""`osteon demo hand`: a mesh, a skeleton and limits of its joints as files, simulated in two poses and drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from osteon.cli.common import print_json, progress_bar, write_json
from osteon.cli.demo import plan_demo
from osteon.core.options import command_text

if TYPE_CHECKING:
    from osteon.core.arrays import Float64, Int32
    from osteon.core.sticks import StickSkeleton
    from osteon.elastic.body import PosedBody

__all__ = ["hand_demo"]

NAMES = ("hand.obj", "hand.json", "hand-limits.json", "hand.png")
#: Cells of the lattice along the hand.
CELLS = 34
#: Part of what every joint can bend in a loose fist.
FIST = 0.8
SKIN = np.array([0.85, 0.68, 0.58])


def hand_demo(folder: Path, json_file: str | None, quiet: bool) -> None:
    """Write the hand and how far it bends, simulate a bent finger and a fist, and draw them."""
    from osteon.core.mesh import Mesh
    from osteon.core.sequence import MeshSequence
    from osteon.elastic.body import ElasticBody
    from osteon.elastic.lattice import lattice_around
    from osteon.elastic.pose_workers import PoseTask, pose_many
    from osteon.io import atomic_file, save_sequence
    from osteon.io.poses.pose_list import limits_as_json
    from osteon.io.save import GENERATOR, GENERATOR_KEY
    from osteon.io.skeletons import save_skeleton
    from osteon.synth.hand import hand_limits, make_hand

    outputs = plan_demo(folder, NAMES, json_file)
    with progress_bar(quiet):
        vertices, faces, skeleton = make_hand()
        rest = vertices.astype(np.float32)
        solid = lattice_around(Mesh(rest, faces, name="hand"), float(np.ptp(rest, axis=0).max()) / CELLS)
        body = ElasticBody.of(solid, skeleton)
        tasks = [PoseTask(k, turns) for k, turns in enumerate(_turns(skeleton).values())]
        posed = {done.number: done.posed for done in pose_many(body, tasks)}
    facts: dict[str, Any] = {
        "vertices": len(rest),
        "triangles": len(faces),
        "bones": skeleton.n_bones,
        "tetrahedra": len(solid.tets),
        "poses": {name: _facts(posed[k]) for k, name in enumerate(_turns(skeleton))},
    }
    with outputs.writing():
        save_sequence(MeshSequence(rest[None], faces, rest, name="hand"), folder / NAMES[0])
        save_skeleton(skeleton, folder / NAMES[1])
        with atomic_file(folder / NAMES[2]) as temporary:
            temporary.write_text(
                json.dumps({GENERATOR_KEY: GENERATOR, "limits": limits_as_json(hand_limits())}, indent=1) + "\n"
            )
        _draw(folder / NAMES[3], [vertices, posed[0].surface, posed[1].surface], faces)
        write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        _print_next_steps(folder, facts)


def _turns(skeleton: StickSkeleton) -> dict[str, dict[int, Float64]]:
    from osteon.synth.hand import hand_limits

    number = {name: j for j, name in enumerate(skeleton.names)}
    bends = {number[limit.joint]: limit for limit in hand_limits() if limit.name != "spread"}
    fist = {j: limit.rotation(FIST * limit.high) for j, limit in bends.items()}
    joint = number["index.2"]
    return {"index finger bent": {joint: bends[joint].rotation(bends[joint].high)}, "loose fist": fist}


def _facts(posed: PosedBody) -> dict[str, Any]:
    return {
        "steps": posed.newton_steps,
        "imbalance": float(f"{posed.equilibrium.imbalance:.3g}"),
        "inverted": posed.inverted,
        "seconds": round(posed.seconds, 2),
    }


def _draw(path: Path, shown: list[Float64], faces: Int32) -> None:
    from osteon.report.picture import draw_mesh, frame_camera, panel_row, save_png
    from osteon.report.raster import DrawOptions

    view = DrawOptions(width=420, height=480)
    pictures = [
        draw_mesh(one, faces, SKIN, options=view, camera=frame_camera(one.astype(np.float32), view)) for one in shown
    ]
    words = ["at rest", "index finger bent by 90 degrees", "a loose fist"]
    save_png(panel_row(pictures, words, title="osteon demo hand: flesh around bones"), path)


def _print_next_steps(folder: Path, facts: dict[str, Any]) -> None:
    seconds = sum(pose["seconds"] for pose in facts["poses"].values())
    click.echo(
        f"A hand of {facts['triangles']:,} triangles on {facts['bones']} bones, in {facts['tetrahedra']:,} tetrahedra; "
        f"two poses in {seconds:.1f} s. Written to {folder}/: {', '.join(NAMES)}. Try:"
    )
    mesh, sticks, limits = (folder / name for name in NAMES[:3])
    some = ("osteon", "simulate", mesh, sticks, "--sweep", "--limits", limits)
    click.echo(f"  {command_text(*some, '--joints', 'index.1,index.2', '-o', folder / 'index')}")
    click.echo(f"  {command_text(*some, '-o', folder / 'poses')}")
    click.echo(f"  {command_text('osteon', 'view', mesh, '--skeleton', sticks)}")
