"""The binary that the page's renderer reads: layout, contents, and what does not fit."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Corrections, Skin
from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset, Image, Material
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.core.sequence import MeshSequence
from osteon.core.transforms import identity
from osteon.deform.linear_blend import LinearBlend, linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.view.pack import arrays as pack_arrays
from osteon.view.pack.model_pack import Evidence, pack_model, pack_sequence, write_pack

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
FACES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


def read_pack(data: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays, by the letter of the format."""
    magic, version, length = struct.unpack("<4sII", data[:12])
    assert (magic, version) == (b"OSTP", 2)
    assert length % 4 == 0
    start = 12 + length
    assert start % 16 == 0
    header = json.loads(data[12:start])
    arrays = {}
    for name, entry in header["arrays"].items():
        assert entry["offset"] % 16 == 0
        count = int(np.prod(entry["shape"]))
        flat = np.frombuffer(data, "<" + entry["dtype"], count, start + entry["offset"])
        arrays[name] = flat.reshape(entry["shape"])
    return header, arrays


def square(n_frames: int = 3, **parts: object) -> SkinnedModel:
    """Two bones, of which the second lifts the right side."""
    track = identity(n_frames, 2)
    track[:, 1, 2, 3] = np.linspace(0, 1, n_frames)
    skin = Skin(np.array([[0, 1]] * 4), np.array([[1, 0], [0, 1], [0.25, 0.75], [1, 0]], np.float32))
    plain = {"skin": skin, "track": BoneTrack(track.astype(np.float32), "rigid")}
    return linear_blend_model(SQUARE, FACES, **{**plain, **parts})


def test_a_model_is_all_there():
    header, arrays = read_pack(pack_model(square(name="square", clips=(Clip("lift", 0, 3, 30.0),))))
    assert header["name"] == "square"
    assert header["kind"] == "model"
    assert header["clips"] == [{"name": "lift", "start": 0, "stop": 3, "fps": 30.0}]
    assert header["bone_names"] == ["bone_0", "bone_1"]
    assert header["diagonal"] == pytest.approx(np.sqrt(2))
    assert (header["influences"], header["rank"], header["report"]) == (2, 0, None)
    assert arrays.keys() == {"rest", "faces", "normals", "bones", "weights", "transforms", "bone_points"}
    assert arrays["faces"].dtype == np.uint32
    assert arrays["bones"].tolist()[2] == [1, 0, 0, 0, 0, 0, 0, 0]  # the largest weight first
    assert arrays["weights"].tolist()[1] == [1, 0, 0, 0, 0, 0, 0, 0]
    np.testing.assert_array_equal(arrays["normals"], [[0, 0, 1]] * 4)
    np.testing.assert_allclose(arrays["bone_points"][1], [1, 0.75 / 1.75, 0], atol=1e-6)


def test_the_page_can_pose_what_it_reads():
    model = square()
    _, arrays = read_pack(pack_model(model))
    blends = np.einsum("vk,fvkij->fvij", arrays["weights"], arrays["transforms"][:, arrays["bones"]])
    posed = np.einsum("fvij,vj->fvi", blends, np.c_[arrays["rest"], np.ones(4)])
    np.testing.assert_allclose(posed, pose_frames(model), atol=1e-6)


def test_a_sequence_is_its_frames_without_bones():
    frames = pose_frames(square())
    header, arrays = read_pack(pack_sequence(MeshSequence(frames, FACES, SQUARE, name="moved")))
    assert (header["kind"], header["name"]) == ("sequence", "moved")
    assert header.keys() == {"kind", "name", "clips", "diagonal", "materials", "images", "arrays"}
    assert arrays.keys() == {"rest", "faces", "normals", "source"}
    np.testing.assert_array_equal(arrays["source"], frames)
    np.testing.assert_array_equal(arrays["rest"], SQUARE)


def test_families_say_their_kind_and_where_their_arrays_are():
    stored = Corrections(np.ones((2, 4, 3), np.float32), np.ones((3, 2), np.float32))
    header, arrays = read_pack(pack_model(square(corrections=stored)))
    assert header["deformer"] == {"kind": "linear_blend", "arrays": {"bones": "bones", "weights": "weights"}}
    (displacement,) = header["displacements"]
    assert displacement["kind"] == "corrections"
    assert displacement["arrays"].keys() == {"basis", "coefficients"}
    np.testing.assert_array_equal(arrays[displacement["arrays"]["basis"]], stored.basis)
    np.testing.assert_array_equal(arrays[displacement["arrays"]["coefficients"]], stored.coefficients)


def test_a_family_with_more_arrays_needs_no_code():
    """One that is registered nowhere: bones with four numbers a slot, in float64."""
    skin = square().skin

    class Wide(LinearBlend):
        kind = "wide"

        def arrays(self):
            return {"bones": self.skin.bones, "points": np.ones((4, 2, 4))}

    model = square()
    model = SkinnedModel(replace(model.character, deformer=Wide(skin)), model.animation)
    header, arrays = read_pack(pack_model(model))
    assert header["deformer"] == {"kind": "wide", "arrays": {"bones": "deformer.bones", "points": "deformer.points"}}
    assert arrays["deformer.points"].dtype == np.float32
    np.testing.assert_array_equal(arrays["deformer.bones"], skin.bones)
    assert arrays["bones"].shape == (4, 8)  # for colours and lists of bones, as in every model


