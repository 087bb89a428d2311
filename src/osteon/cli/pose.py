"""`osteon pose`: a mesh, a stick skeleton and poses in, the posed mesh out; a skinned model brings its own skeleton."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import console, json_option, print_json, progress_bar, say_lost, write_json
from osteon.cli.info import print_facts
from osteon.cli.option_flags import is_given, options_of, refuse_unused, some_of
from osteon.cli.outputs import file_output, plan_outputs, sequence_output
from osteon.cli.pose_skinned import is_posed_by_its_skin, pose_skinned
from osteon.core.errors import OptionError
from osteon.core.options import GIVEN, change_options, need, option
from osteon.core.sequence import MeshSequence
from osteon.deform.edits import edited_model
from osteon.io import (
    LoadOptions,
    atomic_file,
    holds_model,
    load_model,
    load_sequence,
    save_sequence,
)
from osteon.simplex.options import PoserOptions

if TYPE_CHECKING:
    from osteon.core.arrays import Float64
    from osteon.core.pose_track import PoseTrack
    from osteon.core.progress import Progress
    from osteon.core.sticks import StickSkeleton
    from osteon.report.picture import Image
    from osteon.simplex.poser import Poser

if TYPE_CHECKING:
    from osteon.core.arrays import Float64
    from osteon.core.sticks import StickSkeleton


USAGE = "osteon pose MODEL POSE… -o OUT, or osteon pose MESH SKELETON POSE… -o OUT"
#: In place of a skeleton: only control lines and pins.
NONE = "none"
#: Suffixes that no mesh and no skeleton has: a sign of arguments in the wrong order.
STICK_SUFFIXES = (".tgf", ".skel", ".json")
MESH_SUFFIXES = (".obj", ".ply", ".off", ".mesh", ".abc", ".fbx", ".npy")


@dataclass(frozen=True, slots=True)
class PoseFiles:
    """The outputs of the command."""

    output: str = option(
        "",
        help="One pose: .obj .ply. Several: a folder, 'out/pose_####.obj', or one file (.npz .abc .usdc). "
        "A skinned model also as a model that plays them (.glb …).",
        flags=("-o", "--output"),
        metavar="OUT",
        required=True,
    )
    segments: str | None = option(
        None, help="Write the bone of each triangle.", flags=("--segments",), metavar="FILE.npy"
    )
    picture: str | None = option(
        None,
        help="Draw rest pose, segments, pose and distortion, beside linear blending (ssd).",
        flags=("--picture",),
        metavar="FILE.png",
        needs=(need(skeleton=True, reason="draws a skeleton, and there is none"),),
    )
    frame: int = option(0, help="The pose that the picture shows.", flags=("--frame",), needs=(need(picture=GIVEN),))


@click.command()
@click.argument("character", metavar="MESH|MODEL")
@click.argument("inputs", nargs=-1, metavar="[SKELETON] POSE...")
@options_of(files=PoseFiles, options=PoserOptions, load=some_of(LoadOptions, "fps", "clips"))
@json_option
def pose(
    character: str,
    inputs: tuple[str, ...],
    files: PoseFiles,
    options: PoserOptions,
    load: LoadOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Pose a mesh with a stick skeleton, without weights, or a skinned model with its own skin.

    MODEL is a skinned model with a skeleton, for example from `osteon rig`; poses rotate its joints.

    MESH is any mesh, in 3D or flat. SKELETON is .tgf, .skel, .json or a glTF with a skin, or 'none' to move the mesh by
    control lines and pinned vertices alone. Each POSE is the same skeleton in another pose, a .json of rotations,
    lines, twists and pins (docs/poses.md), or a glTF animation. Several poses become a mesh sequence.

    \b
    osteon pose body.glb wave.json -o wave.glb     a skinned model, with its own skin
    osteon pose hand.obj hand.tgf fist.tgf -o fist.obj
    osteon pose fox.glb fox.glb fox.glb --clip Walk -o walk.npz
    osteon pose troll.obj troll.skel wave.json -o wave/ --picture wave.png
    osteon skin wave/ --bones 24 -o wave.glb       a character for any engine
    """
    if not inputs:
        raise OptionError(f"{character}: no pose is named; {USAGE}")
    if is_posed_by_its_skin(character, inputs):
        return pose_skinned(character, inputs, files.output, options, load, json_file=json_file, quiet=quiet)
    if len(inputs) == 1:
        lacks = "is no skinned model, so it needs a skeleton and a pose" if Path(character).exists() else "is not there"
        raise OptionError(f"{character}: {lacks}; {USAGE}")
    mesh, skeleton, *poses = character, *inputs
    from osteon.io.poses import load_poses
    from osteon.report.picture import save_png

    started = time.perf_counter()
    refuse_unused(skeleton=not _no_skeleton(skeleton))
    _check_order(mesh, skeleton)
    outputs = plan_outputs(
        [mesh, skeleton, *poses],
        sequence_output("-o", files.output),
        file_output("--segments", files.segments, (".npy",)),
        file_output("--picture", files.picture, (".png",)),
        file_output("--json", json_file),
    )
    with progress_bar(quiet) as progress:
        source = _load_mesh(mesh, progress)
        sticks = _load_skeleton(skeleton)
        track = load_poses(poses, sticks, fps=None if load.fps == "file" else load.fps, clips=load.clips)
        if not -track.n_frames <= files.frame < track.n_frames:
            raise OptionError(f"--frame: expected a pose from 0 to {track.n_frames - 1}, got {files.frame}")
        if is_given("options.bones.twist") and not track.twists:
            raise OptionError("--twist: no pose twists a bone or a control line; omit it")
        if options.method == "ssd" and track.lines.lines:
            raise OptionError("--method: ssd blends bones alone; control lines need the simplex method")
        poser = _prepare(source, sticks, track, options, progress)
        begun = time.perf_counter()
        posed = poser.pose(track, progress=progress)
        seconds = {**poser.seconds, "poses": time.perf_counter() - begun}
        shown = track.frame(files.frame % track.n_frames)
        drawn = None if files.picture is None else _draw(poser, shown, posed[files.frame], source)
        facts = _describe(poser, track, posed) | {"output": files.output}
        facts["exceptions"] = _place_warnings(poser, source, skeleton) + facts.get("exceptions", [])
        with outputs.writing():  # after all computations
            _write(source, track, posed, files.output, progress)
            if files.segments is not None:
                _write_segments(poser, files.segments)
            if files.picture is not None and drawn is not None:
                save_png(drawn, files.picture)
            facts["seconds"] = seconds | {"total": time.perf_counter() - started}
            write_json(facts, json_file)
    print_json(facts, json_file)
    say_lost(source.asset, files.output, quiet=quiet)
    if not quiet and json_file != "-":
        print_pose_report(facts)


