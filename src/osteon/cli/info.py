"""`osteon info`: what a file holds; and the frames of a model that a command line selects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import WallTime, console, json_option, print_json, progress_bar, time_text, write_json
from osteon.cli.option_flags import options_of, refuse_unused
from osteon.cli.outputs import file_output, plan_outputs
from osteon.cli.stored_light import describe_stored_light, light_text
from osteon.core.errors import FileFormatError
from osteon.core.options import command_text
from osteon.io import MODEL_FORMATS, LoadOptions, holds_model, load_model, load_outline, load_sequence
from osteon.io.load.clips import clips_of_frames, parse_frames
from osteon.io.load.rig_files import describe_clips_only, holds_clips_only
from osteon.io.load.source import numbered

if TYPE_CHECKING:
    from rich.console import Console

    from osteon.core.animation import Clip
    from osteon.core.mesh import Asset
    from osteon.core.model import SkinnedModel
    from osteon.core.sequence import MeshSequence
    from osteon.io.formats.format_types import Outline


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@options_of(load=LoadOptions)
@json_option
def info(inputs: tuple[str, ...], load: LoadOptions, json_file: str | None, quiet: bool) -> None:
    """List what a mesh, a sequence, a model, a skeleton or a file of clips holds."""
    from osteon.io.skeletons.files import TEXT_FORMATS

    clock = WallTime.of_command()
    outputs = plan_outputs([*inputs, load.rest, load.faces], file_output("--json", json_file))
    with progress_bar(quiet) as progress, clock.stage("load"):
        if len(inputs) == 1 and Path(inputs[0]).suffix.lower() in TEXT_FORMATS:
            refuse_unused(input="skeleton")
            facts = describe_skeleton(inputs[0])
        elif len(inputs) == 1 and holds_clips_only(inputs[0]):
            refuse_unused(input="clips")
            facts = describe_clip_file(inputs[0], load)
        # --rest and --faces belong to a sequence of frames.
        elif len(inputs) == 1 and load.rest is None and load.faces is None and holds_model(inputs[0]):
            model = load_model(inputs[0], options=load)
            facts = describe_model(take_clips(model, load.clips, Path(inputs[0]))) | describe_stored_levels(inputs[0])
            facts |= describe_stored_light(inputs[0])
        elif (outline := load_outline(inputs, options=load)) is not None:
            facts = describe_outline(outline)
        else:
            facts = describe_sequence(load_sequence(list(inputs), options=load, progress=progress))
    with outputs.writing():
        write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        print_facts(facts | {"time": time_text(clock.seconds())}, console())


def describe_skeleton(path: str) -> dict[str, Any]:
    """Facts about a stick skeleton."""
    import numpy as np

    from osteon.io.skeletons import load_skeleton

    skeleton = load_skeleton(path)
    lengths = np.linalg.norm(skeleton.vectors, axis=1)
    return {
        "kind": "skeleton",
        "joints": skeleton.n_joints,
        "bones": skeleton.n_bones,
        "root": skeleton.names[skeleton.root],
        "free_ends": [skeleton.names[j] for j in skeleton.free_ends()],
        "bone_lengths": {"least": float(lengths.min()), "largest": float(lengths.max())},
        "size": np.ptp(skeleton.joints, axis=0).tolist(),
        "names": list(skeleton.names),
    }


def describe_clip_file(path: str, options: LoadOptions) -> dict[str, Any]:
    """Facts about a file of joints and clips without a mesh."""
    found = describe_clips_only(path, options)
    return {
        "kind": "clips",
        "name": Path(path).stem,
        "frames": sum(clip.n_frames for clip in found.clips),
        "joints": len(found.joints),
        "clips": describe_clips(found.clips),
        "seconds": sum((clip.n_frames - 1) / clip.fps for clip in found.clips),
        "names": list(found.joints),
        "use": "osteon skin --rig CHARACTER",
    }


def describe_clips(clips: tuple[Clip, ...]) -> list[dict[str, Any]]:
    """Name, number of frames and rate of each."""
    return [{"name": c.name, "frames": c.n_frames, "fps": c.fps} for c in clips]


def describe_outline(outline: Outline) -> dict[str, Any]:
    """Facts about a sequence whose frames have not been read, so that its travel is unknown."""
    from osteon.core.sequence import MeshSequence

    mesh = outline.mesh
    return {
        "kind": "sequence" if outline.n_frames > 1 else "mesh",
        "name": mesh.name,
        "frames": outline.n_frames,
        **_describe_mesh(MeshSequence(mesh.rest[None], mesh.faces, mesh.rest)),
        "travel": None,
        "clips": describe_clips(outline.clips),
        **_describe_asset(mesh.asset),
    }


def describe_sequence(sequence: MeshSequence) -> dict[str, Any]:
    """Facts about a sequence."""
    import numpy as np

    from osteon.core.frames import frame_centers

    steps = np.linalg.norm(np.diff(frame_centers(sequence.source), axis=0), axis=1)
    return {
        "kind": "sequence" if sequence.n_frames > 1 else "mesh",
        "name": sequence.name,
        "frames": sequence.n_frames,
        **_describe_mesh(sequence),
        "travel": float(steps.sum()),
        "clips": describe_clips(sequence.clips),
        **_describe_asset(sequence.asset),
    }


def describe_model(model: SkinnedModel) -> dict[str, Any]:
    """Facts about a skinned model."""
    from osteon.core.sequence import MeshSequence

    used = (model.skin.weights != 0).sum(axis=1)
    return {
        "kind": "model",
        "name": model.name,
        "frames": model.n_frames,
        **_describe_mesh(MeshSequence(model.rest[None], model.faces, model.rest)),
        "bones": model.n_bones,
        "bone_type": model.track.bone_type,
        "deformer": model.deformer.kind,
        "joints": 0 if model.skeleton is None else len(model.skeleton.names),  # of a tree
        "influences": model.skin.n_influences,
        "influences_used": {"mean": float(used.mean()), "max": int(used.max())},
        "smallest_weight": float(model.skin.weights.min()),
        "rank": model.rank,
        **_describe_live(model),
        **_describe_edits(model),
        "clips": describe_clips(model.clips),
        **_describe_asset(model.asset),
    }


def _describe_live(model: SkinnedModel) -> dict[str, Any]:
    """Displacements that follow the bones."""
    import numpy as np

    from osteon.deform.eigenskin import EigenSkin

    found = model.character.displacement(EigenSkin.kind)
    if not isinstance(found, EigenSkin):
        return {}
    drivers = {tuple(pair) for pair in found.rbf.joints[np.unique(found.rbf.driver)].tolist()}
    pairs = sum(second >= 0 for _, second in drivers)
    a_vertex = found.columns_per_vertex
    return {
        "eigenskin": {
            "eigendisplacements": found.rank,
            "eigennormals": found.n_normals,
            "joints": len(drivers) - pairs,
            "pairs": pairs,
            "a_vertex": {"mean": float(a_vertex.mean()), "max": int(a_vertex.max(initial=0))},
            "bits": found.bits,
        }
    }


def _describe_edits(model: SkinnedModel) -> dict[str, Any]:
    """Edits of the rest pose, with the largest displacement of each in percent of the diagonal."""
    import numpy as np

    from osteon.deform.edits import edits_of

    edits, size = edits_of(model.character), model.mesh.diagonal or 1.0
    largest = np.linalg.norm(edits.basis.astype(np.float64), axis=2).max(axis=1, initial=0.0) / size
    found = [
        {"name": name, "scale": float(scale), "vertices": int(basis.any(axis=1).sum()), "largest_percent": 100 * part}
        for name, scale, basis, part in zip(edits.names, edits.scales, edits.basis, largest.tolist(), strict=True)
    ]
    return {"edits": found} if found else {}


def describe_stored_levels(path: str) -> dict[str, Any]:
    """Facts about the levels of detail in the file of a model, if there are any."""
    from osteon.io import load_stored_levels

    stored = load_stored_levels(path)
    levels = [] if stored is None else stored.header.get("levels", [])
    names = ("bones", "blends", "triangles")
    shown = [{name: level.get(name) for name in names} for level in levels if isinstance(level, dict)]
    return {"levels": shown} if shown else {}


def _describe_mesh(sequence: MeshSequence) -> dict[str, Any]:
    """Facts about the rest pose and the triangles."""
    import numpy as np

    from osteon.core.topology import degenerate_triangles, weld_vertices, welded_shells

    unique, _ = weld_vertices(sequence)
    used = np.zeros(sequence.n_vertices, bool)
    used[sequence.faces] = True
    return {
        "vertices": sequence.n_vertices,
        "triangles": sequence.n_triangles,
        "shells": welded_shells(sequence.rest, sequence.faces)[0],
        "degenerate_triangles": int(degenerate_triangles(sequence.rest, sequence.faces).sum()),
        "unreferenced_vertices": int((~used).sum()),
        "duplicate_vertices": sequence.n_vertices - len(unique),
        "size": [float(x) for x in np.ptp(sequence.rest.astype(np.float64), axis=0)],
        "diagonal": sequence.diagonal,
    }


def _describe_asset(asset: Asset) -> dict[str, Any]:
    """Attributes besides positions."""
    carries = {
        "uvs": asset.uvs is not None,
        "colors": asset.colors is not None,
        "more uvs": bool(asset.more_uvs),
        "more colors": bool(asset.more_colors),
        "materials": bool(asset.materials),
        "polygons": asset.polygon_of_triangle is not None,
        "textures": any(material.textures for material in asset.materials),
    }
    return {
        "carries": [name for name, there in carries.items() if there],
        "materials": [m.name for m in asset.materials],
        **({"left_out": list(asset.origin.lost)} if asset.origin.lost else {}),
    }


def print_facts(facts: dict[str, Any], out: Console) -> None:
    """Print a table. Names come from files, so markup and control characters in them are not interpreted."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for key, value in facts.items():
        shown = _shown(key, value)
        table.add_row(key.replace("_", " "), Text("".join(c if c.isprintable() else "\ufffd" for c in shown)))
    out.print(table)


