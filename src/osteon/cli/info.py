"""`osteon info`: what a file holds, before anything is done with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import console, input_options, json_option, load_inputs, progress_bar, write_json

if TYPE_CHECKING:
    from osteon.core.model import SkinnedModel
    from osteon.core.sequence import MeshSequence

__all__ = ["info"]


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@input_options
@json_option
def info(
    inputs: tuple[str, ...],
    fps: float | None,
    faces: Path | None,
    rest: str | None,
    clips: tuple[str, ...],
    json_file: str | None,
    quiet: bool,
) -> None:
    """Tell what a mesh, a sequence or a model holds."""
    from osteon.io import holds_model, load_model

    if len(inputs) == 1 and holds_model(inputs[0]):
        facts = describe_model(load_model(inputs[0]))
    else:
        with progress_bar(quiet) as progress:
            sequence = load_inputs(inputs, fps=fps, faces=faces, rest=rest, clips=clips, progress=progress)
        facts = describe_sequence(sequence)
    write_json(facts, json_file)
    if not quiet and json_file != "-":
        _print_facts(facts)


def _describe_clips(clips: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [{"name": c.name, "frames": c.n_frames, "fps": c.fps} for c in clips]


def describe_sequence(sequence: MeshSequence) -> dict[str, Any]:
    """Facts about a sequence, with what may surprise."""
    import numpy as np

    from osteon.core.topology import degenerate_triangles, shells
    from osteon.core.weld import weld_vertices

    asset = sequence.asset
    used = np.unique(sequence.faces)
    unique, which = weld_vertices(sequence)
    steps = np.linalg.norm(np.diff(sequence.frames.mean(axis=1, dtype=np.float64), axis=0), axis=1)
    return {
        "kind": "sequence" if sequence.n_frames > 1 else "mesh",
        "name": sequence.name,
        "frames": sequence.n_frames,
        "vertices": sequence.n_vertices,
        "triangles": sequence.n_triangles,
        "shells": shells(which[sequence.faces], len(unique))[0],
        "degenerate_triangles": int(degenerate_triangles(sequence.rest, sequence.faces).sum()),
        "unreferenced_vertices": sequence.n_vertices - len(used),
        "duplicate_vertices": sequence.n_vertices - len(unique),
        "size": [float(x) for x in np.ptp(sequence.rest.astype(np.float64), axis=0)],
        "diagonal": sequence.diagonal,
        "travel": float(steps.sum()),
        "clips": _describe_clips(sequence.clips),
        "carries": [
            name
            for name, there in (
                ("uvs", asset.uvs is not None),
                ("colors", asset.colors is not None),
                ("materials", bool(asset.materials)),
                ("polygons", asset.polygon_of_triangle is not None),
            )
            if there
        ],
        "materials": [m.name for m in asset.materials],
    }


def describe_model(model: SkinnedModel) -> dict[str, Any]:
    """Facts about a skinned model."""
    used = (model.skin.weights != 0).sum(axis=1)
    return {
        "kind": "model",
        "name": model.name,
        "frames": model.n_frames,
        "vertices": model.n_vertices,
        "triangles": len(model.faces),
        "bones": model.n_bones,
        "bone_type": model.track.bone_type,
        "influences": model.skin.n_influences,
        "influences_used": {"mean": float(used.mean()), "max": int(used.max())},
        "smallest_weight": float(model.skin.weights.min()),
        "rank": 0 if model.corrections is None else model.corrections.rank,
        "clips": _describe_clips(model.clips),
        "materials": [m.name for m in model.asset.materials],
    }


def _print_facts(facts: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for key, value in facts.items():
        table.add_row(key.replace("_", " "), _shown(key, value))
    console().print(table)


def _shown(key: str, value: Any) -> str:
    if key == "clips":
        return ", ".join(f"{c['name']} ({c['frames']} frames at {c['fps']:g} fps)" for c in value)
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown('', v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(_shown("", v) for v in value) or "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
