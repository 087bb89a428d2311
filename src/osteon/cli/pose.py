"""`osteon pose`: a mesh, a stick skeleton and poses in, the posed mesh out."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import json_option, progress_bar, write_json
from osteon.cli.pose_text import place_notes, print_pose_report
from osteon.core.errors import OptionError

if TYPE_CHECKING:
    from osteon.core.arrays import Float64
    from osteon.core.pose_track import PoseTrack
    from osteon.core.progress import Progress
    from osteon.core.sequence import MeshSequence
    from osteon.core.sticks import StickSkeleton
    from osteon.report.picture import Image
    from osteon.simplex.poser import Poser, PoserOptions

__all__ = ["pose"]

#: In place of a skeleton: only control lines and pins.
NONE = "none"
#: Suffixes that no mesh and no skeleton has: a sign of arguments in the wrong order.
STICK_SUFFIXES = (".tgf", ".skel", ".json")
MESH_SUFFIXES = (".obj", ".ply", ".off", ".mesh", ".abc", ".fbx", ".npy")
#: In the order of `_check_outputs`.
FLAGS = ("-o", "--segments", "--picture", "--json")


@click.command()
@click.argument("mesh")
@click.argument("skeleton")
@click.argument("poses", nargs=-1, required=True, metavar="POSE...")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="One pose: .obj .ply. Several: a folder, 'out/pose_####.obj', or one file (.npz .abc .usdc).",
)
@click.option(
    "--method",
    type=click.Choice(["simplex", "ssd"]),
    default="simplex",
    show_default=True,
    help="'ssd': blend bones with inverse-square weights, for comparison.",
)
@click.option(
    "--stretch",
    type=click.Choice(["along", "uniform", "none"]),
    default="along",
    show_default=True,
    help="What a longer bone does to its part of the mesh.",
)
@click.option(
    "--turns",
    type=click.Choice(["passed-on", "least"]),
    default="passed-on",
    show_default=True,
    help="Turn of a bone about itself where the pose does not tell it; 'least' is the paper's.",
)
@click.option(
    "--boundary",
    type=click.Choice(["none", "sharp", "all"]),
    default="none",
    show_default=True,
    help="Which borders between segments are moved to creases by graph cut.",
)
@click.option(
    "--segmentation",
    type=click.Choice(["blocks", "traverse", "plain"]),
    default="blocks",
    show_default=True,
    help="'blocks' and 'plain' give the same; 'traverse' is the paper's, and may miss a bone.",
)
@click.option(
    "--follow",
    default=10.0,
    show_default=True,
    help="How strongly the mesh stays with the skeleton; 0 is the paper's energy.",
)
@click.option("--no-translation", is_flag=True, help="Leave the translation term out and hold one vertex (eq. 19).")
@click.option("--dimension", type=click.Choice(["auto", "2", "3"]), default="auto", show_default=True)
@click.option("--segments", metavar="FILE.npy", help="Write the bone of every triangle.")
@click.option("--picture", metavar="FILE.png", help="Draw rest, segments, pose and distortion, beside ssd.")
@click.option("--frame", default=0, show_default=True, help="The pose that the picture shows.")
@click.option("--fps", type=float, help="Frame rate; also the rate at which glTF is sampled.  [file's, or 24]")
@click.option("--clip", "clips", multiple=True, metavar="NAME", help="Only this clip of a glTF pose.  [all]")
@json_option
def pose(
    mesh: str,
    skeleton: str,
    poses: tuple[str, ...],
    output: str,
    segments: str | None,
    picture: str | None,
    frame: int,
    fps: float | None,
    clips: tuple[str, ...],
    json_file: str | None,
    quiet: bool,
    **flags: Any,
) -> None:
    """Pose a mesh by a stick skeleton, without any weights.

    MESH is any mesh, in 3D or flat. SKELETON is .tgf, .skel, .json or a glTF with a skin, or 'none' to move the mesh by
    control lines and pinned vertices alone. Each POSE is the same skeleton moved, a .json of turns, lines, twists and
    pins (docs/poses.md), or a glTF animation. Several poses become a mesh sequence.

    \b
    osteon pose hand.obj hand.tgf fist.tgf -o fist.obj
    osteon pose fox.glb fox.glb fox.glb --clip Walk -o walk.npz
    osteon pose troll.obj troll.skel wave.json -o wave/ --picture wave.png
    osteon skin wave/ --bones 24 -o wave.glb       a character for any engine
    """
    from osteon.io import check_sequence_output
    from osteon.io.pose import load_poses
    from osteon.report.picture import save_png

    started = time.perf_counter()
    options = _options(flags)
    check_sequence_output(output)
    _check_inputs(mesh, skeleton, picture)
    _check_outputs([mesh, skeleton, *poses], [output, segments, picture, json_file])
    with progress_bar(quiet) as progress:
        source = _load_mesh(mesh, progress)
        sticks = _load_skeleton(skeleton)
        track = load_poses(list(poses), sticks, fps=fps, clips=clips)
        if not -track.n_frames <= frame < track.n_frames:
            raise OptionError(f"--frame: expected a pose from 0 to {track.n_frames - 1}, got {frame}")
        if options.method == "ssd" and track.lines.lines:
            raise OptionError("--method: ssd blends bones alone; control lines need the simplex method")
        poser = _prepare(source, sticks, track, options, progress)
        begun = time.perf_counter()
        posed = poser.pose(track, progress=progress)
        seconds = {**poser.seconds, "poses": time.perf_counter() - begun}
        drawn = None if picture is None else _draw(poser, track.frame(frame % track.n_frames), posed[frame], source)
        facts = _describe(poser, track, posed) | {"output": output}
        facts["exceptions"] = _notes(poser, source, skeleton) + facts.get("exceptions", [])
        _write(source, track, posed, output, progress)  # nothing is written before all is known
    if segments is not None:
        _write_segments(poser, segments)
    if picture is not None and drawn is not None:
        save_png(drawn, picture)
    facts["seconds"] = seconds | {"total": time.perf_counter() - started}
    write_json(facts, json_file)
    if not quiet and json_file != "-":
        print_pose_report(facts)


def _options(flags: dict[str, Any]) -> PoserOptions:
    from osteon.simplex.bone_transforms import BoneOptions
    from osteon.simplex.boundaries.cut import BoundaryOptions
    from osteon.simplex.groups import GroupOptions
    from osteon.simplex.poser import PoserOptions
    from osteon.simplex.segmentation.segment import SegmentOptions
    from osteon.simplex.simplices import EnergyOptions

    asked = flags["dimension"]
    return PoserOptions(
        method=flags["method"],
        dimension=asked if asked == "auto" else int(asked),  # type: ignore[arg-type]
        energy=EnergyOptions(not flags["no_translation"], flags["follow"]),
        groups=GroupOptions(SegmentOptions(method=flags["segmentation"]), BoundaryOptions(mode=flags["boundary"])),
        bones=BoneOptions(stretch=flags["stretch"], turns=flags["turns"]),
    )


def _check_inputs(mesh: str, skeleton: str, picture: str | None) -> None:
    """Refuse arguments in the wrong order, and a picture of what is not there."""
    if Path(mesh).suffix.lower() in STICK_SUFFIXES:
        raise OptionError(f"{mesh}: is no mesh; the mesh comes first: osteon pose MESH SKELETON POSE… -o OUT")
    if Path(skeleton).suffix.lower() in MESH_SUFFIXES:
        raise OptionError(f"{skeleton}: is a mesh; the skeleton comes second: osteon pose MESH SKELETON POSE… -o OUT")
    if picture is not None and skeleton == NONE and not Path(skeleton).exists():
        raise OptionError("--picture: draws a skeleton, and there is none")


def _check_outputs(inputs: list[str], outputs: list[str | None]) -> None:
    """Refuse outputs that cannot be written or would overwrite something of this run, before the work starts."""
    from osteon.io import check_output

    taken = {os.path.realpath(name): "one of the inputs" for name in inputs}
    for name, suffix, flag in zip(outputs, ("", ".npy", ".png", ""), FLAGS, strict=True):
        if name is None or (flag == "--json" and name == "-"):
            continue
        if os.path.realpath(name) in taken:
            raise OptionError(f"{flag}: {name} is {taken[os.path.realpath(name)]}; name another file")
        taken[os.path.realpath(name)] = f"written by {flag}"
        if suffix and Path(name).suffix.lower() != suffix:
            raise OptionError(f"{flag}: expected a name that ends in {suffix}, got {name}")
        if flag != "-o":
            check_output(name)


def _load_mesh(name: str, progress: Progress | None) -> MeshSequence:
    """The rest pose of a mesh, a sequence or a model."""
    from osteon.core.sequence import MeshSequence
    from osteon.io import holds_model, load_model, load_sequence

    if Path(name).is_file() and holds_model(name):
        model = load_model(name)
        found = MeshSequence(model.rest[None], model.faces, model.rest, (), model.asset, model.name)
    else:
        found = load_sequence([name], progress=progress)
    if not found.n_triangles:
        raise OptionError(f"{name}: has no triangles; posing needs a surface")
    return found


def _load_skeleton(name: str) -> StickSkeleton | None:
    from osteon.io.skeleton import load_skeleton

    return None if name == NONE and not Path(name).exists() else load_skeleton(name)


def _prepare(
    source: MeshSequence,
    skeleton: StickSkeleton | None,
    track: PoseTrack,
    options: PoserOptions,
    progress: Progress | None,
) -> Poser:
    import numpy as np

    from osteon.simplex.poser import Poser

    rest = source.rest.astype(np.float64)
    return Poser.of(rest, source.faces, skeleton, lines=track.lines.lines, options=options, progress=progress)


def _write(source: MeshSequence, track: PoseTrack, posed: Float64, output: str, progress: Progress | None) -> None:
    import numpy as np

    from osteon.io import save_sequence

    frames = posed.astype(np.float32)
    save_sequence(source.with_parts(frames=frames, clips=track.clips), output, progress=progress)


def _write_segments(poser: Poser, path: str) -> None:
    import numpy as np

    from osteon.io import atomic_file

    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, poser.groups.group)


def _draw(poser: Poser, track: PoseTrack, posed: Float64, source: MeshSequence) -> Image:
    """One pose, beside what blending the bones would give if bones are all that moves it."""
    from dataclasses import replace

    import numpy as np

    from osteon.report.pose_picture import PosedMesh, PoseSubject, pose_picture
    from osteon.simplex.poser import Poser

    if poser.skeleton is None:
        raise OptionError("--picture: draws a skeleton, and there is none")
    rest = source.rest.astype(np.float64)
    ideal = poser.ideal(track)[0]
    shown = [PosedMesh(poser.options.method, posed, ideal)]
    if poser.options.method == "simplex" and not len(track.pins.vertices) and not poser.lines:
        blend = Poser.of(rest, source.faces, poser.skeleton, options=replace(poser.options, method="ssd"))
        shown.append(PosedMesh("ssd", blend.pose(track)[0], ideal))
    subject = PoseSubject(
        rest,
        source.faces,
        poser.skeleton,
        np.where(poser.groups.group < poser.skeleton.n_bones, poser.groups.group, -1),
    )
    return pose_picture(subject, shown, track.joints[0])


def _describe(poser: Poser, track: PoseTrack, posed: Float64) -> dict[str, Any]:
    from osteon.simplex.pose_report import describe_poser, describe_poses

    return describe_poser(poser) | describe_poses(poser, track, posed)


def _notes(poser: Poser, source: MeshSequence, name: str) -> list[str]:
    import numpy as np

    return [] if poser.skeleton is None else place_notes(poser.skeleton, source.rest.astype(np.float64), name)
