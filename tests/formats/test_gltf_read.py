"""glTF in: geometry, placement, materials, skins and morph targets, on files made by hand."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Material
from osteon.io import LoadOptions, load_sequence

TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
QUARTER = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]  # 90 degrees about z


def column_major(*matrices):
    return np.array([m.T.ravel() for m in matrices])


def shift(x=0.0, y=0.0, z=0.0):
    out = np.eye(4)
    out[:3, 3] = x, y, z
    return out


def test_still_triangle(triangle_glb, tmp_path):
    sequence = load_sequence(triangle_glb.save(tmp_path / "t.glb"))
    assert sequence.frames.tolist() == [TRIANGLE.tolist()]
    assert sequence.rest.tolist() == TRIANGLE.tolist()
    assert sequence.faces.tolist() == [[0, 1, 2]]
    assert sequence.asset.primitive_names == ("mesh_0",)
    assert sequence.asset.materials == ()


def test_embedded_and_separate_buffers(triangle_glb, tmp_path):
    root = triangle_glb.json
    length = len(triangle_glb.blob)
    data = base64.b64encode(bytes(triangle_glb.blob)).decode()
    (tmp_path / "my buffer.bin").write_bytes(bytes(triangle_glb.blob) + b"more")
    for uri in (f"data:application/octet-stream;base64,{data}", "my%20buffer.bin"):
        root["buffers"] = [{"byteLength": length, "uri": uri}]
        (tmp_path / "t.gltf").write_text(json.dumps(root), encoding="utf-8-sig")
        assert load_sequence(tmp_path / "t.gltf").frames[0].tolist() == TRIANGLE.tolist()


def test_nodes_place_meshes_and_mirrors_turn_triangles(triangle_glb, tmp_path):
    root = triangle_glb.json
    root["nodes"] = [
        {"translation": [0, 0, 1], "rotation": QUARTER, "scale": [2, 2, 2], "children": [1, 2]},
        {"mesh": 0, "name": "left"},
        {"mesh": 0, "matrix": column_major(np.diag([-1.0, 1, 1, 1]) @ shift(5))[0].tolist()},
        {"mesh": 0, "name": "not shown"},
    ]
    sequence = load_sequence(triangle_glb.save(tmp_path / "t.glb"))
    turned = np.array([[0, 0, 1], [0, 2, 1], [-2, 0, 1]])
    assert np.allclose(sequence.frames[0, :3], turned)
    mirrored = TRIANGLE * [-1, 1, 1] + [-5, 0, 0]
    assert np.allclose(sequence.frames[0, 3:], np.stack([-2 * mirrored[:, 1], 2 * mirrored[:, 0], np.ones(3)], axis=1))
    assert sequence.faces.tolist() == [[0, 1, 2], [5, 4, 3]]
    assert sequence.asset.primitive_names == ("left", "mesh_0")


@pytest.mark.parametrize(
    ("mode", "indices", "faces"),
    [
        (4, None, [[0, 1, 2]]),
        (4, [0, 1, 2, 2, 1, 3], [[0, 1, 2], [2, 1, 3]]),
        (5, [0, 1, 2, 3, 4], [[0, 1, 2], [1, 3, 2], [2, 3, 4]]),
        (5, None, [[0, 1, 2], [1, 3, 2], [2, 3, 4]]),
        (6, [0, 1, 2, 3, 4], [[0, 1, 2], [0, 2, 3], [0, 3, 4]]),
    ],
)
@pytest.mark.parametrize("code", ["u1", "u2", "u4"])
def test_lists_strips_and_fans(glb, tmp_path, mode, indices, faces, code):
    primitive = {"attributes": {"POSITION": glb.accessor(np.arange(15.0).reshape(5, 3))}, "mode": mode}
    if indices is not None:
        primitive["indices"] = glb.accessor(indices, code)
    glb.json |= {"meshes": [{"primitives": [primitive]}], "nodes": [{"mesh": 0}]}
    assert load_sequence(glb.save(tmp_path / "t.glb")).faces.tolist() == faces


def test_several_primitives_with_looks(glb, tmp_path):
    red = {"attributes": {"POSITION": glb.accessor(TRIANGLE)}, "material": 1}
    red["attributes"]["TEXCOORD_0"] = glb.accessor([[0, 0], [255, 0], [0, 255]], "u1", normalized=True)
    plain = {"attributes": {"POSITION": glb.accessor(TRIANGLE + 1)}}
    plain["attributes"]["COLOR_0"] = glb.accessor([[65535, 0, 0], [0, 65535, 0], [0, 0, 0]], "u2", normalized=True)
    points = {"attributes": {"POSITION": glb.accessor(TRIANGLE)}, "mode": 0}
    surface = {"baseColorFactor": [1, 0, 0, 0.5], "metallicFactor": 0.25, "roughnessFactor": 0.75}
    glb.json["materials"] = [{}, {"name": "red", "pbrMetallicRoughness": surface, "doubleSided": True}]
    glb.json |= {"meshes": [{"name": "box", "primitives": [red, points, plain]}], "nodes": [{"mesh": 0}]}
    asset = load_sequence(glb.save(tmp_path / "t.glb")).asset
    assert asset.materials == (
        Material("red", (1.0, 0.0, 0.0, 0.5), 0.25, 0.75, True),
        Material("default", (1.0, 1.0, 1.0, 1.0), 1.0, 1.0),
    )
    assert asset.triangle_material.tolist() == [0, 1]
    assert asset.primitive_names == ("box_0", "box_1")
    assert asset.uvs.tolist() == [[[0, 1], [1, 1], [0, 0]], [[0, 0]] * 3]  # origin at the bottom
    assert asset.colors[3:].tolist() == [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 0, 1]]
    assert asset.colors[:3].tolist() == [[1] * 4] * 3


def test_strided_and_quantised_positions(glb, tmp_path):
    rows = np.zeros(3, [("p", "<i2", 3), ("pad", "<i2"), ("n", "<f4", 3)])
    rows["p"] = [[0, 0, 0], [32767, 0, 0], [0, -32768, 0]]
    view = glb.view(b"abcd" + rows.tobytes(), byteStride=rows.dtype.itemsize)
    entry = {"bufferView": view, "byteOffset": 4, "componentType": 5122, "count": 3, "type": "VEC3", "normalized": True}
    glb.json["accessors"].append(entry)
    glb.json |= {"meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "nodes": [{"mesh": 0}]}
    assert load_sequence(glb.save(tmp_path / "t.glb")).frames[0].tolist() == [[0, 0, 0], [1, 0, 0], [0, -1, 0]]
    entry["normalized"] = False
    assert load_sequence(glb.save(tmp_path / "t.glb")).frames[0, 1].tolist() == [32767, 0, 0]


@pytest.mark.parametrize("base", [True, False])
def test_sparse_accessors(glb, tmp_path, base):
    indices = glb.view(np.array([0, 2], "<u2").tobytes())
    values = glb.view(np.array([[7, 8, 9], [1, 2, 3]], "<f4").tobytes())
    entry = {"componentType": 5126, "count": 3, "type": "VEC3"}
    if base:
        entry["bufferView"] = glb.view(TRIANGLE.astype("<f4").tobytes())
    entry["sparse"] = {
        "count": 2,
        "indices": {"bufferView": indices, "componentType": 5123},
        "values": {"bufferView": values},
    }
    glb.json["accessors"].append(entry)
    glb.json |= {"meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "nodes": [{"mesh": 0}]}
    middle = [1, 0, 0] if base else [0, 0, 0]
    assert load_sequence(glb.save(tmp_path / "t.glb")).frames[0].tolist() == [[7, 8, 9], middle, [1, 2, 3]]


def test_morph_targets_add_up(triangle_glb, tmp_path):
    first, second = np.zeros((3, 3)), np.zeros((3, 3))
    first[1, 0], second[2, 1] = 1, 2
    primitive = triangle_glb.json["meshes"][0]["primitives"][0]
    primitive["targets"] = [{"POSITION": triangle_glb.accessor(t)} for t in (first, second)] + [{"NORMAL": 0}]
    triangle_glb.json["meshes"][0]["weights"] = [1, 0, 0]
    sampler = {
        "input": triangle_glb.accessor([0.0, 1.0]),
        "output": triangle_glb.accessor([0.0, 0.0, 0.0, 0.5, 1.0, 1.0]),
    }
    triangle_glb.json["animations"] = [
        {"name": "grow", "samplers": [sampler], "channels": [{"sampler": 0, "target": {"node": 0, "path": "weights"}}]}
    ]
    sequence = load_sequence(triangle_glb.save(tmp_path / "t.glb"), options=LoadOptions(fps=2))
    assert np.allclose(sequence.frames[0], TRIANGLE)
    assert np.allclose(sequence.frames[1], TRIANGLE + 0.25 * first + 0.5 * second)
    assert np.allclose(sequence.frames[2], TRIANGLE + 0.5 * first + second)
    assert np.allclose(sequence.rest, TRIANGLE + first)
    triangle_glb.json["nodes"][0]["weights"] = [0, 1, 0]
    assert np.allclose(load_sequence(triangle_glb.save(tmp_path / "t.glb")).rest, TRIANGLE + second)


@pytest.fixture(name="skinned")
def _skinned(triangle_glb):
    """Two joints below an armature that scales by 10; the mesh node's own shift must not matter."""
    attributes = triangle_glb.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_0"] = triangle_glb.accessor([[0, 1, 9, 9]] * 3, "u1")
    weights = [[255, 0, 0, 0], [51, 204, 0, 0], [0, 0, 0, 0]]
    attributes["WEIGHTS_0"] = triangle_glb.accessor(weights, "u1", normalized=True)
    bind = triangle_glb.accessor(column_major(np.eye(4), shift(-1)), "f4", "MAT4")
    triangle_glb.json["skins"] = [{"joints": [2, 3], "inverseBindMatrices": bind}]
    triangle_glb.json["nodes"] = [
        {"mesh": 0, "skin": 0, "translation": [100, 100, 100]},
        {"scale": [10, 10, 10], "children": [2]},
        {"children": [3]},
        {"translation": [1, 0, 0]},
    ]
    triangle_glb.json["scenes"] = [{"nodes": [0, 1]}]
    return triangle_glb


