"""Edits in the document of another program: what changes, what stays, and how it comes back."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from osteon.apply.edit.edit_rest import edit_rest
from osteon.apply.edit.options import EditOptions
from osteon.core.model import SkinnedModel
from osteon.deform.edit_columns import columns_of_edits
from osteon.deform.edits import edits_of
from osteon.deform.pose import pose_frames
from osteon.io import load_model, load_sequence, save_model
from osteon.io.load.rig_files import keeps_document, open_edited_character, save_edited, why_document_is_lost
from tests.tolerance import assert_same_points

from .conftest import Glb
from .kept_character import read_glb, strange_character


def foreign() -> Glb:
    """A character of another program with a camera, a light, a mesh without skin and an extension of its own."""
    made = strange_character()
    root = made.json
    points = made.accessor(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32), min=[0, 0, 0], max=[1, 1, 0])
    root["meshes"].append({"primitives": [{"attributes": {"POSITION": points}}], "extras": {"prop": 1.50}})
    root["nodes"].append({"name": "prop", "mesh": len(root["meshes"]) - 1, "translation": [5, 0, 0]})
    root["scenes"][0]["nodes"].append(len(root["nodes"]) - 1)
    root["nodes"].append({"name": "lamp", "extensions": {"KHR_lights_punctual": {"light": 0}}})
    root["scenes"][0]["nodes"].append(len(root["nodes"]) - 1)
    root["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "point"}]}, "ACME_thing": {"a": [1, 2.50]}}
    root["extensionsUsed"] += ["KHR_lights_punctual", "ACME_thing"]
    return made


@pytest.fixture(name="path")
def _path(tmp_path) -> Path:
    path = tmp_path / "other.glb"
    return foreign().save(path)


def bump(model: SkinnedModel, vertex: int = 30, size: float = 0.4) -> np.ndarray:
    """(v,3) of the vertices around one, to one side."""
    distance = np.linalg.norm(model.rest - model.rest[vertex], axis=1) / size
    return 0.2 * (np.maximum(0, 1 - distance**2) ** 2)[:, None] * np.array([0.9, 0.1, 0.4])


def edited_file(path: Path, out: Path, **options) -> SkinnedModel:
    model, character = load_model(path), open_edited_character(path)
    found = edit_rest(model, model.rest + bump(model), options=EditOptions(**options)).model
    assert keeps_document(character, found, out)
    save_edited(found, character, out)
    return found


def changed(before: object, after: object, place: str = "") -> set[str]:
    """The places of two JSON values that differ, to the depth of lists' entries."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = before.keys() | after.keys()
        return set().union(*(changed(before.get(k), after.get(k), f"{place}/{k}") for k in keys)) if keys else set()
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return set().union(
            set(), *(changed(a, b, f"{place}/{i}") for i, (a, b) in enumerate(zip(before, after, strict=True)))
        )
    return set() if before == after else {place}


