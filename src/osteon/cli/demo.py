"""`osteon demo`: from a mesh sequence to a skinned model, with a procedural subject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import click
import numpy as np

from osteon.cli.common import console, json_option, print_json, progress_bar, size_text, write_json
from osteon.cli.option_flags import options_of, refuse_given, some_of
from osteon.cli.outputs import Outputs, file_output, plan_outputs
from osteon.core.options import command_text
from osteon.core.skin_options import SkinOptions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from osteon.core.animation import BoneType
    from osteon.core.mesh import Mesh
    from osteon.core.sequence import MeshSequence
    from osteon.pipeline.skin import SkinFit


Subject = Literal["fox", "figure", "cartoon", "hand", "eigenskin", "edit", "collide", "light"]

BONES = 32
#: Corrections and file of each kind of bones.
RANKS: dict[str, int] = {"scaled": 5, "rigid": 0}
#: Where files go without -o; they replace those of an earlier run.
DEMO_FOLDER = Path("osteon-demo")
FILES = {"scaled": "fox.glb", "rigid": "fox-rigid.glb"}
#: Subjects that are neither skinned with other options nor posed, and what replaces them.
OWN_OPTIONS = {"edit": "has a fixed number of bones", "collide": "has a fixed skin", "light": "has its own options"}
BESIDE = ("report.html", "report.json", "picture.png")


@click.command()
@click.argument("subject", type=click.Choice(get_args(Subject)), default="fox")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEMO_FOLDER,
    show_default=True,
    help="Folder for the model, the report and the picture.",
)
@options_of(options=some_of(SkinOptions, "bones", "threads", bones=BONES))
@json_option
def demo(subject: Subject, folder: Path, options: SkinOptions, json_file: str | None, quiet: bool) -> None:
    """Skin, edit or light a galloping fox, let it kick balls, pose a figure or a cartoon, or simulate a hand.

    fox: its flesh bulges, squashes and jiggles, so no set of bones reproduces it exactly. Writes fox.glb (scaled bones
    and five corrections) and fox-rigid.glb for any glTF player, report.html, report.json and picture.png.

    figure, cartoon: a mesh at rest in 3D or 2D, a stick skeleton and poses, to try `osteon pose` and `osteon view`.

    hand: a mesh, its skeleton and joint limits, to try `osteon simulate`; two poses are simulated and drawn.

    eigenskin: the hand simulated in poses of thumb and index finger, the corrections learned from them, and a picture
    of a held-out pose. Takes one or two minutes.

    edit: the fox with a crest and a horn, edited at rest and seen in all frames; a mesh to try `osteon edit` with.

    light: the fox with precomputed light and its shadows, under three skies, and a picture.

    collide: balls, boxes and a capsule that the fox kicks, as one glTF, and the scene file they come from.
    """
    if subject != "fox":
        why = OWN_OPTIONS.get(subject, "is posed, not skinned")
        refuse_given("options", f"{subject} {why}; omit it")
        _pose(subject, folder, json_file, quiet)
        return
    from osteon.core.compile_kernels import compile_kernels
    from osteon.fit.kernel_modules import COMPARE_KERNELS, CORRECTION_KERNELS
    from osteon.io import save_model
    from osteon.io.save.atomic import written_path
    from osteon.pipeline.skin import skin_sequence
    from osteon.report.curves import report_curves
    from osteon.report.html import write_html_report
    from osteon.synth import SUBJECTS

    names = (*FILES.values(), *BESIDE)
    outputs = plan_demo(folder, names, json_file)
    kinds: tuple[BoneType, ...] = ("scaled", "rigid")
    fits: dict[str, SkinFit] = {}
    with progress_bar(quiet) as progress:
        compile_kernels((*COMPARE_KERNELS, *CORRECTION_KERNELS), progress)  # not part of the times
        sequence = SUBJECTS["creature"]()
        for kind in kinds:
            wanted = replace(options, bone_type=kind, rank=RANKS[kind])
            fits[kind] = skin_sequence(sequence, options=wanted, progress=progress)
        scaled = replace(options, rank=RANKS["scaled"])
        curves = report_curves(sequence, fits["scaled"], scaled, progress=progress)
        with outputs.writing():
            for name, fit in fits.items():
                path = folder / FILES[name]
                save_model(fit.model, path)
                fits[name] = replace(fit, report=fit.report.with_output_bytes(written_path(path).stat().st_size))
            write_html_report(folder / "report.html", fits["scaled"], sequence, curves=curves)
            report = {name: fit.report.to_json() for name, fit in fits.items()}
            write_json(report, str(folder / "report.json"))
            write_json(report, json_file)
            draw_demo(sequence, fits["scaled"], folder / "picture.png")
    print_json(report, json_file)
    if not quiet and json_file != "-":
        _print_table(sequence, fits, folder)


def plan_demo(folder: Path, names: Iterable[str], json_file: str | None) -> Outputs:
    """The outputs of a demo; those in its default folder are replaced without --force."""
    files = [file_output("-o", folder / name) for name in names]
    return plan_outputs([], *files, file_output("--json", json_file), owned=DEMO_FOLDER)


def _pose(subject: str, folder: Path, json_file: str | None, quiet: bool) -> None:
    from osteon.cli.demo_hand import eigenskin_demo, hand_demo

    if subject == "hand":
        hand_demo(folder, json_file, quiet)
    elif subject == "eigenskin":
        eigenskin_demo(folder, json_file, quiet)
    elif subject == "edit":
        from osteon.cli.demo_edit import edit_demo

        edit_demo(folder, json_file, quiet)
    elif subject == "collide":
        from osteon.cli.demo_collide import collide_demo

        collide_demo(folder, json_file, quiet)
    elif subject == "light":
        from osteon.cli.demo_light import light_demo

        light_demo(folder, json_file, quiet)
    else:
        pose_demo(subject, folder, json_file, quiet)


def draw_demo(sequence: MeshSequence, fit: SkinFit, path: Path) -> None:
    """Draw source, bones and error side by side, in the frame with the largest error."""
    import numpy as np

    from osteon.deform.pose import pose_vertices
    from osteon.report.picture import HeatScale, bone_colors, draw_mesh, frame_camera, heat_colors, panel_row, save_png
    from osteon.report.raster import DrawOptions

    report, model = fit.report, fit.model
    frame = fit.distortion.worst.frame
    source, result = sequence.frame(frame), pose_vertices(model, frame)
    view = DrawOptions(width=560, height=400)
    camera = frame_camera(source, view)
    distance = np.linalg.norm(source.astype(np.float64) - result, axis=1)
    largest = float(np.ceil(1e4 * distance.max() / sequence.diagonal) / 1e4)
    coat = sequence.asset.colors[:, :3] if sequence.asset.colors is not None else np.full((len(source), 3), 0.7)
    weights = model.skin.dense(model.n_bones) @ bone_colors(model.n_bones)
    panels = [
        (coat, source, f"source: {sequence.n_vertices:,} vertices, {sequence.n_frames} frames"),
        (weights, result, f"skinned: {report.bones} bones, rank {report.rank}, in {report.seconds['fit']:.1f} s"),
        (heat_colors(distance / sequence.diagonal, largest), result, f"error: E = {report.error_percent:.2f} %"),
    ]
    images = [draw_mesh(vertices, sequence.faces, paint, options=view, camera=camera) for paint, vertices, _ in panels]
    scale = HeatScale(100 * largest, "%", "distance, of the diagonal")
    title = f"osteon demo, frame {frame} (the worst)"
    save_png(panel_row(images, [p[2] for p in panels], title=title, scale=scale), path)


def draw_row(poses: Sequence[tuple[ArrayLike, str]], mesh: Mesh, title: str, path: Path) -> None:
    """Draw poses of a coloured mesh side by side, each with its caption, from one camera."""
    import numpy as np

    from osteon.report.picture import draw_mesh, frame_camera, panel_row, save_png
    from osteon.report.raster import DrawOptions

    view = DrawOptions(width=430, height=340)
    points = [np.asarray(pose, np.float32) for pose, _ in poses]
    camera = frame_camera(np.concatenate(points), view)
    colors = mesh.asset.colors
    coat = np.full((mesh.n_vertices, 3), 0.7) if colors is None else colors[:, :3]
    images = [draw_mesh(one, mesh.faces, coat, options=view, camera=camera) for one in points]
    save_png(panel_row(images, [words for _, words in poses], title=title), path)


def _print_table(sequence: MeshSequence, fits: dict[str, SkinFit], folder: Path) -> None:
    from rich.table import Table

    out = console()
    out.print(
        f"A galloping fox: {sequence.n_frames} frames, {sequence.n_vertices:,} vertices, "
        f"{sequence.n_triangles:,} triangles"
    )
    table = Table(box=None, pad_edge=False)
    for column in ("bones", "E %", "worst, % of size", "shading", "file", "seconds"):
        table.add_column(column, justify="left" if column == "bones" else "right")
    for kind, fit in fits.items():
        report = fit.report
        table.add_row(
            f"{report.bones} {kind}" + (f", rank {report.rank}" if report.rank else ""),
            f"{report.error_percent:.3f}",
            f"{100 * fit.distortion.worst.distance / sequence.diagonal:.2f}",
            f"{report.shading_deviation_degrees['mean']:.2f}°",
            size_text(report.output_bytes or 0),
            f"{report.seconds['fit']:.2f}",
        )
    out.print(table)
    source = 12 * sequence.n_frames * sequence.n_vertices
    out.print(f"The source as float32 positions has {size_text(source)}.")
    out.print(f"Written to {folder}/: {', '.join((*FILES.values(), *BESIDE))}.")
    out.print("Drop a .glb into any glTF viewer, Blender or an engine, and open report.html in a browser.")


def pose_demo(subject: str, folder: Path, json_file: str | None, quiet: bool) -> None:
    """Write a mesh, a skeleton and poses, pose the mesh, and draw one pose beside linear blending."""
    from osteon.core.sequence import MeshSequence
    from osteon.io import save_sequence
    from osteon.io.poses import save_poses
    from osteon.io.skeletons import save_skeleton
    from osteon.report.picture import save_png
    from osteon.report.pose_picture import PosedMesh, PosePictureOptions, PoseSubject, pose_picture
    from osteon.simplex.pose_report import describe_poser, describe_poses
    from osteon.simplex.poser import Poser, PoserOptions
    from osteon.synth.cartoon import cartoon_poses, make_cartoon
    from osteon.synth.figure import figure_poses, make_figure

    names = [f"{subject}{end}" for end in (".obj", ".json", "-poses.json", "-posed.npz", ".png")]
    outputs = plan_demo(folder, names, json_file)
    make, move = (make_figure, figure_poses) if subject == "figure" else (make_cartoon, cartoon_poses)
    with progress_bar(quiet) as progress:
        vertices, faces, skeleton = make()
        track = move(skeleton)
        poser = Poser.of(vertices, faces, skeleton, progress=progress)
        posed = poser.pose(track, progress=progress)
        blended = Poser.of(vertices, faces, skeleton, options=PoserOptions(method="ssd")).pose(track.frame(0))
    rest = vertices.astype(np.float32)
    moving = MeshSequence(posed.astype(np.float32), faces, rest, track.clips, name=subject)
    ideal = poser.ideal(track.frame(0))[0]
    shown = [PosedMesh("simplex", posed[0], ideal), PosedMesh("SSD", blended[0], ideal)]
    options = PosePictureOptions(title=f"osteon demo {subject}: {track.clips[0].name}")
    drawn = PoseSubject(vertices, faces, skeleton, poser.groups.group)
    facts = describe_poser(poser) | describe_poses(poser, track, posed)
    with outputs.writing():
        save_sequence(MeshSequence(rest[None], faces, rest), folder / names[0])
        save_skeleton(skeleton, folder / names[1])
        save_poses(track, skeleton, folder / names[2], name=subject)
        save_sequence(moving, folder / names[3])
        save_png(pose_picture(drawn, shown, track.joints[0], options=options), folder / names[4])
        write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        _print_next_steps(
            subject, folder, f"{track.n_frames} poses of {len(vertices):,} vertices by {skeleton.n_bones} bones"
        )


def _print_next_steps(subject: str, folder: Path, done: str) -> None:
    mesh, sticks, poses = (folder / f"{subject}{end}" for end in (".obj", ".json", "-poses.json"))
    click.echo(f"{done}. Written to {folder}/: {subject}.obj, .json, -poses.json, -posed.npz, .png. Try:")
    frames, posed = f"{folder / subject}-frames/", f"{folder / subject}-posed.npz"
    click.echo(f"  {command_text('osteon', 'pose', mesh, sticks, poses, '-o', frames)}")
    click.echo(f"  {command_text('osteon', 'skin', posed, '--bones', 24, '-o', folder / f'{subject}.glb')}")
    click.echo(f"  {command_text('osteon', 'view', mesh, '--skeleton', sticks)}")
