"""`osteon demo figure` and `osteon demo cartoon`: a mesh, a skeleton and poses as files, posed and drawn."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from osteon.cli.common import print_json, progress_bar, write_json
from osteon.cli.outputs import file_output, plan_outputs
from osteon.core.command_text import command_text

__all__ = ["pose_demo"]


def pose_demo(subject: str, folder: Path, json_file: str | None, quiet: bool) -> None:
    """Write the mesh, the skeleton and the poses, pose the mesh, and draw one pose beside SSD."""
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
    outputs = plan_outputs([], *(file_output("-o", folder / name) for name in names), file_output("--json", json_file))
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
