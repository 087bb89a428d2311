"""The tree of a recovered skeleton as a text file, made to be edited: `osteon rig --save-tree` and `--tree`.

    {"joints": {"hips": {"parent": null, "position": [0, 0.9, 0], "sections": [0]},
                "spine": {"parent": "hips", "position": [0, 1.1, 0], "sections": [1]}, …},
     "sections": {"vertices": 3273, "count": 18, "places": [[0, 0.9, 0], …], "weights": "…"}}

A section is a near-rigid part of the surface with the weights of its vertices; `weights` stores them (zlib, base64),
so that a new tree needs no new search. An edit changes `joints` only: a parent re-hangs a joint, a name renames it, a
position moves it, two lists of sections in one joint merge them, and a joint with `"split_from": "spine"` instead of
sections takes the vertices of that joint beyond its position.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.errors import GeometryError
from osteon.io.load.source import Claims, PathLike, Source, quote
from osteon.io.save import GENERATOR, GENERATOR_KEY
from osteon.io.save.atomic import atomic_file
from osteon.io.skeletons.parsing import JsonValue, nearest_of, read_json

#: Positions that differ by less than this, of the extent of all places, are those that were stored.
SAME = 1e-6
#: Largest stored weight.
WHOLE = 65_535
#: Stored bytes per vertex, of eight influences.
MOST_BYTES = 32


@dataclass(frozen=True, slots=True)
class SectionJoint:
    """A joint of an edited tree."""

    name: str
    parent: int  # number of a joint, -1 at the root
    position: tuple[float, float, float]
    sections: tuple[int, ...]  # (): it splits another joint
    split_from: int = -1  # number of the joint whose vertices beyond the position it takes
    moved: bool = False  # whether the position is the user's


@dataclass(frozen=True, slots=True)
class SectionTree:
    """Joints over stored sections."""

    joints: tuple[SectionJoint, ...]  # parents before children, the root first
    bones: Int64  # (v,k) sections of every vertex of the input
    weights: Float64  # (v,k)
    places: Float64  # (s,3) the stored position of each section's joint

    def __post_init__(self) -> None:
        parents = [joint.parent for joint in self.joints]
        if not parents or parents[0] >= 0 or any(not 0 <= parent < j for j, parent in enumerate(parents) if j):
            raise GeometryError("tree: expected one root, first, and parents before children")

    @property
    def n_sections(self) -> int:
        return len(self.places)

    @property
    def parents(self) -> Int64:
        return np.array([joint.parent for joint in self.joints], np.int64)

    def dense(self, rest: Float64) -> Float64:
        """(v,j) weights of the joints, after merging and splitting, on the rest pose (v,3)."""
        sections = np.zeros((len(self.bones), self.n_sections))
        np.add.at(sections, (np.arange(len(sections))[:, None], self.bones), self.weights)
        out = np.zeros((len(sections), len(self.joints)))
        for j, joint in enumerate(self.joints):
            out[:, j] = sections[:, list(joint.sections)].sum(axis=1)
        for j, joint in enumerate(self.joints):
            if joint.split_from >= 0:
                start = np.array(self.joints[joint.split_from].position)
                along = np.array(joint.position) - start
                beyond = (rest - joint.position) @ along > 0
                out[beyond, j] = out[beyond, joint.split_from]
                out[beyond, joint.split_from] = 0
        return out


def save_section_tree(tree: SectionTree, path: PathLike) -> None:
    """Write a tree as a text file."""
    with atomic_file(path) as temporary:
        temporary.write_text(section_tree_text(tree))


def section_tree_text(tree: SectionTree) -> str:
    """A tree as JSON, one joint per line."""
    names = [joint.name for joint in tree.joints]
    lines = []
    for joint in tree.joints:
        entry = {
            "parent": names[joint.parent] if joint.parent >= 0 else None,
            "position": [float(np.float32(x)) for x in joint.position],
            "sections": list(joint.sections),
        }
        lines.append(f"    {json.dumps(joint.name)}: {json.dumps(entry)}")
    stored = {
        "vertices": len(tree.bones),
        "count": tree.n_sections,
        "places": [[float(np.float32(x)) for x in place] for place in tree.places.tolist()],
        "weights": _packed(tree.bones, tree.weights),
    }
    head = f'{{\n  "{GENERATOR_KEY}": {json.dumps(GENERATOR)},\n  "joints": {{\n'
    return head + ",\n".join(lines) + f'\n  }},\n  "sections": {json.dumps(stored)}\n}}\n'


def load_section_tree(path: PathLike) -> SectionTree:
    """Read a tree, edited or not; errors name the joint."""
    top = read_json(Source(Path(path)))
    fields = top.fields((GENERATOR_KEY, "joints", "sections"))
    for key in ("joints", "sections"):
        if key not in fields:
            raise top.error(f"has no '{key}'; expected a file of osteon rig --save-tree")
    places, bones, weights = _read_sections(fields["sections"])
    joints = _read_joints(fields["joints"], places)
    return SectionTree(joints, bones, weights, places)


def _packed(bones: Int64, weights: Float64) -> str:
    whole = np.round(weights * WHOLE).astype("<u2")
    data = np.concatenate([bones.astype("<u2"), whole], axis=1)
    return base64.b64encode(zlib.compress(data.tobytes(), 9)).decode()


def _read_sections(value: JsonValue) -> tuple[Float64, Int64, Float64]:
    fields = value.fields(("vertices", "count", "places", "weights"))
    for key in ("vertices", "count", "places", "weights"):
        if key not in fields:
            raise value.error(f"has no '{key}'; it is part of the stored file and not to be edited")
    count, n_vertices = fields["count"].whole(), fields["vertices"].whole()
    places = np.array([place.point() for place in fields["places"].items("place")])
    problem = fields["weights"].error("is damaged; save the tree again with --save-tree")
    try:
        packed = base64.b64decode(fields["weights"].text(), validate=True)
        Claims(value.source, len(packed)).unpack(MOST_BYTES * n_vertices, "its sections")
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, MOST_BYTES * max(1, n_vertices) + 1)
    except (binascii.Error, zlib.error) as error:
        raise problem from error
    if len(places) != count or not n_vertices or len(data) % (4 * n_vertices) or len(data) > MOST_BYTES * n_vertices:
        raise problem
    rows = np.frombuffer(data, "<u2").reshape(n_vertices, -1).astype(np.int64)
    if not rows.shape[1]:
        raise problem
    bones, weights = np.split(rows, 2, axis=1)
    total = weights.sum(axis=1, keepdims=True)
    if bones.max(initial=0) >= count or (total <= 0).any():
        raise problem
    return places, bones, weights / total


def _read_joints(value: JsonValue, places: Float64) -> tuple[SectionJoint, ...]:
    named = value.named()
    if not named:
        raise value.error("there are no joints; expected at least one")
    names = list(named)
    fields = {name: entry.fields(("parent", "position", "sections", "split_from")) for name, entry in named.items()}
    parents = {name: _read_parent(named[name], entry, names) for name, entry in fields.items()}
    roots = [name for name in names if parents[name] is None]
    if len(roots) != 1:
        listed = ", ".join(map(quote, roots)) or "none"
        raise value.error(f'expected one joint with "parent": null, found {listed}; give each other joint a parent')
    order = _order(value, names, parents)
    splits = {
        name: _read_split(named[name], entry, names, fields)
        for name, entry in fields.items()
        if not _has_sections(entry)
    }
    _check_sections(value, fields, len(places))
    number = {name: j for j, name in enumerate(order)}
    same = SAME * float(np.linalg.norm(np.ptp(places, axis=0))) + 1e-12
    out = []
    for name in order:
        entry, parent = fields[name], parents[name]
        if "position" not in entry:
            raise named[name].error("has no 'position'; expected [x, y, z]")
        position = entry["position"].point()
        own = tuple(item.whole() for item in entry["sections"].items("section")) if _has_sections(entry) else ()
        split = -1
        if not own:
            split = number[splits[name]]
        moved = not own or float(np.linalg.norm(np.array(position) - places[own[0]])) > same
        out.append(SectionJoint(name, -1 if parent is None else number[parent], position, own, split, moved))
    return tuple(out)


def _has_sections(entry: dict[str, JsonValue]) -> bool:
    return "sections" in entry and bool(entry["sections"].value)


def _read_parent(value: JsonValue, entry: dict[str, JsonValue], names: list[str]) -> str | None:
    if "parent" not in entry:
        raise value.error("has no 'parent'; expected the name of a joint, or null at the root")
    if entry["parent"].value is None:
        return None
    return _known_joint(entry["parent"], names)


def _known_joint(value: JsonValue, names: list[str]) -> str:
    name = value.text()
    if name not in names:
        raise value.error(f"the joint {quote(name)} is unknown; {nearest_of(name, names)}")
    return name


def _read_split(
    value: JsonValue, entry: dict[str, JsonValue], names: list[str], fields: dict[str, dict[str, JsonValue]]
) -> str:
    if "split_from" not in entry:
        raise value.error(
            "has neither 'sections' nor 'split_from'; expected the joint whose vertices it takes a part of"
        )
    name = _known_joint(entry["split_from"], names)
    if not _has_sections(fields[name]):
        raise entry["split_from"].error(f"the joint {quote(name)} has no sections itself; split one that has")
    return name


def _order(value: JsonValue, names: list[str], parents: dict[str, str | None]) -> list[str]:
    """Names with parents before children."""
    out: list[str] = []
    waiting = list(names)
    while waiting:
        ready = [name for name in waiting if parents[name] is None or parents[name] in out]
        if not ready:
            raise value.error(f"the joint {quote(waiting[0])} is its own ancestor; give it another parent")
        out += ready
        waiting = [name for name in waiting if name not in ready]
    return out


def _check_sections(value: JsonValue, fields: dict[str, dict[str, JsonValue]], count: int) -> None:
    """Each stored section belongs to one joint."""
    owner: dict[int, str] = {}
    for name, entry in fields.items():
        if not _has_sections(entry):
            continue
        for item in entry["sections"].items("section"):
            section = item.whole()
            if section >= count:
                raise item.error(f"there is no section {section}; they are numbered 0 … {count - 1}")
            if section in owner:
                raise item.error(f"section {section} is already in {quote(owner[section])}; omit one of them")
            owner[section] = name
    missing = [section for section in range(count) if section not in owner]
    if missing:
        listed = ", ".join(map(str, missing[:6]))
        raise value.error(f"no joint has section {listed}; to merge, add it to the 'sections' of another joint")
