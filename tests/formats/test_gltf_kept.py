"""A character's own document with `--rig`: what the fit did not change stays, what it did plays."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_frames
from osteon.io import load_model, save_model
from osteon.io.gltf.patch.character import Character
from osteon.io.load.rig_files import keeps_rig, open_character, save_on_rig
from osteon.io.save.sequences import played_sequence
from osteon.pipeline.skin import SkinFit, skin_sequence
from osteon_bench.kept_reader import changed_parts, read_plain

from ..subjects import bent_tube
from ..tolerance import assert_near, assert_same_points
from .kept_character import JOINTS, read_glb, strange_character, write_glb

FRAMES = np.array([0, 7, 12, 20, 30, 41, 49], np.int32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return strange_character().save(tmp_path / "character.glb")


def swelling(character: Character, frames: np.ndarray = FRAMES) -> MeshSequence:
    """Some frames of the character, with flesh that moves by itself."""
    sequence = played_sequence(character.model.take_frames(frames))
    swell = 0.1 * np.sin(np.arange(len(frames)))[:, None] * np.exp(-((sequence.rest[:, 1] - 2.5) ** 2))
    moved = sequence.frames.astype(np.float64)
    moved[..., 2] *= 1 + swell
    return sequence.with_parts(frames=moved)


def skinned(character: Character, sequence: MeshSequence, **options: object) -> SkinFit:
    chosen = SkinOptions(**({"bone_type": "rigid", "rounds": 3, "threads": 1} | options))
    return skin_sequence(sequence, rig=character.model, options=chosen, limits=character.limits())


def written(character: Character, fit: SkinFit, path: Path) -> Path:
    assert keeps_rig(character, fit.model, path)
    save_on_rig(fit.model, character, path)
    return path


def plays(path: Path, fit: SkinFit, tolerance: float = 2e-6) -> None:
    """The last clips of a file play what was fitted."""
    frames = pose_frames(load_model(path))[-fit.model.n_frames :]
    assert_near(frames, pose_frames(fit.model), tolerance * fit.model.diagonal)


def test_only_weights_and_a_clip_are_new(path, tmp_path):
    character = open_character(path)
    fit = skinned(character, swelling(character))
    out = written(character, fit, tmp_path / "out.glb")
    assert changed_parts(read_plain(path), read_plain(out)) == []
    plays(out, fit)
    model = load_model(out)
    assert [clip.name for clip in model.clips] == ["bend", "walk", "clip"]
    assert model.track.names == JOINTS
    root, _ = read_glb(out)
    paths = {c["target"]["path"] for c in root["animations"][-1]["channels"]}
    assert "scale" not in paths


def test_a_mesh_follows_only_the_joints_of_its_skin(path, tmp_path):
    """The glove lists two joints of four."""
    character = open_character(path)
    fit = skinned(character, swelling(character))
    glove = character.vertices[1]
    bones, weights = fit.model.skin.bones[glove], fit.model.skin.weights[glove]
    assert set(bones[weights > 0].tolist()) <= {2, 3}
    assert fit.report.error_percent < 5


def test_motion_that_the_character_brings_adds_no_clip(path, tmp_path):
    character = open_character(path)
    frames = np.arange(character.model.n_frames, dtype=np.int32)
    fit = skin_sequence(swelling(character, frames), rig=character.model, limits=character.limits())
    out = written(character, fit, tmp_path / "out.glb")
    before, after = read_plain(path), read_plain(out)
    assert changed_parts(before, after) == []
    assert before.root["animations"] == after.root["animations"]
    plays(out, fit)


@pytest.mark.parametrize("own", [False, True])
def test_helpers_come_last(path, tmp_path, own):
    character = open_character(path)
    frames = np.arange(character.model.n_frames, dtype=np.int32) if own else FRAMES
    options = SkinOptions(helpers=2, bone_type="rigid", threads=1)
    fit = skin_sequence(swelling(character, frames), rig=character.model, options=options, limits=character.limits())
    out = written(character, fit, tmp_path / "out.glb")
    before, after = read_glb(path)[0], read_glb(out)[0]
    count = len(before["nodes"])
    assert [node["name"] for node in after["nodes"][count:]] == ["helper_0", "helper_1"]
    for old, new in zip(before["nodes"], after["nodes"][:count], strict=True):
        assert new.get("children", [])[: len(old.get("children", []))] == old.get("children", [])
        assert {k: v for k, v in new.items() if k != "children"} == {k: v for k, v in old.items() if k != "children"}
    for old, new in zip(before["skins"], after["skins"], strict=True):
        assert new["joints"] == [*old["joints"], count, count + 1]
    assert len(after["animations"]) == len(before["animations"]) + (not own)
    plays(out, fit)


@pytest.mark.parametrize("own", [False, True])
def test_corrections_are_targets(path, tmp_path, own):
    character = open_character(path)
    frames = np.arange(character.model.n_frames, dtype=np.int32) if own else FRAMES
    options = {"rank": 2} | ({} if own else {"bone_type": "rigid", "rounds": 3})
    fit = skin_sequence(
        swelling(character, frames), rig=character.model, options=SkinOptions(**options), limits=character.limits()
    )
    plays(written(character, fit, tmp_path / "out.glb"), fit)


def test_targets_of_the_character_stay_before_those_of_corrections(path, tmp_path):
    root, blob = read_glb(path)
    position = root["meshes"][0]["primitives"][0]["attributes"]["POSITION"]
    root["meshes"][0]["primitives"][0]["targets"] = [{"POSITION": position}]
    root["meshes"][0] |= {"weights": [0.25], "extras": {"targetNames": ["grow"]}}
    own = write_glb(tmp_path / "targets.glb", root, blob)
    character = open_character(own)
    sequence = swelling(character).with_parts(rest=character.model.rest)
    fit = skinned(character, sequence, rank=2)
    out = written(character, fit, tmp_path / "out.glb")
    mesh = read_glb(out)[0]["meshes"][0]
    assert mesh["primitives"][0]["targets"][0] == {"POSITION": position}
    assert mesh["extras"]["targetNames"] == ["grow", "correction_0", "correction_1"]
    assert mesh["weights"] == [0.25, 0, 0]
    plays(out, fit)  # the new clip shows the rest pose without the character's own target


def test_a_mesh_on_a_node_follows_it(path, tmp_path):
    """A hat on the head: no skin, so no weights; its node moves as the head does."""
    root, blob = read_glb(path)
    hat = {"attributes": dict(root["meshes"][1]["primitives"][0]["attributes"]), "indices": 0}
    hat["indices"] = root["meshes"][1]["primitives"][0]["indices"]
    for name in ("JOINTS_0", "WEIGHTS_0"):
        hat["attributes"].pop(name)
    root["meshes"].append({"name": "hat", "primitives": [hat]})
    root["nodes"][3]["children"].append(len(root["nodes"]))
    root["nodes"].append({"name": "hat", "mesh": 2, "translation": [0, -3, 0]})
    own = write_glb(tmp_path / "hat.glb", root, blob)
    character = open_character(own)
    fit = skinned(character, swelling(character))
    out = written(character, fit, tmp_path / "out.glb")
    assert changed_parts(read_plain(own), read_plain(out)) == []
    plays(out, fit)


def test_one_mesh_on_two_nodes_is_copied(path, tmp_path):
    root, blob = read_glb(path)
    root["nodes"].append({"name": "twin", "mesh": 1, "skin": 1})
    root["scenes"][0]["nodes"].append(len(root["nodes"]) - 1)
    character = open_character(write_glb(tmp_path / "twins.glb", root, blob))
    fit = skinned(character, swelling(character))
    out = written(character, fit, tmp_path / "out.glb")
    assert [m["name"] for m in read_glb(out)[0]["meshes"]] == ["mesh 0", "mesh 1", "mesh 1"]
    plays(out, fit)


def test_a_joint_with_a_matrix_gets_its_three_parts(path, tmp_path):
    root, blob = read_glb(path)
    shift = root["nodes"][2].pop("translation")
    root["nodes"][2]["matrix"] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, *shift, 1]
    root["animations"] = []
    del root["animations"]
    character = open_character(write_glb(tmp_path / "matrix.glb", root, blob))
    sequence = swelling(open_character(path))
    fit = skinned(character, sequence)
    node = read_glb(written(character, fit, tmp_path / "out.glb"))[0]["nodes"][2]
    assert "matrix" not in node
    assert node["translation"] == shift
    plays(tmp_path / "out.glb", fit)


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_files_beside_a_gltf_come_into_it(path, tmp_path, suffix):
    root, blob = read_glb(path)
    folder = tmp_path / "parts"
    folder.mkdir()
    picture = b"\x89PNG\r\n\x1a\n" + bytes(40)
    (folder / "data.bin").write_bytes(blob)
    (folder / "a b.png").write_bytes(picture)
    root["buffers"] = [{"byteLength": len(blob), "uri": "data.bin"}]
    root["images"], root["textures"] = [{"uri": "a%20b.png", "name": "pic"}], [{"source": 0}]
    (folder / "c.gltf").write_text(json.dumps(root, indent=2))
    character = open_character(folder / "c.gltf")
    fit = skinned(character, swelling(character))
    out = written(character, fit, tmp_path / f"out{suffix}")
    plays(out, fit)
    made = read_glb(out)[0] if suffix == ".glb" else json.loads(out.read_text())
    image = made["images"][0]
    if suffix == ".gltf":
        assert base64.b64decode(image["uri"].partition(",")[2]) == picture
    else:
        view = made["bufferViews"][image["bufferView"]]
        data = read_plain(out).blob
        assert data[view["byteOffset"] : view["byteOffset"] + view["byteLength"]] == picture
        assert data[: len(blob)] == blob


def test_bones_below_a_scale_of_a_hundred(tmp_path):
    character = open_character(strange_character(scaled_root=0.01).save(tmp_path / "character.glb"))
    fit = skinned(character, swelling(character))
    out = written(character, fit, tmp_path / "out.glb")
    assert changed_parts(read_plain(tmp_path / "character.glb"), read_plain(out)) == []
    plays(out, fit)


@pytest.mark.parametrize("bone_type", ["scaled", "flexible"])
def test_joints_that_stretch_play_as_the_tree_has_them(path, tmp_path, bone_type):
    """Whatever is written is what was measured; no joint is added or hung elsewhere."""
    character = open_character(path)
    fit = skinned(character, swelling(character), bone_type=bone_type)
    out = written(character, fit, tmp_path / "out.glb")
    assert changed_parts(read_plain(path), read_plain(out)) == []
    plays(out, fit, 1e-4)


def with_normals(path: Path, target: Path) -> Path:
    """The character with normals that point away from its axes."""
    glb = strange_character()
    root, blob = read_glb(path)
    for mesh in root["meshes"]:
        attributes = mesh["primitives"][0]["attributes"]
        entry = root["accessors"][attributes["POSITION"]]
        view = root["bufferViews"][entry["bufferView"]]
        points = np.frombuffer(blob, "<f4", 3 * entry["count"], view["byteOffset"]).reshape(-1, 3)
        out = (points - points.mean(axis=0)) * [1, 0, 1]
        glb.json["meshes"][root["meshes"].index(mesh)]["primitives"][0]["attributes"]["NORMAL"] = glb.accessor(
            out / np.linalg.norm(out, axis=1, keepdims=True)
        )
    return glb.save(target)


def test_fitted_normals_take_the_place_of_the_file_s(path, tmp_path):
    """Normals of the fit, and targets that move normals only; positions are as without."""
    own = with_normals(path, tmp_path / "shaded.glb")
    character = open_character(own)
    sequence = swelling(character).with_parts(asset=character.model.asset)
    fit = skinned(character, sequence, normal_rank=2)
    out = written(character, fit, tmp_path / "out.glb")
    plays(out, fit)
    before, after = read_plain(own), read_plain(out)
    back = load_model(out)
    assert back.asset.normals is not None
    for mesh, old in zip(after.root["meshes"], before.root["meshes"], strict=True):
        primitive = mesh["primitives"][0]
        assert after.data_of(primitive["attributes"]["NORMAL"]) != before.data_of(
            old["primitives"][0]["attributes"]["NORMAL"]
        )
        assert len(primitive["targets"]) == fit.model.corrections.n_columns
    fitted = fit.model.asset.normals
    assert_near(back.asset.normals.values[back.asset.normals.of_corner], fitted.values[fitted.of_corner], 1e-5)


def test_normals_stay_where_only_positions_are_fitted(path, tmp_path):
    own = with_normals(path, tmp_path / "shaded.glb")
    character = open_character(own)
    sequence = swelling(character).with_parts(asset=character.model.asset)
    fit = skinned(character, sequence, shading=0.0, normal_rank=0)
    out = written(character, fit, tmp_path / "out.glb")
    names = [m["primitives"][0]["attributes"]["NORMAL"] for m in read_plain(out).root["meshes"]]
    assert names == [m["primitives"][0]["attributes"]["NORMAL"] for m in read_plain(own).root["meshes"]]


def test_a_file_that_osteon_wrote_reads_back_as_the_same_model(tmp_path):
    """Its notes on vertices, influences and clips are still right."""
    baked = bent_tube(3, 10)
    save_model(baked.model, tmp_path / "rig.glb")
    character = open_character(tmp_path / "rig.glb")
    sequence = baked.sequence.take_frames(np.arange(0, 10, 2, dtype=np.int32))
    fit = skinned(character, sequence, helpers=1, influences=2)
    out = written(character, fit, tmp_path / "out.glb")
    model = load_model(out)
    assert (model.n_vertices, model.n_bones, model.skin.n_influences) == (baked.model.n_vertices, 4, 2)
    assert [clip.n_frames for clip in model.clips] == [10, 5]
    assert_same_points(pose_frames(model)[10:], pose_frames(fit.model))
    assert_same_points(model.rest, fit.model.rest)


def test_another_mesh_is_not_kept(path, tmp_path):
    character = open_character(path)
    sequence = swelling(character)
    fit = skinned(character, sequence)
    other = fit.model.with_mesh(faces=fit.model.faces[:, [1, 2, 0]])
    assert not keeps_rig(character, other, tmp_path / "out.glb")
    assert not keeps_rig(character, fit.model, tmp_path / "out.usdc")
    assert not keeps_rig(None, fit.model, tmp_path / "out.glb")
