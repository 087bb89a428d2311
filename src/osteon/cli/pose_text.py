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

__all__ = ["place_warnings", "print_pose_report"]

#: Notes of one kind that are shown one by one.
SHOWN = 3


def place_warnings(skeleton: StickSkeleton, vertices: Float64, name: str) -> list[str]:
    """A sentence if the skeleton does not seem to belong where the mesh is."""
    from osteon.core.skeleton_place import measure_place

    place = measure_place(skeleton, vertices)
    if place.has_other_units:
        measured = f"its joints extend over {place.extent:.4g}, the mesh over {place.diagonal:.4g}"
        return [f"{name} seems to be in other units: {measured}; scale one of them"]
    n_far = len(place.far)
    if not n_far:
        return []
    if place.is_elsewhere:
        return [f"{name} stands beside the mesh: {n_far} of {skeleton.n_joints} joints lie far outside; move it"]
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
