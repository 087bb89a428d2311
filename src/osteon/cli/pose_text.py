"""What `osteon pose` tells people: a table, and notes about what they should look at."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import console
from osteon.cli.info import print_facts

if TYPE_CHECKING:
    from osteon.core.arrays import Float64
    from osteon.core.sticks import StickSkeleton

__all__ = ["place_notes", "print_pose_report"]

#: Joints this far outside of the mesh's box, over its diagonal, are likely a mistake.
AWAY = 0.25
#: A skeleton that many times larger or smaller than the mesh is likely in other units.
UNITS = 4.0
#: Notes of one kind that are shown one by one.
SHOWN = 3


def place_notes(skeleton: StickSkeleton, vertices: Float64, name: str) -> list[str]:
    """A sentence if the skeleton does not seem to belong where the mesh is."""
    import numpy as np

    low, high = vertices.min(axis=0), vertices.max(axis=0)
    axes = slice(0, 2) if low[2] == high[2] else slice(0, 3)  # a drawing's skeleton is put into its plane
    size = float(np.linalg.norm(high - low))
    extent = float(np.linalg.norm(np.ptp(skeleton.joints[:, axes], axis=0)))
    if not size / UNITS <= extent <= size * UNITS:
        measured = f"its joints extend over {extent:.4g}, the mesh over {size:.4g}"
        return [f"{name} seems to be in other units: {measured}; scale one of them"]
    beyond = np.maximum(low - skeleton.joints, skeleton.joints - high)[:, axes].max(axis=1)
    away = np.flatnonzero(beyond > AWAY * size)
    if not len(away):
        return []
    if 2 * len(away) > skeleton.n_joints:
        return [f"{name} stands beside the mesh: {len(away)} of {skeleton.n_joints} joints lie far outside; move it"]
    listed = ", ".join(skeleton.names[j] for j in away[:SHOWN])
    return [f"{name} has joints far outside the mesh: {listed}{', …' if len(away) > SHOWN else ''}"]


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
    """Notes that end alike are of one kind; of many, the first ones and how many more."""
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
    """Where triangles are turned over."""
    count = facts["worst"]["flipped"]
    if not count:
        return []
    what = "1 triangle is" if count == 1 else f"{count:,} triangles are"
    where = "the worst pose"
    if facts["measured_poses"] == facts["poses"]:
        where = f"pose {next(row['pose'] for row in facts['by_pose'] if row['flipped'] == count)}"
    advice = "bend less there, or put another joint in" if "skeleton" in facts else "move less there"
    return [f"{what} turned over in {where}; {advice}"]
