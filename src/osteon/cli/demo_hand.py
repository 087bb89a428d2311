"""`osteon demo hand` and `osteon demo eigenskin`: a simulated hand, and the corrections learned from its poses."""

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
    from osteon.cli.outputs import Outputs
    from osteon.core.arrays import Float64, Int32
    from osteon.core.progress import Progress
    from osteon.core.sticks import StickSkeleton
    from osteon.elastic.body import PosedBody
    from osteon.io.poses.pose_set import PoseSet
    from osteon.pipeline.eigenskin import LearnedSkin


NAMES = ("hand.obj", "hand.json", "hand-limits.json", "hand.png")
#: Cells of the lattice along the hand.
CELLS = 34
#: Part of what every joint can bend in a loose fist.
FIST = 0.8
SKIN = np.array([0.85, 0.68, 0.58])


def hand_demo(folder: Path, json_file: str | None, quiet: bool) -> None:
    """Write the hand and its joint limits, simulate a bent finger and a fist, and draw them."""
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


# `osteon demo eigenskin`.

EIGENSKIN_NAMES = ("hand.glb", "picture.png", "report.json")
POSES = "poses"
#: Grid cells over the length of the hand, and cells of the lattice of its flesh.
RESOLUTION, EIGENSKIN_CELLS = 50, 36
#: Joints that bend, how many poses each, and how far they bend in the pose that is shown.
JOINTS, EACH, SHOWN = ("thumb.2", "thumb.3", "index.1", "index.2", "index.3"), 3, 0.8


def eigenskin_demo(folder: Path, json_file: str | None, quiet: bool) -> None:
    """Simulate, learn, and draw the skin alone, EigenSkin and the simulated flesh side by side."""
    from osteon.io import save_model
    from osteon.io.poses.pose_set import load_pose_set
    from osteon.pipeline.eigenskin import learn_eigenskin, rig_of_mesh
    from osteon.pipeline.eigenskin_report import eigenskin_report

    outputs = plan_demo(folder, EIGENSKIN_NAMES, json_file)
    with progress_bar(quiet) as progress:
        _simulate(folder / POSES, outputs, progress)
        poses = load_pose_set(folder / POSES)
        from osteon.fit.eigenskin.options import EigenSkinOptions

        rig = rig_of_mesh(poses.mesh, poses.skeleton, EigenSkinOptions())
        learned = learn_eigenskin(rig, poses, progress=progress)
        facts = eigenskin_report(learned)
        with outputs.writing():
            save_model(learned.model, folder / EIGENSKIN_NAMES[0])
            _draw_eigenskin(folder / EIGENSKIN_NAMES[1], learned, poses)
            write_json(facts, str(folder / EIGENSKIN_NAMES[2]))
            write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        _print_eigenskin_steps(folder, facts)


def _simulate(folder: Path, outputs: Outputs, progress: Progress | None) -> None:
    """Simulate poses of single joints and of neighbouring joints, and one validation pose of all joints."""
    from osteon.core.mesh import Mesh
    from osteon.elastic.body import ElasticBody
    from osteon.elastic.lattice import lattice_around
    from osteon.elastic.options import SweepOptions
    from osteon.elastic.sweep import PlannedPose, plan_sweep
    from osteon.pipeline.simulate import SimulationPlan, simulate_poses
    from osteon.synth.hand import hand_limits, make_hand

    vertices, faces, skeleton = make_hand(RESOLUTION)
    bends = tuple(limit for limit in hand_limits() if limit.joint in JOINTS and limit.name != "spread")
    rest = Mesh(vertices.astype(np.float32), faces, name="hand")
    body = ElasticBody.of(lattice_around(rest, float(np.ptp(vertices, axis=0).max()) / EIGENSKIN_CELLS), skeleton)
    planned = plan_sweep(skeleton, bends, SweepOptions(sweep=True, each=EACH, validate=0))
    number = {name: j for j, name in enumerate(skeleton.names)}
    together = {number[limit.joint]: limit.rotation(SHOWN * limit.high) for limit in bends}
    planned.append(PlannedPose("grasp", "validate", together))
    plan = SimulationPlan(planned, bends, suffix=".ply")
    simulate_poses(body, plan, folder, check_changed=outputs.guard.check_changed, progress=progress)


def _draw_eigenskin(path: Path, learned: LearnedSkin, poses: PoseSet) -> None:
    """Draw the held-out pose by the skin alone, with EigenSkin, and as simulated, coloured by error."""
    from dataclasses import replace

    from osteon.deform.pose import pose_character
    from osteon.pipeline.eigenskin import poses_of_rig
    from osteon.report.picture import HeatScale, draw_mesh, heat_colors, panel_row, save_png
    from osteon.report.raster import DrawOptions, frame_camera

    character, judged = learned.model.character, learned.validation
    assert judged is not None
    known = poses_of_rig(character, poses, poses.of_kind("validate"))
    true = known.frames[0].astype(np.float64)
    skin = pose_character(replace(character, displacements=()), known.transforms)[0].astype(np.float64)
    corrected = pose_character(character, known.transforms)[0].astype(np.float64)
    view = DrawOptions(width=430, height=480, azimuth=35.0, elevation=20.0)
    camera = frame_camera(true.astype(np.float32), view)
    off = [np.linalg.norm(shown - true, axis=1) / character.mesh.diagonal for shown in (skin, corrected)]
    largest = float(np.ceil(1e3 * off[0].max()) / 1e3)
    paints = [*(heat_colors(one, largest) for one in off), SKIN]
    shown = [skin, corrected, true]
    images = [
        draw_mesh(points, character.mesh.faces, paint, options=view, camera=camera)
        for points, paint in zip(shown, paints, strict=True)
    ]
    removed = 100 * float(judged.removed[0])
    words = [
        f"linear blending: off by up to {100 * off[0].max():.1f} %",
        f"EigenSkin: {removed:.0f} % of that error removed",
        "simulated flesh",
    ]
    scale = HeatScale(100 * largest, "%", "distance from the flesh, of the diagonal")
    save_png(panel_row(images, words, title="osteon demo eigenskin: a held-out pose", scale=scale), path)


def _print_eigenskin_steps(folder: Path, facts: dict[str, Any]) -> None:
    given, found = facts["input"], facts["quality"]["validation"]["removed_percent"]["mean"]
    click.echo(
        f"A hand of {given['triangles']:,} triangles learned from {given['poses']} simulated poses; "
        f"it removes {found:.0f} % of the skin's error in a held-out pose. "
        f"Written to {folder}/: {', '.join(EIGENSKIN_NAMES)}. Try:"
    )
    rest, poses, model = folder / POSES / "rest.ply", folder / POSES, folder / EIGENSKIN_NAMES[0]
    click.echo(f"  {command_text('osteon', 'view', model, poses)}")
    click.echo(f"  {command_text('osteon', 'eigenskin', rest, poses, '--per-joint', 3, '-o', folder / 'more.glb')}")