def _no_skeleton(name: str) -> bool:
    return name == NONE and not Path(name).exists()


def _check_order(mesh: str, skeleton: str) -> None:
    """Refuse arguments in the wrong order."""
    if Path(mesh).suffix.lower() in STICK_SUFFIXES:
        raise OptionError(f"{mesh}: is no mesh; the mesh comes first: osteon pose MESH SKELETON POSE… -o OUT")
    if Path(skeleton).suffix.lower() in MESH_SUFFIXES:
        raise OptionError(f"{skeleton}: is a mesh; the skeleton comes second: osteon pose MESH SKELETON POSE… -o OUT")


def _load_mesh(name: str, progress: Progress | None) -> MeshSequence:
    """The rest pose of a mesh, a sequence or a model."""
    if Path(name).is_file() and holds_model(name):
        model = edited_model(load_model(name))
        found = MeshSequence(model.rest[None], model.faces, model.rest, (), model.asset, model.name)
    else:
        found = load_sequence([name], progress=progress)
    if not found.n_triangles:
        raise OptionError(f"{name}: has no triangles; posing needs a surface")
    return found


def _load_skeleton(name: str) -> StickSkeleton | None:
    from osteon.io.skeletons import load_skeleton

    return None if _no_skeleton(name) else load_skeleton(name)


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

    frames = posed.astype(np.float32)
    save_sequence(source.with_parts(frames=frames, clips=track.clips), output, progress=progress)


def _write_segments(poser: Poser, path: str) -> None:
    import numpy as np

    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, poser.groups.group)