def _shown(key: str, value: Any) -> str:
    if key == "clips":
        return ", ".join(f"{c['name']} ({numbered(c['frames'], 'frame')} at {c['fps']:g} fps)" for c in value)
    if key == "edits":
        return ", ".join(
            f"{e['name']} ({e['vertices']:,} vertices, up to {e['largest_percent']:.2f} %, scale {e['scale']:g})"
            for e in value
        )
    if key == "levels":
        words = (", ".join(f"{_shown('', number)} {name}" for name, number in level.items()) for level in value)
        return "; ".join(words)
    if key == "light":
        return light_text(value)
    if value is None:
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown('', v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(_shown("", v) for v in value) or "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def load_skinned(file: Path, options: LoadOptions) -> SkinnedModel:
    """The skinned model in a file. The error for other files names the command that makes one."""
    if not file.exists():
        raise FileFormatError(f"{file}: there is no such file")
    if file.is_file() and file.suffix.lower() in MODEL_FORMATS and not holds_model(file):
        skin = command_text("osteon", "skin", file, "-o", file.with_name(f"{file.stem}-skinned.glb"))
        raise FileFormatError(f"{file}: is not a skinned model, it has no bones; make one with: {skin}")
    return load_model(file, options=options)


def take_clips(model: SkinnedModel, clips: tuple[str, ...], file: Path) -> SkinnedModel:
    """The model with only the given clips."""
    return take_frames(model, choose_frames(model, clips, None, file)) if clips else model


def choose_frames(model: SkinnedModel, clips: tuple[str, ...], frames: str | None, file: Path) -> list[int]:
    """The selected frames in their order."""
    from osteon.io.load.clips import select_names

    chosen = [model.clips[i] for i in select_names([c.name for c in model.clips], clips, file)]
    there = [f for clip in chosen for f in range(clip.start, clip.stop)]
    return there if frames is None else [there[i] for i in parse_frames(frames, len(there))]


def take_frames(model: SkinnedModel, frames: list[int]) -> SkinnedModel:
    """The model with only the given frames; consecutive frames of one clip stay a clip."""
    from osteon.core.animation import BoneTrack
    from osteon.core.character import Corrections

    if frames == list(range(model.n_frames)):
        return model
    clips = clips_of_frames(model.clips, frames)
    track, added = model.track, model.corrections
    if added is not None:
        added = Corrections(added.basis, added.coefficients[frames], added.normal_basis)
    track = BoneTrack(track.transforms[frames], track.bone_type, track.names)
    return model.with_corrections(None).with_animation(track=track, clips=clips).with_corrections(added)