def test_a_source_is_carried_or_refused(refused):
    model = square()
    frames = pose_frames(model)
    sequence = MeshSequence(frames, FACES, SQUARE)
    assert pack_model(model, sequence) == pack_model(model, frames)
    np.testing.assert_array_equal(read_pack(pack_model(model, frames))[1]["source"], frames)
    with refused(GeometryError, "source", "3 frames of 4", "2 of 4"):
        pack_model(model, frames[:2])


def test_a_large_source_goes_as_steps(monkeypatch):
    rng = np.random.default_rng(0)
    frames = rng.normal(size=(5, 4, 3)).astype(np.float32)
    frames[3, :, 1] = 7  # flat in one direction
    monkeypatch.setattr(pack_arrays, "SOURCE_BYTES", 100)
    _, arrays = read_pack(pack_model(square(5), frames))
    assert "source" not in arrays
    scale = arrays["source_scale"]
    assert scale.shape == (5, 6)
    restored = scale[:, None, :3] + scale[:, None, 3:] * arrays["source_u2"]
    assert np.abs(restored - frames).max() < np.ptp(frames) / 65535


def test_clusters_mark_outliers():
    _, arrays = read_pack(pack_model(square(), clusters=np.array([-1, 2], np.int32)))
    assert arrays["triangle_cluster"].tolist() == [65535, 2]
    assert arrays["triangle_cluster"].dtype == np.uint16


def test_looks_are_carried_and_a_picture_once():
    picture = Image("wood", "image/png", b"\x89PNG12345")
    wood = Material("wood", (1, 0.5, 0.25, 1), double_sided=True, textures=(("base_color", picture),))
    asset = Asset(
        uvs=np.zeros((2, 3, 2), np.float32),
        colors=np.array([[0, 0.5, 1, 1]] * 4, np.float32),
        materials=(wood, Material("plain"), replace(wood, name="again")),
        triangle_material=np.array([0, 2], np.int32),
    )
    header, arrays = read_pack(pack_model(square(asset=asset)))
    assert [m["texture"] for m in header["materials"]] == [0, None, 0]
    assert header["materials"][0]["base_color"] == [1, 0.5, 0.25, 1]
    assert header["images"] == [{"mime": "image/png", "array": "image_0"}]
    assert arrays["image_0"].tobytes() == picture.data
    assert arrays["colors"].tolist()[0] == [0, 128, 255, 255]
    assert arrays["triangle_material"].tolist() == [0, 2]
    assert arrays["uvs"].shape == (2, 3, 2)


def test_more_than_eight_influences_lose_the_smallest():
    weights = np.array([[1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5]] * 4, np.float32)
    skin = Skin(np.tile(np.arange(10), (4, 1)), weights / weights.sum(axis=1, keepdims=True))
    track = BoneTrack(identity(3, 10).astype(np.float32))
    header, arrays = read_pack(pack_model(square(skin=skin, track=track)))
    assert (header["influences"], header["influences_left_out"]) == (8, 2)
    assert arrays["bones"][0].tolist() == [8, 7, 6, 5, 4, 3, 2, 1]
    np.testing.assert_allclose(arrays["weights"].sum(axis=1), 1, atol=1e-6)


def test_empty_slots_do_not_count():
    skin = Skin(np.zeros((4, 12), np.int32), np.eye(4, 12, dtype=np.float32))
    header, arrays = read_pack(pack_model(square(skin=skin)))
    assert (header["influences"], header["influences_left_out"]) == (1, 0)
    assert arrays["weights"].tolist() == [[1] + [0] * 7] * 4


def test_a_bone_without_vertices_sits_in_the_middle():
    track = BoneTrack(identity(3, 3).astype(np.float32))
    _, arrays = read_pack(pack_model(square(track=track)))
    np.testing.assert_allclose(arrays["bone_points"][2], [0.5, 0.5, 0])


def test_normals_of_a_flat_triangle_are_zero():
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0]], np.float32)
    assert not vertex_normals(points, np.array([[0, 1, 2]], np.int32)).any()


def test_files_hold_the_same_bytes(tmp_path):
    model, frames = square(), pose_frames(square())
    write_pack(tmp_path / "m.bin", model, Evidence(frames))
    assert (tmp_path / "m.bin").read_bytes() == pack_model(model, frames)
    sequence = MeshSequence(frames, FACES, SQUARE)
    write_pack(tmp_path / "s.bin", sequence)
    assert (tmp_path / "s.bin").read_bytes() == pack_sequence(sequence)


def test_packing_does_not_wait_for_numba():
    code = "import sys, osteon.view.pack.model_pack; print(*sorted({'numba', 'starlette'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