def _draw(poser: Poser, track: PoseTrack, posed: Float64, source: MeshSequence) -> Image:
    """Draw one pose, beside linear blending if only bones move the mesh."""
    import numpy as np

    from osteon.report.pose_picture import PosedMesh, PoseSubject, pose_picture
    from osteon.simplex.poser import Poser

    if poser.skeleton is None:
        raise OptionError("--picture: draws a skeleton, and there is none")
    rest = source.rest.astype(np.float64)
    ideal = poser.ideal(track)[0]
    shown = [PosedMesh(poser.options.method, posed, ideal)]
    if poser.options.method == "simplex" and not len(track.pins.vertices) and not poser.lines:
        blend = Poser.of(rest, source.faces, poser.skeleton, options=change_options(poser.options, method="ssd"))
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


def _place_warnings(poser: Poser, source: MeshSequence, name: str) -> list[str]:
    import numpy as np

    return [] if poser.skeleton is None else place_warnings(poser.skeleton, source.rest.astype(np.float64), name)


#: Notes of one kind that are printed individually.
SHOWN = 3


def place_warnings(skeleton: StickSkeleton, vertices: Float64, name: str) -> list[str]:
    """A warning if the skeleton is not where the mesh is."""
    from osteon.core.sticks import measure_place

    place = measure_place(skeleton, vertices)
    if place.has_other_units:
        measured = f"its joints extend over {place.extent:.4g}, the mesh over {place.diagonal:.4g}"
        return [f"{name} seems to be in other units: {measured}; scale one of them"]
    n_far = len(place.far)
    if not n_far:
        return []
    if place.is_elsewhere:
        return [f"{name} is beside the mesh: {n_far} of {skeleton.n_joints} joints are far outside; move it"]
    listed = ", ".join(skeleton.names[j] for j in place.far[:SHOWN])
    return [f"{name} has joints far outside the mesh: {listed}{', …' if n_far > SHOWN else ''}"]


def print_pose_report(facts: dict[str, Any]) -> None:
    """The table and the notes."""
    chosen = ("mesh", "skeleton", "lines", "method", "poses")
    shown: dict[str, Any] = {key: facts[key] for key in chosen if key in facts}
    shown["mesh"] = {key.replace("_", " "): count for key, count in facts["mesh"].items() if count}
    shown["worst triangle"] = _worst(facts["worst"])
    shown["strain"] = f"{facts['worst']['mean_strain']:.3g} on average in the worst pose"
    shown["seconds"] = {key: float(f"{seconds:.2g}") for key, seconds in facts["seconds"].items()}
    print_facts(shown | {"written": facts["output"]}, console())
    for sentence in (*_gathered(facts.get("exceptions", [])), *_flipped(facts)):
        click.echo(f"note: {sentence}")


def _worst(worst: dict[str, float]) -> str:
    area, angle, strain = 100 * worst["area"], math.degrees(worst["angle"]), worst["strain"]
    return f"area changes by {area:.3g} %, angles by {angle:.3g}° together, strain {strain:.3g}"


def _gathered(sentences: Iterable[str]) -> list[str]:
    """Combine notes with the same ending: the first ones, and the number of the others."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for sentence in sentences:
        kinds.setdefault(tuple(sentence.split()[-3:]), []).append(sentence)
    out: list[str] = []
    for alike in kinds.values():
        few = alike[: SHOWN if len(alike) > SHOWN + 1 else len(alike)]
        out += few
        if len(few) < len(alike):
            out.append(f"… and {len(alike) - len(few)} more like these; --json lists all")
    return out


def _flipped(facts: dict[str, Any]) -> list[str]:
    """A note about flipped triangles."""
    count = facts["worst"]["flipped"]
    if not count:
        return []
    what = "1 triangle is" if count == 1 else f"{count:,} triangles are"
    where = "the worst pose"
    if facts["measured_poses"] == facts["poses"]:
        where = f"pose {next(row['pose'] for row in facts['by_pose'] if row['flipped'] == count)}"
    advice = "bend less there, or add a joint" if "skeleton" in facts else "move less there"
    return [f"{what} turned over in {where}; {advice}"]