def turn_channel(glb, node):
    sampler = {"input": glb.accessor([0.0, 1.0]), "output": glb.accessor([[0, 0, 0, 1], QUARTER])}
    channel = {"sampler": 0, "target": {"node": node, "path": "rotation"}}
    return {"name": "turn", "samplers": [sampler], "channels": [channel]}


def test_skin_moves_vertices_by_its_joints(skinned, tmp_path):
    skinned.json["animations"] = [turn_channel(skinned, 3)]
    sequence = load_sequence(skinned.save(tmp_path / "s.glb"), options=LoadOptions(fps=1))
    assert np.allclose(sequence.frames[0], 10 * TRIANGLE)
    assert np.allclose(sequence.frames[1], 10 * TRIANGLE)  # vertex 1 stands on the turning joint
    assert np.allclose(sequence.rest, 10 * TRIANGLE)
    skinned.json["animations"] = [turn_channel(skinned, 2)]
    sequence = load_sequence(skinned.save(tmp_path / "s.glb"), options=LoadOptions(fps=1))
    assert np.allclose(sequence.frames[1], [[0, 0, 0], [0, 10, 0], [-10, 0, 0]], atol=1e-5)


def test_rest_is_the_bind_pose_even_if_the_file_was_saved_in_motion(skinned, tmp_path):
    skinned.json["nodes"][2]["rotation"] = QUARTER
    skinned.json["nodes"][3] = {"translation": [1, 3, 0], "rotation": QUARTER}
    sequence = load_sequence(skinned.save(tmp_path / "s.glb"))
    assert np.allclose(sequence.rest, [[0, 0, 0], [0, 10, 0], [-10, 0, 0]], atol=1e-5)  # turned as a whole
    assert not np.allclose(sequence.frames[0], sequence.rest, atol=1)