def test_only_the_edited_mesh_changes(path, tmp_path):
    found = edited_file(path, tmp_path / "a.glb")
    assert columns_of_edits(found)
    (before, old), (after, new) = read_glb(path), read_glb(tmp_path / "a.glb")
    assert new[: len(old)] == old
    places = changed(before, after)
    growing = {"/accessors", "/bufferViews", "/buffers/0/byteLength"}
    assert {"/asset/extras/osteon_edits", "/extras"} & places
    rest = places - growing - {"/asset/extras/osteon_edits", "/extras"}
    assert all(one.startswith(("/meshes/0/", "/animations/")) for one in rest), rest
    text = path.read_bytes()
    for piece in (b'"ACME_thing"', b'"KHR_lights_punctual"', b'"perspective"'):
        assert piece in text
    again = load_model(tmp_path / "a.glb")
    assert edits_of(again.character).names == ("edit",)
    assert_same_points(pose_frames(again), pose_frames(found))
    stock = load_sequence(tmp_path / "a.glb")
    shown = np.stack([stock.frame(f) for f in range(stock.n_frames)])
    assert_same_points(shown, pose_frames(found), 2e-6)


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_removing_the_edits_restores_the_file(path, tmp_path, suffix):
    source = path
    if suffix == ".gltf":
        source = tmp_path / "other.gltf"
        made = foreign()
        uri = "data:application/octet-stream;base64," + base64.b64encode(bytes(made.blob)).decode()
        root = made.json | {"buffers": [{"byteLength": len(made.blob), "uri": uri}]}
        source.write_text(json.dumps(root, indent=1))
    edited_file(source, tmp_path / f"a{suffix}", name="one")
    model, character = load_model(tmp_path / f"a{suffix}"), open_edited_character(tmp_path / f"a{suffix}")
    both = edit_rest(model, model.rest + bump(model, 90), options=EditOptions(name="two", scale=0.5)).model
    save_edited(both, character, tmp_path / f"b{suffix}")
    again = load_model(tmp_path / f"b{suffix}")
    assert edits_of(again.character).names == ("one", "two")
    assert_same_points(pose_frames(again), pose_frames(both))
    none = edit_rest(again, options=EditOptions(remove=("one", "two"))).model
    save_edited(none, open_edited_character(tmp_path / f"b{suffix}"), tmp_path / f"c{suffix}")
    assert (tmp_path / f"c{suffix}").read_bytes() == source.read_bytes()


def test_edits_count_only_while_the_document_is_unchanged(path, tmp_path):
    found = edited_file(path, tmp_path / "a.glb")
    root, data = read_glb(tmp_path / "a.glb")
    root["materials"][0]["name"] = "wool"
    changed_file = tmp_path / "b.gltf"
    root["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    changed_file.write_text(json.dumps(root))
    again = load_model(changed_file)
    assert edits_of(again.character).names == ()
    assert_same_points(pose_frames(again), pose_frames(found), 2e-6)  # it is shown edited


def test_own_targets_stay_before_those_of_edits(path, tmp_path):
    """A mesh that has a morph target with keys of its own."""
    made = foreign()
    root = made.json
    count = root["accessors"][root["meshes"][0]["primitives"][0]["attributes"]["POSITION"]]["count"]
    delta = made.accessor(np.tile(np.float32([0, 0, 0.1]), (count, 1)), min=[0, 0, 0.1], max=[0, 0, 0.1])
    for primitive in root["meshes"][0]["primitives"]:
        primitive["targets"] = [{"POSITION": delta}]
    times = made.accessor([0.0, 1.0], min=[0.0], max=[1.0])
    keys = made.accessor([0.0, 1.0])
    animation = root["animations"][0]
    animation["samplers"].append({"input": times, "output": keys})
    animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": {"node": 5, "path": "weights"}})
    source = tmp_path / "morphed.glb"
    made.save(source)
    found = edited_file(source, tmp_path / "a.glb")
    assert found.rank > 1
    again = load_model(tmp_path / "a.glb")
    assert_same_points(pose_frames(again), pose_frames(found))
    stock = load_sequence(tmp_path / "a.glb")
    shown = np.stack([stock.frame(f) for f in range(stock.n_frames)])
    assert_same_points(shown, pose_frames(found), 2e-6)
    root, _ = read_glb(tmp_path / "a.glb")
    targets = [(c["target"]["node"], c["target"]["path"]) for a in root["animations"][:1] for c in a["channels"]]
    assert len(set(targets)) == len(targets)


def test_what_is_lost_is_named(path, tmp_path):
    model, character = load_model(path), open_edited_character(path)
    fine = edit_rest(model, options=EditOptions(subdivide=1, scale=None)).model
    assert not keeps_document(character, fine, tmp_path / "a.glb")
    note = why_document_is_lost(character, fine, tmp_path / "a.glb")
    for piece in ("other vertices", "1 camera", "1 light", "ACME_thing", "extras"):
        assert piece in note
    assert why_document_is_lost(character, fine, tmp_path / "a.npz") is None
    save_model(model, tmp_path / "own.glb")
    assert not keeps_document(open_edited_character(tmp_path / "own.glb"), model, tmp_path / "b.glb")