@pytest.mark.parametrize("joints", [[3, 4], [3]])
def test_rest_of_parts_bound_together_stays_together(skinned, tmp_path, joints):
    """A second mesh hangs on joints that have moved away from their bind; it must not leave the first."""
    skinned.json["nodes"][3] = {"translation": [1, 3, 0], "rotation": QUARTER, "children": [4]}
    bind = skinned.accessor(column_major(shift(-1), shift(-1)), "f4", "MAT4")
    skinned.json["skins"].append({"joints": joints, "inverseBindMatrices": bind})
    attributes = dict(skinned.json["meshes"][0]["primitives"][0]["attributes"])
    attributes["JOINTS_0"] = skinned.accessor([[0, 0, 0, 0]] * 3, "u1")
    skinned.json["meshes"].append({"primitives": [{"attributes": attributes}]})
    skinned.json["nodes"] += [{"rotation": QUARTER}, {"mesh": 1, "skin": 1}]
    skinned.json["scenes"][0]["nodes"] += [5]
    sequence = load_sequence(skinned.save(tmp_path / "s.glb"))
    assert np.allclose(sequence.rest, np.concatenate([10 * TRIANGLE, 10 * TRIANGLE]))


def test_rest_is_the_unanimated_pose_where_a_bind_would_distort(skinned, tmp_path):
    skinned.json["nodes"][1]["scale"] = [10, 1, 1]
    skinned.json["nodes"][3]["translation"] = [1, 3, 0]
    sequence = load_sequence(skinned.save(tmp_path / "s.glb"))
    assert np.array_equal(sequence.rest, sequence.frames[0])


def test_a_skin_without_bind_matrices_binds_at_the_origin(skinned, tmp_path):
    del skinned.json["skins"][0]["inverseBindMatrices"]
    sequence = load_sequence(skinned.save(tmp_path / "s.glb"))
    assert np.allclose(sequence.frames[0, 1], [10 + 0.8 * 10, 0, 0])


def test_animations_become_clips(triangle_glb, tmp_path, refused):
    first, second = turn_channel(triangle_glb, 0), turn_channel(triangle_glb, 0)
    second["name"] = "spin"
    camera = {"channels": [{"sampler": 0, "target": {"path": "pointer"}}], "samplers": second["samplers"]}
    unnamed = dict(turn_channel(triangle_glb, 0), name="")
    triangle_glb.json["animations"] = [first, second, dict(first), camera, unnamed]
    path = triangle_glb.save(tmp_path / "t.glb")
    sequence = load_sequence(path)
    assert [c.name for c in sequence.clips] == ["turn", "spin", "turn_", "animation_4"]
    assert all(c.n_frames == 25 and c.fps == 24 for c in sequence.clips)
    chosen = load_sequence(path, options=LoadOptions(clips=("spin", "turn")))
    assert [c.name for c in chosen.clips] == ["turn", "spin"]
    with refused(OptionError, "'dance'", "'spin'"):
        load_sequence(path, options=LoadOptions(clips=("dance",)))


def test_progress_ends_at_one(triangle_glb, tmp_path):
    triangle_glb.json["animations"] = [turn_channel(triangle_glb, 0)]
    events = []
    load_sequence(triangle_glb.save(tmp_path / "t.glb"), progress=events.append)
    assert events[-1].stage == "load"
    assert events[-1].fraction == 1


def test_numbers_beyond_all_bounds_are_told_by_frame(triangle_glb, tmp_path, refused):
    sampler = {"input": triangle_glb.accessor([0.0, 1.0]), "output": triangle_glb.accessor([[1, 1, 1], [3e38] * 3])}
    triangle_glb.json["nodes"] = [{"mesh": 0, "scale": [1, 1, 1]}, {"children": [0], "scale": [1e9] * 3}]
    triangle_glb.json["scenes"][0]["nodes"] = [1]
    channel = {"sampler": 0, "target": {"node": 0, "path": "scale"}}
    triangle_glb.json["animations"] = [{"samplers": [sampler], "channels": [channel]}]
    with refused(GeometryError, "t.glb (frame 1): vertex 1"):
        load_sequence(triangle_glb.save(tmp_path / "t.glb"), options=LoadOptions(fps=1))
